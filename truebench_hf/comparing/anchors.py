"""Whether a judge still agrees with the labels of its anchors: some labelled rows that it judges along with a run.

The first check keeps what the judge gives in `FILE.record.json`; later ones are held against that day.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import TypeAdapter, ValidationError

from truebench_hf.comparing.gate_statistics import Loss, score_loss
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError, write_error
from truebench_hf.metrics.comparison import MIN_PAIRS
from truebench_hf.options import from_values
from truebench_hf.results.finished import Finished
from truebench_hf.results.folder import Results
from truebench_hf.text.terminal import how_many
from truebench_hf.text.whole_files import write_whole

ALPHA = 0.1  # a false alarm stops a release for an hour, a judge that has drifted misleads all of them
MOST = 100  # rows, each of which is a call at most
_WAY = ("judges", "paradigms", "rules", "structured", "judge_models", "prompts")  # the settings that shape a verdict


@dataclass(frozen=True)
class AnchorRecord:
    """What a judge gave on a day: whether the label of each anchor by its id, None where it left it open."""

    day: str
    way: Mapping[str, Any]
    agrees: Mapping[str, bool | None]


@dataclass(frozen=True)
class Anchors:
    """What a judge gives today, held against the record of an earlier day; without one against itself.

    `loss` is that of the share of labels given, over the anchors that are decided on both days.
    """

    today: AnchorRecord
    earlier: AnchorRecord
    record: Path
    before: float
    now: float
    loss: Loss

    @property
    def drifted(self) -> bool:
        """Whether it is shown, one-sided at 90 %, that the judge agrees less than on the day of the record."""
        bounds = self.loss.bounds(ALPHA)
        return bounds is not None and bounds[0] > 0

    @property
    def sentence(self) -> str:
        """What the anchors say of the judge."""
        left_open = sum(agrees is None for agrees in self.today.agrees.values())
        agreement = f"agrees with {self.now:.0%} of {how_many(self.loss.n, 'label')}"
        agreement += f" ({left_open} more left open)" if left_open else ""
        if self.earlier is self.today:
            return f"The judge {agreement}; {self.record} keeps that for later checks: commit it."
        agreement += f", on {self.earlier.day} with {self.before:.0%}"
        if self.drifted:
            return f"The judge has drifted, and nothing is said of the application: it {agreement}."
        return f"The judge {agreement}."


def watch(run: Finished, file: str) -> Anchors:
    """Judge the labelled rows of a file in the way of a run, and hold them against the record beside the file.

    The judge is asked anew, whatever the cache holds, and once for each verdict. Without a record today's is kept as one.
    Raises UserError where the run is not of one judge in one of the paradigms, where there are more than 100 rows or
    fewer than ten that are decided, and where the record is of another judge or way.
    """
    import numpy as np

    record = Path(file).with_suffix(".record.json")
    earlier = _read(record) if record.exists() else None
    today = _judged(run, file)
    if earlier is not None and earlier.way != today.way:
        differing = [name for name in today.way if earlier.way.get(name) != today.way[name]]
        raise UserError(
            f"{record}: was kept on {earlier.day} with another {' and '.join(differing)}; delete it to begin anew"
        )
    before = today if earlier is None else earlier
    decided = [name for name, agrees in today.agrees.items() if None not in (agrees, before.agrees.get(name))]
    if len(decided) < MIN_PAIRS:
        raise UserError(
            f"--anchors {file}: {how_many(len(decided), 'label')} can be compared; it takes {MIN_PAIRS} at least"
        )
    if earlier is None:
        try:
            write_whole(record, [json.dumps(asdict(today), indent=1, ensure_ascii=False) + "\n"])
        except OSError as error:
            raise write_error(str(record), error.strerror or error) from error
    old, new = (np.array([of.agrees[name] for name in decided], dtype=float) for of in (before, today))
    return Anchors(today, before, record, float(old.mean()), float(new.mean()), score_loss(old, new))


def _judged(run: Finished, file: str) -> AnchorRecord:
    """The labelled rows judged as the answers of a run were, one vote each."""
    from truebench_hf.benchmarks.rubric_eval import data
    from truebench_hf.benchmarks.rubric_eval.metaeval.options import MetaevalOptions
    from truebench_hf.benchmarks.rubric_eval.metaeval.scores import PARADIGMS
    from truebench_hf.benchmarks.rubric_eval.metaeval.study import JUDGMENTS, metaeval

    settings = run.settings
    judging = settings.get("judging") or {}
    way = judging.get("level"), judging.get("reasoning") and judging["level"] != "decision"
    paradigm = next((name for name, parts in PARADIGMS.items() if parts == way), None)
    if paradigm is None or settings.get("panel") or judging["calibrator"]:
        raise UserError(
            f"--anchors: {run.where} was not judged by one model at level checklist, rubric or decision, uncalibrated"
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
        metaeval(from_values(MetaevalOptions, options | {"out": out}))
        kept = Results.open(out).settings
        rows = [row for _, row in jsonl.read(Path(out) / JUDGMENTS)]
    agrees = {
        row["id"]: row["label"] == row["gold"] if row["label"] in ("yes", "no") else None for row in rows if row["gold"]
    }
    return AnchorRecord(datetime.now(UTC).date().isoformat(), {name: kept.get(name) for name in _WAY}, agrees)


def _read(file: Path) -> AnchorRecord:
    """A record that was kept. Raises UserError where the file holds none."""
    try:
        return TypeAdapter(AnchorRecord).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(f"{file}: is no record of anchors; delete it to begin anew") from error
