"""Responses of several models to the same instances: those that are given, and who makes the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.data.answer_files import read_answers
from truebench_hf.data.given_responses import responses_by_model
from truebench_hf.data.records import JUDGMENTS, RESPONSES
from truebench_hf.data.usable import unusable
from truebench_hf.errors import UserError
from truebench_hf.options import Binds, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import WritingOptions, numbered
from truebench_hf.types import Instance, Response


@dataclass(frozen=True, slots=True)
class ModelResponses:
    """An instance with the responses to it that were given; several of one model are its samples."""

    instance: Instance
    given: Sequence[Response]


@dataclass(frozen=True, kw_only=True)
class SeveralOptions(WritingOptions):
    """Where responses come from."""

    responses: tuple[str, ...] = option(
        (), panel="Data", help="Responses to the data: a run folder, or a file as for `truebench judge`; may be repeated, e.g. "
        "one a model. Where rows do not say whose they are the file's name does."
    )  # fmt: skip
    model: tuple[str, ...] = role(
        (), help="Model whose responses are made here: a spec; may be repeated.",
        binds=Binds("model", lambda options: list(map(str, numbered(options.model))), grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.responses and not self.model:
            raise UserError("give --responses (a file or a run folder), or name a --model that makes them")


def answered(options: SeveralOptions, chosen: Sequence[Instance]) -> tuple[Items[ModelResponses], list[str]]:
    """The instances with what was given, of one that is sampled all; and the names of all models.

    What nobody answered and nobody will is left out. Raises UserError where a model's responses are given and made, and
    as `given_responses`.
    """
    made = list(map(str, numbered(options.model)))
    given = responses_by_model(chosen, [(path, list(read_answers(path))) for path in map(_file, options.responses)])
    if both := set(given) & set(made):
        raise UserError(f"--model {min(both)}: --responses holds answers of it too; leave out one of the two")
    # A file often answers a part of the data.
    silent = [] if made else [i for i in chosen if not any(one.answers for of in given.values() for one in of[i.id])]
    gone = {instance.id for instance in silent}
    items = Items(
        [ModelResponses(i, [one for of in given.values() for one in of[i.id]]) for i in chosen if i.id not in gone],
        lambda one: one.instance.id,
        lambda one: [one.instance, one.given],
        lambda one: (one.instance.language, one.instance.category),
        size=lambda one: len(one.instance.turns),
        left_out=(
            *unusable(chosen), *(f"instance {instance.id}, to which there is no response" for instance in silent),
        ),
    )  # fmt: skip
    return items, [*given, *made]


def _file(given: str) -> Path:
    """The file of answers of a run folder, or a file itself. Raises UserError where a folder has none."""
    path = Path(given)
    if not path.is_dir():
        return path
    found = next((path / name for name in (RESPONSES, JUDGMENTS) if (path / name).is_file()), None)
    if found is None:
        raise UserError(f"--responses {given}: holds neither {RESPONSES} nor {JUDGMENTS}; give a run folder, or a file")
    return found
