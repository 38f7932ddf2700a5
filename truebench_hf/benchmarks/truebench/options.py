"""Every option of `truebench run`, `generate` and `judge`, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cached_property
from math import inf
from typing import Any, ClassVar

from truebench_hf.benchmarks.truebench.models import noted
from truebench_hf.data.logs import TURNS
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.calibrated import Calibrated, check_priced, read_calibration
from truebench_hf.judging.judge import LEVELS, JudgeSettings, prompts_used
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import NOBODY, Binds, at_least_one, flag, option, pairs, role
from truebench_hf.prompts import names
from truebench_hf.study.options import (
    DataOptions,
    FolderOptions,
    PanelOptions,
    RepeatOptions,
    ReplyOptions,
    RuleOptions,
    level_of,
    numbered,
)

_BY_PROBABILITY, _IN_WORDS, _CASCADE = ("decision", "cascade"), ("checklist", "rubric", "cascade"), ("cascade",)
# The levels at which an option shapes anything, where these are not all.
_HEEDED = {
    "threshold": _BY_PROBABILITY, "abstain_band": _BY_PROBABILITY, "calibration": _BY_PROBABILITY,
    "reasoning": _IN_WORDS, "structured": _IN_WORDS, "judge_temperature": _IN_WORDS, "judge_max_tokens": _IN_WORDS,
    "cascade_judge": _CASCADE, "cascade_level": _CASCADE, "cascade_judge_base_url": _CASCADE,
    "cascade_judge_arg": _CASCADE,
}  # fmt: skip


_JUDGING = Binds("judging", lambda options: options.judging_facts, late=True)
_SAMPLING = Binds("sampling", lambda options: asdict(options.sampling))
_PANEL = Binds("panel", lambda options: options.panel_facts, late=True)


@dataclass(frozen=True, kw_only=True)
class InstanceOptions(DataOptions):
    """Which instances."""

    PANEL: ClassVar[str] = "Data"

    data: str = option(
        help="truebench_mini (or mini), truebench (or v0.6.1), a path (JSONL, JSON, CSV, XLSX, Parquet, or a folder), a Hub id, "
        "or SOURCE:PATH (rubrics of others, as in `truebench data list`)."
    )
    column: tuple[str, ...] = option(
        (), help="OURS=THEIRS, e.g. prompt=question: another name of a column; may be repeated. Several of criteria are "
        "joined."
    )  # fmt: skip
    criteria_separator: str = option(
        "", help="What parts the criteria in a cell beside line breaks, e.g. ';'. Lists and JSON are left as they are."
    )
    criteria: str | None = option(None, help="File of criteria that all answers must meet: one a line, or a JSON list.")
    language: tuple[str, ...] = option((), help="Only this language, e.g. DE; may be repeated.")
    category: tuple[str, ...] = option((), help="Only this category, e.g. Translation; may be repeated.")


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(InstanceOptions, RepeatOptions):
    """Which models answer, and how."""

    model: tuple[str, ...] = role(
        help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("model", lambda options: noted(options.models), grows=True),
    )
    max_tokens: int = option(4096, binds=_SAMPLING, help="Token limit of one answer, thinking included.")
    temperature: float = option(0.0, binds=_SAMPLING, help="Sampling temperature of the model.")
    top_p: float = option(0.98, rare=True, binds=_SAMPLING, help="Nucleus sampling of the model.")
    repetition_penalty: float = option(1.0, rare=True, binds=_SAMPLING, help="Repetition penalty of the model.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")
        if not self.model:
            raise UserError("name at least one --model")
        if not (0 <= self.temperature < inf and 0 < self.top_p <= 1 and 0 < self.repetition_penalty < inf):
            raise UserError("--temperature is at least 0, --top-p between 0 and 1, --repetition-penalty above 0")

    @property
    def models(self) -> list[str]:
        """The models by name: the spec, numbered where one is named more than once."""
        return list(map(str, numbered(self.model)))

    @property
    def sampling(self) -> Sampling:
        """How the models' answers are drawn."""
        return Sampling(self.temperature, self.top_p, self.repetition_penalty, self.max_tokens)


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(FolderOptions, ReplyOptions, RuleOptions, PanelOptions):
    """Who judges, and how."""

    PANEL: ClassVar[str] = "Judging"
    OTHER_PROMPTS: ClassVar[tuple[str, ...]] = ()  # which the command fills beside those of its judges

    judge: tuple[str, ...] = role(
        help="Judge: a spec like the model's; may be repeated, for --panel. none: only what can be counted is decided, and "
        "no model is asked.",
        binds=Binds("judge", lambda options: options.judge_name, late=True),
        or_nobody=True,
    )
    judge_level: str | None = option(
        None, binds=_JUDGING,
        help="checklist (one call a turn), rubric (one a criterion), decision (probabilities) or cascade "
        "(decision, the doubtful rest by reasoning); decision for smollm2, checklist for all others."
    )  # fmt: skip
    reasoning: bool = option(True, binds=_JUDGING, help="Whether the judge gives reasons before its verdicts.")
    protocol: str = option(
        "default", binds=Binds(late=True), help="default, or official: the official pass rule and tables."
    )
    threshold: float | None = option(
        None, rare=True, binds=_JUDGING,
        help="Decision level: P(yes) from which a criterion passes; that of --calibration, otherwise 0.5."
    )  # fmt: skip
    abstain_band: str | None = option(
        None, rare=True, binds=_JUDGING,
        help="LOW,HIGH of P(yes) between which a verdict is left open; in a cascade handed on, then by "
        "default that of --calibration, without a calibration 0.2,0.8."
    )  # fmt: skip
    calibration: str | None = option(
        None, rare=True, binds=_JUDGING, help="calibration.json of this judge from `truebench study calibrate`."
    )
    cascade_judge: str | None = role(
        None, rare=True, help="Who gets a cascade's doubtful rest; the judge itself if not given.",
        binds=Binds("cascade_judge", lambda options: options.cascade_name, late=True),
    )  # fmt: skip
    cascade_level: str = option(
        "checklist", rare=True, binds=_JUDGING, help="How the doubtful rest is asked about: checklist or rubric."
    )
    votes: int = option(
        1, binds=_JUDGING, help="Votes per criterion (majority); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, binds=_JUDGING, help="Sampling temperature of the judge.")
    panel: str | None = option(
        None, rare=True, binds=_PANEL, help="How several judges decide together: majority, unanimous or weighted."
    )
    allow_unscored: bool = option(False, help="Exit with 0 even when instances are left unscored.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protocol not in ("default", "official"):
            raise unknown("protocol", self.protocol, ("default", "official"))
        if self.protocol == "official" and self.judge_level not in (None, "checklist"):
            raise UserError(
                f"--protocol official judges at checklist level; leave out --judge-level {self.judge_level}"
            )
        if self.protocol == "official" and self.rules != "off":
            raise UserError(
                f"--protocol official knows no rules: its judge decides all; leave out --rules {self.rules}"
            )
        if not self.judge:
            raise UserError("name a --judge, or none: then only what can be counted is decided")
        if NOBODY in self.judge:
            self._check_nobody()
        if len(self.judge) > 1 and self.panel is None:
            raise UserError("several judges go with --panel majority, unanimous or weighted; name one")
        if self.panel and (self.judge_level == "cascade" or self.calibration):
            raise UserError("a cascade and a --calibration belong to one judge; leave out --panel")
        self.check_panel(len(self.judge))

    def _check_nobody(self) -> None:
        """Raise UserError where options ask for a judge beside `--judge none`, or keep rules from deciding."""
        if len(self.judge) > 1:
            raise UserError("--judge none stands alone; leave out the other judges, or none")
        if self.protocol == "official":
            raise UserError("--protocol official: its judge decides all; name a --judge")
        if self.rules != "decide":
            raise UserError(f"--judge none: with --rules {self.rules}, nothing would be decided; leave out --rules")
        if self.judge_level:
            raise UserError(f"--judge none: nobody is asked; leave out --judge-level {self.judge_level}")

    @property
    def nobody(self) -> bool:
        """Whether there is no judge: only what can be counted is decided."""
        return self.judge == (NOBODY,)

    @property
    def usual_rules(self) -> str:
        """Rules decide; the official protocol knows none."""
        return "off" if self.protocol == "official" else "decide"

    @property
    def judge_name(self) -> str:
        """The judge as tables name it: a panel by all its judges and its rule, so that none shows one of them alone."""
        if self.panel is None:
            return self.judge[0]
        return f"{' + '.join(self.judge)} ({self.panel_facts['rule']})"

    @property
    def panel_facts(self) -> dict[str, Any]:
        """The panel as a folder notes it; {} without one."""
        if self.panel is None:
            return {}
        rule = f"{self.panel} {self.weights}" if self.weights else self.panel
        return {"judges": self.judge, "rule": rule, "tie_breaker": self.tie_breaker}

    @property
    def judging_facts(self) -> dict[str, Any]:
        """How verdicts come about, as a folder notes it."""
        return {"rules": self.rules} if self.nobody else asdict(self.settings)

    @property
    def cascade_name(self) -> str | None:
        """Who gets a cascade's doubtful rest; None where there is no cascade."""
        return (self.cascade_judge or self.judge[0]) if self.settings.level == "cascade" else None

    @cached_property
    def settings(self) -> JudgeSettings:
        """How the judge decides. Raises UserError on values that make no sense, and on options that would be ignored."""
        level = level_of(self.judge_level, self.judge[0], "checklist")
        if self.protocol == "official":
            level = "checklist"
        if level not in LEVELS:
            raise unknown("judge level", level, LEVELS)
        band = self._checked(level)
        fitted = (
            read_calibration(self.calibration, self.judge[0], self.prompts, self.rules) if self.calibration else None
        )
        if self.calibration and fitted and level == "cascade" and band is None:
            band = self._priced(self.calibration, fitted)
        if fitted and level == "cascade" and band is None:
            raise UserError(
                f"--calibration {self.calibration}: holds no band, since no reasoning judge was priced there or no "
                "cascade paid; give one, e.g. --abstain-band 0.2,0.8, or use --judge-level decision"
            )
        settings = JudgeSettings(
            level=level, reasoning=self.reasoning, structured=self.structured,
            threshold=(fitted.threshold if fitted else 0.5) if self.threshold is None else self.threshold,
            abstain_band=band, calibrator=fitted.calibrator if fitted else None, cascade_level=self.cascade_level,
            votes=self.votes, rules=self.rules, sampling=Sampling(self.judge_temperature, max_tokens=self.judge_max_tokens),
        )  # fmt: skip
        used = (*prompts_used(settings), *self.OTHER_PROMPTS)
        for name in pairs(self.prompt, "--prompt"):
            if name in names() and name not in used:  # the prompts themselves refuse a name that there is not
                raise UserError(f"--prompt {name}: is not used by this judge, whose prompts are {', '.join(used)}")
        return settings

    def check_samples(self, samples: int) -> None:
        """Raise UserError where there are more answers to an instance than the official tables know."""
        if samples > 1 and self.protocol == "official":
            raise UserError(
                "--protocol official: its tables have one answer an instance; leave it out, or have one sample"
            )

    def check_cascade(self, identity: Mapping[str, Any]) -> None:
        """Raise UserError where the band is that of a calibration which was priced with another model than this."""
        if self.calibration and self.judge_level == "cascade" and self.abstain_band is None:
            fitted = read_calibration(self.calibration, self.judge[0], self.prompts, self.rules)
            check_priced(self.calibration, fitted, {"identity": identity})

    def _priced(self, path: str, fitted: Calibrated) -> tuple[float, float] | None:
        """The band of a calibration. Raises UserError where it was priced with another cascade judge."""
        if fitted.band:
            level = JudgeSettings(level=self.cascade_level)
            hashes = {name: self.prompts.hash(name) for name in prompts_used(level)}
            now = {"judge": self.cascade_judge or self.judge[0], "level": self.cascade_level}
            check_priced(path, fitted, {**now, "reasoning": self.reasoning, "prompts": hashes})
        return fitted.band

    def _checked(self, level: str) -> tuple[float, float] | None:
        """The band. Raises UserError on values out of range, and on options that the level has no use for."""
        if not (self.threshold is None or 0 < self.threshold < 1) or self.votes < 1:
            raise UserError("--threshold lies between 0 and 1, and --votes is at least 1")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")
        band = _band(self.abstain_band)
        given = [f.name for f in fields(self) if getattr(self, f.name) != (() if f.default is MISSING else f.default)]
        for name in given:
            if level not in (heeded := _HEEDED.get(name, LEVELS)):
                flag = "--no-reasoning" if name == "reasoning" else f"--{name.replace('_', '-')}"
                if heeded == _CASCADE:
                    raise UserError(f"{flag}: the options of a cascade go with --judge-level cascade, not with {level}")
                levels = f"{', '.join(heeded[:-1])} or {heeded[-1]}"
                raise UserError(f"{flag} goes with --judge-level {levels}, not with {level}")
        return band


@dataclass(frozen=True, kw_only=True)
class JudgeGivenOptions(JudgeOptions, InstanceOptions):
    """Judging answers that are there: those in the folder, or those of a file to instances of some data."""

    responses: str | None = option(
        None, panel="Data", help="File of answers: {id, response} rows, official evaluation files, lm-eval samples, "
        "lighteval details or inspect logs. Without one those of `truebench study generate` in --out."
    )  # fmt: skip
    data: str | None = option(None, help="With --responses: the data they answer, as in `truebench run`.")  # type: ignore[assignment]
    logs: str | None = option(
        None, panel="Data", help="File of conversations that end with an answer, in place of --responses and --data: messages of "
        "OpenAI or Anthropic, ShareGPT, exports of LangSmith or Langfuse. Judged by --criteria, or those in its rows."
    )  # fmt: skip
    turns: str = option("last", panel="Data", help="With --logs: last (answer of each conversation), or all.")
    model_name: str | None = option(
        None, panel="Data", help="With --responses or --logs: whose answers they are, where the file does not say."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logs and (self.responses or self.data or self.column):
            raise UserError("--logs holds prompts and answers; leave out --responses, --data and --column")
        if self.turns not in TURNS:
            raise unknown("--turns", self.turns, TURNS)
        if self.turns != "last" and not self.logs:
            raise UserError("--turns goes with --logs; of other answers all are judged")
        if self.responses and not self.data:
            raise UserError("--responses goes with --data: the data that was answered")
        for name in (
            "data",
            "model_name",
            "limit",
            "seed",
            "column",
            "criteria_separator",
            "criteria",
            "language",
            "category",
        ):
            if getattr(self, name) and not (self.responses or self.logs):
                raise UserError(f"{flag(name)} goes with --responses or --logs; the answers in --out have theirs")


@dataclass(frozen=True, kw_only=True)
class RunOptions(GenerateOptions, JudgeOptions):
    """A whole run: answers and verdicts in one pass."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_samples(self.samples)


def _band(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not 0 <= low < high <= 1:
        raise UserError(f"--abstain-band {text}: write it as LOW,HIGH with 0 <= LOW < HIGH <= 1, e.g. 0.4,0.6")
    return low, high
