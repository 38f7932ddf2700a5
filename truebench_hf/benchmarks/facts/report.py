"""What comes of a run: tables of scores, every answer beside the passages that hold it, and its place on a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts.graded import Graded
from truebench_hf.benchmarks.facts.scores import MEAN, VERDICTS, GroundingScores, verdict_frame
from truebench_hf.benchmarks.facts.templates import UNJUDGED
from truebench_hf.data.judged import Judged, Marked, by_instance
from truebench_hf.data.records import JUDGMENTS, judgment_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.grounding.classifier import CLASSIFIER
from truebench_hf.judging.grounding.types import TEMPLATES
from truebench_hf.metrics.repeated import summary
from truebench_hf.models.spec import family
from truebench_hf.report.conversation import conversation
from truebench_hf.report.page import page_bytes
from truebench_hf.report.sections import Conversation, Conversations, points
from truebench_hf.report.table import Column, Part, Table, pairs
from truebench_hf.study.notes import rules_fact, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.text import anonymous

_REASONS = 5  # of undecided answers that are shown
_PAGE, _FRAME = 4_500_000, 130  # bytes that all answers may take on a page, and what a piece of one adds to its text
_GROUPS = {
    "split": "Splits",
    "domain": "Domains",
    "task": "Tasks",
    "length": "Document length",
    "language": "Languages",
}
_PARTS: tuple[Part, ...] = ("value", "interval")
UNADJUSTED = Column("unadjusted", "Unadjusted", "score", "Grounded answers, eligible or not.", parts=_PARTS, drawn=True)
FINAL = Column("final", "Final", "score", "Ineligible answers count as inaccurate.", parts=_PARTS, drawn=True)
INELIGIBLE = Column("ineligible", "ineligible", "count", "Answers in which all judges find major issues.", minor=1)
ANSWERS = Column("answers", "answers", "count", minor=2)
_JUDGE = Column("judge", "Judge")
_BY_JUDGE = (
    Column("undecided", "undecided", "count", "Answers on whose grounding the judge settled nothing."),
    Column("major", "major issues", "count", "Answers in which the judge, or all judges, find major issues.", minor=1),
    Column("unrated", "unrated", "count", "Answers whose eligibility the judge left open.", minor=2),
)
_EVIDENCE = (
    _JUDGE, Column("supported", "supported", "count", "Sentences that the judge calls supported."),
    Column("checkable", "checkable", "score", "Sentences of which all excerpts are found in the prompt.", parts=_PARTS, drawn=True),
    Column("unquoted", "no excerpt", "count", "Sentences for which the judge names no excerpt."),
    Column("unfound", "excerpt not found", "count", "Sentences with an excerpt that stands nowhere in the prompt."),
)  # fmt: skip
_SCORE = Column("score", "%", "score", parts=(*_PARTS, "n", "unscored"), drawn=True)
_REPEATS = "passed by every judge, of repeated samples: "


def outcome(
    done: Sequence[Graded], judging: Mapping[str, Any], provenance: Mapping[str, Any], out: str
) -> Outcome[GroundingScores]:
    """Return the scores of a run with its files and its report.

    `judging` is what two runs must have in common to be ranked together: `judges` as `judges_facts` has them and the
    `baseline`; beside them the `model`. The hashes of the documents are added here.
    """
    repeated = any(graded.response.sample > 1 for graded in done)
    judging = {**judging, "documents": _documents(done, "sha256" not in judging["baseline"])}
    lines, judged = [graded.row(judging["model"], repeated) for graded in done], [graded.judged for graded in done]
    scores = GroundingScores.of(verdict_frame(lines))
    unscored = [(graded.name(repeated), graded.undecided) for graded in done if graded.undecided]
    model, judges = judging["model"], judging["judges"]
    return Outcome(
        scores, title=f"FACTS Grounding: {model}", lead=f"{model} judged by {', '.join(judges)}",
        tables=[*score_tables(scores, judged, judges), *_unscored(unscored, len(done))],
        conversations=answers(judged, repeated, out),
        items={VERDICTS: lines, JUDGMENTS: judgment_lines(judged, " + ".join(judges))},
        notes=notes(done, judging), facts=_facts(judging, provenance), ranking=ranking(scores, judging, provenance),
        known={"judging": judging}, incomplete=len(unscored),
    )  # fmt: skip


def score_tables(
    scores: GroundingScores, judged: Sequence[Judged], how: Mapping[str, Mapping[str, Any]]
) -> list[Table]:
    """Return the tables of scores that have rows; `how` each judge is asked, by name."""
    mean, rated = scores.mean, rates_eligibility(how)
    measures = (FINAL, UNADJUSTED) if rated else (UNADJUSTED,)
    repeats = summary([[item.passed for item in samples] for samples in by_instance(judged)])
    totals = [{"name": column.title, "score": mean[column.name]} for column in measures]
    totals += [{"name": _REPEATS + name.replace("_", " "), "score": score} for name, score in repeats.items()]
    note = "95 % intervals: Wilson; where documents have several judges or answers, from how documents differ, and none from fewer than ten."
    by_judge = [
        row | {"template": _template(how[row["judge"]]["template"])} for row in scores.rows() if row["judge"] != MEAN
    ]
    judges = [row | {name: row[name] or None for name in ("undecided", "unrated")} for row in by_judge]
    judges += [mean | {"undecided": None, "unrated": None, "major": mean["ineligible"]}] if len(judges) > 1 else []
    columns = (_JUDGE, Column("template", "template", minor=1), *measures, *(_BY_JUDGE if rated else _BY_JUDGE[:1]))
    sentences = [row for row in by_judge if row["supported"]]
    groups = [row for by in scores.groupings for row in scores.rows(by)]
    by_group = (Column("by", "By"), Column("group", "Group"))
    counts = (INELIGIBLE, ANSWERS) if rated else (ANSWERS,)
    tables = [
        Table("scores", (Column("name", "Score"), _SCORE), totals, note=note, headline=True),
        Table("judges", columns, judges, "By judge", _disqualified(mean) if rated else ""),
        Table("evidence", _EVIDENCE, sentences, "How much of what is called supported can be checked",
              "A sentence is checked by the excerpts that the judge names: without them its word stands alone."),
        Table("groups", (*by_group, *measures, *counts), [row for row in groups if row["judge"] == MEAN],
              "By group, mean of the judges", keys=2),
        Table("groups_by_judge", (*by_group, _JUDGE, *measures, *counts), [row for row in groups if row["judge"] != MEAN],
              "By group and judge", keys=3, on_page=False),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def rates_eligibility(how: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return True if one of the judges rates eligibility."""
    return any(settings["eligibility"] != UNJUDGED for settings in how.values())


