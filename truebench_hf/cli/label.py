"""`truebench label out` and `label in`: asking people about whatever a folder or a file holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from truebench_hf.cli.commands import later
from truebench_hf.text.terminal import say

if TYPE_CHECKING:
    from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions


def add() -> None:
    """Add the commands."""
    later("label out", _load_out)
    later("label in", _load_in)


def _load_out() -> tuple[type[Any], Callable[[Any], None]]:
    from truebench_hf.study.labelling import LabelOutOptions

    return LabelOutOptions, _out


def _load_in() -> tuple[type[Any], Callable[[Any], None]]:
    from truebench_hf.study.labelling import LabelInOptions

    return LabelInOptions, _in


def _out(options: LabelOutOptions) -> None:
    from truebench_hf.api.labels import ask_people

    sent = ask_people(options)
    for line in sent.lines:
        say(line)
    for file in sent.files:
        say(file)


def _in(options: LabelInOptions) -> None:
    from truebench_hf.api.labels import take_labels
    from truebench_hf.report.console import show

    taken = take_labels(options)
    show(taken.sections, lead=taken.lead, notes=taken.notes)
    if taken.files:
        say(f"written: {', '.join(map(str, taken.files))}")
