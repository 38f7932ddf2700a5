"""The template that was chosen for each judge, as `facts select-template` writes it and `facts run` reads it.

A JSON file: {"judges": {"openai:o3": {"template": "json", "eligibility": "request"}, ...}}, by spec; what else stands
there says how it was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.eligibility import VARIANTS
from truebench_hf.judging.grounding.templates import DEFAULT, template_named


@dataclass(frozen=True, slots=True)
class Chosen:
    """How one judge is asked."""

    template: str = DEFAULT
    eligibility: str = "request"


def read(path: str, specs: Mapping[str, str]) -> dict[str, Chosen]:
    """What a file says for judges given by name and spec. Raises UserError where it cannot be read or lacks one."""
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))["judges"]
        by_spec = {
            spec: Chosen(one.get("template", DEFAULT), one.get("eligibility", "request")) for spec, one in held.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"--template {path}: cannot be read ({type(error).__name__}: {error}); give a template, or the file that "
            "`truebench facts select-template` writes"
        ) from error
    found = {}
    for name, spec in specs.items():
        if spec not in by_spec:
            raise UserError(f"--template {path}: says nothing on judge {spec}; it is about {', '.join(by_spec)}")
        one = by_spec[spec]
        if one.eligibility not in VARIANTS:
            raise unknown("eligibility variant", one.eligibility, VARIANTS)
        found[name] = Chosen(template_named(one.template), one.eligibility)
    return found
