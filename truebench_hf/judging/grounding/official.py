"""The paper's own judge prompts, from `evaluation_prompts.csv` of google/FACTS-grounding-public, as prompts of ours.

The file is not part of this package. It has two columns, `evaluation_method` and `evaluation_prompt`; what its
placeholders stand for is written down here, and one that is not known is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from truebench_hf.errors import UserError, write_error

METHOD, TEXT = "evaluation_method", "evaluation_prompt"
# The prompt that each method takes the place of.
METHODS: Mapping[str, str] = {
    "response_level": "grounding_response",
    "span_level": "grounding_span",
    "implicit_span_level": "grounding_implicit",
    "json": "grounding_json",
    "json_alt": "grounding_json_alt",
    "json_double_check": "grounding_double_check",
    "json_with_double_check": "grounding_double_check",
    "ineligible_responses_filter_no_context": "eligibility",
    "ineligible_responses_filter_with_context": "eligibility",
}
# What our values are called in its prompts. Evidence there is the document alone; here it may be passages too.
_DOCUMENT = '{{ document or passages | map(attribute="text") | join("\\n\\n") }}'
_FULL = '{{ ([system, document] + passages | map(attribute="text") | list + [request]) | select | join("\\n\\n") }}'
PLACEHOLDERS: Mapping[str, str] = {
    "user_request": "{{ request }}",
    "user_query": "{{ request }}",
    "context_document": _DOCUMENT,
    "context": _DOCUMENT,
    "full_prompt": _FULL,
    "user_request_or_full_prompt": _FULL,
    "response": "{{ response }}",
    "response_a": "{{ response }}",
    "test_response": "{{ response }}",
    "response_b": "{{ baseline }}",
    "baseline_response": "{{ baseline }}",
    "ix": "{{ number }}",
    "ix+1": "{{ number }}",
    "span": "{{ span }}",
    'json_dict["sentence"]': "{{ sentence }}",
    "sentence": "{{ sentence }}",
    'json_dict["excerpt"]': '{{ excerpts | join("\\n") }}',
    "excerpt": '{{ excerpts | join("\\n") }}',
}
NEEDED: Mapping[str, tuple[str, ...]] = {
    "grounding_double_check": ("sentence", "excerpts"),
    "grounding_span": ("document", "response", "span"),
    "eligibility": ("request", "response", "baseline"),
}
_PLACE = re.compile(r"\{\{\s*([\w.+]+(?:\[[\"']\w+[\"']\])?)\s*\}\}")


def official_prompts(path: Path) -> dict[str, str]:
    """Our names of prompts -> Jinja texts made of the file's. Raises UserError on a file that is not of this form.

    Of the two eligibility filters that without context is taken: its words are the other's, and our variant decides what
    is shown. The SimpleQA-like template is not in the file.
    """
    rows = _rows(path)
    made: dict[str, str] = {}
    for method, text in rows.items():
        name = METHODS.get(method.strip().casefold())
        if name is None:
            raise UserError(f"{path}: unknown {METHOD} {method!r}; known are {', '.join(METHODS)}")
        if name not in made or method.endswith("no_context"):
            made[name] = _jinja(f"{path}: {method}", name, text)
    return made


def write_official_prompts(path: Path, folder: Path) -> dict[str, str]:
    """Write them as `NAME.jinja` into a folder, and give name -> file as `--prompt NAME=FILE` takes them."""
    made = official_prompts(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (folder / f"{name}.jinja").write_text(text, encoding="utf-8")
    except OSError as error:
        raise write_error(str(folder), error.strerror or error) from error
    return {name: str(folder / f"{name}.jinja") for name in made}


def _rows(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = reader.fieldnames or []
            if not {METHOD, TEXT} <= set(columns):
                raise UserError(f"{path}: needs the columns {METHOD} and {TEXT}, has {', '.join(columns) or 'none'}")
            rows = [(row[METHOD] or "", row[TEXT] or "") for row in reader]
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV: {error}") from error
    if not rows:
        raise UserError(f"{path}: holds no prompt")
    twice = {method for method, _ in rows if [other for other, _ in rows].count(method) > 1}
    if twice:
        raise UserError(f"{path}: {METHOD} {sorted(twice)[0]!r} stands there twice")
    return dict(rows)


def _jinja(where: str, name: str, text: str) -> str:
    """The text with our values at its placeholders, and all else as it is, braces included."""
    parts: list[str] = []
    at = 0
    for match in _PLACE.finditer(text):
        key = match.group(1).replace("'", '"')
        if key not in PLACEHOLDERS:
            raise UserError(f"{where}: unknown placeholder {match.group()!r}; known are {', '.join(PLACEHOLDERS)}")
        # What is shown as the request of the eligibility filter is our variant's choice: the request alone, or all.
        value = _FULL if (name, key) == ("eligibility", "user_request") else PLACEHOLDERS[key]
        parts += [_raw(text[at : match.start()]), value]
        at = match.end()
    made = "".join([*parts, _raw(text[at:])])
    for value in NEEDED.get(name, ("document", "response")):
        if not re.search(rf"\b{value}\b", "".join(parts[1::2])):
            raise UserError(f"{where}: has no placeholder for the {value}; is {TEXT} cut off?")
    return made


def _raw(text: str) -> str:
    """A piece that Jinja gives out as it stands; breaks written as two signs and doubled braces are what they stand for."""
    text = text.replace("\\n", "\n").replace("{{", "{").replace("}}", "}")
    return "{{ " + repr(text) + " }}" if re.search(r"\{[%#]|[%#]\}|\{\Z|\A\}", text) else text
