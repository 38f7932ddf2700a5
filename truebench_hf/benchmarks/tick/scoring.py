"""From judged checklists to scores, files, report and board (paper 004, section 3): for every study that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import Listed
from truebench_hf.data.case import as_answered, cases, with_history
from truebench_hf.data.judged import Judged, judgment, sample_name
from truebench_hf.data.records import RESPONSES, judgment_lines, response_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.repeated import mean, over_instances, summary
from truebench_hf.models.caller import metered
from truebench_hf.models.spec import family
from truebench_hf.report import paper, sections
from truebench_hf.report.conversation import as_counted
from truebench_hf.report.sections import repeated as repeated_samples
from truebench_hf.results.report import Report
from truebench_hf.study.notes import by_rules, cut_off, rules_fact, weak_judges
from truebench_hf.study.outcome import LONGEST, Board, Column, Outcome, Row
from truebench_hf.study.study import Study
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Verdict


def paper_rows(table: str) -> list[dict[str, Any]]:
    """The rows of one of the paper's tables (1, 2, 3a, 3b, 4 to 8), keyed by column. Raises KeyError for others."""
    return paper.paper_rows("tick", f"tick_table{table}")


PAIRED_NOTE = "Intervals of differences are paired, in points; with fewer than ten instructions McNemar's p, where scores are 0 or 1."


INTERVAL = "95 % interval"


def with_interval(score: Score) -> str:
    """A score in percent with its interval behind it, if it has one."""
    return f"{sections.value(score)} ({sections.interval(score)})" if score.ci95 else sections.value(score)


def difference_points(difference: PairedDifference) -> tuple[str, str]:
    """(the difference in points, its 95 % interval or McNemar's p, "" without either)."""
    test = "" if difference.p_value is None else f"p = {difference.p_value:.3f}"
    return sections.points(difference.difference, 2), sections.points_between(difference.interval) or test


SCORES = {"pass_rate": "Pass rate", "drfr": "DRFR", "all_met": "All met"}
Labels = list[Label | None]


@dataclass(frozen=True, slots=True)
class Graded:
    """An instruction, its checklist, and what was judged of each model's responses; nothing without a checklist."""

    listed: Listed
    judged: Mapping[str, Sequence[Judged]]

    def labels(self, model: str) -> Labels:
        """The answers to the questions on a model's responses; [] where there are none."""
        return [label for sample in self.judged.get(model, ()) for label in _labels(sample)]

    def share(self, model: str) -> float | None:
        """The pass rate of a model's responses, their mean: see `_share`. None where none has any."""
        return mean([_share(sample) for sample in self.judged.get(model, ())])

    def met(self, model: str) -> list[bool | None]:
        """Whether all questions are answered YES, response by response."""
        return [rates.instance_passes([_labels(sample)]) for sample in self.judged.get(model, ())]

    def unscored(self, model: str) -> list[tuple[str, str]]:
        """(which response, why) of each that has no pass rate; without any response one entry says why."""
        if model in self.judged:
            samples = self.judged[model]
            beside = any(sample.response.sample > 1 for sample in samples)
            named = [(sample_name(*sample.key, beside=beside), sample) for sample in samples]
            return [(name, sample.undecided) for name, sample in named if _share(sample) is None]
        return [
            (self.listed.instance.id, "no response" if self.listed.criteria else f"no checklist: {self.listed.problem}")
        ]


def _labels(sample: Judged) -> Labels:
    return [label for turn in sample.outcomes for label in turn]


def _share(sample: Judged) -> float | None:
    """The pass rate of a response: the share (0..1) of questions answered YES; None while one is not answered."""
    return rates.checklist_share(_labels(sample))


@dataclass(frozen=True)
class Pair:
    """Two models by the pass rates of their responses to the same instructions.

    `win`, `tie` and `loss` are the first model's, shares of the instructions on which both are scored;
    `difference` is that of the mean pass rates (0..1).
    """

    first: str
    second: str
    win: Score
    tie: Score
    loss: Score
    difference: PairedDifference


