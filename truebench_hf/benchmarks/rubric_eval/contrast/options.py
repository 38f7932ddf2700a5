"""Every option of `truebench contrast`, declared once."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, pairs
from truebench_hf.prompts import Prompts

_LEVELS = ("auto", "rubric", "decision")


@dataclass(frozen=True, kw_only=True)
class ContrastOptions:
    """What is rewritten, by whom, and who confirms it."""

    data: str = option(help="rubric_mini, or labelled rows in rubric_eval columns (JSONL, Parquet, folder, Hub id).")
    writer: str = option(help="Model that rewrites responses: a spec like any model's.")
    judge: str = option(help="Judge that confirms the pairs, one rubric at a time.")
    out: str = option(help="Run folder: made if absent, continued if it holds the same run.")
    limit: int | None = option(None, help="Only N rows, drawn by the seed from every rubric type and label.")
    seed: int = option(0, help="Draws the rows.")
    max_edit: float | None = option(None, help="Reject larger edits: share of the text changed, 0 to 1.")
    judge_level: str = option("auto", help="rubric, decision (probabilities), or auto: decision for smollm2 only.")
    threshold: float = option(0.5, help="Decision level: P(yes) from which a rubric is met.")
    structured: str = option("auto", help="JSON-schema answers from the judge: auto, on or off.")
    max_tokens: int = option(4096, help="Token limit of one rewritten response.")
    temperature: float = option(0.0, help="Sampling temperature of the writer.")
    judge_max_tokens: int = option(8192, help="Token limit of one judge answer.")
    concurrency: int = option(16, help="Requests at a time to each of the two.")
    model_arg: tuple[str, ...] = option((), help="Provider option k=v for both, or SPEC@k=v for one; repeatable.")
    prompt: tuple[str, ...] = option((), help="NAME=FILE.jinja in place of a prompt; may be repeated.")

    def __post_init__(self) -> None:
        if self.judge_level not in _LEVELS:
            raise unknown("judge level", self.judge_level, _LEVELS)
        for name in ("threshold", "max_edit"):
            if (value := getattr(self, name)) is not None and not 0 < value < 1:
                raise UserError(f"--{name.replace('_', '-')} {value}: lies between 0 and 1")
        for name in ("limit", "max_tokens", "judge_max_tokens", "concurrency"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise UserError(f"--{name.replace('_', '-')} {value}: must be at least 1")

    @property
    def sampling(self) -> Sampling:
        """How rewritten responses are drawn."""
        return Sampling(self.temperature, max_tokens=self.max_tokens)

    @property
    def settings(self) -> JudgeSettings:
        """How the judge decides: every rubric alone, with reasons."""
        decides = self.judge_level == "decision" or (self.judge_level == "auto" and self.judge == "smollm2")
        sampling = Sampling(max_tokens=self.judge_max_tokens)
        return JudgeSettings(
            level="decision" if decides else "rubric", threshold=self.threshold, structured=self.structured,
            sampling=sampling,
        )  # fmt: skip

    @property
    def prompts(self) -> Prompts:
        """The prompts, with the user's in place of ours."""
        return Prompts(pairs(self.prompt, "--prompt"))
