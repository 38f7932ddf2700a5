"""How each judge is asked about grounding and eligibility, and the file in which `facts select-template` writes it down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.classifier import CLASSIFIER, Cut, classifies
from truebench_hf.judging.grounding.judge import VARIANTS
from truebench_hf.judging.grounding.types import DEFAULT, prompts_of, template_named
from truebench_hf.metrics.calibration import Calibrator

UNJUDGED = "none"  # of --eligibility: nobody asks whether answers do what was asked


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """How one judge is asked; a classifier by its `fitted` cut, or by a plain one where there is none."""

    template: str = DEFAULT
    eligibility: str = "request"
    fitted: Cut | None = None

    @property
    def prompts(self) -> tuple[str, ...]:
        """The names of the prompts that shape verdicts on grounding; a classifier has none."""
        return () if self.template == CLASSIFIER else prompts_of(self.template)

    @property
    def bound(self) -> Any:
        """What a run folder is tied to: the template, and the cut of a classifier."""
        return self.to_json() if self.fitted else self.template

    def to_json(self) -> dict[str, Any]:
        """How grounding is asked about, as it is written down."""
        return {"template": self.template} | (asdict(self.fitted) if self.fitted else {})


def usual_choice(spec: str) -> TemplateChoice:
    """Return how a judge is asked of which nothing is said."""
    return TemplateChoice(CLASSIFIER) if classifies(spec) else TemplateChoice()


def read_choices(path: str, specs: Mapping[str, str]) -> dict[str, TemplateChoice]:
    """Read what a file of `facts select-template` says of judges by name and spec. Raises UserError where it cannot be read or lacks one."""
    try:
        judges = json.loads(Path(path).read_text(encoding="utf-8"))["judges"]
        known = {}
        for name, fields in judges.items():
            calibrator = Calibrator.of_fields(fields["calibrator"]) if fields.get("calibrator") else None
            cut = None if fields.get("threshold") is None else Cut(float(fields["threshold"]), calibrator)
            known[name] = TemplateChoice(fields.get("template", DEFAULT), fields.get("eligibility", "request"), cut)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"--template {path}: cannot be read ({type(error).__name__}: {error}); give a template, or the file that "
            "`truebench facts select-template` writes"
        ) from error
    choices = {}
    for name, spec in specs.items():
        choice = known.get(name) or known.get(spec)
        if choice is None:
            raise UserError(f"--template {path}: says nothing on judge {spec}; it is about {', '.join(known)}")
        if choice.eligibility not in VARIANTS:
            raise unknown("eligibility variant", choice.eligibility, VARIANTS)
        choices[name] = replace(choice, template=CLASSIFIER if classifies(spec) else template_named(choice.template))
    return choices


def chosen_templates(specs: Mapping[str, str], templates: Sequence[str]) -> dict[str, TemplateChoice]:
    """Return how each judge is asked, by its name, of the arguments of --template.

    `specs` are the judges' by name. Raises UserError on a template or judge that there is not.
    """
    names = list(specs)
    choices = {name: usual_choice(spec) for name, spec in specs.items()}
    for argument in templates:
        number, dot, template = argument.partition(".")
        if not (dot and number.isdigit()):  # 1.json: the first judge by json
            if is_file(argument):
                choices |= read_choices(argument, specs)
                continue
            writing = [name for name, spec in specs.items() if not classifies(spec)]
            choices |= {name: replace(choices[name], template=template_named(argument)) for name in writing}
        elif not 1 <= int(number) <= len(names):
            count = f"there {'is' if len(names) == 1 else 'are'} {len(names)}"
            raise UserError(f"--template {argument}: there is no judge number {number}; {count}")
        elif classifies(specs[judge := names[int(number) - 1]]):
            raise UserError(f"--template {argument}: {judge} is a classifier, which no template asks; leave it out")
        else:
            choices[judge] = replace(choices[judge], template=template_named(template))
    return choices


def is_file(text: str) -> bool:
    """Return True if an argument names a file, and no model or template."""
    known = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
    if text == "smollm2" or ":" in text.split("/")[0]:
        return False
    return Path(text).suffix.lower() in known or Path(text).exists()
