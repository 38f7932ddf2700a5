"""What comes of a run: tables of scores, every answer beside the passages that hold it, and its place on a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts.scores import MEAN, VERDICTS, Graded, GroundingScores, verdict_frame
from truebench_hf.benchmarks.facts.templates import UNJUDGED
from truebench_hf.data.judged import Judged, by_instance
from truebench_hf.data.records import JUDGMENTS, judgment_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.grounding.classifier import CLASSIFIER
from truebench_hf.judging.grounding.types import TEMPLATES
from truebench_hf.judging.signed_asking import texts_of
from truebench_hf.metrics.votes import summary
from truebench_hf.models.spec import family
from truebench_hf.report.page import page_bytes
from truebench_hf.report.sections import Conversation, Conversations, conversation, points
from truebench_hf.report.table import Column, Part, Table, pairs
from truebench_hf.study.notes import rules_fact, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.text import anonymous
from truebench_hf.types import Score

_REASONS = 5  # of undecided answers that are shown
_PAGE, _FRAME = 4_500_000, 50  # bytes that all answers may take on a page, and what stands around a text of one
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

    `judging` is what two runs must have in common to be ranked together: `judges`, how each is asked, and the
    `baseline`; beside them the `model`. The hashes of the documents are added here.
    """
    repeated = any(graded.response.sample > 1 for graded in done)
    judging = {**judging, "documents": _documents(done, "sha256" not in judging["baseline"])}
    lines, judged = [graded.row(judging["model"], repeated) for graded in done], [graded.judged for graded in done]
    scores = GroundingScores.of(verdict_frame(lines))
    unscored = [{"answer": graded.name(repeated), "reason": graded.undecided} for graded in done if graded.undecided]
    tables = score_tables(scores, judged, judging["judges"])
    if unscored:  # all of it for scores.json, and the first lines for readers
        title = f"Undecided: {len(unscored)} of {len(done)} answers, left out where nothing was settled"
        rest = f"And {len(unscored) - _REASONS} more, in scores.json." if len(unscored) > _REASONS else ""
        columns = (Column("answer", "Answer"), Column("reason", "Reason", "prose"))
        tables += [
            pairs(title, [(row["answer"], row["reason"][:160]) for row in unscored[:_REASONS]], rest),
            Table("unscored", columns, unscored, "Undecided", on_page=False),
        ]
    model, judges = judging["model"], judging["judges"]
    how = (
        f"{name} ({settings['template']}, eligibility {settings['eligibility']})" for name, settings in judges.items()
    )
    facts = {"Model": model, "Judges": "; ".join(how), "Baseline": judging["baseline"]["name"]}
    if provenance.get("answers"):
        facts["Answers"] = Path(provenance["answers"]).name
    return Outcome(
        scores, title=f"FACTS Grounding: {model}", lead=f"{model} judged by {', '.join(judges)}",
        tables=tables, conversations=answers(judged, repeated, out),
        items={VERDICTS: lines, JUDGMENTS: judgment_lines(judged, " + ".join(judges))},
        notes=notes(done, judging), facts=facts, ranking=ranking(scores, judging, provenance),
        known={"judging": judging}, incomplete=len(unscored),
    )  # fmt: skip


