"""Every option of `truebench facts run`, declared once, and how each judge is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.classifier import CLASSIFIER, Cut, classifies
from truebench_hf.judging.grounding.eligibility import ELIGIBILITY_PROMPTS, VARIANTS
from truebench_hf.judging.grounding.types import DEFAULT, TEMPLATES, prompts_of, template_named
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.study.options import (
    FailUnderOptions,
    RepeatOptions,
    ReplyOptions,
    RuleOptions,
    StudyOptions,
    numbered,
)

UNJUDGED = "none"  # of --eligibility: nobody asks whether answers do what was asked
_TEMPLATES = Binds("templates", lambda o: {name: one.bound for name, one in o.chosen.items()}, late=True)
_ELIGIBILITY = Binds("eligibility", lambda o: o.variants, late=True)


@dataclass(frozen=True, kw_only=True)
class FactsOptions(StudyOptions, RepeatOptions, ReplyOptions, RuleOptions, FailUnderOptions):
    """Which documents, whose answers, who judges them, and against which baseline."""

    PANEL: ClassVar[str] = "Data"
    RULES: ClassVar[tuple[str, ...]] = ("off", "evidence")  # whether an answer serves its request is more than a count

    data: str | None = option(  # type: ignore[assignment]
        None, help="facts_mini, open (the public set, from the Hub), a path (CSV, JSONL, JSON, Parquet, or a folder of "
        "them) or a Hub id. Not needed with --answers whose rows hold their documents."
    )  # fmt: skip
    answers: str | None = option(
        None, help="File of answers that are there already, in place of a --model: rows of id and answer, logs of "
        "retrieval (question, contexts, answer), lm-eval samples, lighteval details, inspect logs, or a run folder."
    )  # fmt: skip
    model_name: str | None = option(None, help="With --answers: whose they are, where the file does not say.")
    model: str | None = role(None, help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec.")
    judge: tuple[str, ...] = role(
        help="Judge: a spec like the model's; repeat it, the paper has three.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )
    baseline: str | None = role(
        None, help="Who gives the answers that eligibility is measured against: a spec, or a FILE of them (id, answer). "
        "Without one the data's own baseline answers, else its references.",
        binds=Binds("baseline", lambda o: None if o.baseline_file else o.baseline), no_model=lambda text: _is_file(text),
    )  # fmt: skip
    template: tuple[str, ...] = option(
        (), panel="Judging", binds=_TEMPLATES,
        help=f"How grounding is asked about, by default json: {', '.join(TEMPLATES)}. N.NAME is for the N-th judge only; "
        "a FILE of `facts select-template` holds what was chosen for each. May be repeated."
    )  # fmt: skip
    eligibility: str | None = option(
        None, panel="Judging", binds=_ELIGIBILITY,
        help="What judges of eligibility see: request (the default) or full, the whole prompt; none: it is not judged, "
        "and no baseline needed."
    )  # fmt: skip
    max_tokens: int = option(4096, panel="Method", binds=True, help="Token limit of one answer, thinking included.")
    temperature: float = option(0.0, panel="Method", binds=True, help="Sampling temperature of model and baseline.")
    allow_unscored: bool = option(False, panel="Output", help="Exit with 0 even when answers are left undecided.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.judge:
            raise UserError("name a --judge, or several")
        if (self.model is None) == (self.answers is None):
            raise UserError("name either a --model that answers, or a file of --answers")
        if self.data is None and self.answers is None:
            raise UserError("--data is missing: facts_mini, open, a path or a Hub id")
        if self.samples > 1 and self.answers:
            raise UserError("--samples goes with --model; of --answers all are judged that the file has")
        if self.model_name and not self.answers:
            raise UserError("--model-name goes with --answers")
        if not 0 <= self.temperature < inf:
            raise UserError(f"--temperature {self.temperature}: must be at least 0")
        at_least_one(self, "max_tokens")
        if self.unjudged and self.baseline:
            raise UserError("--eligibility none asks nobody about eligibility; leave out --baseline")

    @property
    def baseline_file(self) -> str | None:
        """The file of baseline answers; None where a model gives them, or the data."""
        return self.baseline if self.baseline and _is_file(self.baseline) else None

    @property
    def names(self) -> list[str]:
        """The judges by name."""
        return numbered(self.judge)

    @property
    def unjudged(self) -> bool:
        """Whether nobody judges eligibility: as it is said, or where all judges are classifiers."""
        return self.eligibility == UNJUDGED or all(map(classifies, self.judge))

    @cached_property
    def variants(self) -> dict[str, str]:
        """What each judge sees for eligibility, by its name; {} where nobody judges it."""
        if self.eligibility not in (None, UNJUDGED, *VARIANTS):
            raise unknown("eligibility", str(self.eligibility), (*VARIANTS, UNJUDGED))
        if self.unjudged:
            return {}
        writing = (name for name, spec in zip(self.names, self.judge, strict=True) if not classifies(spec))
        return {name: self.eligibility or self.chosen[name].eligibility for name in writing}

    @property
    def prompts_used(self) -> tuple[str, ...]:
        """The names of the prompts that shape verdicts."""
        used = [name for choice in self.chosen.values() for name in choice.prompts]
        return tuple(dict.fromkeys((*used, *(() if self.unjudged else ELIGIBILITY_PROMPTS))))

    def asked_otherwise(self, role: str, number: int, other: int) -> bool:
        """Judges with templates of their own: one model may be asked about grounding in several ways."""
        return role == "judge" and self.chosen[self.names[number]] != self.chosen[self.names[other]]

    @property
    def sampling(self) -> Sampling:
        """How answers are drawn."""
        return Sampling(self.temperature, max_tokens=self.max_tokens)

    @cached_property
    def chosen(self) -> Mapping[str, TemplateChoice]:
        """How each judge is asked, by its name. Raises UserError on a template that there is not."""
        specs = dict(zip(self.names, self.judge, strict=True))
        choices = {name: usual_choice(spec) for name, spec in specs.items()}
        for argument in self.template:
            number, dot, name = argument.partition(".")
            one_judge = dot and number.isdigit()  # 1.json: the first judge by json
            if not one_judge and _is_file(argument):
                choices |= read_choices(argument, specs)
            elif not one_judge:
                choices |= {
                    j: replace(choice, template=template_named(argument))
                    for j, choice in choices.items()
                    if not classifies(specs[j])
                }
            elif not 1 <= int(number) <= len(self.judge):
                count = len(self.judge)
                raise UserError(
                    f"--template {argument}: there is no judge number {number}; there {'is' if count == 1 else 'are'} {count}"
                )
            elif classifies(specs[judge := self.names[int(number) - 1]]):
                raise UserError(f"--template {argument}: {judge} is a classifier, which no template asks; leave it out")
            else:
                choices[judge] = replace(choices[judge], template=template_named(name))
        return choices


def _is_file(text: str) -> bool:
    known = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
    if text == "smollm2" or ":" in text.split("/")[0]:
        return False
    return Path(text).suffix.lower() in known or Path(text).exists()


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


def choices_json(choices: Mapping[str, TemplateChoice]) -> dict[str, Any]:
    """Return the part of a file of `facts select-template` that `read_choices` needs."""
    return {
        "judges": {name: choice.to_json() | {"eligibility": choice.eligibility} for name, choice in choices.items()}
    }


def read_choices(path: str, specs: Mapping[str, str]) -> dict[str, TemplateChoice]:
    """Read what such a file says of judges by name and spec. Raises UserError where it cannot be read or lacks one."""
    try:
        judges = json.loads(Path(path).read_text(encoding="utf-8"))["judges"]
        known = {name: _choice(choice) for name, choice in judges.items()}
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


def _choice(fields: Mapping[str, Any]) -> TemplateChoice:
    cut = None
    if fields.get("threshold") is not None:
        calibrator = Calibrator.of_fields(fields["calibrator"]) if fields.get("calibrator") else None
        cut = Cut(float(fields["threshold"]), calibrator)
    return TemplateChoice(fields.get("template", DEFAULT), fields.get("eligibility", "request"), cut)


def judges_facts(options: FactsOptions, identities: Mapping[str, Any]) -> dict[str, Any]:
    """How each judge is asked, as `scores.json` tells it; runs may be joined where this is equal."""
    facts = {}
    for name in options.names:
        choice, variant = options.chosen[name], options.variants.get(name)
        prompts = (*choice.prompts, *(ELIGIBILITY_PROMPTS if variant else ()))
        facts[name] = {
            **choice.to_json(), "eligibility": variant or UNJUDGED, "identity": identities.get(name, {}),
            "prompts": {prompt: options.prompts.hash(prompt) for prompt in prompts},
        }  # fmt: skip
    return facts
