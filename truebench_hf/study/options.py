"""Options that commands share which ask models for something, declared once."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError, unknown, write_error
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import JudgeSettings, check_panel_rule, rule_in_words
from truebench_hf.judging.rules.deciding import MODES
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, Options, option, pairs, roles
from truebench_hf.prompts import Prompts
from truebench_hf.text.terminal import warn

ENGINES = ("asyncio", "ray")
_CACHE, CACHE_FILE = ".truebench_cache", "calls.sqlite"
_OFF = ("off", "none", "no", "false", "0")


class CacheOptions(Options):
    """Where answers are kept for other folders and later calls."""

    PANEL: ClassVar[str] = "Output"

    cache: str | None = option(
        None, help="Folder of the cache: what was answered once, in any folder, is not asked again. If not given: "
        "TRUEBENCH_CACHE, else .truebench_cache."
    )  # fmt: skip
    no_cache: bool = option(False, help="Ask everything anew, past the cache, and leave nothing there.")

    @property
    def cache_folder(self) -> Path | None:
        """The folder of the cache; None where there is to be none."""
        place = self.cache or os.environ.get("TRUEBENCH_CACHE", "").strip() or _CACHE
        named_off = self.cache is None and place.lower() in _OFF
        return None if self.no_cache or named_off else Path(place)

    def open_cache(self, *, reading: bool = False) -> Calls | None:
        """Return the cache; None where there is to be none. For `reading` alone none is made, and nothing is kept there.

        Raises UserError where it cannot be used. Only the usual place, if nothing can be written there, is gone without.
        """
        folder = self.cache_folder
        if folder is None or (reading and not (folder / CACHE_FILE).exists()):
            return None
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)  # another command may be making it at this moment
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")  # a folder of the user's keeps its own
            if not os.access(folder, os.W_OK):
                raise PermissionError(13, "not writable", str(folder))
        except OSError as error:
            why = error.strerror or error
            if self.cache is not None or "TRUEBENCH_CACHE" in os.environ:
                raise write_error(f"--cache {folder}", why) from error
            warn(f"truebench: no cache in {folder.absolute()} ({why}); --cache DIR names another place")
            return None
        return Calls(folder / CACHE_FILE, shared=True, keeps=not reading)


class FolderOptions(CacheOptions):
    """Where a study lives, what it may cost, and where its models are asked."""

    PANEL: ClassVar[str] = "Output"
    folder_named: ClassVar[bool] = True  # by whoever gave the options; else its name is made, and has to be told

    out: str = option(
        "", help="Folder of the study: made if absent, continued if it holds the same one. If not given, runs/ and a name "
        "of model and date, where the same command of the same day goes on."
    )  # fmt: skip
    estimate: bool = option(False, help="Print the calls, tokens and money it would take, and ask nothing.")
    price: tuple[str, ...] = option(
        (), help="MODEL=IN,OUT[,CACHED]: what a model costs, in dollars per million tokens; may be repeated. If not given: "
        "prices.toml, or what its server lists."
    )  # fmt: skip
    budget: float | None = option(
        None, gt=0, help="Dollars that the folder may cost in all: the command stops before a call that could exceed them, and goes on "
        "with a higher one."
    )  # fmt: skip
    engine: str = option(
        "asyncio", panel="Models", rare=True, choices=ENGINES, help="Where models are asked: asyncio (this process), or ray (workers on the machines of a "
        "Ray cluster)."
    )  # fmt: skip
    ray_address: str | None = option(
        None, panel="Models", rare=True, help="HOST:PORT of the head of that cluster, or auto for the one this machine is part of. If "
        "not given: RAY_ADDRESS, else a cluster of its own on this machine."
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.ray_address and self.engine != "ray":
            raise UserError("--ray-address only goes with --engine ray")
        if not self.out.strip():
            object.__setattr__(self, "out", default_folder(self))
            object.__setattr__(self, "folder_named", False)

    def asked_otherwise(self, role: str, requested: int, other: int) -> bool:
        """Whether two models of a role, by place, are asked in other words, so that they may be one model."""
        return False


class SampleOptions(FolderOptions):
    """How much of its data a study takes."""

    PANEL: ClassVar[str] = "Data"

    limit: int | None = option(
        None, help="Only N items (instances, responses or rubrics): a sample that keeps the shares of their groups. "
        "A larger N takes the same and more, so that a study can be extended."
    )  # fmt: skip
    seed: int = option(0, help="Draws the sample, and whatever else is drawn.")
    update: bool = option(
        False, help="Take the data as it is now where rows of it changed since: those are judged anew, the others kept."
    )  # fmt: skip


class DataOptions(SampleOptions):
    """What a study is made on."""

    PANEL: ClassVar[str] = "Data"

    data: str = option(help="The data: see the command's own text.")


class FailUnderOptions(Options):
    """The score from which on a study counts as passed, for a pipeline."""

    PANEL: ClassVar[str] = "Output"

    fail_under: float | None = option(
        None, ge=0, le=100, help="Exit with 1 where the main score, in percent, is below this: for CI. To hold it against an earlier "
        "run instead: `truebench check`."
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.fail_under is not None and 0 < self.fail_under <= 1:  # a gate that nothing would fail
            percentage = 100 * self.fail_under
            raise UserError(f"--fail-under {self.fail_under:g}: is a percentage, not a share; write {percentage:g}")


class RepeatOptions(Options):
    """How often a model answers the same; for options that have a `temperature`, too."""

    PANEL: ClassVar[str] = "Method"

    samples: int = option(
        1, ge=1, help="Answers to every instance, drawn at a --temperature above 0. A larger N takes those that are there and "
        "draws more."
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.samples > 1 and not self.temperature:  # type: ignore[attr-defined]
            raise UserError(
                f"--samples {self.samples}: at temperature 0 they would all be the same; give a --temperature, e.g. 0.7"
            )


class PromptOptions(Options):
    """Prompts that a user replaces. What a study fills binds by its text: see `Study`."""

    PANEL: ClassVar[str] = "Judging"

    prompt: tuple[str, ...] = option(
        (), help="NAME=FILE.jinja, or NAME=plain, in place of a prompt (see `truebench study prompts`); may be repeated.",
    )  # fmt: skip

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts, with the user's in place of ours; read once, so that one text is hashed, kept and asked."""
        return Prompts(pairs(self.prompt, "--prompt"))


