"""From preferences to how far they agree with people's: scores, the report (Table 4) and the board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.tick.pairs import Decided, Pair
from truebench_hf.benchmarks.tick.scoring import paper_rows, with_interval
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.metrics.preference import (
    PairwiseAgreement,
    PositionBias,
    judgebench_accuracy,
    pairwise_agreement,
    position_bias,
)
from truebench_hf.report.sections import Dot, Dots, Grid, Section, dot, fixed, interval, percent, value
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.outcome import Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Score, Usage

Rows = Sequence[tuple[Pair, Decided]]


@dataclass(frozen=True)
class LineScores:
    """What a judge's preferences under one protocol are worth.

    `strict` is the share (0..1) of all pairs whose preference is the label, undecided ones counted as wrong;
    `judgebench` is its own count of the same (see `judgebench_accuracy`). `ties` is the share of decided pairs that are
    predicted as a tie. `position` is of judges that were asked to compare; `reasons` say why pairs are
    undecided. `usage` is None for recorded preferences.
    """

    judge: str
    protocol: str
    agreement: PairwiseAgreement
    by_subset: Mapping[str, PairwiseAgreement]
    strict: float | None
    judgebench: float | None
    ties: Score
    position: PositionBias | None
    reasons: Mapping[str, int]
    usage: Usage | None = None

    def as_json(self) -> dict[str, Any]:
        """As it stands in `scores.json`."""
        return asdict(self)


def accuracy(agreement: PairwiseAgreement) -> Score:
    """The share of decided pairs with the same label."""
    return Score(agreement.pld_0, agreement.n, agreement.undecided, agreement.interval)


def line_scores(judge: str, protocol: str, rows: Rows, usage: Usage | None = None) -> LineScores:
    """The scores of one judge under one protocol."""
    decided = [decision for _, decision in rows]
    gold, labels = [pair.gold for pair, _ in rows], [decision.label for decision in decided]
    subsets = dict.fromkeys(pair.subset for pair, _ in rows)
    compared = [decision for decision in decided if decision.asked]
    right = sum(truth == answer for truth, answer in zip(gold, labels, strict=True))
    return LineScores(
        judge, protocol, _agreement(rows),
        {name: _agreement([row for row in rows if row[0].subset == name]) for name in subsets},
        ratio(right, len(rows)), judgebench_accuracy(gold, [decision.orders for decision in decided]),
        pass_rate([None if label is None else label == "tie" for label in labels]),
        position_bias([c.as_given for c in compared], [c.swapped for c in compared]) if compared else None,
        dict(Counter(" ".join(decision.reason.split())[:300] for decision in decided if decision.label is None)), usage,
    )  # fmt: skip


def _agreement(rows: Rows) -> PairwiseAgreement:
    return pairwise_agreement(
        [pair.gold for pair, _ in rows],
        [decision.label for _, decision in rows],
        [pair.instance.id for pair, _ in rows],
    )


TITLE = "TICK: preferences held against people's"
LEAD = (
    "How often judges prefer the response that people prefer, by protocol. Rows in italics are the paper's own figures."
)
_HEADER = (
    "Judge", "Protocol", "accuracy (PLD-0)", "95 % interval", "PLD-1", "PLD-2", "WPLD", "WPLD interval", "ties", "strict",
    "JudgeBench", "n", "undecided", "calls", "tokens in", "tokens out",
)  # fmt: skip


def pairwise_sections(scores: Sequence[LineScores], pairs: Sequence[Pair], checklists: Usage | None) -> list[Section]:
    """Everything the report shows, in order; `checklists` is what writing them cost."""
    sections: list[Section] = [overview(scores, checklists), _dots(scores)]
    if any(pair.subset for pair in pairs):
        sections.append(_by_subset("Accuracy", scores, pairs, lambda agreement: with_interval(accuracy(agreement))))
        sections.append(_by_subset("WPLD", scores, pairs, _distance))
    sections += [_positions(scores)] if any(line.position for line in scores) else []
    return [*sections, *([_reasons(scores)] if any(line.reasons for line in scores) else [])]


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
    agreement, share = line.agreement, accuracy(line.agreement)
    return (
        line.judge, line.protocol, value(share), interval(share), percent(agreement.pld_1), percent(agreement.pld_2),
        fixed(agreement.wpld, 3), _span(agreement.wpld_interval), value(line.ties), percent(line.strict),
        percent(line.judgebench), str(agreement.n), str(agreement.undecided), *_spent(line.usage),
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


def _distance(agreement: PairwiseAgreement) -> str:
    return (
        f"{fixed(agreement.wpld, 3)} ({_span(agreement.wpld_interval)})"
        if agreement.wpld_interval
        else fixed(agreement.wpld, 3)
    )


def _positions(scores: Sequence[LineScores]) -> Grid:
    rows = [
        (
            line.judge, line.protocol, str(position.n), percent(position.consistent), percent(position.first),
            percent(position.second), percent(position.first_rate), str(position.calls),
        )
        for line in scores if (position := line.position)
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
    groups = tuple((protocol, tuple(dots)) for protocol, dots in lines.items())
    return Dots("Accuracy by protocol", groups, mark=50.0, note="With 95 % intervals. The dashed line is a coin's.")


def _span(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"{bounds[0]:.2f} to {bounds[1]:.2f}"


def pairwise_board(scores: Sequence[LineScores], provenance: Mapping[str, Any]) -> Board:
    """The rows of a study: judges are ranked together over the same pairs, however they were asked.

    Where rules have a say in verdicts they are ranked by themselves.
    """
    subsets = list(dict.fromkeys(name for line in scores for name in line.by_subset if name))
    columns = (
        Column("accuracy", "Accuracy"), Column("ties", "Ties"),
        *(Column(f"subset:{name}", name, "Subsets") for name in subsets),
    )  # fmt: skip
    setting = digest(canonical([provenance["data_sha256"], provenance.get("rules", "off")]))
    rows = tuple(_board_row(line, setting, provenance) for line in scores)
    return Board("accuracy", columns, rows, title="Pairwise judges", unit="Agreement with people in %")


def _board_row(line: LineScores, setting: str, provenance: Mapping[str, Any]) -> Row:
    cells = {"accuracy": accuracy(line.agreement), "ties": line.ties}
    cells |= {f"subset:{name}": accuracy(agreement) for name, agreement in line.by_subset.items() if name}
    facts = {
        "Protocol": line.protocol,
        "WPLD": fixed(line.agreement.wpld, 3),
        "Data": anonymous.name(str(provenance["data"])),
        **rules_fact(provenance),
    }
    return Row(anonymous.name(line.judge), setting, cells, facts)
