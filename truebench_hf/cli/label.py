"""`truebench label out` and `label in`: asking people about whatever a folder or a file holds."""

from __future__ import annotations

from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.report.console import show
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions
from truebench_hf.text.terminal import say


def out(options: LabelOutOptions) -> None:
    """`truebench label out`."""
    sent = ask_people(options)
    for line in (*sent.lines, *sent.files):
        say(line)


def take_in(options: LabelInOptions) -> None:
    """`truebench label in`."""
    taken = take_labels(options)
    show(taken.sections, lead=taken.lead, notes=taken.notes)
    if taken.files:
        say(f"written: {', '.join(map(str, taken.files))}")
