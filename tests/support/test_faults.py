"""Every row meets every check, and each fault is told with its row and its check."""

from __future__ import annotations

from tests.support.faults import faults, listed


def is_short(row: dict[str, str]) -> None:
    assert len(row["text"]) < 3, "too long"


def is_lower(row: dict[str, str]) -> None:
    assert row["text"].islower()


def test_all_offenders_are_named_with_what_is_wrong() -> None:
    rows = {"a": {"text": "ok"}, "b": {"text": "LONG"}, "c": {}, "d": {"text": "long"}}
    found = faults(rows, is_short, is_lower)
    assert [line.split(": ")[:2] for line in found] == [
        ["b", "is short"], ["b", "is lower"], ["c", "is short"], ["c", "is lower"], ["d", "is short"],
    ]  # fmt: skip
    assert "too long" in found[0]
    assert found[2] == "c: is short: 'text'"
    assert listed(found).startswith("5 faults\nb: is short: too long")


def test_sound_rows_and_no_rows_have_no_faults() -> None:
    assert faults({"a": {"text": "ok"}}, is_short, is_lower) == []
    assert faults({}, is_short) == []
