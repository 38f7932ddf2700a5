"""Labelled responses to look at, each with the rubrics that a judge decided, those that it decided wrongly first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from truebench_hf.benchmarks.rubric_eval.data import load
from truebench_hf.benchmarks.rubric_eval.scores import paradigm_words
from truebench_hf.report.sections import OF_JUDGES, Check, Conversation, Outcome, exchanges, worst
from truebench_hf.text import anonymous
from truebench_hf.types import Message

_BUILT_IN = "rubric_mini"  # the labelled data whose answers are at hand; a run names other data by paths of its own
_ORDER: tuple[Outcome, ...] = ("no", "open", "yes")


def rubric_by_rubric(
    rows: Iterable[Mapping[str, Any]], judge: str, paradigm: str, data: str
) -> dict[str, Conversation]:
    """By id the responses of `judgments.jsonl` with what a judge decided of their labelled rubrics.

    `judge` is its public name, `paradigm` how it was asked, in words, and `data` the setting of the run.
    """
    rows = list(rows)
    judges = anonymous.names(row["judge"] for row in rows)
    checks, last = dict[str, list[Check]](), dict[str, Mapping[str, Any]]()
    for row in rows:
        label, gold = row["label"], row["gold"]
        if judges[row["judge"]] == judge and paradigm_words(row["paradigm"]) == paradigm and gold is not None:
            state: Outcome = "open" if label not in ("yes", "no") else "yes" if label == gold else "no"
            check = Check(row["rubric"], state, (gold, label or "–"), row["reason"])
            checks.setdefault(row["response_id"], []).append(check)
            last[row["response_id"]] = row
    texts = _built_in_texts() if data == _BUILT_IN else {}
    conversations = {}
    for name, row in last.items():
        in_order = tuple(sorted(checks[name], key=lambda check: _ORDER.index(check.state)))
        category = row["instruction_category"]
        conversations[name] = Conversation(
            category, exchanges(texts.get(name, ()), ()), worst(in_order), who=judge, language=row["language"] or "",
            words=OF_JUDGES, category=category, heads=("People", "Judge"), checks=in_order,
        )  # fmt: skip
    return conversations


@cache
def _built_in_texts() -> dict[str, tuple[Message, ...]]:
    """What the judges of the built-in data were shown, by response."""
    return {
        row["response_id"]: (
            *(Message(message["role"], message["content"]) for message in row["messages"]),
            Message("assistant", row["response"]),
        )
        for row in load(_BUILT_IN)
    }