def _template(name: str) -> str:
    return TEMPLATES[name].paper if name in TEMPLATES else name


def _disqualified(mean: Mapping[str, Any]) -> str:
    final, unadjusted = mean["final"].value, mean["unadjusted"].value
    line = f"Ineligible, since every judge finds major issues: {mean['ineligible']} of {mean['answers']} answers."
    if final is None or unadjusted is None:
        return line
    return f"{line} Disqualification changes the mean by {points(final - unadjusted, 2)} points."


def _unscored(reasons: Sequence[tuple[str, str]], count: int) -> list[Table]:
    """What left answers undecided: all of it for scores.json, and the first lines for readers."""
    if not reasons:
        return []
    columns = (Column("answer", "Answer"), Column("reason", "Reason", "prose"))
    rows = [{"answer": name, "reason": reason} for name, reason in reasons]
    rest = f"And {len(reasons) - _REASONS} more, in scores.json." if len(reasons) > _REASONS else ""
    first = [(name, reason[:160]) for name, reason in reasons[:_REASONS]]
    title = f"Undecided: {len(reasons)} of {count} answers, left out where nothing was settled"
    return [pairs(title, first, rest), Table("unscored", columns, rows, "Undecided", on_page=False)]


def answers(judged: Sequence[Judged], repeated: bool, out: str) -> Conversations:
    """Return the answers beside the passages that hold them, those that fail first, as many as a page has room for."""
    rows: list[Conversation] = []
    room = _PAGE
    for item in sorted(judged, key=lambda item: {False: 0, None: 1, True: 2}[item.passed]):
        item = replace(item, marked=_telling(item.marked))
        room -= _size(item)
        if room < 0 and rows:
            break
        rows.append(conversation(item, item.passed, repeated))
    about = "Passed: every judge finds the answer grounded, and it is eligible. In pieces as the first judge sees it, and as those do who object."
    more = len(judged) - len(rows)
    return Conversations(
        "Answers",
        tuple(rows),
        about + (f" And {more:,} more: `truebench space --runs {out}` shows all." if more else ""),
    )


def _telling(marked: Sequence[Marked]) -> tuple[Marked, ...]:
    """The first judge, and those who are not content."""
    tones = [{mark.tone for mark in answer.marks} for answer in marked]
    return tuple(answer for place, answer in enumerate(marked) if not place or tones[place] & {"no", "open"})


def _size(item: Judged) -> int:
    """About how many bytes of a page an answer takes."""
    verdicts = [verdict for turn in item.verdicts for verdict in turn]
    marks = [mark for answer in item.marked for mark in answer.marks]
    texts = [message.content for message in item.response.messages if not (marks and message.role == "assistant")]
    texts += [text for verdict in verdicts for text in (verdict.criterion.text, verdict.reason)]
    texts += [text for mark in marks for text in (mark.text, mark.note, *mark.beside)]
    return page_bytes(texts) + _FRAME * (2 + len(verdicts) + len(marks))


