"""Human labels on a run: how a criterion of an answer is named, and the lines of `labels.jsonl`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.data.judged import Judged, sample_name
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.double_sampling import allocate
from truebench_hf.metrics.pass_rate import conjunction
from truebench_hf.report.labels import read_rows
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Label, Message, Verdict

FILE = "labels.jsonl"
UNITS = ("instance", "criterion")
PLURAL = {"instance": "instances", "criterion": "criteria"}
_LEAST, _MOST = 1e-9, 1e9  # what a unit can stand for
_TEXTS = ("instance_id", "conversation", "model", "judge", "judging", "stratum", "how")
_KEPT = ("label", "how", "label_source", "annotations")
Row = Mapping[str, Any]


def label_place(run: Path, model: str, models: Sequence[str]) -> Path:
    """The folder of a run that holds the labels and the sample of a model: of a lone one the run's own."""
    if len(models) == 1:
        return run
    return run / "labels" / f"{slug(model.rpartition('/')[2])[:40]}-{digest(model)[:8]}"


@dataclass(frozen=True, slots=True)
class LabelUnit:
    """One judged criterion of a run: what was said before, the answer, and the judge's verdict.

    Its `id` holds a hash of all that a label depends on, so that a label never passes to another answer, and
    `conversation` one of all that was said, with `criteria` to be met. `place` is where it stands among these, from 1.
    """

    id: str
    instance_id: str
    model: str
    conversation: str
    place: int
    criteria: int
    history: tuple[Message, ...]
    answer: str
    verdict: Verdict
    sample: int = 1

    @property
    def response(self) -> str:
        """The response that it is about: an instance, or one of its samples."""
        return sample_name(self.instance_id, self.sample)


def units(judged: Sequence[Judged]) -> list[LabelUnit]:
    """All criteria of all instances that were answered to the last turn, in the order of the run.

    Raises UserError where some have negative points: what labels correct is made of labels, not of outcomes.
    """
    if any(weight < 0 for item in judged for turn in item.weights for weight in turn):
        raise UserError(
            "criteria with negative points cannot be labelled; turn them round (`does not ...`) and run again"
        )
    listed = []
    for item in filter(whole, judged):
        messages, instance, sample = item.response.messages, item.instance, item.response.sample
        answered = [i for i, message in enumerate(messages) if message.role == "assistant"]
        conversation = digest(canonical([[message.role, message.content] for message in messages]))[:12]
        place, criteria = 0, sum(map(len, item.verdicts))
        of = instance.id if sample == 1 else f"{instance.id}-s{sample}"  # more samples later: a run keeps its labels
        for number, (at, verdicts) in enumerate(zip(answered, item.verdicts, strict=False), 1):
            so_far = [[message.role, message.content] for message in messages[: at + 1]]
            for index, verdict in enumerate(verdicts, 1):
                place += 1
                name = f"{of}-t{number}-c{index}-{digest(canonical([so_far, verdict.criterion.text]))[:12]}"
                before, answer = messages[:at], messages[at].content
                listed.append(LabelUnit(
                    name, instance.id, item.response.model, conversation, place, criteria, before, answer, verdict, sample
                ))  # fmt: skip
    return listed


def whole(item: Judged) -> bool:
    """Whether there is an answer to every turn, and a criterion: otherwise people cannot say whether it passes."""
    return any(item.verdicts) and len(item.response.answers) >= len(item.verdicts)


def to_row(unit: LabelUnit, judge: Row, drawn: Row, label: Row) -> dict[str, Any]:
    """The line of `labels.jsonl` for a criterion: the label, how it came about, and the judge's own at that time.

    `judge` has the judge's name and what identifies its judging, `drawn` what was drawn (unit), from which stratum, and
    how many it stands for (weight).
    """
    facts = {"instance_id": unit.instance_id, "conversation": unit.conversation, "criteria": unit.criteria}
    facts |= {"sample": unit.sample} if unit.sample > 1 else {}
    facts |= {"criterion": unit.verdict.criterion.text, "model": unit.model}
    return {"id": unit.id, **facts, **judge, **drawn, "predicted": unit.verdict.label, **{k: label[k] for k in _KEPT}}


def read_labels(path: Path) -> list[dict[str, Any]]:
    """The rows of a `labels.jsonl`, if it is there, each with its `annotations`. Raises UserError naming one that is none."""
    rows = read_rows(path, ("yes", "no"))
    if twice := next((name for name, count in Counter(row["id"] for row in rows).items() if count > 1), None):
        raise UserError(f"{path}: id {twice} stands twice; remove one")
    for row in rows:
        counts = (row.get("criteria"), row.get("sample", 1))
        sound = (
            row.get("predicted", "") in ("yes", "no", "unknown", None)
            and row.get("unit") in UNITS
            and isinstance(weight := row.get("weight"), int | float)
            and _LEAST <= weight <= _MOST
            and all(isinstance(count, int) and count > 0 for count in counts)
            and all(isinstance(row.get(name), str) for name in _TEXTS)
        )
        if not sound:
            raise UserError(
                f"{path}: the row {row['id']!r:.80} is none of a run; give the labels.jsonl that `truebench label in` wrote"
            )
    return rows


def answers(rows: Sequence[Row]) -> dict[str, str | None]:
    """What each annotator says about an instance, from the rows of all its criteria: one no settles it.

    What an adjudicator decided on a criterion counts for everybody. An instance that lacks the row of a criterion, or
    an answer to it, cannot pass.
    """
    names = sorted({entry["annotator"] for row in rows for entry in row["annotations"]})
    missing: list[Label | None] = [None] if rows and rows[0]["criteria"] > len(rows) else []
    by_name = {}
    for name in names or [""]:
        labels = [
            row["label"] if row["how"] == "decided" or not names else
            next((entry["label"] for entry in row["annotations"] if entry["annotator"] == name), None)
            for row in rows
        ]  # fmt: skip
        passes = conjunction([*labels, *missing])
        by_name[name] = None if passes is None else "yes" if passes else "no"
    return by_name


