"""Coverage and Achievement against a transcription of the equations, nested and baseless groups included."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from truebench_hf.metrics.pass_rate import UNGATED, base_actions, circle, flexeval

Table = list[dict[str, str | None]]


def counts(traces: Table, d: str, v: str) -> int:
    """Equation 4."""
    return sum(trace[d] == v for trace in traces)


def gated(traces: Table, r: str, base: str, v: str) -> int:
    """Equation 5; a branch without base action is not gated (the paper is silent)."""
    return sum((base == UNGATED or trace[base] in ("yes", "no")) and trace[r] == v for trace in traces)


def transcribed(traces: Table, structure: Mapping[str, str | None]) -> tuple[float | None, float | None]:
    """Equations 6 and 7."""
    bases = [d for d in structure if structure[d] is None or d in structure.values()]
    branches = [(d, b) for d, b in structure.items() if b is not None]
    attempted = sum(counts(traces, b, "yes") + counts(traces, b, "no") for b in bases)
    unknown = sum(counts(traces, b, "unknown") for b in bases)
    right = sum(gated(traces, r, b, "yes") for r, b in branches)
    wrong = sum(gated(traces, r, b, "no") for r, b in branches)
    share = lambda part, whole: part / whole if whole else None  # noqa: E731
    return share(attempted, attempted + unknown), share(right, right + wrong)


def made(draw: random.Random) -> dict[str, str | None]:
    """A forest of up to nine dimensions: alone, nested up to any depth, some in groups without a base."""
    structure: dict[str, str | None] = {}
    for n in range(draw.randint(1, 9)):
        structure[f"d{n}"] = draw.choice([None, UNGATED, *structure])
    return structure


def test_random_tables_give_what_the_equations_give() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        structure = made(draw)
        traces: Table = [
            {d: draw.choice(["yes", "no", "unknown", None]) for d in structure} for _ in range(draw.randint(0, 8))
        ]
        found = flexeval(traces, [structure] * len(traces))
        assert (found.coverage, found.achievement) == pytest.approx(transcribed(traces, structure)), seed
        labels = [label for trace in traces for label in trace.values()]
        assert (found.right, found.decided) == (labels.count("yes"), labels.count("yes") + labels.count("no")), seed


NESTED = {"ask": None, "needed": "ask", "limit": "needed"}


@pytest.mark.parametrize(
    ("trace", "structure", "coverage", "achievement", "why"),
    [
        (("yes", "yes", "no"), NESTED, 2 / 2, 1 / 2, "a nested base is in B and in R"),
        (("yes", "unknown", "yes"), NESTED, 1 / 2, None, "its branch is gated by it, not by the root"),
        (("unknown", "yes", "yes"), NESTED, 1 / 2, 1 / 1, "the gate is the immediate parent alone"),
        (("no", "yes", "yes"), NESTED, 2 / 2, 2 / 2, "a base answered no is covered and never enters Achievement"),
        (("yes", "no"), {"a": UNGATED, "b": UNGATED}, None, 1 / 2, "without a base: ungated, and nothing in Coverage"),
        (("no", "unknown"), {"a": None, "b": None}, 1 / 2, None, "dimensions in no group are bases, and there is no branch"),
        ((), {}, None, None, "no dimensions"),
    ],
)  # fmt: skip
def test_where_the_paper_is_silent(trace: Any, structure: Any, coverage: Any, achievement: Any, why: str) -> None:
    found = flexeval([dict(zip(structure, trace, strict=True))], [structure])
    assert (found.coverage, found.achievement) == (coverage, achievement), why


def test_a_judge_that_says_no_to_every_skipped_base_would_cover_everything() -> None:
    """Why a skipped base is unknown: the equations alone do not protect against this judge."""
    skipped, honest = {"ask": "no", "needed": "unknown", "limit": "unknown"}, dict.fromkeys(NESTED, "unknown")
    assert flexeval([skipped], [NESTED]).attempted == 1
    assert flexeval([honest], [NESTED]).coverage == 0.0


@pytest.mark.parametrize(
    ("structure", "found"),
    [({}, []), (NESTED, []), ({"a": "a"}, ["a"]), ({"a": None, "b": "d", "c": "b", "d": "c"}, ["b", "d", "c"])],
)
def test_circles(structure: dict[str, str | None], found: list[str]) -> None:
    assert circle(structure) == found
    assert base_actions(NESTED) == {"ask", "needed"}
