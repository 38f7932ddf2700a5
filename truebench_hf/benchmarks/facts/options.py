"""Every option of `truebench facts run`, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.facts import chosen
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.classifier import classifies
from truebench_hf.judging.grounding.eligibility import ELIGIBILITY_PROMPTS, VARIANTS
from truebench_hf.judging.grounding.types import TEMPLATES
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.study.options import RepeatOptions, ReplyOptions, RuleOptions, StudyOptions, numbered

UNJUDGED = "none"  # of --eligibility: nobody asks whether answers do what was asked
_TEMPLATES = Binds("templates", lambda o: {n: chosen.told(one, "template") for n, one in o.chosen.items()}, late=True)
_ELIGIBILITY = Binds("eligibility", lambda o: o.variants, late=True)


@dataclass(frozen=True, kw_only=True)
class FactsOptions(StudyOptions, RepeatOptions, ReplyOptions, RuleOptions):
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
    fail_under: float | None = option(
        None, panel="Output", help="Exit with 1 where the final score, in percent, is below this: for CI."
    )
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
        if self.fail_under is not None and not 0 <= self.fail_under <= 100:
            raise UserError(f"--fail-under {self.fail_under}: is a percentage, 0 to 100")
        if self.fail_under is not None and 0 < self.fail_under <= 1:  # a gate that nothing would fail
            raise UserError(
                f"--fail-under {self.fail_under:g}: is a percentage, not a share; write {100 * self.fail_under:g}"
            )
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
    def templates(self) -> dict[str, str]:
        """The template of each judge by its name. Raises UserError on one that there is not."""
        return {name: self.chosen[name].template for name in self.names}

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
        used = [name for template in self.templates.values() for name in chosen.prompts_by(template)]
        return tuple(dict.fromkeys((*used, *(() if self.unjudged else ELIGIBILITY_PROMPTS))))

    def asked_otherwise(self, role: str, one: int, other: int) -> bool:
        """Judges with templates of their own: one model may be asked about grounding in several ways."""
        return role == "judge" and self.chosen[self.names[one]] != self.chosen[self.names[other]]

    @property
    def sampling(self) -> Sampling:
        """How answers are drawn."""
        return Sampling(self.temperature, max_tokens=self.max_tokens)

    @cached_property
    def chosen(self) -> Mapping[str, chosen.Chosen]:
        """How each judge is asked, by its name. Raises UserError on a template that there is not."""
        specs = dict(zip(self.names, self.judge, strict=True))
        found = {name: chosen.usual(spec) for name, spec in specs.items()}
        for given in self.template:
            number, dot, name = given.partition(".")
            one_judge = dot and number.isdigit()  # 1.json: the first judge by json
            if not one_judge and _is_file(given):
                found |= chosen.read(given, specs)
            elif not one_judge:
                found |= {j: chosen.asked_by(one, given) for j, one in found.items() if not classifies(specs[j])}
            elif not 1 <= int(number) <= len(self.judge):
                count = len(self.judge)
                raise UserError(
                    f"--template {given}: there is no judge number {number}; there {'is' if count == 1 else 'are'} {count}"
                )
            elif classifies(specs[judge := self.names[int(number) - 1]]):
                raise UserError(f"--template {given}: {judge} is a classifier, which no template asks; leave it out")
            else:
                found[judge] = chosen.asked_by(found[judge], name)
        return found


def _is_file(text: str) -> bool:
    known = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
    if text == "smollm2" or ":" in text.split("/")[0]:
        return False
    return Path(text).suffix.lower() in known or Path(text).exists()


def judges_facts(options: FactsOptions, identities: Mapping[str, Any]) -> dict[str, Any]:
    """How each judge is asked, as `scores.json` tells it; runs may be joined where this is equal."""
    told = {}
    for name in options.names:
        template, variant = options.templates[name], options.variants.get(name)
        prompts = (*chosen.prompts_by(template), *(ELIGIBILITY_PROMPTS if variant else ()))
        told[name] = {
            **chosen.told(options.chosen[name]), "eligibility": variant or UNJUDGED, "identity": identities.get(name, {}),
            "prompts": {prompt: options.prompts.hash(prompt) for prompt in prompts},
        }  # fmt: skip
    return told
