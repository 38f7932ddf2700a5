"""What of a run people are asked to label: a sample stratified by verdict, and how many units each of it stands for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.labels import UNITS, Unit, units, weighs
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.metrics.double_sampling import allocate
from truebench_hf.metrics.pass_rate import conjunction
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Label, Verdict

FILE = "sample.json"
STRATA = ("pass", "fail", "undecided")
LABELS: Mapping[str, Label | None] = {"pass": "yes", "fail": "no", "undecided": None}
STRATIFIED, PREDICTION_POWERED = "stratified", "prediction_powered"


@dataclass(frozen=True, slots=True)
class Member:
    """A unit of the run that labels speak for: a response or a criterion, the judge's verdict on it, and its P(yes).

    `response` names the instance that was answered, or which sample of it.
    """

    id: str
    instance_id: str
    response: str
    stratum: str
    score: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """From which stratum a unit was drawn, and for how many of it a drawn one stands."""

    stratum: str
    weight: float


@dataclass(frozen=True, slots=True)
class Design:
    """A sample: of which units, how the run will be corrected, fixed before any label, and what was drawn, by id."""

    unit: str
    estimator: str
    drawn: Mapping[str, Drawn]

    def key(self, unit: Unit | Member) -> str:
        """What a criterion was drawn as: its instance (of several samples, this one), or itself."""
        return unit.response if self.unit == "instance" else unit.id

    def holds(self, unit: Unit | Member) -> bool:
        """Whether a criterion was drawn."""
        return self.key(unit) in self.drawn


def population(judged: Iterable[Judged], unit: str) -> list[Member]:
    """All instances, or criteria, that people could label. No text is held of what was judged."""
    criteria = [
        Member(u.id, u.instance_id, u.response, verdict([u.label]), _score(u.verdict))
        for item in judged
        for u in units([item])
    ]
    return criteria if unit == "criterion" else responses(criteria)


def responses(criteria: Iterable[Member]) -> list[Member]:
    """The responses that all these criteria are of."""
    found: dict[str, list[Member]] = {}
    for criterion in criteria:
        found.setdefault(criterion.response, []).append(criterion)
    return [
        Member(name, of[0].instance_id, name, verdict([LABELS[m.stratum] for m in of]), prod(m.score for m in of))
        for name, of in found.items()
    ]


def clusters(members: Sequence[Member], unit: str) -> list[str] | None:
    """The instance of each unit, where instances have several."""
    instances = [member.instance_id for member in members]
    return instances if unit == "criterion" or len(set(instances)) < len(instances) else None


def verdict(labels: Sequence[str | None]) -> str:
    """The stratum of criteria with these verdicts of the judge: one no fails, undecided is a stratum of its own."""
    passes = conjunction(labels)  # type: ignore[arg-type]
    return "undecided" if passes is None else "pass" if passes else "fail"


def estimator(judged: Sequence[Judged]) -> str:
    """How labels will correct the run, by its verdicts alone: scores help where the judge gives any."""
    verdicts = (verdict for item in judged for turn in item.verdicts for verdict in turn)
    scored = any(v.probability is not None or len(v.votes) > 1 for v in verdicts)
    return PREDICTION_POWERED if scored else STRATIFIED


def draw(members: Sequence[Member], n: int, seed: int) -> list[str]:
    """The ids of `n` members, by stratum in proportion to its size (a few at least). A larger `n` holds the smaller."""
    sizes = Counter(member.stratum for member in members)
    wanted = allocate({name: sizes[name] for name in STRATA if sizes[name]}, n)
    # By a hash of its own, so that whoever joins the run later changes nobody's place.
    order = sorted(members, key=lambda member: digest(f"labels {seed} {member.id}"))
    return [
        member.id
        for name, count in wanted.items()
        for member in [member for member in order if member.stratum == name][:count]
    ]


def joined(before: Design | None, judged: Sequence[Judged], unit: str, chosen: Sequence[str]) -> Design:
    """The design with what was drawn before and now; the estimator stays what it was."""
    members = {member.id: member for member in population(judged, unit)}
    strata = {name: drawn.stratum for name, drawn in before.drawn.items()} if before else {}
    strata |= {name: members[name].stratum for name in chosen if name not in strata}
    sizes, counts = Counter(member.stratum for member in members.values()), Counter(strata.values())
    drawn = {name: Drawn(s, max(sizes[s], counts[s]) / counts[s]) for name, s in strata.items()}
    return Design(unit, before.estimator if before else estimator(judged), drawn)


def write_design(run: Path, design: Design, members: Sequence[Member]) -> None:
    """Write `sample.json` into the run folder; annotators must not see it, since it tells the verdicts."""
    sizes, counts = Counter(m.stratum for m in members), Counter(d.stratum for d in design.drawn.values())
    strata = {name: {"n": sizes[name], "drawn": counts[name]} for name in STRATA if sizes[name] or counts[name]}
    drawn = {name: asdict(found) for name, found in design.drawn.items()}
    content = {"unit": design.unit, "estimator": design.estimator, "strata": strata, "drawn": drawn}
    try:
        write_whole(run / FILE, [json.dumps(content, ensure_ascii=False, indent=1) + "\n"])
    except OSError as error:
        raise UserError(f"{run / FILE}: cannot be written: {error}; make room and draw again") from error


def read_design(run: Path) -> Design | None:
    """The sample of a run, None where none was drawn. Raises UserError where the file is none of ours."""
    file = run / FILE
    if not file.exists():
        return None
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        drawn = {str(name): Drawn(str(d["stratum"]), float(d["weight"])) for name, d in found["drawn"].items()}
        if found["unit"] not in UNITS or found["estimator"] not in (STRATIFIED, PREDICTION_POWERED):
            raise ValueError("unknown unit or estimator")
        if not all(of.stratum in STRATA and weighs(of.weight) for of in drawn.values()):
            raise ValueError("unknown stratum or weight")
        return Design(found["unit"], found["estimator"], drawn)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{file}: cannot be read as a sample ({type(error).__name__}: {error}); remove it, and draw again by "
            "`truebench label out` with the same --n and --seed"
        ) from error


def _score(verdict: Verdict) -> float:
    """The judge's P(yes): its probability, else the share of its votes, else its label."""
    if verdict.probability is not None:
        return verdict.probability
    if cast := [vote for vote in verdict.votes if vote is not None]:
        return cast.count("yes") / len(cast)
    return {"yes": 1.0, "no": 0.0}.get(verdict.label or "", 0.5)
