"""What makes a run the same run, wherever it lies: here, in the results data set, or as somebody's submission."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.errors import UserError
from truebench_hf.records import JudgedRow, Reader
from truebench_hf.space.board import shown

# These follow from the verdicts alone: a submission tells no protocol, on which the other scores depend.
_SCORES = ("official", "drfr", "soft_criterion", "soft_turn")
_ROWS = 8
_LONGEST = 2**23  # bytes


def content(folder: Path, model: str, judge: str, scores: Mapping[str, Any]) -> str:
    """A hash over what was answered and how it was judged, equal for every copy of a run; names as they are shown.

    Only the first rows of `judgments.jsonl` are read, since files are large and the board looks often. What publishing
    takes out (local paths, addresses in the reasons of open verdicts) is left out, and so are token counts.
    """
    figures = [_figures(scores.get(name)) for name in _SCORES]
    return digest(canonical([model, judge, figures, _opening(folder / "judgments.jsonl")]))


def _figures(score: Any) -> list[Any] | None:
    if not isinstance(score, Mapping):
        return None
    value = score.get("value")
    return [None if value is None else round(value, 6), score.get("n"), score.get("unscored")]


def _opening(file: Path) -> list[Any]:
    """The first rows, as far as they can be read."""
    reader, rows = Reader(), list[Any]()
    try:
        with file.open("rb") as content:
            pieces = iter(partial(content.readline, _LONGEST), b"")
            for where, line in islice(jsonl.lines(pieces, file.name), _ROWS):
                rows.append(_told(reader.row(shown.loads(line.decode("utf-8", "replace")), where)))
    except (OSError, ValueError, RecursionError, UserError):
        pass
    return rows


def _told(row: JudgedRow) -> list[Any]:
    verdicts = [
        [v["label"], v["label"] and v["reason"], v["probability"], v["votes"]] for turn in row["verdicts"] for v in turn
    ]
    return [row["id"], [message["content"] for message in row["messages"]], verdicts]
