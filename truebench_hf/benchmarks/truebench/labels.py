"""Human labels on a run's criteria: how a criterion is named, and what labels say about the judge's pass rate.

Statistics: `metrics/bias.py` (Rogan and Gladen) and `metrics/prediction_powered.py`. None of the five papers has this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.records import Judged
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.errors import UserError
from truebench_hf.metrics.bias import BiasCorrected, bias_corrected
from truebench_hf.metrics.prediction_powered import prediction_powered
from truebench_hf.types import Label, Message, Report, Verdict

FILE = "labels.jsonl"
_WORDS = ("yes", "no", None)


@dataclass(frozen=True, slots=True)
class Unit:
    """One judged criterion of a run: what was said before, the answer, and the judge's verdict.

    Its `id` holds a hash of all that a label depends on, so that a label never passes to another answer.
    """

    id: str
    instance_id: str
    model: str
    history: tuple[Message, ...]
    answer: str
    verdict: Verdict

    @property
    def label(self) -> Label | None:
        """The judge's label."""
        return self.verdict.label


def units(judged: Sequence[Judged]) -> list[Unit]:
    """All criteria of all answered turns, in the order of the run."""
    return [unit for item in judged for unit in _of(item)]


def _of(item: Judged) -> Iterator[Unit]:
    messages, instance = item.response.messages, item.instance
    answered = [i for i, message in enumerate(messages) if message.role == "assistant"]
    for number, (place, verdicts) in enumerate(zip(answered, item.verdicts, strict=False), 1):
        said = [[message.role, message.content] for message in messages[: place + 1]]
        for index, verdict in enumerate(verdicts, 1):
            content = digest(canonical([said, verdict.criterion.text]))[:12]
            name = f"{instance.id}-t{number}-c{index}-{content}"
            yield Unit(name, instance.id, item.response.model, messages[:place], messages[place].content, verdict)


def to_row(unit: Unit, judge: str, label: Mapping[str, Any]) -> dict[str, Any]:
    """The line of `labels.jsonl` for a criterion: the label, how it came about, and the judge's own at that time."""
    facts = {"instance_id": unit.instance_id, "criterion": unit.verdict.criterion.text, "model": unit.model}
    return {"id": unit.id, **facts, "judge": judge, "predicted": unit.label, **{k: label[k] for k in _KEPT}}


_KEPT = ("label", "how", "label_source", "annotations")


def read_labels(path: Path) -> list[dict[str, Any]]:
    """The rows of a `labels.jsonl`, each with its `annotations`. Raises UserError naming the line that is none."""
    rows, seen = [], set()
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            row = json.loads(line)
            if row["label"] not in _WORDS or row["predicted"] not in (*_WORDS, "unknown"):
                raise UserError(f"{path}, line {number}: 'label' and 'predicted' must be yes, no or null")
            if row["id"] in seen:
                raise UserError(f"{path}, line {number}: id {row['id']} stands twice; remove one")
            seen.add(row["id"])
            said = [{"annotator": e["annotator"], "label": e["label"]} for e in row.get("annotations") or ()]
            rows.append(row | {"annotations": said})
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path}: cannot be read as labels ({type(error).__name__}: {error})"
        raise UserError(f"{message}; give the labels.jsonl that `truebench label read` wrote") from error
    return rows


def corrected(report: Report, judged: Sequence[Judged], folder: Path) -> Report:
    """The report of a run with what the `labels.jsonl` in its folder says about the judge, if there is one."""
    file = folder / FILE
    return replace(report, bias_corrected=correction(judged, read_labels(file))) if file.exists() else report


def correction(judged: Sequence[Judged], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Both estimates of the share of criteria that are met (0..1), for `Report.bias_corrected`; {} without labels.

    `rows` are those of `labels.jsonl`. A label of one of the run's own answers is held against the run's verdict on it,
    any other (`borrowed`) against the verdict it was read with. The estimates rest on own labels alone; where there is
    none, they are withheld, and the judge's error rates are those of the borrowed ones.
    """
    if not rows:
        return {}
    run = {unit.id: unit for unit in units(judged)}
    own = [row for row in rows if row["id"] in run]
    others = [row for row in rows if row["id"] not in run]
    from_run = any(row["label"] is not None for row in own) or not others
    used = own if from_run else others
    rates = _held(judged, run, used, from_run)
    known = {row["id"]: row["label"] for row in own}
    powered = prediction_powered(
        [unit.label for unit in run.values()],
        [known.get(name) for name in run],
        groups=[unit.instance_id for unit in run.values()],
    )
    if not from_run:
        powered = replace(powered, estimate=None, ci95=None, withheld=rates.withheld)
    return {
        "rogan_gladen": asdict(rates),
        "prediction_powered": asdict(powered),
        "labels": len(used),
        "ties": sum(row.get("how") == "tie" for row in used),
        "labels_from_run": from_run,
        "borrowed": asdict(_held(judged, run, others, from_run=False)) if from_run and others else None,
    }


def _held(
    judged: Sequence[Judged], run: Mapping[str, Unit], rows: Sequence[Mapping[str, Any]], from_run: bool
) -> BiasCorrected:
    """Labels against the judge's verdicts, and the run's pass rate by them."""
    labels = [verdict.label for item in judged for turn in item.verdicts for verdict in turn]
    groups = [item.instance.id for item in judged for turn in item.verdicts for _ in turn]
    predicted = [run[row["id"]].label if row["id"] in run else row["predicted"] for row in rows]
    gold = [row["label"] for row in rows]
    return bias_corrected(labels, gold, predicted, groups=groups, labels_from_run=from_run)
