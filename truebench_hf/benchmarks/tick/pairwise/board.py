"""What leaderboards show of judges of pairs: a row per judge and protocol, ranked by accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.tick.pairwise.scores import LineScores, accuracy
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.sections import fixed
from truebench_hf.study.board import Board, Column, Row
from truebench_hf.study.notes import rules_fact
from truebench_hf.text import anonymous


def board(scores: Sequence[LineScores], made: Mapping[str, Any]) -> Board:
    """The rows of a study: judges are ranked together over the same pairs, however they were asked.

    Where rules have a say in verdicts they are ranked by themselves.
    """
    subsets = list(dict.fromkeys(name for line in scores for name in line.by_subset if name))
    columns = (
        Column("accuracy", "Accuracy"), Column("ties", "Ties"),
        *(Column(f"subset:{name}", name, "Subsets") for name in subsets),
    )  # fmt: skip
    setting = digest(canonical([made["data_sha256"], made.get("rules", "off")]))
    rows = tuple(_row(line, setting, made) for line in scores)
    return Board("accuracy", columns, rows, title="Pairwise judges", unit="Agreement with people in %")


def _row(line: LineScores, setting: str, made: Mapping[str, Any]) -> Row:
    cells = {"accuracy": accuracy(line.agreement), "ties": line.ties}
    cells |= {f"subset:{name}": accuracy(found) for name, found in line.by_subset.items() if name}
    facts = {
        "Protocol": line.protocol,
        "WPLD": fixed(line.agreement.wpld, 3),
        "Data": anonymous.name(str(made["data"])),
        **rules_fact(made),
    }
    return Row(anonymous.name(line.judge), setting, cells, facts)
