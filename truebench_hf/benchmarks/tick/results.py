"""What comes of judged checklists: scores, files, the report and a place on the board, for every study that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.tick import scores, source, summary
from truebench_hf.benchmarks.tick.scores import SCORES, Graded
from truebench_hf.benchmarks.tick.sections import sections
from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.data.case import cases
from truebench_hf.data.judged import Judged, judgment
from truebench_hf.data.records import RESPONSES, judgment_lines, response_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.models.caller import metered
from truebench_hf.models.spec import family
from truebench_hf.results.report import Report
from truebench_hf.study.board import LONGEST, Board, Column, Row
from truebench_hf.study.notes import by_rules, cut_off, rules_fact, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.text import anonymous
from truebench_hf.types import Instance, Response, Score

BENCHMARK = "tick"  # what judge prompts know the conventions of its questions by
# Not judgments.jsonl, by which the Space knows the conversations of a single model.
VERDICTS = "verdicts.jsonl"
FILES = ("scores.json", source.FILE, RESPONSES, VERDICTS)
_JUDGING = ("judge_models", "judge_level", "threshold", "votes", "judge_temperature", "structured", "rules")
PROMPTS = ("generate_checklist",)  # prompts of who writes checklists
REPEATED = "repeated_samples"
_MOST_CATEGORIES = 100  # a leaderboard of more columns nobody reads


async def judged(judge: Judge, instance: Instance, response: Response) -> Judged:
    """The response to an instruction, with an answer to every question; without a response none, with the reason."""
    spent = metered()
    found = [await judge.verdicts(case) for case in cases(instance, response, BENCHMARK)]
    return judgment(instance, response, found, spent | {"model": response.usage})


def results(study: Study[Any, Any, Any, Any], graded: Sequence[Graded], models: Sequence[str]) -> Outcome[Report]:
    """The scores of every model, the models against each other, and all that a study leaves in its folder."""
    judge, made = study.options.judge, study.provenance
    found, categories = scores.by_model(graded, models), scores.by_category(graded, models)
    pairs, open_ = scores.pairs(graded, models), scores.unscored(graded, models)
    checklists = summary.summary([one.listed for one in graded])
    every = [judged for one in graded for samples in one.judged.values() for judged in samples]
    repeated = scores.repeated(graded, models)
    notes = list(_notes(every, models, judge, study.options.settings))
    named = {**found, **{f"pass_rate:{name}": by for name, by in categories.items()}}
    named |= {f"{REPEATED}:{model}": by for model, by in repeated.items()}
    reasons = {f"{one['id']} ({one['model']})" if one["model"] else one["id"]: one["reason"] for one in open_}
    report = Report(named, reasons, study.folder.usage(), made, tuple(notes), judged=tuple(every))
    rows = source.with_others(study.options, [source.to_row(one.listed) for one in graded])
    files = {
        "scores.json": report.to_dict() | {
            "pairs": [asdict(pair) for pair in pairs], "checklists": checklists, "rows_left_out": list(study.all.left_out),
        },
        source.FILE: rows,
        RESPONSES: response_lines((one.instance, one.response) for one in every),
        VERDICTS: judgment_lines(every, judge),
    }  # fmt: skip
    return Outcome(
        report, files, "TICK: checklists answered", sections(found, categories, pairs, open_, checklists, graded, repeated),
        lead=f"{', '.join(models)} judged by {judge}", notes=notes,
        facts={"Judge": judge, "Checklists": _from(graded), "Data": made.get("data") or "one instruction"},
        board=_board(graded, found, categories, made, judge), incomplete=len(open_),
    )  # fmt: skip


def _notes(every: Sequence[Judged], models: Sequence[str], judge: str, how: JudgeSettings) -> Iterator[str]:
    yield from cut_off(sum(len(item.response.truncated) for item in every))
    if own := [model for model in models if family(model) == family(judge)]:
        yield f"Self-judged: {', '.join(own)} and the judge belong to one family, which favours the model."
    yield from by_rules(
        (turn for item in every for turn in item.verdicts[: len(item.response.answers)]),
        how.rules, how.level, votes=how.votes,
    )  # fmt: skip
    yield from weak_judges([judge])


def _from(graded: Sequence[Graded], shown: Callable[[str], str] = str) -> str:
    """Whose the checklists are: the models that wrote them, and where others come from."""
    found = (one.listed for one in graded if one.listed.criteria)
    return ", ".join(dict.fromkeys(_origin(one, shown) for one in found)) or "none"


def _origin(listed: Listed, shown: Callable[[str], str]) -> str:
    if listed.source == "file":  # people may have edited it
        return f"{shown(listed.generator)}, as given by --checklists" if listed.generator else "given by --checklists"
    return shown(listed.generator) if listed.generator else "the data"


def _board(
    graded: Sequence[Graded], found: Mapping[str, Mapping[str, Score]], categories: Mapping[str, Mapping[str, Score]],
    made: Mapping[str, Any], judge: str,
) -> Board:  # fmt: skip
    """A row a model; ranked together are those with the same instructions, the same questions and the same judging."""
    known = categories if len(categories) <= _MOST_CATEGORIES else {}
    shown = {name: by for name, by in known.items() if len(name) <= LONGEST // 2}
    columns = [Column(name, title) for name, title in SCORES.items()]
    columns += [Column(f"category:{name}", name, "Categories") for name in shown]
    how = {name: made.get(name) for name in _JUDGING}
    how["prompts"] = {name: text for name, text in made["prompts"].items() if name not in PROMPTS}
    asked = [asdict(one.listed.instance) for one in graded]  # with its criteria, whoever wrote them
    setting = digest(canonical([asked, anonymous.settings(how)]))
    facts = {
        "Judge": anonymous.name(judge) + "".join(f" (rules {mode})" for mode in rules_fact(made).values()),
        "Checklists": _from(graded, anonymous.name)[:LONGEST],
        "Data": anonymous.name(str(made.get("data") or "one instruction")),
    }  # fmt: skip
    if (most := max((len(samples) for one in graded for samples in one.judged.values()), default=1)) > 1:
        facts["Samples"] = str(most)
    lines, named = [], anonymous.names(found["pass_rate"])
    for model in found["pass_rate"]:
        cells = {name: found[name][model] for name in SCORES}
        cells |= {f"category:{name}": by[model] for name, by in shown.items()}
        lines.append(Row(named[model], setting, cells, facts))
    return Board(
        "pass_rate",
        tuple(columns),
        tuple(lines),
        title="TICK: any prompts",
        unit="Mean pass rate in %: questions answered YES",
    )