def score_tables(
    scores: GroundingScores, judged: Sequence[Judged], how: Mapping[str, Mapping[str, Any]]
) -> list[Table]:
    """Return the tables of scores that have rows; `how` each judge is asked, by name."""
    mean, rated = scores.mean, any(settings["eligibility"] != UNJUDGED for settings in how.values())
    measures, counts = ((FINAL, UNADJUSTED), (INELIGIBLE, ANSWERS)) if rated else ((UNADJUSTED,), (ANSWERS,))
    repeats = summary([[item.passed for item in samples] for samples in by_instance(judged)])
    totals = [{"name": column.title, "score": mean[column.name]} for column in measures]
    totals += [{"name": _REPEATS + name.replace("_", " "), "score": score} for name, score in repeats.items()]
    note = "95 % intervals: Wilson; where documents have several judges or answers, from how documents differ, and none from fewer than ten."
    titles = {name: template.paper for name, template in TEMPLATES.items()}
    by_judge = [row for row in scores.rows() if row["judge"] != MEAN]
    judges = [
        row | {name: row[name] or None for name in ("undecided", "unrated")}
        | {"template": titles.get(name := how[row["judge"]]["template"], name)} for row in by_judge
    ]  # fmt: skip
    judges += [mean | {"undecided": None, "unrated": None, "major": mean["ineligible"]}] if len(judges) > 1 else []
    out = f"Ineligible, since every judge finds major issues: {mean['ineligible']} of {mean['answers']} answers."
    if None not in (mean["final"].value, mean["unadjusted"].value):
        effect = points(mean["final"].value - mean["unadjusted"].value, 2)
        out += f" Disqualification changes the mean by {effect} points."
    columns = (_JUDGE, Column("template", "template", minor=1), *measures, *(_BY_JUDGE if rated else _BY_JUDGE[:1]))
    groups = [row for by in scores.groupings for row in scores.rows(by)]
    by_group = (Column("by", "By"), Column("group", "Group"))
    tables = [
        Table("scores", (Column("name", "Score"), _SCORE), totals, note=note, headline=True),
        Table("judges", columns, judges, "By judge", out if rated else ""),
        Table("evidence", _EVIDENCE, [row for row in by_judge if row["supported"]],
              "How much of what is called supported can be checked",
              "A sentence is checked by the excerpts that the judge names: without them its word stands alone."),
        Table("groups", (*by_group, *measures, *counts), [row for row in groups if row["judge"] == MEAN],
              "By group, mean of the judges", keys=2),
        Table("groups_by_judge", (*by_group, _JUDGE, *measures, *counts), [row for row in groups if row["judge"] != MEAN],
              "By group and judge", keys=3, on_page=False),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def answers(judged: Sequence[Judged], repeated: bool, out: str) -> Conversations:
    """Return the answers beside the passages that hold them, those that fail first, as many as a page has room for."""
    rows: list[Conversation] = []
    room = _PAGE
    for item in sorted(judged, key=lambda item: {False: 0, None: 1, True: 2}[item.passed]):
        # In pieces as the first judge sees it, and as those do who object.
        tones = [{mark.tone for mark in answer.marks} for answer in item.marked]
        marked = [answer for place, answer in enumerate(item.marked) if not place or tones[place] & {"no", "open"}]
        row = conversation(replace(item, marked=tuple(marked)), item.passed, repeated)
        texts = list(texts_of(asdict(row)))
        room -= page_bytes(texts) + _FRAME * len(texts)
        if room < 0 and rows:
            break
        rows.append(row)
    about = "Passed: every judge finds the answer grounded, and it is eligible. In pieces as the first judge sees it, and as those do who object."
    if more := len(judged) - len(rows):
        about += f" And {more:,} more: `truebench space --runs {out}` shows all."
    return Conversations("Answers", tuple(rows), about)


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
    judges = " + ".join(f"{anonymous.name(name)} ({how['template']})" for name, how in judging["judges"].items())
    rules = "".join(f" (rules {mode})" for mode in rules_fact(provenance).values())
    sample = f", sample of {provenance['limit']}" if provenance.get("limit") else ""
    samples = provenance.get("samples", 1)
    row: dict[str, Any] = {
        "Model": judging["model"], "Judge": judges + rules, "Data": f"{anonymous.name(judging['data'])}{sample}",
        "Baseline": judging["baseline"]["name"], "Samples": str(samples) if samples > 1 else "",
    }  # fmt: skip
    columns = [Column(name, name) for name in row]

    def add(column: Column, score: Score) -> None:
        columns.append(column)
        row[column.name] = score

    for column in (FINAL, UNADJUSTED):
        add(column, scores.mean[column.name])
    for cells in (cells for cells in scores.rows() if cells["judge"] != MEAN):
        for name, measure in (("judge", "final"), ("unadjusted", "unadjusted")):
            title = cells["judge"]
            add(Column(f"{name}:{title}", title, "score", group=f"Judges, {measure}"), cells[measure])
    for by in scores.groupings:
        kind, mark, classified = by.partition(" (")  # `domain (classified)` is a model's word, not the data's
        for cells in scores.rows(by, MEAN):
            name, group = cells["group"], _GROUPS[kind] + mark + classified
            add(Column(f"{by}:{name}", name, "score", group=group), cells["final"])
    documents, baseline = judging["documents"][""], judging["baseline"].get("sha256")
    alike = [documents, judging["judges"], baseline, provenance.get("rules", "off")]
    return Ranking(Table("ranking", columns, [row]), FINAL.name, alike)
