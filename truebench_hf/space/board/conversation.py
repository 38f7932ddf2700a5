"""A conversation with its verdicts as HTML in which every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from truebench_hf import anonymous
from truebench_hf.types import Verdict

_WORDS = {"yes": "Pass", "no": "Fail"}


def inert(text: object) -> Markup:
    """Text that stays text: escaped for HTML, and without the signs that page templates would read."""
    kept = str(escape(text)).replace("`", "&#96;").replace("$", "&#36;")
    return Markup(kept.replace("{", "&#123;").replace("}", "&#125;"))


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, finalize=inert,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip


def render(row: Mapping[str, Any] | None, missing: str = "") -> str:
    """One row of a run as HTML; `missing` is said where there is none."""
    turns = [] if row is None else _turns(row)
    error = anonymous.text(row["error"] or "") if row else ""
    state = "" if row is None or row.get("instance_only") else {True: "yes", False: "no"}.get(row["passed"], "open")
    page = _TEMPLATES.get_template("conversation.html.jinja")
    who = anonymous.name(str(row["model"])) if row else ""
    return page.render(row=row, turns=turns, missing=missing, error=error, state=state, who=who)


def verdict_list(verdicts: Sequence[Verdict], waiting: Sequence[str] = ()) -> str:
    """Verdicts as an HTML list, with the criteria still waiting after them."""
    items = [_item(v.criterion.text, v.label, v.reason, v.probability) for v in verdicts]
    items += [_item(text, None, "", None) | {"word": "…", "state": "wait"} for text in waiting]
    return _TEMPLATES.get_template("verdicts.html.jinja").render(items=items)


def _turns(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Per turn: its messages (a system message goes with the first), thinking, and verdicts."""
    turns: list[dict[str, Any]] = []
    head: list[dict[str, str]] = []
    for message in row["messages"]:
        if message["role"] == "user":
            turns.append({"messages": [*head, message], "reasoning": "", "items": []})
            head = []
        elif turns:
            turns[-1]["messages"].append(message)
        else:
            head.append(message)
    for number, verdicts in enumerate(row["verdicts"]):
        if number >= len(turns):
            turns.append({"messages": [], "reasoning": "", "items": []})
        only = bool(row.get("instance_only"))
        turns[number]["items"] = [_of_row(verdict, only) for verdict in verdicts]
    for number, thought in enumerate(row["reasoning"]):
        if number < len(turns):
            turns[number]["reasoning"] = thought
    return turns


def _of_row(verdict: Mapping[str, Any], instance_only: bool) -> dict[str, Any]:
    item = _item(verdict["criterion"], verdict["label"], verdict["reason"], verdict["probability"])
    return item | {"word": "", "state": "none"} if instance_only else item


def _item(text: str, label: str | None, reason: str, probability: float | None) -> dict[str, Any]:
    decided = label in _WORDS
    return {
        "text": text,
        "word": _WORDS.get(label or "", "Open"),
        "state": label if decided else "open",
        # Why nothing was decided may quote an address or a path of the machine behind.
        "reason": reason if decided else anonymous.text(reason),
        "probability": probability,
    }
