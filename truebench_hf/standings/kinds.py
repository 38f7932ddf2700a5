"""How finished runs are read and scored response by response, of every kind that scores its instances one by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts.board import KIND as FACTS
from truebench_hf.benchmarks.facts.joined import graded
from truebench_hf.benchmarks.tick.scoring import VERDICTS
from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.output import check_run, judgments, read_each
from truebench_hf.benchmarks.truebench.scores import passes
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGMENTS, read_lines
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import checklist_share

TICK = "tick"
Score = Callable[[Judged], float | None]


@dataclass(frozen=True)
class Kind:
    """How runs of a kind are read: what a score is, where the lines (judged instance, judge) stand, and how a response is scored.

    `check` raises UserError where the rows by (model, judge), and in these by instance and sample, are not the run's.
    """

    about: str
    file: Callable[[Path], Path]
    lines: Callable[[Path, Callable[[str], str]], Iterable[tuple[Judged, str]]]
    score: Callable[[Path, Mapping[str, Any]], Score]
    check: Callable[[Path, Mapping[tuple[str, str], Collection[tuple[str, int]]]], None]


def _passed(path: Path, info: Mapping[str, Any]) -> Score:
    """Passed or not, by the rule of the run."""
    settings, worth = info.get("settings", {}), {True: 1.0, False: 0.0, None: None}
    return lambda item: worth[passes(item, settings)]


def _final(path: Path, info: Mapping[str, Any]) -> Score:
    """The final score of an answer: the share of judges who find it accurate, 0 where it is ineligible."""
    scores = graded(path)
    return lambda item: scores.get(item.instance.id)


def _share(path: Path, info: Mapping[str, Any]) -> Score:
    """The share of a response's questions that are answered YES."""
    return lambda item: checklist_share([label for turn in item.outcomes for label in turn])


def _plain(about: str, name: str, score: Callable[[Path, Mapping[str, Any]], Score]) -> Kind:
    """A kind whose lines are in a file of this name."""

    def lines(path: Path, context: Callable[[str], str]) -> Iterable[tuple[Judged, str]]:
        return read_lines(path / name, "repeat the run's command", context=context)

    def check(path: Path, rows: Collection[Any]) -> None:
        if not rows:
            raise UserError(f"{path / name}: holds no judged instances")

    return Kind(about, lambda path: path / name, lines, score, check)


KINDS = {
    TRUEBENCH: Kind("instances passed", judgments, read_each, _passed, check_run),
    FACTS: _plain("final score of an answer, mean over judges", JUDGMENTS, _final),
    TICK: _plain("pass rate of a checklist", VERDICTS, _share),
}
