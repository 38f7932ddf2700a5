"""Questions with their categories: how well they were found, and how responses do by them (Table 7, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.tick.paper import paper_rows
from truebench_hf.benchmarks.tick.validation.comparisons import answered, answerers
from truebench_hf.data.checklist_rows import Entry, Written
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.agreement import SetScores, set_scores
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.report.sections import Grid, fixed, interval, percent
from truebench_hf.study.board import Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Score


@dataclass(frozen=True)
class Question:
    """A question of a checklist: what annotators all named (None: nobody sorted it), and what the model named.

    `named` is None where the model gave no answer that can be read, and `reason` says why.
    """

    entry: Entry
    checklist: Written
    index: int
    gold: frozenset[str] | None
    named: tuple[str, ...] | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """The question itself."""
        return self.checklist.questions[self.index]

    @property
    def shown(self) -> Sequence[str]:
        """The categories it counts under: the model's, or else the annotators'."""
        return self.named if self.named is not None else sorted(self.gold or ())

    def row(self) -> dict[str, Any]:
        """Its line in `categories.jsonl`."""
        gold = None if self.gold is None else sorted(self.gold)
        about = {"id": self.entry.id, "checklist_id": self.checklist.id, "question": self.text}
        named = None if self.named is None else list(self.named)
        return about | {"categories": named, "annotators": gold, "reason": self.reason}


def by_scheme(entry: Entry, names: Mapping[str, str]) -> bool:
    """Whether its annotators sorted by these names, if at all."""
    return {name for one in entry.categories for listed in one.categories for name in listed} <= set(names)


def questions(entry: Entry, names: Mapping[str, str]) -> Iterator[Question]:
    """The questions of a row with what all annotators named, if they sorted by these names."""
    for checklist in entry.checklists:
        sorted_ = [one.categories for one in entry.categories if one.checklist_id == checklist.id]
        if not by_scheme(entry, names):
            sorted_ = []
        for index in range(len(checklist.questions)):
            given = [set(one[index]) for one in sorted_]
            yield Question(entry, checklist, index, frozenset(set.intersection(*given)) if given else None)


def against_annotators(done: Sequence[Question]) -> SetScores | None:
    """How well what all annotators named is found; None where nobody sorted."""
    known = [one for one in done if one.gold is not None]
    return set_scores([one.gold or () for one in known], [one.named for one in known]) if known else None


def counts(done: Sequence[Question], name: str) -> dict[str, int]:
    """Of a category: questions that annotators, the model, and both put into it."""
    gold = [one for one in done if name in (one.gold or ())]
    named = [one for one in done if name in (one.named or ())]
    return {"annotators": len(gold), "model": len(named), "both": sum(name in (one.named or ()) for one in gold)}


def pass_rates(done: Sequence[Question]) -> dict[str, dict[str, Score]]:
    """The pass rate of the questions of each category, by whose responses and who answered (Figure 4).

    Questions left open are counted apart; instructions are the clusters of the intervals.
    """
    entries = list({one.entry.id: one.entry for one in done}.values())
    labels: dict[str, dict[str, dict[str, list[str | None]]]] = {}
    for by in answerers(entries):
        for one in done:
            for response in one.entry.responses:
                answers = answered(one.entry, response, one.checklist, by)
                for name in one.shown if answers else ():
                    who = f"{response.model or 'responses'}, answered by {by}"
                    per = labels.setdefault(who, {}).setdefault(name, {})
                    per.setdefault(one.entry.id, []).append(answers[one.index] if answers else None)
    return {who: {name: _score(list(per.values())) for name, per in found.items()} for who, found in labels.items()}


def _score(clusters: Sequence[Sequence[str | None]]) -> Score:
    answers = [(None if label is None else label == "yes", i) for i, labels in enumerate(clusters) for label in labels]
    return clustered_rate([answer for answer, _ in answers], [place for _, place in answers])


def board(model: str, scores: SetScores | None, made: Mapping[str, Any]) -> Board | None:
    """The model by its F1, among those that sorted the same questions by the same categories."""
    if scores is None or scores.f1 is None:
        return None
    columns = (Column("f1", "F1"), Column("precision", "Precision"), Column("recall", "Recall"))
    cells = {one.name: Score(getattr(scores, one.name), scores.n, scores.undecided) for one in columns}
    setting = digest(canonical([made["data_sha256"], made["categories"]]))
    return Board(
        "f1", columns, (Row(anonymous.name(model), setting, cells, {"Data": anonymous.name(str(made["data"]))}),),
        title="TICK: categories of questions", unit="F1 in %",
    )  # fmt: skip


def sections(
    model: str | None, scores: SetScores | None, counted: Mapping[str, Mapping[str, int]],
    rates: Mapping[str, Mapping[str, Score]],
) -> list[Grid]:  # fmt: skip
    """The report: paper table 7, how many questions there are of each category, and figure 4."""
    found: list[Grid] = []
    if scores:
        line = (str(model), scores.n, scores.empty, scores.undecided)
        shares = tuple(fixed(value, 3) for value in (scores.precision, scores.recall, scores.f1))
        paper = [
            (f"GPT-4o on {r['Dataset']}", "", "", "", *(fixed(r[x], 3) for x in ("Precision", "Recall", "F1")))
            for r in paper_rows("7")
        ]
        note = "Against what all annotators named; each measure per question, then averaged, as the paper must have done: its F1 is no harmonic mean of the two beside it. Questions on which annotators share no category are left out, as are those without a readable answer."
        header = ("Sorted by", "questions", "no common category", "unread", "precision", "recall", "F1")
        found.append(
            Grid("Questions sorted (like the paper's table 7)", header, ((*line, *shares),), tuple(paper), note)
        )
    rows: list[tuple[str | int, ...]] = [(name, *of.values()) for name, of in counted.items() if any(of.values())]
    found.append(Grid("Questions by category", ("category", "annotators", "model", "both"), tuple(rows)))
    lines = [
        (name, who, of[name].n, percent(of[name].value, 1), interval(of[name]), of[name].unscored)
        for name in counted for who, of in rates.items() if name in of
    ]  # fmt: skip
    if lines:
        note = (
            "Share of questions answered yes, by the categories of the model, or of the annotators where it gave none."
        )
        columns = ("category", "responses", "answers", "pass rate", "95 % interval", "open")
        found.append(Grid("Pass rate by category (like the paper's figure 4)", columns, tuple(lines), note=note))
    return found
