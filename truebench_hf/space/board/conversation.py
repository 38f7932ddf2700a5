"""A judged conversation as HTML: what a run's row holds, without what would name the machine behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf import anonymous
from truebench_hf.benchmarks.truebench.sections import counted, named
from truebench_hf.report.page import fragment, inert
from truebench_hf.report.sections import Conversation, Exchange, Outcome, exchanges
from truebench_hf.types import Criterion, Message, Verdict


def render(row: Mapping[str, Any] | None, missing: str = "") -> str:
    """One row of a run as HTML; `missing` is said where there is none."""
    if row is None:
        return f'<article class="tb-conversation"><p class="tb-soft">{inert(missing)}</p></article>'
    only = bool(row.get("instance_only"))
    verdicts = [[Criterion(v["criterion"]) if only else _verdict(v) for v in turn] for turn in row["verdicts"]]
    turns = exchanges([Message(m["role"], m["content"]) for m in row["messages"]], verdicts, row.get("reasoning") or ())
    outcome: Outcome = "" if only else "open" if row["passed"] is None else "yes" if row["passed"] else "no"
    name = named(row["id"], row["language"], row["category"], row["task"])
    error, who = anonymous.text(row.get("error") or ""), anonymous.name(str(row["model"]))
    return fragment(Conversation(name, turns, outcome, error, who, row["language"]))


def verdict_list(verdicts: Sequence[Verdict], waiting: Sequence[str] = ()) -> str:
    """Verdicts as an HTML list, with the criteria still waiting after them."""
    return fragment(Exchange((), (*map(_public, verdicts), *map(Criterion, waiting))))


def _verdict(row: Mapping[str, Any]) -> Verdict:
    votes, criterion = tuple(row.get("votes") or ()), Criterion(row["criterion"], weight=row.get("weight", 1.0))
    return counted(
        _public(Verdict(criterion, row["label"], row.get("reason") or "", "", row.get("probability"), votes))
    )


def _public(verdict: Verdict) -> Verdict:
    """Why nothing was decided may quote an address or a path of the machine behind."""
    return verdict if verdict.label in ("yes", "no") else replace(verdict, reason=anonymous.text(verdict.reason))
