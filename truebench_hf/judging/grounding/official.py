"""The paper's own judge prompts, from `evaluation_prompts.csv` of google/FACTS-grounding-public, and answers to them.

The file is not part of this package. It has two columns, `evaluation_method` and `evaluation_prompt`; what its
placeholders stand for is written down in `official.yaml`, and one that is not known is refused. Such prompts ask for no id, so that a
judge can be made to quote a label of the response: that is the paper's protocol, and why ours is the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from truebench_hf.data import row_files
from truebench_hf.data.rows import Record
from truebench_hf.errors import refused
from truebench_hf.judging.grounding.types import RatingLabel
from truebench_hf.judging.loose_json import JsonObject, TooManyObjects, find_objects, strip_invisible
from truebench_hf.judging.signed import CUT_OFF, Labels, SignedAnswer, read_signed
from truebench_hf.judging.signed_asking import Entries, ask_by_prompt, ask_signed
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message

METHOD, TEXT = "evaluation_method", "evaluation_prompt"
_TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
METHODS: Mapping[str, str] = _TABLES["methods"]
_PLACEHOLDERS: Mapping[str, str] = _TABLES["placeholders"]
_PLACE = re.compile(r"\{\{\s*([\w.+]+(?:\[[\"']\w+[\"']\])?)\s*\}\}")
_RATINGS: Mapping[str, RatingLabel] = {"no": "no_issues", "minor": "minor", "major": "major"}
_RATING = re.compile(r"(no|minor|major) issues?(?:\(s\))?", re.IGNORECASE)
_ORNAMENT = " \t\r\n.*_`\"'“”#()[]"
_SENTENCE = re.compile(r"[\s*_#>-]*sentence\s*(\d{1,4})(\s+label)?[\s*_]*:[\s*_]*(.*)", re.IGNORECASE)

_AGAIN = "Your answer cannot be used: {}. Answer again, in the form asked for above."
Reader = Callable[[str], SignedAnswer[Any]]


def official_prompts(path: Path) -> dict[str, str]:
    """Return Jinja texts made of the file's prompts, by the names of ours. Raises UserError on another form of file.

    Of the two eligibility filters that without context is taken: its words are the other's, and our variant decides what
    is shown. The SimpleQA-like template is not in the file.
    """
    prompts: dict[str, str] = {}
    for record in row_files.records(path):
        method = record.text(METHOD)
        name = METHODS.get(method.strip().casefold())
        if name is None:
            raise record.wrong(METHOD, f"is {method!r}, which is none of {', '.join(METHODS)}")
        if name not in prompts or method.endswith("no_context"):
            prompts[name] = _jinja(record, name)
    return prompts


def write_official_prompts(path: Path, folder: Path) -> dict[str, str]:
    """Write them as `NAME.jinja` into a folder, and return name -> file as `--prompt NAME=FILE` takes them."""
    prompts = official_prompts(path)
    with refused(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in prompts.items():
            write_whole(folder / f"{name}.jinja", [text])
    return {name: str(folder / f"{name}.jinja") for name in prompts}


def _jinja(record: Record, name: str) -> str:
    """The text with our values at its placeholders, and all else as it is, braces included."""
    used: list[str] = []
    parts = _PLACE.split(record.text(TEXT).replace("\\n", "\n"))  # every second one is a placeholder
    for place, key in enumerate(parts):
        if place % 2 == 0:
            plain = key.replace("{{", "{").replace("}}", "}")
            parts[place] = "{{ " + repr(plain) + " }}" if re.search(r"\{[%#]|[%#]\}|\{\Z|\A\}", plain) else plain
            continue
        value = _PLACEHOLDERS.get(key.replace("'", '"'))
        if value is None:
            raise record.wrong(
                TEXT, f"has the unknown placeholder '{{{{{key}}}}}'; known are {', '.join(_PLACEHOLDERS)}"
            )
        # What is shown as the request of the eligibility filter is our variant's choice: the request alone, or all.
        full = (name, key) == ("eligibility", "user_request")
        parts[place] = _PLACEHOLDERS["full_prompt"] if full else value
        used.append(parts[place])
    for value in _TABLES["needed"].get(name, ("document", "response")):
        if not re.search(rf"\b{value}\b", "".join(used)):
            raise record.wrong(TEXT, f"has no placeholder for the {value}; is it cut off?")
    return "".join(parts)


async def ask_signed_or_as_prescribed(
    schemas: SchemaFallback, prompts: Prompts, name: str, values: Mapping[str, Any], labels: Labels[Any], read: Reader, *,
    sampling: Sampling, reason: str = "", entries: Entries | None = None, **how: Any,
) -> SignedAnswer[Any]:  # fmt: skip
    """Return the signed answer to a prompt (see `ask_by_prompt`); to one that asks for no id, what `read` makes of it."""
    if prompts.is_signed(name):
        form: dict[str, Any] = {"reason": reason, "entries": entries}
        return await ask_by_prompt(schemas, prompts, name, values, labels, sampling=sampling, **form, **how)
    request = ChatRequest((Message("user", prompts.render(name, **values, structured=False)),), sampling)
    return await ask_signed(
        schemas.caller, request, "", labels, prompts, material=(), again=_AGAIN, **how,
        unsigned_form=lambda text, cut: SignedAnswer({}, (CUT_OFF,)) if cut else read(strip_invisible(text)),
    )  # fmt: skip


def read_word(key: str, words: Mapping[str, Any]) -> Reader:
    """Return a reader of the word under `key` of a JSON object, else at the end of the last line ("Answer: Accurate")."""

    def read(text: str) -> SignedAnswer[Any]:
        signed = read_signed(text, "\0", {key: words}, unsigned=True)
        if key in signed.labels:
            return SignedAnswer(signed.labels)
        lines = [line for line in text.splitlines() if line.strip(_ORNAMENT)]
        last = lines[-1].rpartition(":")[2].strip(_ORNAMENT).casefold().replace(" ", "_") if lines else ""
        wrong = f"its last line does not end in {' or '.join(words)}"
        return SignedAnswer({key: words[last]}) if last in words else SignedAnswer({}, (wrong,))

    return read


def read_objects(text: str) -> SignedAnswer[Any]:
    """Read the JSON objects with a sentence of an answer, one a line, in a list, or in an object around them."""
    rows = tuple(row for _, parsed in _objects(text) for row in _sentence_rows(parsed))
    return SignedAnswer({"sentences": rows}) if rows else SignedAnswer({}, ("it has no JSON object with a sentence",))


def read_lines(words: Mapping[str, bool]) -> Reader:
    """Return a reader of lines `Sentence 1: ...`, `Sentence 1 label: ...`, and of the final answer in the last line."""

    def read(text: str) -> SignedAnswer[Any]:
        rows: dict[str, dict[str, str]] = {}
        for match in filter(None, map(_SENTENCE.match, text.splitlines())):
            row = rows.setdefault(match[1], {})
            row["label" if match[2] else "sentence"] = match[3].strip(_ORNAMENT if match[2] else None)
        if not rows or any(len(row) < 2 for row in rows.values()):
            return SignedAnswer({}, ("it has no sentences with a label each",))
        answer = read_word("final_answer", words)(text)
        return replace(answer, labels={**answer.labels, "sentences": tuple(rows.values())})

    return read


def read_rating(text: str) -> SignedAnswer[Any]:
    """Read the rating under `Instruction Following` of the last object, and what is said before the object."""
    objects = [(start, parsed) for start, parsed in _objects(text) if "Instruction Following" in parsed]
    rating = _RATING.fullmatch(str(objects[-1][1]["Instruction Following"]).strip()) if objects else None
    if rating is None:
        return SignedAnswer({}, ('it has no JSON object with one of three ratings under "Instruction Following"',))
    before = re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", text[: objects[-1][0]]).strip()
    return SignedAnswer({"rating": _RATINGS[rating[1].casefold()]}, before=before)


def _objects(text: str) -> list[tuple[int, JsonObject]]:
    try:
        return [(start, parsed) for start, _, parsed in find_objects(text)]
    except TooManyObjects:
        return []


def _sentence_rows(parsed: Any) -> list[JsonObject]:
    if isinstance(parsed, JsonObject) and "sentence" in parsed:
        return [parsed]
    inner = parsed.values() if isinstance(parsed, JsonObject) else parsed if isinstance(parsed, list) else ()
    return [row for value in inner for row in _sentence_rows(value)]
