"""Rows of official evaluation files as judged instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truebench_hf.data.case import as_answered
from truebench_hf.data.instances import of_row
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import LARGEST
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import official_passes
from truebench_hf.types import Label, Response, Turn, Usage, Verdict


def from_official_row(row: dict[str, Any], where: str, model: str) -> Judged:
    """A judged instance from a row of an official evaluation file (`judge_parsed` with `labels` per turn)."""
    instance = of_row(Record(where, row))
    answers, parsed = row.get("response"), row.get("judge_parsed")
    if not isinstance(answers, list) or not isinstance(parsed, list):
        raise UserError(f"{where}: fields 'response' and 'judge_parsed' must be lists, one entry per turn")
    given = [_labels(entry) for entry in parsed]
    given += [[]] * (len(instance.turns) - len(given))
    # Of more turns than were asked nobody knows which is which.
    odd = f"labels of {len(given)} turns for {len(instance.turns)}" if len(given) > len(instance.turns) else ""
    verdicts = tuple(_official_turn(turn, labels, odd) for turn, labels in zip(instance.turns, given, strict=False))
    messages = as_answered(instance, list(map(str, answers)))
    try:
        response = Response(instance.id, model, messages, tuple(map(str, row.get("think") or ())))
        usage = {"model": _tokens(row, "inference"), "judge": _tokens(row, "judge")}
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{where}: not a row of an official evaluation file ({error})") from error
    recorded = row.get("pass")
    if not isinstance(recorded, bool):
        recorded = official_passes(given)
    return Judged(instance, response, verdicts, usage, recorded)


def _labels(entry: Any) -> list[Label | None]:
    """The labels of a turn as the file has them."""
    labels = entry.get("labels") if isinstance(entry, dict) else None
    known: dict[bool, Label] = {True: "yes", False: "no"}
    return [known[label] if isinstance(label, bool) else None for label in (labels if isinstance(labels, list) else [])]


def _official_turn(turn: Turn, labels: Sequence[Label | None], odd: str) -> tuple[Verdict, ...]:
    """The verdicts of a turn, none where `odd` says why the labels are not to be trusted.

    Labels stand by position, so of too many or too few nobody knows what they are about.
    """
    if not odd and len(labels) not in (0, len(turn.criteria)):
        odd = f"{len(labels)} labels for {len(turn.criteria)} criteria"
    known = [None] * len(turn.criteria) if odd or not labels else labels
    reason = f"the official file holds {odd or 'no label for this criterion'}"
    pairs = zip(turn.criteria, known, strict=True)
    return tuple(Verdict(criterion, label, "" if label else reason) for criterion, label in pairs)


def _tokens(row: dict[str, Any], role: str) -> Usage:
    spent, thought, made = (
        sum(int(count or 0) for count in row.get(f"{role}_{kind}_tokens") or ())
        for kind in ("input", "think", "response")
    )
    if max(spent, thought, made) > LARGEST:
        raise ValueError(f"more than {LARGEST:.0e} tokens")
    return Usage(spent, thought + made, thought, len(row.get(f"{role}_input_tokens") or ()))