SAMPLE = "sample.json"
STRATA = ("pass", "fail", "undecided")
LABELS: Mapping[str, Label | None] = {"pass": "yes", "fail": "no", "undecided": None}
STRATIFIED, PREDICTION_POWERED = "stratified", "prediction_powered"


@dataclass(frozen=True, slots=True)
class SamplingUnit:
    """A unit of the run that labels speak for: a response or a criterion, the judge's verdict on it, and its P(yes).

    `response` names the instance that was answered, or which sample of it.
    """

    id: str
    instance_id: str
    response: str
    stratum: str
    score: float


@dataclass(frozen=True, slots=True)
class SampledUnit:
    """From which stratum a unit was drawn, and for how many of it a drawn one stands."""

    stratum: Annotated[str, Field(pattern="^(pass|fail|undecided)$")]
    weight: Annotated[float, Field(ge=_LEAST, le=_MOST)]


@dataclass(frozen=True, slots=True)
class Design:
    """A sample: of which units, how the run will be corrected, fixed before any label, and what was drawn, by id."""

    unit: Annotated[str, Field(pattern="^(instance|criterion)$")]
    estimator: Annotated[str, Field(pattern="^(stratified|prediction_powered)$")]
    drawn: Mapping[str, SampledUnit]

    def key(self, unit: LabelUnit | SamplingUnit) -> str:
        """What a criterion was drawn as: its instance (of several samples, this one), or itself."""
        return unit.response if self.unit == "instance" else unit.id

    def holds(self, unit: LabelUnit | SamplingUnit) -> bool:
        """Whether a criterion was drawn."""
        return self.key(unit) in self.drawn


def population(judged: Iterable[Judged], unit: str) -> list[SamplingUnit]:
    """All instances, or criteria, that people could label. No text is held of what was judged."""
    criteria = [
        SamplingUnit(u.id, u.instance_id, u.response, verdict([u.verdict.label]), _score(u.verdict))
        for item in judged
        for u in units([item])
    ]
    return criteria if unit == "criterion" else responses(criteria)


def responses(criteria: Iterable[SamplingUnit]) -> list[SamplingUnit]:
    """The responses that all these criteria are of."""
    by_response: dict[str, list[SamplingUnit]] = {}
    for criterion in criteria:
        by_response.setdefault(criterion.response, []).append(criterion)
    return [
        SamplingUnit(name, of[0].instance_id, name, verdict([LABELS[m.stratum] for m in of]), prod(m.score for m in of))
        for name, of in by_response.items()
    ]


def verdict(labels: Sequence[str | None]) -> str:
    """The stratum of criteria with these verdicts of the judge: one no fails, undecided is a stratum of its own."""
    passes = conjunction(labels)  # type: ignore[arg-type]
    return "undecided" if passes is None else "pass" if passes else "fail"


def draw(members: Sequence[SamplingUnit], n: int, seed: int) -> list[str]:
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


def joined(
    before: Design | None, judged: Sequence[Judged], members: Sequence[SamplingUnit], unit: str, chosen: Sequence[str]
) -> Design:
    """The design with what was drawn before and now. The estimator stays what it was.

    At first it goes by the verdicts alone: scores help where the judge gives any.
    """
    strata = {name: drawn.stratum for name, drawn in before.drawn.items()} if before else {}
    stratum_of = {member.id: member.stratum for member in members}
    strata |= {name: stratum_of[name] for name in chosen if name not in strata}
    sizes, counts = Counter(stratum_of.values()), Counter(strata.values())
    drawn = {name: SampledUnit(s, max(sizes[s], counts[s]) / counts[s]) for name, s in strata.items()}
    verdicts = (verdict for item in judged for turn in item.verdicts for verdict in turn)
    scored = any(v.probability is not None or len(v.votes) > 1 for v in verdicts)
    return Design(unit, before.estimator if before else PREDICTION_POWERED if scored else STRATIFIED, drawn)


def write_design(run: Path, design: Design, members: Sequence[SamplingUnit]) -> None:
    """Write `sample.json` into the run folder; annotators must not see it, since it tells the verdicts."""
    sizes, counts = Counter(m.stratum for m in members), Counter(d.stratum for d in design.drawn.values())
    strata = {name: {"n": sizes[name], "drawn": counts[name]} for name in STRATA if sizes[name] or counts[name]}
    drawn = {name: asdict(unit) for name, unit in design.drawn.items()}
    content = {"unit": design.unit, "estimator": design.estimator, "strata": strata, "drawn": drawn}
    try:
        run.mkdir(parents=True, exist_ok=True)
        write_whole(run / SAMPLE, [json.dumps(content, ensure_ascii=False, indent=1) + "\n"])
    except OSError as error:
        raise UserError(f"{run / SAMPLE}: cannot be written: {error}; make room and draw again") from error


def read_design(run: Path) -> Design | None:
    """The sample of a run, None where none was drawn. Raises UserError where the file is none of ours."""
    file = run / SAMPLE
    if not file.exists():
        return None
    try:
        return TypeAdapter(Design).validate_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read as a sample; remove it, and draw again by `truebench label out` with the same --n and "
            "--seed"
        ) from error


def _score(verdict: Verdict) -> float:
    """The judge's P(yes): its probability, else the share of its votes, else its label."""
    if verdict.probability is not None:
        return verdict.probability
    if cast := [vote for vote in verdict.votes if vote is not None]:
        return cast.count("yes") / len(cast)
    return {"yes": 1.0, "no": 0.0}.get(verdict.label or "", 0.5)
