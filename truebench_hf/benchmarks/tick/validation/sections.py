"""The report of a validation: the paper's tables 2, 3a and 3b, its figures 2 and 5, and appendix B.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf import anonymous
from truebench_hf.benchmarks.tick.form import Entry
from truebench_hf.benchmarks.tick.paper import paper_rows
from truebench_hf.benchmarks.tick.validation.accuracy import Accuracy, accuracy
from truebench_hf.benchmarks.tick.validation.comparisons import PEOPLE, difficulty, lengths, likeness, rates
from truebench_hf.judging.checklists import USUAL
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series, fixed, interval
from truebench_hf.study.board import Board, Column, Row

TITLE = "TICK: checklists and their judges, validated"
LEAD = "Checklists are held against the chosen ones, and who answers them against the majority of the annotators."
_PAPER_B2 = (("GPT-4o", "InFoBench score", "-0.001"), ("GPT-4o", "WildBench score", "0.028"))  # appendix B.2, its text
_MEASURES = ("BLEU", "ROUGE-1 F1", "ROUGE-2 F1", "ROUGE-L F1")


def sections(entries: Sequence[Entry]) -> list[Section]:
    """Whatever the rows have something for."""
    found: list[Section | None] = [
        _alike(entries),
        _rates(entries),
        *_accuracy(entries),
        *_lengths(entries),
        _hard(entries),
    ]
    return [one for one in found if one is not None]


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
        lines.append(Row(anonymous.name(by), str(made["data_sha256"]), scores, facts))
    columns = (Column("accuracy", "Accuracy"), Column("direct", "Without reasoning"), Column("majority", "Majority"))
    there = {name for line in lines for name in line.scores}
    return Board("accuracy", tuple(one for one in columns if one.name in there), tuple(lines)) if lines else None


def _alike(entries: Sequence[Entry]) -> Grid | None:
    rows = [
        (
            one.author, one.instructions, one.checklists, fixed(found.bleu, 3), fixed(found.rouge_1, 3),
            fixed(found.rouge_2, 3), fixed(found.rouge_l, 3), fixed(found.count, 3),
        )
        for one in likeness(entries) if (found := one.overlap)
    ]  # fmt: skip
    paper = [
        (row["Checklist Source"].replace("H'", PEOPLE), "", "", *(fixed(row[name], 3) for name in _MEASURES), fixed(row["Count MAE"], 3))
        for row in paper_rows("2")
    ]  # fmt: skip
    note = (
        "Sentence BLEU (sacrebleu, 0 to 1) and F1 of ROUGE (rouge-score, no stemming) of all questions of a list as one "
        "text, averaged over an author's lists for an instruction, then over instructions; count MAE in questions. Words "
        "are found in every script; Chinese, Japanese and Thai go sign by sign. The paper does not say which BLEU it "
        "took; but for punctuation BLEU-4 lies below ROUGE-1, so that its column is of another kind than ours."
    )
    header = ("Checklists by", "instructions", "lists", *_MEASURES, "count MAE")
    return (
        Grid("Checklists and the chosen ones (like the paper's table 2)", header, tuple(rows), tuple(paper), note)
        if rows
        else None
    )


def _rates(entries: Sequence[Entry]) -> Grid | None:
    rows = [(one.author, one.by, one.n, one.left_out, fixed(one.r, 3)) for one in rates(entries)]
    by = {"Internal": "people (Internal)", "InFoBench": "GPT-4 (InFoBench)"}
    paper = [
        (row["Checklist Generator"], by[name], "", "", fixed(row[name], 3)) for row in paper_rows("3a") for name in by
    ]
    note = "Pearson's r over responses of the pass rates under a checklist and under the chosen one, by the same answerer; run by run, then averaged. Left out: responses with an open question in one of them."
    header = ("Checklists by", "answered by", "pairs", "left out", "Pearson r")
    return (
        Grid("Pass rates under other checklists (like the paper's table 3a)", header, tuple(rows), tuple(paper), note)
        if rows
        else None
    )


def _accuracy(entries: Sequence[Entry]) -> list[Section]:
    found = accuracy(entries)
    if not found:
        return []
    rows = [
        (one.by, one.mode, f"maj@{one.k}" if one.samples > 1 else "1 answer", one.score.n, one.score.unscored, fixed(one.score.value, 1), interval(one.score), fixed(one.undecided and 100 * one.undecided, 1))
        for one in found
    ]  # fmt: skip
    paper = [
        (
            row["Checklist Evaluator"],
            "reasoning",
            "1 answer",
            "",
            "",
            fixed(100 * row["Question-Level Accuracy"], 1),
            "",
            "",
        )
        for row in paper_rows("3b")
    ]
    note = "Against the majority of the annotators, in percent; what a majority of k leaves open is wrong. maj@k is the mean over all subsets of k answers. Left out: questions on which annotators have no majority, or which were answered less often. Errors of annotators lower what a judge can reach: see the row of one annotator against the others."
    header = ("Answered by", "mode", "votes", "questions", "left out", "accuracy", "95 % interval", "undecided")
    table = Grid("Answers to single questions (like the paper's table 3b)", header, tuple(rows), tuple(paper), note)
    most = max(one.k for one in found)
    return [table, _curve(found, most)] if most > 1 else [table]


def _curve(found: Sequence[Accuracy], most: int) -> Plot:
    """Figure 2: accuracy by the number of votes."""
    lines: dict[tuple[str, str], list[tuple[float, float, float, str]]] = {}
    for one in found:
        if one.mode and one.score.value is not None:
            lines.setdefault((one.by, one.mode), []).append(
                (one.k, one.score.value, 0.5, f"maj@{one.k}: {one.score.value:.1f}")
            )
    low = 10 * (min(point[1] for points in lines.values() for point in points) // 10)
    series = tuple(Series(f"{by}, {mode}", tuple(points), joined=True) for (by, mode), points in lines.items())
    return Plot(
        "Accuracy by votes (like the paper's figure 2)", series, Axis("votes", 1, most), Axis("accuracy, %", low, 100)
    )


def _lengths(entries: Sequence[Entry]) -> list[Section]:
    found = lengths(entries)
    if not found:
        return []
    sizes = range(min(min(one) for one in found.values()), max(max(one) for one in found.values()) + 1)
    rows: list[tuple[str | int, ...]] = [(str(size), *(one[size] for one in found.values())) for size in sizes]
    rows.append(("lists", *(one.total() for one in found.values())))
    rows.append(
        (
            f"outside {USUAL[0]} to {USUAL[1]}",
            *(sum(n for size, n in one.items() if not USUAL[0] <= size <= USUAL[1]) for one in found.values()),
        )
    )
    shares = tuple(
        Series(author, tuple((size, 100 * one[size] / one.total(), 0.5, f"{one[size]} of {one.total()}") for size in sizes), joined=True)
        for author, one in found.items()
    )  # fmt: skip
    drawn = Plot("How long checklists are", shares, Axis("questions", sizes[0], sizes[-1]), Axis("lists, %", 0, 100))
    return [Grid("How long checklists are (like the paper's figure 5)", ("questions", *found), tuple(rows)), drawn]


def _hard(entries: Sequence[Entry]) -> Grid | None:
    rows = [(one.author, one.by, one.n, one.left_out, fixed(one.r, 3)) for one in difficulty(entries)]
    paper = [(author, by, "", "", r) for author, by, r in _PAPER_B2]
    note = "Pearson's r of the number of questions and the score of a response to the instruction: far from 0 where long checklists go with hard (or easy) instructions."
    header = ("Checklists by", "score of the response", "pairs", "left out", "Pearson r")
    return (
        Grid("Length and difficulty (like the paper's appendix B.2)", header, tuple(rows), tuple(paper), note)
        if rows
        else None
    )
