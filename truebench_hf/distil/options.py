"""What a judge is distilled from, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truebench_hf.errors import UserError
from truebench_hf.options import at_least_one, option, role
from truebench_hf.study.options import PromptOptions, RuleOptions, SampleOptions

FOLDS = 5  # parts of the held-out instructions, for cross-fitted measures


@dataclass(frozen=True, kw_only=True)
class DistilOptions(SampleOptions, PromptOptions, RuleOptions):
    """Whose verdicts a small model is trained on, and how."""

    PANEL: ClassVar[str] = "Method"

    runs: tuple[str, ...] = option(
        (), panel="Data", help="Folders of finished runs (run, judge, tick, checklist score); several may follow."
    )
    folders: tuple[str, ...] = option((), argument=True, panel="Data", help="The same as --runs.")
    teacher: str | None = option(
        None, binds=True, panel="Data", help="Whose verdicts to learn, where the runs hold those of several judges: its "
        "name as `run` was given it."
    )  # fmt: skip
    held_out: float = option(
        0.2, binds=True, panel="Data", help="Share of the instructions that are not trained on, to measure on."
    )
    base: str = role(help="Model to train: hf:REPO_OR_PATH with a chat template, or smollm2.")
    epochs: float = option(2.0, binds=True, help="How often every verdict is seen.")
    max_steps: int | None = option(None, binds=True, help="Stop after so many steps, whatever --epochs says.")
    learning_rate: float = option(2e-4, binds=True, help="Highest learning rate: it rises to it and falls in a line.")
    lora_rank: int = option(16, binds=True, help="Rank of the LoRA matrices, on all linear layers.")
    batch_size: int = option(16, binds=True, help="Verdicts in a step.")
    max_length: int = option(4096, binds=True, help="Longer prompts, in tokens, are not trained on, and are counted.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base != "smollm2" and not self.base.startswith("hf:"):
            raise UserError(f"--base {self.base}: cannot be trained here; give hf:REPO_OR_PATH, or smollm2")
        if self.engine != "asyncio":
            raise UserError(f"--engine {self.engine}: a judge is trained in this process; leave it out")
        at_least_one(self, "max_steps", "lora_rank", "batch_size", "max_length")
        if not 0 < self.held_out < 1:
            raise UserError(f"--held-out {self.held_out}: lies between 0 and 1")
        if not 0 < self.epochs <= 1000:
            raise UserError(f"--epochs {self.epochs}: lies above 0, up to 1000")
        if not 0 < self.learning_rate < 1:
            raise UserError(f"--learning-rate {self.learning_rate}: lies between 0 and 1")
        if not (self.runs or self.folders):
            raise UserError("--runs names no finished run")

    @property
    def usual_rules(self) -> str:
        """As in the runs that the judge is for."""
        return "decide"

    # How its probabilities are calibrated: as `calibrate` does by default.

    @property
    def kind(self) -> str:
        """The calibrator."""
        return "platt"

    @property
    def folds(self) -> int:
        """Parts, by instruction, for cross-fitted measures."""
        return FOLDS
