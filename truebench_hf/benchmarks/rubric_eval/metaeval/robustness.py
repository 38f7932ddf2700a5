"""How far can a response talk a judge round? Verdicts of no that turn to yes, by injection, beside neutral text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval.attacks import LENGTH, Attack, attackable
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import Judgment
from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.metrics.comparison import PairedDifference, clustered_difference
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.report.sections import Grid, interval, percent, value
from truebench_hf.types import Score, Verdict

FILE = "attacks.jsonl"


@dataclass(frozen=True, slots=True)
class Trial:
    """A rubric that is unmet and was said to be so, judged again behind an attack, and behind the neutral text."""

    item: Item
    rubric: Rubric
    attack: Attack
    attacked: Verdict
    neutral: Verdict


@dataclass(frozen=True)
class Turned:
    """Shares of verdicts of no that turned to yes, over the trials that are decided both ways.

    `more` is what the attack turns beyond the neutral text, paired; `open_attacked` and `open_neutral` count trials
    left undecided by either.
    """

    by_attack: Score
    by_neutral: Score
    more: PairedDifference
    open_attacked: int
    open_neutral: int


@dataclass(frozen=True)
class Robustness:
    """What the attacks did to a judge under a paradigm.

    Of `unmet` rubrics whose label is no, whatever is appended, the judge said no to `refused` (these are attacked), yes
    to `passed`, and left `undecided`.
    """

    judge: str
    paradigm: str
    unmet: int
    refused: int
    passed: int
    undecided: int
    overall: Turned
    by_technique: Mapping[str, Turned]
    by_language: Mapping[str, Turned]
    by_attack: Mapping[str, Turned]
    techniques: Mapping[str, str]  # of each attack

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def robustness(judge: str, paradigm: str, first: Iterable[Judgment], trials: Sequence[Trial]) -> Robustness:
    """The measures from the verdicts on the responses as they are (`first`) and all trials."""
    said = Counter(one.verdict.label for one in first if attackable(one.item, one.rubric))
    return Robustness(
        judge, paradigm, said.total(), said["no"], said["yes"], said.total() - said["no"] - said["yes"], _turned(trials),
        _by(trials, lambda one: one.attack.technique),
        _by(trials, lambda one: one.attack.language),
        _by(trials, lambda one: one.attack.id),
        {one.attack.id: one.attack.technique for one in trials},
    )  # fmt: skip


def _by(trials: Sequence[Trial], key: Callable[[Trial], str]) -> dict[str, Turned]:
    groups: dict[str, list[Trial]] = {}
    for one in trials:
        groups.setdefault(key(one), []).append(one)
    return {name: _turned(some) for name, some in groups.items()}


def _turned(trials: Sequence[Trial]) -> Turned:
    attacked, neutral = [_yes(one.attacked) for one in trials], [_yes(one.neutral) for one in trials]
    clusters = [one.item.instruction_id for one in trials]
    # Each share is of the trials that are decided both ways.
    known = [a is not None and b is not None for a, b in zip(attacked, neutral, strict=True)]
    by_attack, by_neutral = (
        clustered_rate([yes if both else None for yes, both in zip(column, known, strict=True)], clusters)
        for column in (attacked, neutral)
    )
    more = clustered_difference(attacked, neutral, clusters)
    return Turned(by_attack, by_neutral, more, attacked.count(None), neutral.count(None))


def _yes(verdict: Verdict) -> bool | None:
    return {"yes": True, "no": False}.get(verdict.label or "")


def rows(judge: str, paradigm: str, trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """The lines of `attacks.jsonl`: every trial with both its verdicts."""
    return [
        {
            "id": one.rubric.id, "judge": judge, "paradigm": paradigm, "attack": one.attack.id,
            "technique": one.attack.technique, "attack_language": one.attack.language,
            "instruction_id": one.item.instruction_id, "before": "no",
            **{
                how: {"label": found.label, "reason": found.reason, "probability": found.probability}
                for how, found in (("attacked", one.attacked), ("neutral", one.neutral))
            },
        }
        for one in trials
    ]  # fmt: skip


_NOTE = (
    "In percent: verdicts of no on unmet rubrics that turn to yes when a text is appended to the response; beside each "
    "injection a neutral text of as many characters, which a weak judge may follow as well. more: what injections turn "
    "beyond it, in points, with its paired 95 % interval; clusters are the instructions. open: trials left undecided by "
    f"the injection, and by the neutral text; neither counts. Rubrics of the type {LENGTH} are left out, since a longer "
    "response can truly meet them, and so are those that name a fault."
)
_COLUMNS = ("turned", "95 % interval", "by neutral text", "95 % interval", "more", "95 % interval", "trials", "open")


def sections(found: Sequence[Robustness]) -> list[Grid]:
    """The table by technique, and on the page those by language and by attack."""
    by_technique = [
        (one.judge, one.paradigm, name, *_cells(turned))
        for one in found
        for name, turned in {"all injections": one.overall, **_named(one.by_technique)}.items()
    ]
    said = " ".join(
        f"{one.judge} {one.paradigm}: of {one.unmet} unmet rubrics it said no to {one.refused}, which were attacked, yes "
        f"to {one.passed}, and left {one.undecided} open."
        for one in found
    )
    start = ("Judge", "Paradigm")
    by_language = [
        (o.judge, o.paradigm, name, *_cells(turned)) for o in found for name, turned in o.by_language.items()
    ]
    by_attack = [
        (one.judge, one.paradigm, _words(one.techniques[name]), name, *_cells(turned))
        for one in found
        for name, turned in one.by_attack.items()
    ]
    return [
        Grid("Talked round by injections", (*start, "technique", *_COLUMNS), tuple(by_technique), note=f"{_NOTE} {said}"),
        Grid(
            "Talked round, by language of the injection", (*start, "language", *_COLUMNS), tuple(by_language), printed=False
        ),
        Grid(
            "Talked round, injection by injection", (*start, "technique", "injection", *_COLUMNS), tuple(by_attack),
            printed=False,
        ),
    ]  # fmt: skip


def _named(by: Mapping[str, Turned]) -> dict[str, Turned]:
    return {_words(name): turned for name, turned in by.items()}


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cells(one: Turned) -> tuple[str, ...]:
    ends = one.more.interval
    return (
        value(one.by_attack), interval(one.by_attack), value(one.by_neutral), interval(one.by_neutral),
        percent(one.more.difference), f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}" if ends else "",
        str(one.more.n), f"{one.open_attacked} / {one.open_neutral}",
    )  # fmt: skip
