"""What a comparison of judges with people's preferences shows: Table 4 of the paper, subsets, position bias, reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from truebench_hf.benchmarks.tick.pairwise.rows import Pair
from truebench_hf.benchmarks.tick.pairwise.scores import LineScores, accuracy
from truebench_hf.benchmarks.tick.paper import paper_rows
from truebench_hf.metrics.preference import PairwiseAgreement
from truebench_hf.report.sections import Dot, Dots, Grid, Section, dot, fixed, interval, percent, value
from truebench_hf.types import Usage

TITLE = "TICK: preferences held against people's"
LEAD = (
    "How often judges prefer the response that people prefer, by protocol. Rows in italics are the paper's own figures."
)
_HEADER = (
    "Judge", "Protocol", "accuracy (PLD-0)", "95 % interval", "PLD-1", "PLD-2", "WPLD", "WPLD interval", "ties", "strict",
    "JudgeBench", "n", "undecided", "calls", "tokens in", "tokens out",
)  # fmt: skip


def sections(scores: Sequence[LineScores], pairs: Sequence[Pair], checklists: Usage | None) -> list[Section]:
    """Everything the report shows, in order; `checklists` is what writing them cost."""
    shown: list[Section] = [overview(scores, checklists), _dots(scores)]
    if any(pair.subset for pair in pairs):
        shown += [_by_subset("Accuracy", scores, pairs, _share), _by_subset("WPLD", scores, pairs, _distance)]
    shown += [_positions(scores)] if any(line.position for line in scores) else []
    return [*shown, *([_reasons(scores)] if any(line.reasons for line in scores) else [])]


def overview(scores: Sequence[LineScores], checklists: Usage | None) -> Grid:
    """One line per judge and protocol, like the paper's Table 4, whose rows stand below."""
    rows = [_line(line) for line in scores]
    if checklists is not None:
        rows.append(("", "writing checklists", *[""] * 11, *_spent(checklists)))
    paper = tuple(
        (
            "GPT-4o", row["LLM-as-Judge Eval."], percent(row["PLD-0"]), "", percent(row["PLD-1"]),
            percent(row["PLD-2"]), fixed(row["WPLD"], 3), *[""] * 9,
        )
        for row in paper_rows("4")
    )  # fmt: skip
    note = (
        "In percent; WPLD from 0 to 2, lower is better. accuracy: pairs with the same label, of the decided ones. "
        "PLD-1: a tie for a win or loss, or the other way round; PLD-2: the wrong response; WPLD: PLD-1 + 2 PLD-2. ties: "
        "decided pairs predicted to be one. strict: as accuracy, of all pairs, undecided ones wrong. JudgeBench: its own "
        "count, in which a win in one order and a tie or no answer in the other is right, a win and a loss is not; pairs "
        "labelled a tie are left out. A preference that changes with the order is a tie. Intervals take pairs of one "
        "instruction together. Paper rows: its table 4, on its own data; it mentions no second order."
    )
    return Grid("Agreement with people's preferences (like the paper's table 4)", _HEADER, tuple(rows), paper, note)


def _line(line: LineScores) -> tuple[str, ...]:
    found, share = line.agreement, accuracy(line.agreement)
    return (
        line.judge, line.protocol, value(share), interval(share), percent(found.pld_1), percent(found.pld_2),
        fixed(found.wpld, 3), _span(found.wpld_interval), value(line.ties), percent(line.strict),
        percent(line.judgebench), str(found.n), str(found.undecided), *_spent(line.usage),
    )  # fmt: skip


def _spent(usage: Usage | None) -> tuple[str, ...]:
    return ("-",) * 3 if usage is None else usage.shown


def _by_subset(
    what: str, scores: Sequence[LineScores], pairs: Sequence[Pair], cell: Callable[[PairwiseAgreement], str]
) -> Grid:
    names = [pair.subset for pair in pairs]
    rows = [
        (name or "(none)", *(cell(line.by_subset[name]) for line in scores), str(names.count(name)))
        for name in dict.fromkeys(names)
    ]
    header = ("Subset", *(f"{line.judge} {line.protocol}" for line in scores), "pairs")
    return Grid(
        f"{what} by subset", header, tuple(rows), note="Of decided pairs, with 95 % intervals.", printed=what != "WPLD"
    )


def _share(found: PairwiseAgreement) -> str:
    share = accuracy(found)
    return f"{value(share)} ({interval(share)})" if share.ci95 else value(share)


def _distance(found: PairwiseAgreement) -> str:
    return f"{fixed(found.wpld, 3)} ({_span(found.wpld_interval)})" if found.wpld_interval else fixed(found.wpld, 3)


def _positions(scores: Sequence[LineScores]) -> Grid:
    rows = [
        (
            line.judge, line.protocol, str(found.n), percent(found.consistent), percent(found.first),
            percent(found.second), percent(found.first_rate), str(found.calls),
        )
        for line in scores if (found := line.position)
    ]  # fmt: skip
    header = (
        "Judge", "Protocol", "pairs in both orders", "consistent", "first in both", "second in both", "first-place rate",
        "of calls",
    )  # fmt: skip
    note = (
        "In percent. consistent: the same label in both orders. first in both: the response that stood first was "
        "preferred in both orders, whichever it was. first-place rate: of all calls that prefer one response, those that "
        "prefer the first; 50 is free of bias. Responses that are scored one by one have no order."
    )
    return Grid("Position bias", header, tuple(rows), note=note)


def _reasons(scores: Sequence[LineScores]) -> Grid:
    rows = [(e.judge, e.protocol, str(count), reason) for e in scores for reason, count in e.reasons.items()]
    header = ("Judge", "Protocol", "pairs", "reason")
    return Grid("Why pairs were left undecided", header, tuple(rows), printed=False, prose=(3,))


def _dots(scores: Sequence[LineScores]) -> Dots:
    lines: dict[str, list[Dot]] = {}
    for line in scores:
        share = accuracy(line.agreement)
        if share.value is not None:
            lines.setdefault(line.protocol, []).append(dot(line.judge, share.value, share.ci95))
    shown = tuple((protocol, tuple(dots)) for protocol, dots in lines.items())
    return Dots("Accuracy by protocol", shown, mark=50.0, note="With 95 % intervals. The dashed line is a coin's.")


def _span(found: tuple[float, float] | None) -> str:
    return "" if found is None else f"{found[0]:.2f} to {found[1]:.2f}"
