"""`truebench label out`, `label in` and `label open`: asking people about whatever a folder or a file holds."""

from __future__ import annotations

from truebench_hf.api.labels import ask_here, ask_people, take_labels
from truebench_hf.report.console import show
from truebench_hf.study.labelling import LabelInOptions, LabelOpenOptions, LabelOutOptions, Taken
from truebench_hf.text.terminal import say


def out(options: LabelOutOptions) -> None:
    """`truebench label out`."""
    sent = ask_people(options)
    for line in (*sent.notes, *sent.files):
        say(line)


def take_in(options: LabelInOptions) -> None:
    """`truebench label in`."""
    _show(take_labels(options))


def open_here(options: LabelOpenOptions) -> None:
    """`truebench label open`."""
    _show(ask_here(options, say))


def _show(taken: Taken) -> None:
    show(taken.sections, lead=taken.lead, notes=taken.notes)
    if taken.files:
        say(f"written: {', '.join(map(str, taken.files))}")