def notes(done: Sequence[Graded], judging: Mapping[str, Any]) -> list[str]:
    """Return what a reader has to know."""
    how, total = judging["judges"], len(done)
    rating = [name for name, settings in how.items() if settings["eligibility"] != UNJUDGED]
    specs = [name.rpartition("#")[0] or name for name in how]
    counts = {
        "{} of {} answers are their own baseline, word for word: nobody judged whether they are eligible.":
            sum(graded.itself for graded in done),
        "{} of {} answers could not be had: undecided, never inaccurate.": sum(graded.response.error is not None for graded in done),
        "{} of {} answers rest on no passages: retrieval found none, and the request is all evidence.":
            sum(not graded.item.document for graded in done),
        "{} of {} answers were cut off at the token limit and judged as they stand.":
            sum(bool(graded.response.truncated) for graded in done),
    }  # fmt: skip
    facts = {
        "Eligibility was not judged: an evasive answer counts as accurate where it is grounded.": not rating,
        **{text.format(count, total): bool(count) for text, count in counts.items()},
        f"Eligibility is judged by {len(rating)} of {len(how)} judges: classifiers rate none.": 0 < len(rating) < len(how),
        **{f"{name} counts a sentence as supported from 0.5 on, which is a guess: `facts select-template` fits it on labels.":
               settings["template"] == CLASSIFIER and "threshold" not in settings for name, settings in how.items()},
        "Several judges are one: one model is asked in several ways, which are no independent opinions.": len({*specs}) < len(specs),
        "A judge belongs to the family of the model, which favours it.": family(judging["model"]) in {*map(family, specs)},
    }  # fmt: skip
    return [*(text for text, holds in facts.items() if holds), *weak_judges(how)]


def _facts(judging: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, object]:
    judges = (
        f"{name} ({settings['template']}, eligibility {settings['eligibility']})"
        for name, settings in judging["judges"].items()
    )
    facts = {"Model": judging["model"], "Judges": "; ".join(judges), "Baseline": judging["baseline"]["name"]}
    return facts | ({"Answers": Path(provenance["answers"]).name} if provenance.get("answers") else {})


def _documents(done: Iterable[Graded], with_baselines: bool) -> dict[str, str]:
    """Hashes over what was asked, whoever answered it, and the baseline answers that came with it: by split, "" for all."""
    questions: dict[str, dict[str, list[Any]]] = {"": {}}
    for graded in done:
        item = graded.item
        question = [item.source.system, item.document, item.source.request, graded.baseline if with_baselines else None]
        for split in {"", item.split}:
            questions.setdefault(split, {})[graded.document] = question
    return {split: digest(canonical([by_id[name] for name in sorted(by_id)])) for split, by_id in questions.items()}


def ranking(scores: GroundingScores, judging: Mapping[str, Any], provenance: Mapping[str, Any]) -> Ranking:
    """Return the one row of a run: those over the same documents are ranked together when judges and baseline are the same."""
    rules = "".join(f" (rules {mode})" for mode in rules_fact(provenance).values())
    judges = (
        " + ".join(f"{anonymous.name(name)} ({how['template']})" for name, how in judging["judges"].items()) + rules
    )
    sample = f", sample of {provenance['limit']}" if provenance.get("limit") else ""
    samples = provenance.get("samples", 1)
    texts = {
        "Model": judging["model"], "Judge": judges, "Data": f"{anonymous.name(judging['data'])}{sample}",
        "Baseline": judging["baseline"]["name"], "Samples": str(samples) if samples > 1 else "",
    }  # fmt: skip
    named = [*_score_cells(scores)]
    row = {**texts, **{column.name: score for column, score in named}}
    table = Table("ranking", [*(Column(name, name) for name in texts), *(column for column, _ in named)], [row])
    alike = [
        judging["documents"][""],
        judging["judges"],
        judging["baseline"].get("sha256"),
        provenance.get("rules", "off"),
    ]
    return Ranking(table, FINAL.name, alike)


def _score_cells(scores: GroundingScores) -> Iterator[tuple[Column, Any]]:
    for column in (FINAL, UNADJUSTED):
        yield column, scores.mean[column.name]
    for row in scores.rows():
        if row["judge"] != MEAN:
            yield Column(f"judge:{row['judge']}", row["judge"], "score", group="Judges, final"), row["final"]
            yield (
                Column(f"unadjusted:{row['judge']}", row["judge"], "score", group="Judges, unadjusted"),
                row["unadjusted"],
            )
    for by in scores.groupings:
        kind, mark, classified = by.partition(" (")  # `domain (classified)` is a model's word, not the data's
        for row in scores.rows(by, MEAN):
            group = _GROUPS[kind] + mark + classified
            yield Column(f"{by}:{row['group']}", row["group"], "score", group=group), row["final"]
