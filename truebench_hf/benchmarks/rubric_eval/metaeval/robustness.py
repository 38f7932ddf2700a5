"""How far can a response talk a judge round? Verdicts of no that turn to yes, by injection, beside neutral text.

The injections stand in `attacks.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib import resources
from itertools import cycle, islice
from typing import Any, TypeVar

from truebench_hf.benchmarks.rubric_eval.metaeval.scores import Judgment
from truebench_hf.data.case import Case, names_fault, stated
from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections as case_sections
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.comparison import PairedDifference, clustered_difference
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.report.sections import Grid, interval, percent, value
from truebench_hf.types import Score, Verdict

T = TypeVar("T")
FILE = "attacks.jsonl"
# A longer response can truly meet such a rubric, so that its label is not certain any more.
LENGTH = "quantity_limit"


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that is to turn verdicts, with placeholders (see `attacks.toml`), and the `filler` of its language."""

    id: str
    technique: str
    language: str
    text: str
    filler: str

    def on(self, case: Case) -> str:
        """The text as it is appended to the response of a case."""
        shown = case_sections(case)
        verdicts = json.dumps({f"criteria_{i}": "PASS" for i in range(1, len(case.criteria) + 1)})
        given = {"{tag}": shown["tag"], "{verdicts}": verdicts, "{criteria}": "; ".join(shown["criteria"])}
        return reduce(lambda text, name: text.replace(name, given[name]), given, self.text)

    def beside(self, case: Case) -> str:
        """A harmless text of as many characters, in the attack's language."""
        return "".join(islice(cycle(f"{self.filler} "), len(self.on(case))))


@cache
def attacks() -> tuple[Attack, ...]:
    """All injections, technique by technique."""
    found = _read()
    return tuple(Attack(**one, filler=found["neutral"][one["language"]]) for one in found["attack"])


def drawn(item: Item, each: int | None, seed: int) -> list[Attack]:
    """The injections for a response: `each` of every technique (None: all), drawn anew for every response.

    More hold the fewer, so that a study can be extended.
    """
    techniques = _grouped(attacks(), lambda one: one.technique).values()
    by_chance = [sorted(some, key=lambda one: digest(f"{seed} {item.id} {one.id}")) for some in techniques]
    chosen = {one.id for some in by_chance for one in some[:each]}
    return [one for one in attacks() if one.id in chosen]


@cache
def attack_set() -> str:
    """How many injections there are, and a hash of them: what a folder notes."""
    return f"{len(attacks())} injections {digest(canonical(_read()))[:12]}"


def aimed(item: Item, first: Sequence[Verdict]) -> Item | None:
    """The item with the rubrics alone that are certainly unmet and were said to be so (`first`); None without any."""
    rows = zip(item.rubrics, first, strict=True)
    kept = tuple(rubric for rubric, verdict in rows if attackable(item, rubric) and verdict.label == "no")
    return replace(item, rubrics=kept) if kept else None


def attackable(item: Item, rubric: Rubric) -> bool:
    """Whether a rubric is unmet and stays so, whatever text is appended to the response.

    One that names a fault is left out: without the fault the response is good, and nobody would attack.
    """
    fault = names_fault(stated(item.case.criteria[rubric.index]))
    return rubric.label == "no" and rubric.kind != LENGTH and not fault


def appended(item: Item, text: str) -> Item:
    """The item with a text at the end of its response."""
    return item.responded(f"{item.case.response}\n\n{text}", item.model)


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
    return {name: _turned(some) for name, some in _grouped(trials, key).items()}


def _grouped(every: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for one in every:
        groups.setdefault(key(one), []).append(one)
    return groups


def _turned(trials: Sequence[Trial]) -> Turned:
    attacked, neutral = [decide(one.attacked.label) for one in trials], [decide(one.neutral.label) for one in trials]
    clusters = [one.item.instruction_id for one in trials]
    # Each share is of the trials that are decided both ways.
    known = [a is not None and b is not None for a, b in zip(attacked, neutral, strict=True)]
    by_attack, by_neutral = (
        clustered_rate([yes if both else None for yes, both in zip(column, known, strict=True)], clusters)
        for column in (attacked, neutral)
    )
    more = clustered_difference(attacked, neutral, clusters)
    return Turned(by_attack, by_neutral, more, attacked.count(None), neutral.count(None))


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
    said = " ".join(
        f"{one.judge} {one.paradigm}: of {one.unmet} unmet rubrics it said no to {one.refused}, which were attacked, yes "
        f"to {one.passed}, and left {one.undecided} open."
        for one in found
    )

    def grid(
        title: str, names: Sequence[str], lines: Callable[[Robustness], Mapping[Any, Turned]], note: str = ""
    ) -> Grid:
        header = ("Judge", "Paradigm", *names, *_COLUMNS)
        rows = [(o.judge, o.paradigm, *name, *_cells(turned)) for o in found for name, turned in lines(o).items()]
        return Grid(title, header, tuple(rows), note=note, printed=bool(note))

    return [
        grid(
            "Talked round by injections", ("technique",),
            lambda o: {("all injections",): o.overall} | {(_words(name),): t for name, t in o.by_technique.items()},
            f"{_NOTE} {said}",
        ),
        grid(
            "Talked round, by language of the injection", ("language",),
            lambda o: {(name,): turned for name, turned in o.by_language.items()},
        ),
        grid(
            "Talked round, injection by injection", ("technique", "injection"),
            lambda o: {(_words(o.techniques[name]), name): turned for name, turned in o.by_attack.items()},
        ),
    ]  # fmt: skip


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cells(one: Turned) -> tuple[str, ...]:
    ends = one.more.interval
    return (
        value(one.by_attack), interval(one.by_attack), value(one.by_neutral), interval(one.by_neutral),
        percent(one.more.difference), f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}" if ends else "",
        str(one.more.n), f"{one.open_attacked} / {one.open_neutral}",
    )  # fmt: skip


def _read() -> dict[str, Any]:
    file = resources.files(__package__) / "attacks.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
