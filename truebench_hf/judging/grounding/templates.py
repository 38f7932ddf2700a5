"""The seven ways to ask a judge about grounding (paper 002, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from truebench_hf.errors import unknown


@dataclass(frozen=True, slots=True)
class Template:
    """What a template is called in the paper, what it labels, what it does, and the prompts it asks by."""

    paper: str
    unit: Literal["answer", "span", "sentence"]
    about: str
    prompts: tuple[str, ...]


TEMPLATES: Mapping[str, Template] = {
    "json": Template(
        "JSON", "sentence", "labels every sentence in one call, strictly, with excerpts", ("grounding_json",)
    ),
    "json_alt": Template(
        "JSON (alt)", "sentence", "the same with plainer rules; excerpts for unsupported ones too", ("grounding_json_alt",)
    ),
    "json_double_check": Template(
        "JSON w. double-check", "sentence", "json, and a call per supported sentence with its excerpt alone",
        ("grounding_json", "grounding_double_check"),
    ),
    "implicit_span": Template(
        "Implicit span-level", "sentence", "labels every sentence and then the answer, in one call", ("grounding_implicit",)
    ),
    "span": Template("Span-level", "span", "one call per sentence of the answer", ("grounding_span",)),
    "response": Template("Response-level", "answer", "labels the answer as a whole", ("grounding_response",)),
    "simpleqa": Template(
        "SimpleQA template", "answer", "the same with a third label: not attempted", ("grounding_simpleqa",)
    ),
}  # fmt: skip
DEFAULT = "json"


def template_named(name: str) -> str:
    """The name of a template as `TEMPLATES` has it; `json-alt` is `json_alt`. Raises UserError for another."""
    plain = name.strip().casefold().replace("-", "_")
    if plain not in TEMPLATES:
        raise unknown("grounding template", name, tuple(TEMPLATES))
    return plain


def prompts_of(template: str) -> tuple[str, ...]:
    """The names of the prompts that shape the verdicts of a template, for a study to bind."""
    return TEMPLATES[template_named(template)].prompts
