"""What a run is about: the built-in sample, a release of TRUEBench, or one's own data; and given responses to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.data import instances, row_files
from truebench_hf.data.answer_files import read_answers, responses_by_model
from truebench_hf.data.catalogue import NAMES, located
from truebench_hf.data.records import JUDGMENTS, RESPONSES
from truebench_hf.data.row_files import Usable, unusable
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.options import Binds, InMemory, columns, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import WritingOptions, numbered
from truebench_hf.text.redaction import known
from truebench_hf.types import Instance, Response

CATEGORIES = (
    "Content Generation", "Editing", "Data Analysis", "Reasoning", "Hallucination",
    "Safety", "Repetition", "Summarization", "Translation", "Multi-Turn",
)  # fmt: skip
LANGUAGE_NAMES = {
    "KO": "Korean", "EN": "English", "JA": "Japanese", "ZH": "Chinese", "PL": "Polish", "DE": "German", "PT": "Portuguese",
    "ES": "Spanish", "FR": "French", "IT": "Italian", "RU": "Russian", "VI": "Vietnamese",
}  # fmt: skip
LANGUAGES = tuple(LANGUAGE_NAMES)


def load(
    data: str, column: tuple[str, ...] = (), criteria: str | None = None, separator: str = "", *, judged: bool = True,
    repeated: bool = False,
) -> list[Instance]:  # fmt: skip
    """The instances of one of `NAMES`, a file, a folder or a Hub id, as `instances.of_rows` reads them, or SOURCE:PATH.

    `column` (OURS=THEIRS) maps columns, `criteria` is a file of criteria for every turn, `separator` parts those of a
    text. Of several splits the one named test is read; `judged` and `repeated` as there. Of a source, whose rows may be
    dirty, `unusable` tells what was left out. Raises UserError naming the first malformed row and its field, or the
    remedy where nothing is found.
    """
    named, more = columns(column), instances.criteria_file(criteria, separator) if criteria else ()
    if row_files.is_source(data):
        from truebench_hf.data import sources  # many modules, of which most runs need none

        source = sources.instances(data)
        completed = (instances.with_criteria(instance, more) for instance in source)
        return Usable(completed, source.left_out)
    rows = list(row_files.one_split(data if isinstance(data, InMemory) else located(data), NAMES))
    if not separator:
        instances.warn_unsplit(rows, named)
    return instances.of_rows(rows, named, more, separator=separator, judged=judged, repeated=repeated)


def select(all_instances: Sequence[Instance], languages: Sequence[str], categories: Sequence[str]) -> list[Instance]:
    """The instances of some languages and categories, with what was left out of the data. Raises UserError on a name
    that it lacks.

    A language may be named by its code or in English, whichever the data has.
    """
    chosen = list(all_instances)
    also = {code.casefold(): english.casefold() for code, english in LANGUAGE_NAMES.items()}
    also |= {english: code for code, english in also.items()}
    for field, wanted in (("language", languages), ("category", categories)):
        known = {getattr(i, field).casefold(): getattr(i, field) for i in all_instances if getattr(i, field)}
        if wanted and not known:
            raise UserError(f"--{field} {wanted[0]}: the data names no {field}; leave it out")
        folded = set()
        for name in wanted:
            own = name.strip().casefold()
            own = also.get(own, own) if field == "language" and own not in known else own
            if own not in known:
                raise unknown(field, name, sorted(known.values()))
            folded.add(own)
        chosen = [i for i in chosen if not folded or getattr(i, field).casefold() in folded]
    if not chosen:
        raise UserError("no instance has both the languages and the categories asked for; ask for fewer")
    return Usable(chosen, all_instances.left_out) if isinstance(all_instances, Usable) else chosen


def slug(name: str) -> str:
    """A language or category as configurations and tasks are called on the Hub: `Multi-Turn` is `multi_turn`."""
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


def data_hash(chosen: Sequence[Instance]) -> str:
    """SHA-256 over all that the instances hold but for secrets, whatever file they came from."""
    return digest(known(canonical(list(chosen))))


@dataclass(frozen=True, slots=True)
class ModelResponses:
    """An instance with the responses to it that there are; several of one model are its samples."""

    instance: Instance
    responses: Sequence[Response]


@dataclass(frozen=True, kw_only=True)
class SeveralOptions(WritingOptions):
    """Where responses come from."""

    responses: tuple[str, ...] = option(
        (), panel="Data", help="Responses to the data: a run folder, or a file as for `truebench judge`; may be repeated, e.g. "
        "one a model. Where rows do not say whose they are the file's name does."
    )  # fmt: skip
    model: tuple[str, ...] = role(
        (), help="Model whose responses are made here: a spec; may be repeated.",
        binds=Binds("model", lambda options: options.models, grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.responses and not self.model:
            raise UserError("give --responses (a file or a run folder), or name a --model that makes them")

    @property
    def models(self) -> list[str]:
        """The models by name: the spec, numbered where one is named more than once."""
        return list(map(str, numbered(self.model)))


def answered(options: SeveralOptions, chosen: Sequence[Instance]) -> tuple[Items[ModelResponses], list[str]]:
    """The instances with what was given, of one that is sampled all; and the names of all models.

    What nobody answered and nobody will is left out. Raises UserError where a model's responses are given and made, and
    as `given_responses`.
    """
    answering = options.models
    files = []
    for place in options.responses:
        path = Path(place)
        if path.is_dir():
            held = [path / name for name in (RESPONSES, JUDGMENTS) if (path / name).is_file()]
            if not held:
                raise UserError(
                    f"--responses {place}: holds neither {RESPONSES} nor {JUDGMENTS}; give a run folder, or a file"
                )
            path = held[0]
        files.append(path)
    by_model = responses_by_model(chosen, [(path, list(read_answers(path))) for path in files])
    if both := set(by_model) & set(answering):
        raise UserError(f"--model {min(both)}: --responses holds answers of it too; leave out one of the two")
    items = [ModelResponses(i, [response for by_id in by_model.values() for response in by_id[i.id]]) for i in chosen]
    # A file often answers a part of the data.
    silent = [] if answering else [item for item in items if not any(response.answers for response in item.responses)]
    left = {item.instance.id for item in silent}
    return Items(
        [item for item in items if item.instance.id not in left],
        lambda item: item.instance.id,
        lambda item: [item.instance, item.responses],
        lambda item: (item.instance.language, item.instance.category),
        size=lambda item: len(item.instance.turns),
        left_out=(
            *unusable(chosen), *(f"instance {item.instance.id}, to which there is no response" for item in silent),
        ),
    ), [*by_model, *answering]  # fmt: skip
