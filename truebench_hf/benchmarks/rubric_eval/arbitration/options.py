"""Every option of `truebench arbitrate`, declared once."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, pairs
from truebench_hf.prompts import Prompts

_LEVELS = ("auto", "text", "decision")


@dataclass(frozen=True, kw_only=True)
class ArbitrateOptions:
    """What is labelled, by whom, and where the labels go."""

    data: str = option(help="SOURCE:PATH (e.g. structflowbench:FILE), rubric_mini, or a JSONL in rubric_eval columns.")
    judges: str = option(help="Base judges: two or more specs, separated by commas (the paper has four).")
    meta_judges: str = option(help="Meta-judges: two or more specs, separated by commas; all have to agree.")
    out: str = option(help="Run folder: made if absent, continued if it holds the same run.")
    responders: str = option("", help="Models that answer what has no response, separated by commas; one each by lot.")
    use_reference: bool = option(False, help="Label the answers that a source ships as references.")
    limit: int | None = option(None, help="Only the first N responses.")
    seed: int = option(0, help="Draws the responder of each instruction and the order of the rationales.")
    reference: str | None = option(
        None, help="Trusted labels (rubric_mini, or JSONL with id and label) to validate by."
    )
    candidates: str = option("", help="Further judges to rank on the reference; they have no say in the labels.")
    judge_level: str = option("auto", help="text, decision (probabilities), or auto: decision for smollm2 only.")
    coarse_reasoning: bool = option(True, help="Whether judges give reasons in the first, coarse pass too.")
    threshold: float = option(0.5, help="Decision level: P(yes) from which a rubric is met.")
    structured: str = option("auto", help="JSON-schema answers from the judges: auto, on or off.")
    max_tokens: int = option(4096, help="Token limit of one answer.")
    temperature: float = option(0.0, help="Sampling temperature of the responders.")
    judge_max_tokens: int = option(8192, help="Token limit of one judge answer.")
    concurrency: int = option(16, help="Requests at a time, for each model in each part it plays.")
    model_arg: tuple[str, ...] = option((), help="Provider option k=v for all models, or SPEC@k=v for one; repeatable.")
    prompt: tuple[str, ...] = option((), help="NAME=FILE.jinja in place of a prompt; may be repeated.")

    def __post_init__(self) -> None:
        if self.judge_level not in _LEVELS:
            raise unknown("judge level", self.judge_level, _LEVELS)
        if not 0 < self.threshold < 1:
            raise UserError(f"--threshold {self.threshold}: lies between 0 and 1")
        for flag, names in (("--judges", self.judge_specs), ("--meta-judges", self.meta_specs)):
            if len(names) < 2:
                raise UserError(f"{flag} {','.join(names)}: name at least two, separated by commas")
        for name in ("max_tokens", "judge_max_tokens", "concurrency"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name.replace('_', '-')} {getattr(self, name)}: must be at least 1")
        if self.candidates and self.reference is None:
            raise UserError("--candidates are ranked on trusted labels: name them with --reference")
        if both := set(self.candidate_specs) & set(self.judge_specs):
            raise UserError(f"--candidates {both.pop()}: is a base judge already, and ranked with the candidates")

    @property
    def judge_specs(self) -> tuple[str, ...]:
        """The base judges."""
        return specs(self.judges, "--judges")

    @property
    def meta_specs(self) -> tuple[str, ...]:
        """The meta-judges."""
        return specs(self.meta_judges, "--meta-judges")

    @property
    def responder_specs(self) -> tuple[str, ...]:
        """The models that answer."""
        return specs(self.responders, "--responders")

    @property
    def candidate_specs(self) -> tuple[str, ...]:
        """Judges that are only measured."""
        return specs(self.candidates, "--candidates")

    @property
    def sampling(self) -> Sampling:
        """How answers are drawn."""
        return Sampling(self.temperature, max_tokens=self.max_tokens)

    @property
    def prompts(self) -> Prompts:
        """The prompts, with the user's in place of ours."""
        return Prompts(pairs(self.prompt, "--prompt"))

    def decides(self, spec: str) -> bool:
        """Whether a judge gives probabilities rather than text."""
        return self.judge_level == "decision" or (self.judge_level == "auto" and spec == "smollm2")

    def settings(self, spec: str, stage: str) -> JudgeSettings:
        """How a judge decides in the pass `stage`: coarse, or any other for one rubric a call with reasons."""
        coarse = stage == "coarse"
        level = "decision" if self.decides(spec) else "checklist" if coarse else "rubric"
        return JudgeSettings(
            level=level, reasoning=self.coarse_reasoning or not coarse, structured=self.structured,
            threshold=self.threshold, sampling=Sampling(max_tokens=self.judge_max_tokens),
        )  # fmt: skip


def specs(text: str, flag: str) -> tuple[str, ...]:
    """Specs from a comma-separated text. Raises UserError when one stands twice: it would only agree with itself."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if doubled := [name for i, name in enumerate(found) if name in found[:i]]:
        raise UserError(f"{flag} {doubled[0]}: stands twice; a model always agrees with itself")
    return tuple(found)
