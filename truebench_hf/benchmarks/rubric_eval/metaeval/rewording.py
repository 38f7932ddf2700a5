"""Does the wording of its prompt decide what a judge says? Verdicts by other wordings, beside those of asking again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval.scores import Judgment, pooled_accuracy
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.metrics.votes import flips
from truebench_hf.prompts import Prompts, variants
from truebench_hf.report.sections import Grid, interval, percent, value
from truebench_hf.types import Score

FIRST = "first"  # the wording that judges are measured by
OTHERS = ("second", "third")  # equal in meaning
AGAIN = ("again 1", "again 2")  # the first wording, asked anew as often
FILE = "reworded.jsonl"


@dataclass(frozen=True)
class Rewording:
    """What rewording does to a judge under a paradigm, and what asking it again does.

    `by_wording` and `by_asking_again` are shares of verdicts that differ from those of the first wording, over the
    rubrics that both decide, other wordings (draws) pooled; `flips` has them one by one. `scores` is the balanced
    accuracy of each wording and draw.
    """

    judge: str
    paradigm: str
    by_wording: Score
    by_asking_again: Score
    flips: Mapping[str, Score]
    scores: Mapping[str, Score]

    @property
    def moves(self) -> float | None:
        """How far the wordings' balanced accuracies lie apart, as a share; None where one has none."""
        found = [self.scores[name].value for name in (FIRST, *OTHERS)]
        known = [score for score in found if score is not None]
        return max(known) - min(known) if len(known) == len(found) else None

    @property
    def decides(self) -> bool | None:
        """Whether a wording leads out of the interval of the first one's score; None where there is no interval."""
        if (bounds := self.scores[FIRST].ci95) is None:
            return None
        found = [self.scores[name].value for name in OTHERS]
        return any(score is not None and not bounds[0] <= score <= bounds[1] for score in found)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"moves": self.moves, "decides": self.decides}


def reworded(settings: JudgeSettings, wording: str) -> dict[str, str]:
    """What to choose of our prompts for a judge's `wording`: name and variant. Repairs stay as they are."""
    return {name: wording for name in prompts_used(settings) if wording in variants(name)}


def wordings_used(every: Iterable[JudgeSettings]) -> list[str]:
    """The other wordings that such judges are asked by, each with the beginning of its hash."""
    chosen = [pair for one in every for wording in OTHERS for pair in reworded(one, wording).items()]
    return sorted({f"{name}.{wording} {Prompts({name: wording}).hash(name)[:12]}" for name, wording in chosen})


def refuse_replaced(every: Iterable[JudgeSettings], prompts: Prompts) -> None:
    """Raise UserError where a prompt of the user's stands in place of one that has other wordings."""
    for name in {name for one in every for name in reworded(one, OTHERS[0])}:
        if name in prompts.replaced:
            raise UserError(f"--reworded compares our wordings of {name}; leave out --prompt {name}=...")


def rewording(judge: str, paradigm: str, asked: Mapping[str, Sequence[Judgment]]) -> Rewording:
    """The measures from parallel judgments by wording and draw; `FIRST` and all of `OTHERS` and `AGAIN` are there."""

    def turned(names: Sequence[str]) -> Score:
        pairs = [(before, after) for name in names for before, after in zip(asked[FIRST], asked[name], strict=True)]
        return flips(
            [before.verdict.label for before, _ in pairs], [after.verdict.label for _, after in pairs],
            [before.item.instruction_id for before, _ in pairs],
        )  # fmt: skip

    scores = {name: pooled_accuracy(rows) for name, rows in asked.items()}
    single = {name: turned([name]) for name in (*OTHERS, *AGAIN)}
    return Rewording(judge, paradigm, turned(OTHERS), turned(AGAIN), single, scores)


def rows(judge: str, paradigm: str, asked: Mapping[str, Sequence[Judgment]]) -> list[dict[str, Any]]:
    """The lines of `reworded.jsonl`: every verdict of the other wordings and draws."""
    return [
        {
            "id": one.rubric.id, "judge": judge, "paradigm": paradigm, "asked": name, "gold": one.rubric.label,
            "label": one.verdict.label, "reason": one.verdict.reason, "probability": one.verdict.probability,
        }
        for name, found in asked.items()
        if name != FIRST
        for one in found
    ]  # fmt: skip


def section(found: Sequence[Rewording], temperature: float) -> Grid:
    """A line per judge and paradigm."""
    header = (
        "Judge", "Paradigm", "flips by wording", "95 % interval", *(f"by the {name}" for name in OTHERS), "flips by asking again", "95 % interval", "verdicts",
        "undecided", *(f"BAcc, {name} wording" for name in (FIRST, *OTHERS)), "interval of the first", "moves by", "wording decides",
    )  # fmt: skip
    lines = tuple(
        (
            one.judge, one.paradigm, value(one.by_wording), interval(one.by_wording), *(value(one.flips[name]) for name in OTHERS), value(one.by_asking_again),
            interval(one.by_asking_again), str(one.by_wording.n), str(one.by_wording.unscored),
            *(value(one.scores[name]) for name in (FIRST, *OTHERS)), interval(one.scores[FIRST]), percent(one.moves),
            {True: "yes", False: "no", None: "-"}[one.decides],
        )
        for one in found
    )  # fmt: skip
    cold = (
        " The judges' temperature is 0: asking again shows only what a server does by itself."
        if not temperature
        else ""
    )
    return Grid(
        "Does the wording decide?", header, lines,
        note="Three wordings of each prompt, equal in meaning. Flips: the share of verdicts that differ from those of the "
        f"first wording, in percent, over what both decide; fresh answers stand beside, two for two.{cold} The "
        "wording decides where a wording's balanced accuracy lies outside the interval of the first one's.",
    )  # fmt: skip
