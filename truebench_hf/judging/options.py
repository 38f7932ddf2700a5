"""Options that every command shares which asks a judge or fills a prompt, declared once."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.errors import UserError, unknown
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, pairs
from truebench_hf.prompts import Prompts

_LEVELS = ("auto", "text", "decision")


@dataclass(frozen=True, kw_only=True)
class PromptOptions:
    """Prompts that a user replaces."""

    prompt: tuple[str, ...] = option((), help="NAME=FILE.jinja in place of a prompt; may be repeated.")

    @property
    def prompts(self) -> Prompts:
        """The prompts, with the user's in place of ours."""
        return Prompts(pairs(self.prompt, "--prompt"))


@dataclass(frozen=True, kw_only=True)
class ReplyOptions(PromptOptions):
    """What a judge that writes text may write."""

    structured: str = option("auto", help="JSON-schema answers from judges: auto, on or off.")
    judge_max_tokens: int = option(8192, help="Token limit of one judge answer.")


@dataclass(frozen=True, kw_only=True)
class LabellingOptions(ReplyOptions):
    """How studies make their texts and have them judged."""

    judge_level: str = option("auto", help="text, decision (probabilities), or auto: decision for smollm2 only.")
    threshold: float = option(0.5, help="Decision level: P(yes) from which a rubric is met.")
    max_tokens: int = option(4096, help="Token limit of one written response.")
    temperature: float = option(0.0, help="Sampling temperature of who writes responses.")
    concurrency: int = option(16, help="Requests at a time, for each model in each part it plays.")
    model_arg: tuple[str, ...] = option((), help="Provider option k=v for all models, or SPEC@k=v for one; repeatable.")

    def __post_init__(self) -> None:
        if self.judge_level not in _LEVELS:
            raise unknown("judge level", self.judge_level, _LEVELS)
        if not 0 < self.threshold < 1:
            raise UserError(f"--threshold {self.threshold}: lies between 0 and 1")
        for name in ("max_tokens", "judge_max_tokens", "concurrency"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name.replace('_', '-')} {getattr(self, name)}: must be at least 1")

    @property
    def sampling(self) -> Sampling:
        """How responses are drawn."""
        return Sampling(self.temperature, max_tokens=self.max_tokens)

    def decides(self, spec: str) -> bool:
        """Whether a judge gives probabilities rather than text."""
        return self.judge_level == "decision" or (self.judge_level == "auto" and spec == "smollm2")
