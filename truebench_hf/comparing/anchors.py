"""Whether a judge still agrees with the labels of its anchors: some labelled rows that it judges along with a run.

The first check keeps what the judge gives in `FILE.record.json`; later ones are held against that day.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import TypeAdapter, ValidationError

from truebench_hf.comparing.gate_statistics import Loss, score_loss
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import MIN_PAIRS
from truebench_hf.results.finished import Finished
from truebench_hf.results.folder import Results
from truebench_hf.text.terminal import how_many, warn
from truebench_hf.text.whole_files import write_whole

ALPHA = 0.1  # a false alarm stops a release for an hour, a judge that has drifted misleads all of them
MOST = 100  # rows, each of which is a call at most
# The settings that shape a verdict, and how they are called.
_WAY = {
    "judges": "judge", "paradigms": "level or reasoning", "rules": "rules", "structured": "structured answers",
    "decision": "threshold", "judge_temperature": "temperature", "judge_models": "provider or options", "prompts": "prompts",
}  # fmt: skip


@dataclass(frozen=True)
class AnchorRecord:
    """What a judge gave on a day: its label of each anchor by its id, None where it left it open."""

    day: str
    way: Mapping[str, Any]
    labels: Mapping[str, str | None]


@dataclass(frozen=True)
class Anchors:
    """How many of the labels of people (a share) a judge gives today, and gave on the day of the record in `file`.

    `loss` is over the anchors that are decided on both days; `left_open` of `count` anchors are open today. On the `first`
    day there is nothing to hold it against.
    """

    file: Path
    day: str
    first: bool
    before: float
    now: float
    loss: Loss
    left_open: int
    count: int

    @property
    def drifted(self) -> bool:
        """Whether it is shown, one-sided at 90 %, that the judge agrees less than on the day of the record."""
        bounds = self.loss.bounds(ALPHA)
        return bounds is not None and bounds[0] > 0

    @property
    def sentence(self) -> str:
        """What the anchors say of the judge."""
        agreement = f"agrees with {self.now:.0%} of {how_many(self.loss.n, 'label')}"
        agreement += f" ({self.left_open} of {self.count} left open)" if self.left_open else ""
        if self.first:
            return f"The judge {agreement}; {self.file} keeps that for later checks: commit it."
        agreement += f", on {self.day} with {self.before:.0%}"
        if self.drifted:
            remedy = (
                f"check again; if it stays, choose another judge, or delete {self.file} to begin anew with this one"
            )
            return f"The judge has drifted, and nothing is said of the application: it {agreement}; {remedy}."
        return f"The judge {agreement}."


def watch(run: Finished, file: str) -> Anchors:
    """Judge the labelled rows of a file in the way of a run, and hold them against the record beside the file.

    The judge is asked anew, whatever the cache holds, and once for each verdict. What the record lacks is kept in it,
    unless the judge has drifted.
    Raises UserError where the run is not of one judge in one of the paradigms, where there are more than 100 rows or
    fewer than ten that are decided, and where the record is of another judge or way.
    """
    import numpy as np

    if not Path(file).is_file():
        raise UserError(f"--anchors {file}: no such file; give labelled rows (prompt, response, criterion, label)")
    record = Path(f"{file}.record.json")
    earlier = _read(record) if record.exists() else None
    today, gold = _judged(run, file)
    before = earlier or today
    if differing := [title for name, title in _WAY.items() if before.way.get(name) != today.way[name]]:
        raise UserError(
            f"{record}: was kept on {before.day} in another way ({', '.join(differing)}); delete it to begin anew"
        )
    decided = [name for name in gold if today.labels[name] and before.labels.get(name)]
    if len(decided) < MIN_PAIRS:
        raise UserError(
            f"--anchors {file}: the judge decided {len(decided)} of {len(gold)} labels today and on {before.day}; it takes "
            f"{MIN_PAIRS} at least"
        )
    old, new = (np.array([of.labels[name] == gold[name] for name in decided], dtype=float) for of in (before, today))
    anchors = Anchors(
        record, before.day, earlier is None, float(old.mean()), float(new.mean()), score_loss(old, new),
        sum(today.labels[name] is None for name in gold), len(gold),
    )  # fmt: skip
    labels = {**today.labels, **{name: label for name, label in before.labels.items() if label}}
    if earlier is None or (labels != earlier.labels and not anchors.drifted):
        try:
            write_whole(
                record, [json.dumps(asdict(replace(before, labels=labels)), indent=1, ensure_ascii=False) + "\n"]
            )
        except OSError as error:
            warn(f"{record}: cannot be kept ({error.strerror or error}), so that no later check is held against it")
    return anchors


def _judged(run: Finished, file: str) -> tuple[AnchorRecord, dict[str, str]]:
    """The labelled rows judged as the answers of a run were, one vote each, and their labels by id."""
    from truebench_hf.benchmarks.rubric_eval import data
    from truebench_hf.benchmarks.rubric_eval.metaeval import JUDGMENTS, MetaevalOptions, metaeval
    from truebench_hf.benchmarks.rubric_eval.scores import PARADIGMS

    settings = run.settings
    judging = settings.get("judging") or {}
    way = judging.get("level"), judging.get("reasoning") and judging["level"] != "decision"
    paradigm = next((name for name, parts in PARADIGMS.items() if parts == way), None)
    if paradigm is None or settings.get("panel") or judging["calibrator"]:
        raise UserError(
            f"--anchors: {run.where} was not judged by one model at level checklist, rubric or decision, uncalibrated; "
            "judge it so, or leave out --anchors"
        )
    if (count := sum(len(item.rubrics) for item in data.answered(file))) > MOST:
        raise UserError(f"--anchors {file}: {count} labels; {MOST} are enough, and each may be a call: leave out some")
    options = {
        "data": file, "judge": run.judge, "judge_arg": settings.get("judge_arg", ()),
        "judge_base_url": settings.get("judge_base_url"), "paradigms": paradigm, "rules": judging["rules"],
        "threshold": judging["threshold"] if paradigm == "decision" else None, "structured": judging["structured"],
        "judge_temperature": judging["sampling"]["temperature"], "no_cache": True,
    }  # fmt: skip
    with TemporaryDirectory() as out:
        metaeval(MetaevalOptions(**options | {"out": out}))
        kept = Results.open(out).settings
        rows = [row for _, row in jsonl.read(Path(out) / JUDGMENTS)]
    labels = {row["id"]: row["label"] if row["label"] in ("yes", "no") else None for row in rows}
    gold = {row["id"]: row["gold"] for row in rows if row["gold"]}
    return AnchorRecord(datetime.now(UTC).date().isoformat(), {name: kept.get(name) for name in _WAY}, labels), gold


def _read(file: Path) -> AnchorRecord:
    """A record that was kept. Raises UserError where the file holds none."""
    try:
        return TypeAdapter(AnchorRecord).validate_json(file.read_bytes())
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise UserError(
            f"{file}: is no record of anchors; bring back the one that was committed, or delete it"
        ) from error