def by_model(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """Each of `SCORES` by model, intervals with instructions as clusters.

    `pass_rate` is the mean of the responses' (macro), `drfr` the share of all questions (micro), `all_met` the share of
    responses with every question answered YES. Of several responses to an instruction the mean counts as one.
    """
    return {
        "pass_rate": {model: _mean_share(graded, model) for model in models},
        "drfr": {model: drfr([entry.labels(model) for entry in graded]) for model in models},
        "all_met": {model: over_instances([entry.met(model) for entry in graded]) for model in models},
    }


def repeated_scores(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """By model what several responses to an instruction tell of `all_met`; {} where there is one each."""
    summaries = {model: summary([entry.met(model) for entry in graded]) for model in models}
    return {model: scores for model, scores in summaries.items() if scores}


def _mean_share(graded: Sequence[Graded], model: str) -> Score:
    """The mean pass rate over instructions; a response with an unanswered question is left out."""
    return rates.mean_share([entry.share(model) for entry in graded])


def by_category(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """The mean pass rate by category and model, where the data names categories."""
    names = sorted({entry.listed.instance.category for entry in graded} - {""})
    groups = {name: [entry for entry in graded if entry.listed.instance.category == name] for name in names}
    return {name: {model: _mean_share(group, model) for model in models} for name, group in groups.items()}


def model_pairs(graded: Sequence[Graded], models: Sequence[str]) -> list[Pair]:
    """Every two models, in their order."""
    shares = {model: [entry.share(model) for entry in graded] for model in models}
    pairs = []
    for first, second in combinations(models, 2):
        labels = [preference_from_scores(a, b) for a, b in zip(shares[first], shares[second], strict=True)]
        win, tie, loss = (
            rates.pass_rate([None if label is None else label == name for label in labels])
            for name in ("win", "tie", "loss")
        )
        pairs.append(Pair(first, second, win, tie, loss, paired_difference(shares[first], shares[second])))
    return pairs


def unscored_responses(graded: Sequence[Graded], models: Sequence[str]) -> list[dict[str, Any]]:
    """What has no pass rate, and why: one entry an instruction without a checklist, else one a response."""
    expected = [(entry, name) for entry in graded for name in (models if entry.listed.criteria else [None])]
    return [
        {"id": id, "model": name, "reason": why} for entry, name in expected for id, why in entry.unscored(name or "")
    ]


Scores = Mapping[str, Mapping[str, Score]]
_REASONS = 5


def score_sections(
    scores: Scores, categories: Scores, pairs: Sequence[Pair], unscored: Sequence[Mapping[str, Any]],
    counts: Mapping[str, Any], graded: Sequence[Graded], repeated: Scores,
) -> list[sections.Section]:  # fmt: skip
    """Everything there is to show."""
    page_sections: list[sections.Section] = [_models(scores), _dots(scores)]
    page_sections += [repeated_samples(by, f"Repeated samples, all met: {model}") for model, by in repeated.items()]
    page_sections += [_pairs(pairs)] if pairs else []
    page_sections += [_categories(categories)] if categories else []
    page_sections += [_unscored(unscored)] if unscored else []
    return [*page_sections, *checklists.sections(counts), _conversations(graded, bool(repeated))]


def _models(scores: Scores) -> sections.Grid:
    header = ("Model", "pass rate", INTERVAL, "DRFR", INTERVAL, "all met", "responses", "unscored", "open questions")
    rows: list[tuple[str | int, ...]] = []
    for model, rate in scores["pass_rate"].items():
        micro, all_met = scores["drfr"][model], scores["all_met"][model]
        shares = [part for score in (rate, micro) for part in (sections.value(score), sections.interval(score))]
        rows.append((model, *shares, sections.value(all_met), rate.n, rate.unscored, micro.unscored))
    note = (
        "In %. Pass rate: mean over responses of the share of questions answered YES; a response with an open question "
        "has none. DRFR: the share of all answered questions. All met: responses with every question answered YES. "
        "Intervals have instructions as clusters; none from fewer than ten."
    )
    return sections.Grid("Models", header, tuple(rows), note=note)


def _dots(scores: Scores) -> sections.Dots:
    rates = [(model, rate) for model, rate in scores["pass_rate"].items() if rate.value is not None]
    lines = tuple((model, (sections.dot("Pass rate", rate.value or 0.0, rate.ci95),)) for model, rate in rates)
    return sections.Dots("Mean pass rates", lines)


def _pairs(pairs: Sequence[Pair]) -> sections.Grid:
    header = ("First", "Second", "win", "tie", "loss", "instructions", "left out", "difference", INTERVAL)
    rows: list[tuple[str | int, ...]] = []
    for pair in pairs:
        gap = pair.difference
        shares = map(with_interval, (pair.win, pair.tie, pair.loss))
        rows.append((pair.first, pair.second, *shares, gap.n, gap.left_out, *difference_points(gap)))
    note = (
        "On each instruction the response with the higher pass rate wins; shares in %, with Wilson intervals. The "
        f"difference is that of the mean pass rates on the same instructions, in points. {PAIRED_NOTE}"
    )
    return sections.Grid("Models against each other", header, tuple(rows), note=note)


def _categories(categories: Scores) -> sections.Matrix:
    models = list(next(iter(categories.values())))
    rows = tuple((name, tuple(scores[model] for model in models)) for name, scores in categories.items())
    return sections.Matrix("Pass rate by category", "Pass rate in %", tuple(models), rows)


def _unscored(unscored: Sequence[Mapping[str, Any]]) -> sections.Grid:
    rows = tuple((row["id"], row["model"] or "all", row["reason"][:160]) for row in unscored[:_REASONS])
    more = f"And {len(unscored) - len(rows)} more, in scores.json." if len(unscored) > len(rows) else ""
    return sections.Grid(f"Without a pass rate: {len(unscored)}", ("id", "model", "why"), rows, note=more, prose=(2,))


def without_answers(listed: Sequence[Listed]) -> sections.Conversations:
    """Every instruction with its questions, to which there are no answers yet."""
    return sections.Conversations("Instructions and their checklists", tuple(map(_checklist_only, listed)))


def _conversations(graded: Sequence[Graded], repeated: bool) -> sections.Conversations:
    """Every response with the answers to its questions; responses to one instruction stand together."""
    rows = []
    for entry in graded:
        conversations = [_answered(name, item, repeated) for name, samples in entry.judged.items() for item in samples]
        rows += conversations or [_checklist_only(entry.listed)]
    return sections.Conversations("Responses, question by question", tuple(rows))


def _checklist_only(listed: Listed) -> sections.Conversation:
    error = "" if listed.criteria else f"no checklist: {listed.problem}"
    exchanges = _exchanges(listed.instance, (), listed.criteria)
    return sections.Conversation(_title(listed.instance), exchanges, "", error, language=listed.instance.language)


def _answered(model: str, sample: Judged, repeated: bool) -> sections.Conversation:
    passed, instance, response = sample.passed, sample.instance, sample.response
    outcome: sections.Outcome = "open" if passed is None else "yes" if passed else "no"
    exchanges = _exchanges(
        instance, response.answers, tuple(map(as_counted, sample.verdicts[0])), "".join(response.reasoning)
    )
    number = f" · sample {response.sample}" if repeated else ""
    name = f"{_title(instance)} · {model}{number}"
    return sections.Conversation(name, exchanges, outcome, response.error or "", language=instance.language)


def _exchanges(
    instance: Instance, answers: Sequence[str], verdicts: Sequence[Verdict | Criterion], reasoning: str = ""
) -> tuple[sections.Exchange, ...]:
    """What was said before, and the instruction with its answer and its questions."""
    latest_messages = (Message("user", instance.turns[0].prompt), *(Message("assistant", text) for text in answers))
    exchanges = sections.exchanges((*with_history(instance, as_answered(instance, ())), *latest_messages), ())
    return (*exchanges[:-1], replace(exchanges[-1], verdicts=tuple(verdicts), reasoning=reasoning))


def _title(instance: Instance) -> str:
    """What an instruction is called; what the data does not tell is left out."""
    return " · ".join(filter(None, (instance.id, instance.language, instance.category, instance.task)))


BENCHMARK = "tick"  # what judge prompts know the conventions of its questions by
# Not judgments.jsonl, by which the Space knows the conversations of a single model.
VERDICTS = "verdicts.jsonl"
FILES = ("scores.json", checklists.FILE, RESPONSES, VERDICTS)
_JUDGING = ("judge_models", "judge_level", "threshold", "votes", "judge_temperature", "structured", "rules")
PROMPTS = ("generate_checklist",)  # prompts of who writes checklists
REPEATED = "repeated_samples"
_MOST_CATEGORIES = 100  # a leaderboard of more columns nobody reads


async def judged(judge: Judge, instance: Instance, response: Response) -> Judged:
    """The response to an instruction, with an answer to every question; without a response none, with the reason."""
    spent = metered()
    verdicts = [await judge.verdicts(case) for case in cases(instance, response, BENCHMARK)]
    return judgment(instance, response, verdicts, spent | {"model": response.usage})


def results(study: Study[Any, Any, Any, Any], graded: Sequence[Graded], models: Sequence[str]) -> Outcome[Report]:
    """The scores of every model, the models against each other, and all that a study leaves in its folder."""
    judge, provenance = study.options.judge, study.provenance
    scores, categories = by_model(graded, models), by_category(graded, models)
    pairs, open_ = model_pairs(graded, models), unscored_responses(graded, models)
    counts = checklists.summary([entry.listed for entry in graded])
    all_judged = [judged for entry in graded for samples in entry.judged.values() for judged in samples]
    repeated = repeated_scores(graded, models)
    notes = list(_notes(all_judged, models, judge, study.options.settings))
    named = {**scores, **{f"pass_rate:{name}": by for name, by in categories.items()}}
    named |= {f"{REPEATED}:{model}": by for model, by in repeated.items()}
    reasons = {f"{row['id']} ({row['model']})" if row["model"] else row["id"]: row["reason"] for row in open_}
    report = Report(named, reasons, study.folder.usage(), provenance, tuple(notes), judged=tuple(all_judged))
    rows = checklists.with_others(study.options, [checklists.to_row(entry.listed) for entry in graded])
    files = {
        "scores.json": report.to_dict() | {
            "pairs": [asdict(pair) for pair in pairs], "checklists": counts, "rows_left_out": list(study.all.left_out),
        },
        checklists.FILE: rows,
        RESPONSES: response_lines((entry.instance, entry.response) for entry in all_judged),
        VERDICTS: judgment_lines(all_judged, judge),
    }  # fmt: skip
    return Outcome(
        report, files, "TICK: checklists answered", score_sections(scores, categories, pairs, open_, counts, graded, repeated),
        lead=f"{', '.join(models)} judged by {judge}", notes=notes,
        facts={"Judge": judge, "Checklists": _origins(graded), "Data": provenance.get("data") or "one instruction"},
        board=_board(graded, scores, categories, provenance, judge), incomplete=len(open_),
    )  # fmt: skip


def _notes(all_judged: Sequence[Judged], models: Sequence[str], judge: str, how: JudgeSettings) -> Iterator[str]:
    yield from cut_off(sum(len(item.response.truncated) for item in all_judged))
    if own := [model for model in models if family(model) == family(judge)]:
        yield f"Self-judged: {', '.join(own)} and the judge belong to one family, which favours the model."
    yield from by_rules(
        (turn for item in all_judged for turn in item.verdicts[: len(item.response.answers)]),
        how.rules, how.level, votes=how.votes,
    )  # fmt: skip
    yield from weak_judges([judge])


def _origins(graded: Sequence[Graded], display: Callable[[str], str] = str) -> str:
    """Whose the checklists are: the models that wrote them, and where others come from."""
    checklists = (entry.listed for entry in graded if entry.listed.criteria)
    return ", ".join(dict.fromkeys(_origin(checklist, display) for checklist in checklists)) or "none"


def _origin(listed: Listed, display: Callable[[str], str]) -> str:
    if listed.source == "file":  # people may have edited it
        return f"{display(listed.generator)}, as given by --checklists" if listed.generator else "given by --checklists"
    return display(listed.generator) if listed.generator else "the data"


def _board(
    graded: Sequence[Graded], scores: Mapping[str, Mapping[str, Score]], categories: Mapping[str, Mapping[str, Score]],
    provenance: Mapping[str, Any], judge: str,
) -> Board:  # fmt: skip
    """A row a model; ranked together are those with the same instructions, the same questions and the same judging."""
    known = categories if len(categories) <= _MOST_CATEGORIES else {}
    category_columns = {name: by for name, by in known.items() if len(name) <= LONGEST // 2}
    columns = [Column(name, title) for name, title in SCORES.items()]
    columns += [Column(f"category:{name}", name, "Categories") for name in category_columns]
    how = {name: provenance.get(name) for name in _JUDGING}
    how["prompts"] = {name: text for name, text in provenance["prompts"].items() if name not in PROMPTS}
    instances = [asdict(entry.listed.instance) for entry in graded]  # with its criteria, whoever wrote them
    setting = digest(canonical([instances, anonymous.settings(how)]))
    facts = {
        "Judge": anonymous.name(judge) + "".join(f" (rules {mode})" for mode in rules_fact(provenance).values()),
        "Checklists": _origins(graded, anonymous.name)[:LONGEST],
        "Data": anonymous.name(str(provenance.get("data") or "one instruction")),
    }  # fmt: skip
    if (most := max((len(samples) for entry in graded for samples in entry.judged.values()), default=1)) > 1:
        facts["Samples"] = str(most)
    lines, named = [], anonymous.names(scores["pass_rate"])
    for model in scores["pass_rate"]:
        cells = {name: scores[name][model] for name in SCORES}
        cells |= {f"category:{name}": by[model] for name, by in category_columns.items()}
        lines.append(Row(named[model], setting, cells, facts))
    unit = "Mean pass rate in %: questions answered YES"
    return Board("pass_rate", tuple(columns), tuple(lines), title="TICK: any prompts", unit=unit)
