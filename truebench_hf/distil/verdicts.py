"""The verdicts of finished runs, each with what a decision judge would have been asked about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts.board import KIND as FACTS
from truebench_hf.benchmarks.tick.results import BENCHMARK as TICKED
from truebench_hf.benchmarks.truebench.study import benchmark
from truebench_hf.data.case import cases
from truebench_hf.data.judged import Judged
from truebench_hf.distil.split import instructions
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import digest
from truebench_hf.judging.judge import decision_state
from truebench_hf.judging.rules.deciding import JUDGE, ruled
from truebench_hf.prompts import Prompts
from truebench_hf.standings import finished
from truebench_hf.standings.kinds import TICK
from truebench_hf.types import Criterion, Label, Verdict

UNNAMED = "an unnamed judge"  # of an official evaluation file
OPEN, RULES, OTHERS = "not judged", "decided by rules, which no judge is asked about", "of other judges"
AGAIN, BOTH = "the same question again, with the same verdict", "questions that the teacher answered both ways"


@dataclass(frozen=True)
class Example:
    """A response as a decision judge is shown it (`state`), and of some of its criteria the teacher's verdict.

    `shown` are the criteria as they stand in questions; `instruction` names what it is split by, `run` and `instance`
    say where it stands.
    """

    run: str
    instance: str
    instruction: str
    state: str
    criteria: tuple[Criterion, ...]
    shown: tuple[str, ...]
    labels: tuple[Label, ...]

    @property
    def name(self) -> str:
        """It is told from all others by what is shown."""
        return digest(self.state)


@dataclass(frozen=True)
class Source:
    """A run: its folder, kind, settings, and how many verdicts of the teacher it brought."""

    where: str
    kind: str
    settings: Mapping[str, Any]
    verdicts: int

    @property
    def level(self) -> str:
        """How its judge was asked."""
        told = self.settings.get("judging") or {}
        levels = self.settings.get("judge_level")
        named = levels.values() if isinstance(levels, dict) else [told.get("level") or levels or "not told"]
        return ", ".join(dict.fromkeys(map(str, named)))


@dataclass(frozen=True)
class Found:
    """All that there is to learn of one teacher; `left_out` counts the verdicts that are not used, by reason."""

    teacher: str
    examples: tuple[Example, ...]
    sources: tuple[Source, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class _Row:
    """A judged response of a run; `benchmark` is the one whose conventions its judge was told."""

    run: str
    judged: Judged
    benchmark: str | None


def read(runs: Sequence[str], teacher: str | None, rules: str, prompts: Prompts) -> Found:
    """The verdicts of the runs by `teacher`, the only judge if not named, as questions to a judge with `rules`.

    A verdict that is None is no label, and counted. Raises UserError where a folder holds no finished run whose judges
    decide criteria, and where the judges are several, or none is of that name.
    """
    folders = {Path(where).resolve(): where for where in runs}
    read = [(where, *_rows(where)) for where in folders.values()]
    rows = [row for *_, some in read for row in some]
    named = _teacher(Counter(_who(verdict) for row in rows for verdict in _all(row) if _learnable(verdict)), teacher)
    names = instructions([row.judged.instance for row in rows])
    left_out: Counter[str] = Counter()
    pairs = zip(rows, names, strict=True)
    asked = [one for row, name in pairs for one in _asked(row, name, named, rules, prompts, left_out)]
    examples = _once(asked, left_out)
    counts = Counter(row.run for row in rows for verdict in _all(row) if _learnable(verdict) and _who(verdict) == named)
    sources = tuple(Source(where, kind, settings, counts[where]) for where, kind, settings, _ in read)
    return Found(named, tuple(examples), sources, {reason: count for reason, count in left_out.items() if count})


def _rows(where: str) -> tuple[str, Mapping[str, Any], list[_Row]]:
    kind, _, info, rows = finished.rows_of(where)
    if kind == FACTS:
        raise UserError(f"{where}: its judges look for grounding, not at criteria; give runs of run, judge or tick")
    told = [(one, TICKED if kind == TICK else benchmark(one.instance)) for one, *_ in rows]
    return kind, info.get("settings", {}), [_Row(where, one, by) for one, by in told]


def _all(row: _Row) -> Iterator[Verdict]:
    return (verdict for turn in row.judged.verdicts for verdict in turn)


def _who(verdict: Verdict) -> str:
    return verdict.judge or UNNAMED


def _learnable(verdict: Verdict) -> bool:
    return verdict.label in ("yes", "no") and verdict.judge != JUDGE


def _teacher(judges: Mapping[str, int], wanted: str | None) -> str:
    """The one judge that is learned from."""
    if not judges:
        raise UserError("--runs: no criterion has a judge's yes or no there; give runs with verdicts")
    if wanted is not None:
        if wanted not in judges:
            raise unknown("teacher", wanted, judges)
        return wanted
    if len(judges) > 1:
        told = ", ".join(f"{name} ({count:,} verdicts)" for name, count in judges.items())
        raise UserError(f"--runs: hold verdicts of several judges: {told}; name one by --teacher")
    return next(iter(judges))


def _asked(
    row: _Row, instruction: str, teacher: str, rules: str, prompts: Prompts, left_out: Counter[str]
) -> Iterator[Example]:
    """An example per answered turn, with the criteria that the teacher decided."""
    turns = cases(row.judged.instance, row.judged.response, row.benchmark)
    for turn in row.judged.verdicts[len(turns) :]:
        left_out[OPEN] += len(turn)  # never answered
    for case, verdicts in zip(turns, row.judged.verdicts, strict=False):
        found = ruled(case, rules)
        left_out[RULES] += len(found.verdicts)
        rest = [verdict for place, verdict in enumerate(verdicts) if place not in found.verdicts]
        state, shown = decision_state(found.rest, prompts)
        kept = []
        for verdict, text in zip(rest, shown, strict=True):
            if reason := _unused(verdict, teacher):
                left_out[reason] += 1
            elif verdict.label is not None:
                kept.append((verdict.criterion, text, verdict.label))
        if kept:
            yield _example(row, instruction, state, kept)


def _example(row: _Row, instruction: str, state: str, kept: Sequence[tuple[Criterion, str, Label]]) -> Example:
    criteria, shown, labels = zip(*kept, strict=True)
    return Example(row.run, row.judged.name, instruction, state, criteria, shown, labels)


def _unused(verdict: Verdict, teacher: str) -> str:
    """Why a verdict is not learned from, "" where it is."""
    if verdict.judge == JUDGE:
        return RULES
    if not _learnable(verdict):
        return OPEN
    return "" if _who(verdict) == teacher else OTHERS


def _once(asked: Sequence[Example], left_out: Counter[str]) -> list[Example]:
    """Every question once, under the first response that shows it; those that got both answers not at all."""
    first: dict[str, Example] = {}
    met: dict[str, dict[str, list[tuple[Criterion, str, Label]]]] = {}  # by what is shown, then by question
    for one in asked:
        first.setdefault(one.state, one)
        for entry in zip(one.criteria, one.shown, one.labels, strict=True):
            met.setdefault(one.state, {}).setdefault(entry[1], []).append(entry)
    found = []
    for state, questions in met.items():
        kept = []
        for entries in questions.values():
            if len({label for *_, label in entries}) > 1:
                left_out[BOTH] += len(entries)
            else:
                left_out[AGAIN] += len(entries) - 1
                kept.append(entries[0])
        if kept:
            criteria, shown, labels = zip(*kept, strict=True)
            found.append(replace(first[state], criteria=criteria, shown=shown, labels=labels))
    return found
