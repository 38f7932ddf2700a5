"""Every option of `truebench metaeval`, declared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.calibrated import read_calibration
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.options import ReplyOptions
from truebench_hf.judging.panel import check
from truebench_hf.models.protocol import ChatModel, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.options import option, pairs

# Granularity times reasoning (paper 003, section 5.1), and typed decisions, which the paper does not have.
PARADIGMS: Mapping[str, tuple[str, bool]] = {
    "checklist": ("checklist", False),
    "checklist-reasoning": ("checklist", True),
    "rubric": ("rubric", False),
    "rubric-reasoning": ("rubric", True),
    "decision": ("decision", False),
}


@dataclass(frozen=True, kw_only=True)
class MetaevalOptions(ReplyOptions):
    """Which judges are measured on which labelled data, and how they judge."""

    data: str = option(help="rubric_mini, a JSONL or Parquet path in its columns, a folder of splits, or a Hub id.")
    judge: tuple[str, ...] = option(help="Judge: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.")
    out: str = option(help="Folder of the study: made if absent, continued if it holds the same one.")
    paradigms: str = option("all", help=f"all, or some of {', '.join(PARADIGMS)}, separated by commas.")
    limit: int | None = option(None, help="Only N responses, taken from all instructions in turn.")
    panel: str | None = option(None, help="The judges as a panel, too: majority, unanimous or weighted.")
    weights: str | None = option(None, help="Weights of a weighted panel in the order of the judges, e.g. 2,1,1.")
    tie_breaker: str | None = option(None, help="Judge who settles what the panel is tied on: a spec.")
    threshold: float | None = option(
        None, help="Decision paradigm: P(yes) from which a rubric is met; that of --calibration, otherwise 0.5."
    )
    calibration: str | None = option(None, help="calibration.json of the one judge, from `truebench calibrate`.")
    votes: int = option(1, help="Votes per rubric (majority); more than one needs a judge temperature.")
    judge_temperature: float = option(0.0, help="Sampling temperature of the judges.")
    judge_concurrency: int = option(16, help="Requests to each judge at a time.")
    judge_base_url: str | None = option(None, help="URL of the OpenAI-compatible server of all openai: judges.")
    judge_arg: tuple[str, ...] = option((), help="Provider option k=v for all judges, N.k=v for the N-th; repeatable.")
    seed: int = option(0, help="Seed of the bootstrap.")

    def __post_init__(self) -> None:
        if not self.judge:
            raise UserError("name at least one --judge")
        if (
            not 0 < (self.threshold or 0.5) < 1
            or self.votes < 1
            or self.judge_concurrency < 1
            or self.judge_max_tokens < 1
        ):
            raise UserError("--threshold lies between 0 and 1; --votes, --judge-concurrency and tokens are at least 1")
        if self.calibration and len(self.judge) > 1:
            raise UserError("--calibration belongs to one judge; measure it alone, in a folder of its own")
        if self.panel is not None:
            check(self.panel, len(self.judge), self.panel_weights)
        elif self.weights or self.tie_breaker:
            raise UserError("--weights and --tie-breaker only go with --panel")

    @property
    def chosen_paradigms(self) -> tuple[str, ...]:
        """The paradigms asked for, in the order of `PARADIGMS`."""
        names = [name.strip() for name in self.paradigms.split(",") if name.strip()]
        if names == ["all"]:
            return tuple(PARADIGMS)
        for name in names:
            if name not in PARADIGMS:
                raise unknown("paradigm", name, ("all", *PARADIGMS))
        if not names:
            raise UserError("--paradigms names none; write all, or some separated by commas")
        return tuple(name for name in PARADIGMS if name in names)

    @property
    def panel_weights(self) -> tuple[float, ...]:
        """The weights of the panel, () where none are given."""
        try:
            return tuple(map(float, self.weights.split(","))) if self.weights else ()
        except ValueError:
            raise UserError(f"--weights {self.weights}: write numbers separated by commas, one per --judge") from None

    def settings(self, paradigm: str) -> JudgeSettings:
        """How a judge decides under a paradigm."""
        level, reasoning = PARADIGMS[paradigm]
        by_probability = level == "decision" and self.calibration is not None
        fitted = read_calibration(str(self.calibration), self.judge[0], self.prompts) if by_probability else None
        return JudgeSettings(
            level=level,
            reasoning=reasoning,
            structured=self.structured,
            threshold=self.threshold or (fitted.threshold if fitted else 0.5),
            calibrator=fitted.calibrator if fitted else None,
            votes=1 if level == "decision" else self.votes,  # a probability does not change from vote to vote
            sampling=Sampling(self.judge_temperature, max_tokens=self.judge_max_tokens),
        )

    def open_judges(self) -> dict[str, ChatModel]:
        """The judges by name: their spec, numbered where one spec is named more than once."""
        names = [
            spec if self.judge.count(spec) == 1 else f"{spec}#{number}" for number, spec in enumerate(self.judge, 1)
        ]
        return {
            name: open_model(spec, arguments(self.judge_arg, number, len(self.judge)), self._base_url(spec))
            for number, (name, spec) in enumerate(zip(names, self.judge, strict=True), 1)
        }

    def open_tie_breaker(self) -> ChatModel | None:
        """The tie-breaker, None where there is none."""
        if self.tie_breaker is None:
            return None
        return open_model(
            self.tie_breaker, arguments(self.judge_arg, 0, len(self.judge)), self._base_url(self.tie_breaker)
        )

    def _base_url(self, spec: str) -> str | None:
        return self.judge_base_url if spec.startswith("openai:") else None


def arguments(given: Sequence[str], number: int, count: int) -> dict[str, str]:
    """The provider options of the `number`-th of `count` models: those for all, and over them those marked `N.`."""
    shared, own = {}, {}
    for key, value in pairs(tuple(given), "--judge-arg").items():
        place, dot, name = key.partition(".")
        if not dot:
            shared[key] = value
        elif not place.isdigit() or not 1 <= int(place) <= count:
            raise UserError(f"--judge-arg {key}: there is no judge number {place}; there are {count}")
        elif int(place) == number:
            own[name] = value
    return shared | own