class StudyOptions(DataOptions, PromptOptions):
    """What every study has that draws its items from data: data, limit, seed, prompts, folder."""


class ReplyOptions(PromptOptions):
    """What a judge that writes text may write."""

    PANEL: ClassVar[str] = "Judging"

    structured: str = option("auto", binds=Binds(late=True), help="JSON-schema answers from judges: auto, on or off.")


class RuleOptions(Options):
    """What programs measure of a response, beside judges or in their place. `RULES` are the modes that a study has."""

    PANEL: ClassVar[str] = "Judging"
    RULES: ClassVar[tuple[str, ...]] = MODES

    rules: str = option(
        "auto", binds=Binds(late=True), help="What can be counted in a response (lengths, language, format): off, evidence "
        "(the figures stand beside the criteria they bear on) or decide (they settle a criterion where no doubt is left). "
        "auto: decide where models are scored, off where judges themselves are measured, and in the official protocol."
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        if self.rules == "auto":
            object.__setattr__(self, "rules", self.usual_rules)  # set here, so that every folder notes it
        super().model_post_init(context)
        if self.rules not in self.RULES:
            raise unknown("mode of rules for this command", self.rules, ("auto", *self.RULES))

    @property
    def usual_rules(self) -> str:
        """What `auto` is: a judge is measured without help."""
        return "off"


PANEL_HELP = "How several judges decide together: majority, unanimous, or weighted:2,1,1 (a weight for each, in order)."


class PanelOptions(Options):
    """Several judges that decide together."""

    PANEL: ClassVar[str] = "Panel of judges"

    panel: str | None = option(None, help=PANEL_HELP)

    def check_panel(self, judges: int) -> None:
        """Raise UserError where the panel does not go with the number of judges."""
        if self.panel is not None:
            check_panel_rule(*self.rule_and_weights, judges)

    @property
    def rule_and_weights(self) -> tuple[str, tuple[float, ...]]:
        """The rule of the panel, and the weights of its judges; () where it has none."""
        rule, _, weights = (self.panel or "").partition(":")
        try:
            return rule, tuple(map(float, weights.split(","))) if weights else ()
        except ValueError:
            raise UserError(f"--panel {self.panel}: write a weight for each judge, e.g. weighted:2,1,1") from None

    @property
    def panel_rule(self) -> str:
        """The rule in words, with the weights if it has any: `weighted 2,1`."""
        rule, weights = self.rule_and_weights
        return rule_in_words(rule, weights)


# A threshold shapes nothing where nobody decides by it.
_THRESHOLD = Binds(value=lambda o: o.threshold if "decision" in o.judge_levels.values() else None, late=True)


class JudgingOptions(ReplyOptions, RuleOptions):
    """How judges decide criteria one at a time: in words, or by a probability."""

    PANEL: ClassVar[str] = "Judging"
    TEXT_LEVEL: ClassVar[str] = "rubric"

    judge_level: str | None = option(
        None, binds=Binds(value=lambda o: o.judge_levels, late=True),
        help="decision (probabilities), or the command's level of text: see its own text. "
        "If not given: decision for smollm2, text for all others."
    )  # fmt: skip
    threshold: float = option(
        0.5, gt=0, lt=1, binds=_THRESHOLD, help="Decision level: P(yes) from which a rubric is met."
    )

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.judge_level not in (None, "decision", self.TEXT_LEVEL):
            raise unknown("judge level for this command", self.judge_level, (self.TEXT_LEVEL, "decision"))

    @property
    def judge_levels(self) -> dict[str, str]:
        """The level of every judge, by spec."""
        specs = [spec for role, specs in roles(self).items() if "judge" in role for spec in specs]
        return {spec: level_of(self.judge_level, spec, self.TEXT_LEVEL) for spec in specs}

    def judging(self, spec: str, level: str, *, reasoning: bool = True) -> JudgeSettings:
        """How a judge decides: by probability where it does so, else at this level."""
        return JudgeSettings(
            level="decision" if self.decides(spec) else level, reasoning=reasoning, threshold=self.threshold,
            structured=self.structured, rules=self.rules,
        )  # fmt: skip

    def decides(self, spec: str) -> bool:
        """Whether a judge gives probabilities rather than text."""
        return level_of(self.judge_level, spec, self.TEXT_LEVEL) == "decision"


class WritingOptions(Options):
    """How studies have responses written."""

    max_tokens: int = option(4096, binds=True, ge=1, help="Token limit of one written response.")
    temperature: float = option(0.0, binds=True, ge=0, help="Sampling temperature of who writes responses.")

    @property
    def sampling(self) -> Sampling:
        """How responses are drawn."""
        return Sampling(self.temperature, max_tokens=self.max_tokens)


class LabellingOptions(StudyOptions, JudgingOptions, WritingOptions):
    """How studies make their texts and have them judged."""


def default_folder(options: Any) -> str:
    """Return the folder of a study that names none: runs/ and a name of model, date and everything that is asked."""
    parts = roles(options)
    specs = [spec for role in ("model", *parts) for spec in parts.get(role, ())] or [
        type(options).__name__.removesuffix("Options").lower()
    ]
    name = re.sub(r"[^\w.-]+", "-", specs[0].partition(":")[2].rpartition("/")[2] or specs[0]).strip("-.") or "run"
    reach = ("_concurrency", "_base_url")  # how models are reached
    chosen = {
        name: getattr(options, name)
        for name in type(options).model_fields
        if name not in _BESIDE and not name.endswith(reach)
    }
    return f"runs/{name[:60]}-{date.today().isoformat()}-{digest(canonical([type(options).__name__, chosen]))[:4]}"


_BESIDE = (
    "out", "limit", "estimate", "engine", "ray_address", "allow_unscored", "fail_under", "cache", "no_cache",
    "update", "price", "budget",
)  # fmt: skip


def level_of(level: str | None, spec: str, text_level: str) -> str:
    """The level a judge is asked at: as said, else decision for smollm2, which writes no usable text."""
    return level or ("decision" if spec == "smollm2" else text_level)


def numbered(specs: Sequence[str]) -> list[str]:
    """A name per spec of a role: the spec, numbered where one is named more than once, as models in memory may be."""
    specs = list(map(str, specs))
    return [spec if specs.count(spec) == 1 else f"{spec}#{number}" for number, spec in enumerate(specs, 1)]
