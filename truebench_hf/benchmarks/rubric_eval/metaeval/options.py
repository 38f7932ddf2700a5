"""What a meta-evaluation is made with: judges, paradigms, and how they judge."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval.perturbed import OTHERS, attack_set, reworded
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import PARADIGMS
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.calibrated import read_calibration
from truebench_hf.judging.judge import JUDGE_SAMPLING, JudgeSettings
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.prompts import Prompts
from truebench_hf.study.options import PanelOptions, ReplyOptions, RuleOptions, StudyOptions, numbered

_PANEL = Binds("panel", lambda o: o.panel_shown, grows=True, again="the same judges in their order, and --panel")
_FITTED = Binds("decision", lambda o: o.decision, late=True)


@dataclass(frozen=True, kw_only=True)
class MetaevalOptions(StudyOptions, ReplyOptions, RuleOptions, PanelOptions):
    """Which judges are measured on which labelled data, and how they judge."""

    data: str = option(
        help="Labelled rows: a file of prompt, response, criterion and label (1 or 0, yes or no; category, language and "
        "cluster may be there), rubric_mini or a file in its columns, a folder of splits, a Hub id, or SOURCE:PATH of a "
        "labelled set (profbench, healthbench_meta)."
    )
    judge: tuple[str, ...] = role(
        help="Judge: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )
    paradigms: str = option(
        "all", help=f"all, or some of {', '.join(PARADIGMS)}, separated by commas.",
        binds=Binds("paradigms", lambda o: list(o.chosen_paradigms), grows=True),
    )  # fmt: skip
    threshold: float | None = option(
        None, binds=_FITTED,
        help="Decision paradigm: P(yes) from which a rubric is met; that of --calibration, otherwise 0.5."
    )  # fmt: skip
    calibration: str | None = option(
        None, binds=_FITTED, help="calibration.json of the one judge, from `truebench study calibrate`."
    )
    votes: int = option(
        1, binds=Binds(late=True), help="Votes per rubric (majority); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, binds=Binds(late=True), help="Sampling temperature of the judges.")
    reworded: bool = option(
        False, binds=Binds("reworded", lambda o: o.wordings, grows=True),
        help="Ask by two more wordings of every prompt and twice again by the first: what moves a verdict? Five times the calls."
    )  # fmt: skip
    attacks: bool = option(
        False, binds=Binds("attacks", lambda o: [attack_set()] if o.attacks else [], grows=True),
        help="Append injections to responses and judge unmet rubrics again, beside neutral text: what turns a no? More "
        "than a hundred times the calls: take a --limit, or --attacks-each."
    )  # fmt: skip
    attacks_each: int | None = option(
        None, help="Only N injections of every technique for a response, drawn by --seed; a larger N takes the same and more."
    )  # fmt: skip
    panel: str | None = option(
        None, binds=_PANEL, help="A line for several judges together, too: majority, unanimous, or weighted:2,1,1."
    )

    with_published: bool = option(False, help="Show the figures that the paper prints beside the measured ones.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.judge:
            raise UserError("name at least one --judge")
        if not (self.threshold is None or 0 < self.threshold < 1) or self.votes < 1:
            raise UserError("--threshold lies between 0 and 1, and --votes is at least 1")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")
        if self.calibration and len(self.judge) > 1:
            raise UserError("--calibration belongs to one judge; measure it alone, in a folder of its own")
        self.check_panel(len(self.judge))
        measured = map(self.settings, self.chosen_paradigms if self.reworded else ())
        for name in {name for judge in measured for name in reworded(judge, OTHERS[0])} & set(self.prompts.replaced):
            raise UserError(f"--reworded compares our wordings of {name}; leave out --prompt {name}=...")
        at_least_one(self, "attacks_each")
        if self.attacks_each is not None and not self.attacks:
            raise UserError(f"--attacks-each {self.attacks_each}: is about --attacks; add it")
        if (self.calibration or self.threshold is not None) and "decision" not in self.chosen_paradigms:
            raise UserError("--calibration and --threshold are about the decision paradigm; add it to --paradigms")

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
    def decision(self) -> dict[str, Any]:
        """How the decision paradigm decides, as a folder notes it; {} where it is not asked for."""
        if "decision" not in self.chosen_paradigms:
            return {}
        settings = self.settings("decision")
        fitted = asdict(settings.calibrator) if settings.calibrator else None
        return {"threshold": settings.threshold, "calibrator": fitted}

    @property
    def wordings(self) -> list[str]:
        """The other wordings that judges are asked by, each with the beginning of its hash; none without `reworded`."""
        if not self.reworded:
            return []
        judges = map(self.settings, self.chosen_paradigms)
        chosen = {pair for judge in judges for wording in OTHERS for pair in reworded(judge, wording).items()}
        return sorted(f"{name}.{wording} {Prompts({name: wording}).hash(name)[:12]}" for name, wording in chosen)

    @property
    def panel_name(self) -> str:
        """The name the panel has in tables: its rule, and the weights of its judges if it has any."""
        return f"panel ({self.panel_rule})"

    @property
    def panel_shown(self) -> str | None:
        """Everything about the panel in one line; None without one."""
        if self.panel is None:
            return None
        return f"{self.panel_name} of {', '.join(numbered(self.judge))}"

    def settings(self, paradigm: str) -> JudgeSettings:
        """How a judge decides under a paradigm."""
        (level, reasoning), fitted = PARADIGMS[paradigm], None
        if level == "decision" and self.calibration is not None:
            fitted = read_calibration(self.calibration, self.judge[0], self.prompts, self.rules)
        return JudgeSettings(
            level=level,
            reasoning=reasoning,
            structured=self.structured,
            threshold=(fitted.threshold if fitted else 0.5) if self.threshold is None else self.threshold,
            calibrator=fitted.calibrator if fitted else None,
            votes=1 if level == "decision" else self.votes,  # a probability does not change from vote to vote
            rules=self.rules,
            sampling=replace(JUDGE_SAMPLING, temperature=self.judge_temperature),
        )
