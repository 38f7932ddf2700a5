"""The report of a validation: the paper's tables 2, 3a and 3b, its figures 2 and 5, and appendix B.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from truebench_hf.benchmarks.tick.paper import paper_rows
from truebench_hf.benchmarks.tick.validation.accuracy import Accuracy, accuracy
from truebench_hf.benchmarks.tick.validation.comparisons import PEOPLE, difficulty, lengths, likeness, rates
from truebench_hf.data.checklist_rows import Entry
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.checklists import USUAL
from truebench_hf.report.sections import Axis, Cells, Grid, Plot, Section, Series, fixed, interval, percent
from truebench_hf.study.board import Board, Column, Row
from truebench_hf.study.notes import rules_fact
from truebench_hf.text import anonymous

TITLE = "TICK: checklists and their judges, validated"
LEAD = "Checklists are held against the chosen ones, and who answers them against the majority of the annotators."
_PAPER_B2 = (("GPT-4o", "InFoBench score", "-0.001"), ("GPT-4o", "WildBench score", "0.028"))  # appendix B.2, its text
_MEASURES = ("BLEU", "ROUGE-1 F1", "ROUGE-2 F1", "ROUGE-L F1")


def sections(entries: Sequence[Entry]) -> list[Section]:
    """Whatever the rows have something for."""
    return [*_alike(entries), *_rates(entries), *_accuracy(entries), *_lengths(entries), *_hard(entries)]


def board(entries: Sequence[Entry], made: Mapping[str, Any]) -> Board | None:
    """The judges by their accuracy with one answer, with reasoning where they have it; None where there are none."""
    found = [one for one in accuracy(entries) if one.mode]
    lines = []
    for by in dict.fromkeys(one.by for one in found):
        own = {(one.mode, one.k): one.score for one in found if one.by == by}
        most = max((k for mode, k in own if mode == "reasoning"), default=1)
        cells = {"direct": own.get(("direct", 1)), "majority": own.get(("reasoning", most)) if most > 1 else None}
        cells["accuracy"] = own.get(("reasoning", 1)) or own["direct", 1]
        scores = {name: score for name, score in cells.items() if score is not None}
        facts = {"Data": anonymous.name(str(made["data"]))} | ({"Majority of": str(most)} if most > 1 else {})
        facts |= rules_fact(made)
        setting = digest(canonical([made["data_sha256"], made.get("rules", "off")]))
        lines.append(Row(anonymous.name(by), setting, scores, facts))
    columns = (Column("accuracy", "Accuracy"), Column("direct", "Without reasoning"), Column("majority", "Majority"))
    there = {name for line in lines for name in line.scores}
    if not lines:
        return None
    shown = tuple(one for one in columns if one.name in there)
    return Board(
        "accuracy", shown, tuple(lines), title="TICK: judges of checklists", unit="Agreement with annotators in %"
    )


def _alike(entries: Sequence[Entry]) -> list[Section]:
    rows: list[Cells] = [
        (one.author, one.instructions, one.checklists, *(fixed(value, 3) for value in astuple(one.overlap)))
        for one in likeness(entries) if one.overlap
    ]  # fmt: skip
    names = (*_MEASURES, "Count MAE")
    paper = [
        (row["Checklist Source"].replace("H'", PEOPLE), "", "", *(fixed(row[name], 3) for name in names))
        for row in paper_rows("2")
    ]
    note = (
        "Sentence BLEU (sacrebleu, 0 to 1) and F1 of ROUGE (rouge-score, no stemming) of all questions of a list as one "
        "text, averaged over an author's lists for an instruction, then over instructions; count MAE in questions. Words "
        "are found in every script; Chinese, Japanese and Thai go sign by sign. The paper does not say which BLEU it "
        "took; but for punctuation BLEU-4 lies below ROUGE-1, so that its column is of another kind than ours."
    )
    header = ("Checklists by", "instructions", "lists", *names)
    return _table("Checklists and the chosen ones (like the paper's table 2)", header, rows, paper, note)


def _rates(entries: Sequence[Entry]) -> list[Section]:
    rows = [(one.author, one.by, one.n, one.left_out, fixed(one.r, 3)) for one in rates(entries)]
    by = {"Internal": "people (Internal)", "InFoBench": "GPT-4 (InFoBench)"}
    paper = [
        (row["Checklist Generator"], by[name], "", "", fixed(row[name], 3)) for row in paper_rows("3a") for name in by
    ]
    note = (
        "Pearson's r over responses of the pass rates under a checklist and under the chosen one, by the same answerer; "
        "run by run, then averaged. Left out: responses with an open question in one of them."
    )
    header = ("Checklists by", "answered by", "pairs", "left out", "Pearson r")
    return _table("Pass rates under other checklists (like the paper's table 3a)", header, rows, paper, note)


def _accuracy(entries: Sequence[Entry]) -> list[Section]:
    found = accuracy(entries)
    rows = [
        (
            one.by, one.mode, f"maj@{one.k}" if one.samples > 1 else "1 answer", one.score.n, one.score.unscored,
            percent(one.score.value, 1), interval(one.score), percent(one.undecided, 1),
            percent(one.corrected, 1),
        )
        for one in found
    ]  # fmt: skip
    name, accurate = "Checklist Evaluator", "Question-Level Accuracy"
    paper = [
        (row[name], "reasoning", "1 answer", "", "", fixed(100 * row[accurate], 1), "", "", "")
        for row in paper_rows("3b")
    ]
    note = (
        "Against the majority of the annotators, in percent; what a majority of k leaves open is wrong. maj@k is the mean "
        "over all subsets of k answers. Left out: questions on which annotators have no majority, or which were answered "
        "less often. Errors of annotators lower what a judge can reach (see one annotator against the others); corrected is "
        "what it would reach without them, if all err independently, as three annotators and more agree among themselves."
    )
    header = (
        "Answered by",
        "mode",
        "votes",
        "questions",
        "left out",
        "accuracy",
        "95 % interval",
        "undecided",
        "corrected",
    )
    drawn = [_curve(found)] if max((one.k for one in found), default=1) > 1 else []
    return [*_table("Answers to single questions (like the paper's table 3b)", header, rows, paper, note), *drawn]


def _curve(found: Sequence[Accuracy]) -> Plot:
    """Figure 2: accuracy by the number of votes."""
    lines: dict[str, list[tuple[float, float, float, str]]] = {}
    for one in found:
        if one.mode and one.score.value is not None:
            share = 100 * one.score.value
            point = (one.k, share, 0.5, f"maj@{one.k}: {share:.1f}")
            lines.setdefault(f"{one.by}, {one.mode}", []).append(point)
    low = min((point[1] for points in lines.values() for point in points), default=0.0)
    series = tuple(Series(name, tuple(points), joined=True) for name, points in lines.items())
    votes, shown = Axis("votes", 1, max(one.k for one in found)), Axis("accuracy, %", min(90, 10 * (low // 10)), 100)
    return Plot("Accuracy by votes (like the paper's figure 2)", series, votes, shown)


def _lengths(entries: Sequence[Entry]) -> list[Section]:
    """Figure 5, as numbers and as lines."""
    found = lengths(entries)
    if not found:
        return []
    low, high = min(map(min, found.values())), max(map(max, found.values()))
    sizes, (least, most) = range(low, high + 1), USUAL
    rows: list[Cells] = [(str(size), *(one[size] for one in found.values())) for size in sizes]
    rows.append(("lists", *(one.total() for one in found.values())))
    outside = (sum(n for size, n in one.items() if not least <= size <= most) for one in found.values())
    rows.append((f"outside {least} to {most}", *outside))
    series = []
    for author, one in found.items():
        points = ((size, 100 * one[size] / one.total(), 0.5, f"{one[size]} of {one.total()}") for size in sizes)
        series.append(Series(author, tuple(points), joined=True))
    axes = Axis("questions", min(low, least), max(high, most)), Axis("lists, %", 0, 100)
    return [
        Grid("How long checklists are (like the paper's figure 5)", ("questions", *found), tuple(rows)),
        Plot("How long checklists are", tuple(series), *axes),
    ]


def _hard(entries: Sequence[Entry]) -> list[Section]:
    rows = [(one.author, one.by, one.n, one.left_out, fixed(one.r, 3)) for one in difficulty(entries)]
    paper = [(author, by, "", "", r) for author, by, r in _PAPER_B2]
    note = (
        "Pearson's r of the number of questions and the score of a response to the instruction: far from 0 where long "
        "checklists go with hard (or easy) instructions."
    )
    header = ("Checklists by", "score of the response", "pairs", "left out", "Pearson r")
    return _table("Length and difficulty (like the paper's appendix B.2)", header, rows, paper, note)


def _table(
    title: str, header: tuple[str, ...], rows: Sequence[Cells], paper: Sequence[Cells], note: str
) -> list[Section]:
    """The table, if it has a row of ours."""
    return [Grid(title, header, tuple(rows), tuple(paper), note)] if rows else []
