"""The template that was chosen for each judge, as `facts select-template` writes it and `facts run` reads it.

A JSON file: {"judges": {"openai:o3": {"template": "json", "eligibility": "request"}, ...}}, by spec; a classifier has its
`threshold` and `calibrator` beside. What else stands there says how it was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.classifier import CLASSIFIER, Cut, classifies
from truebench_hf.judging.grounding.eligibility import VARIANTS
from truebench_hf.judging.grounding.types import DEFAULT, prompts_of, template_named
from truebench_hf.metrics.calibration import Calibrator


@dataclass(frozen=True, slots=True)
class Chosen:
    """How one judge is asked; a classifier by its `fitted` cut, or by a plain one where there is none."""

    template: str = DEFAULT
    eligibility: str = "request"
    fitted: Cut | None = None


def usual(spec: str) -> Chosen:
    """How a judge is asked of which nothing is said."""
    return Chosen(CLASSIFIER) if classifies(spec) else Chosen()


def prompts_by(template: str) -> tuple[str, ...]:
    """The names of the prompts that shape the verdicts of a judge so asked; a classifier has none."""
    return () if template == CLASSIFIER else prompts_of(template)


def as_json(chosen: Mapping[str, Chosen]) -> dict[str, Any]:
    """The part of a file that `read` needs."""
    return {"judges": {name: told(one) | {"eligibility": one.eligibility} for name, one in chosen.items()}}


def told(one: Chosen, name: str = "") -> Any:
    """How grounding is asked about, as it is written down: the template, and the cut of a classifier.

    With a `name` of a field, that field alone where there is nothing else to tell.
    """
    plain: dict[str, Any] = {"template": one.template} | (asdict(one.fitted) if one.fitted else {})
    return plain[name] if name and len(plain) == 1 else plain


def asked_by(one: Chosen, template: str) -> Chosen:
    """The same with another template. Raises UserError on one that there is not."""
    return replace(one, template=template_named(template))


def read(path: str, specs: Mapping[str, str]) -> dict[str, Chosen]:
    """What a file says for judges given by name and spec. Raises UserError where it cannot be read or lacks one."""
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))["judges"]
        known = {name: _chosen(one) for name, one in held.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"--template {path}: cannot be read ({type(error).__name__}: {error}); give a template, or the file that "
            "`truebench facts select-template` writes"
        ) from error
    found = {}
    for name, spec in specs.items():
        one = known.get(name) or known.get(spec)
        if one is None:
            raise UserError(f"--template {path}: says nothing on judge {spec}; it is about {', '.join(known)}")
        if one.eligibility not in VARIANTS:
            raise unknown("eligibility variant", one.eligibility, VARIANTS)
        found[name] = Chosen(
            CLASSIFIER if classifies(spec) else template_named(one.template), one.eligibility, one.fitted
        )
    return found


def _chosen(one: Mapping[str, Any]) -> Chosen:
    cut = None
    if one.get("threshold") is not None:
        calibrator = Calibrator.of_fields(one["calibrator"]) if one.get("calibrator") else None
        cut = Cut(float(one["threshold"]), calibrator)
    return Chosen(one.get("template", DEFAULT), one.get("eligibility", "request"), cut)
