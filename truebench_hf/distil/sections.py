"""What a distillation shows: where the verdicts come from, the split, the training, and agreement with the teacher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from truebench_hf.benchmarks.rubric_eval.calibration import sections as calibrated
from truebench_hf.distil.measures import Distilled
from truebench_hf.distil.training import Training
from truebench_hf.distil.verdicts import Found
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series, fixed, interval, percent, value
from truebench_hf.types import Score

_POINTS = 50  # of a line in a plot


def sections(result: Distilled, found: Found) -> list[Section]:
    """Everything the report shows, in order."""
    shown: list[Section] = [_sources(found), _used(result, found), _split(result), _training(result.training)]
    shown += [*_loss(result.training), _agreement(result)]
    return shown + (calibrated.sections(result.fit) if result.fit else [])


def _sources(found: Found) -> Grid:
    rows = tuple(
        (one.where, one.kind, one.level, one.settings.get("rules", "off"), f"{one.verdicts:,}") for one in found.sources
    )
    note = f"Verdicts: those of {found.teacher}."
    return Grid("Runs", ("run", "kind", "judged at level", "rules", "verdicts"), rows, note=note)


def _used(result: Distilled, found: Found) -> Grid:
    used = sum(sum(side.labels.values()) for side in result.sides.values())
    every = sum(len(one.labels) for one in found.examples)
    rows = [("used", used), *found.left_out.items()]
    if every > used:
        rows.append(("not in the sample of --limit", every - used))
    rows.append(("in all", sum(count for _, count in rows)))
    return Grid("Verdicts of the runs", ("", "verdicts"), tuple((name, f"{count:,}") for name, count in rows))


def _split(result: Distilled) -> Grid:
    rows = []
    for name, side in result.sides.items():
        yes, no = side.labels.get("yes", 0), side.labels.get("no", 0)
        counts = (side.instructions, side.responses, yes + no, yes, no)
        rows.append((name, *(f"{count:,}" for count in counts), percent(yes / (yes + no), 1)))
    header = ("", "instructions", "responses", "verdicts", "yes", "no", "yes %")
    note = "No instruction is on both sides, nor any message of a user, under whatever id."
    return Grid("Split by instruction", header, tuple(rows), note=note)


def _training(made: Training) -> Grid:
    first, last = tenths(made.loss)
    rows = (
        ("Verdicts learned from", f"{made.verdicts:,}"),
        ("Too long to be", f"{made.too_long:,}"),
        ("Steps", f"{len(made.loss):,}"),
        ("Loss, mean of first and last tenth of steps", f"{fixed(first, 4)}, {fixed(last, 4)}"),
        ("Seconds", f"{made.seconds:,.1f}"),
    )
    return Grid("Training", (), rows)


def tenths(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean of the first and of the last tenth of values, of one at least; None where there are none."""
    count = max(1, len(values) // 10)
    return (fmean(values[:count]), fmean(values[-count:])) if values else (None, None)


def _loss(made: Training) -> list[Section]:
    """The loss as a line, each point the mean of as many steps."""
    if len(made.loss) < 2:
        return []
    size = -(-len(made.loss) // _POINTS)
    parts = [made.loss[place : place + size] for place in range(0, len(made.loss), size)]
    points = [(min((i + 1) * size, len(made.loss)), fmean(part)) for i, part in enumerate(parts)]
    line = tuple((float(step), loss, 0.3, f"step {step}: {loss:.4f}") for step, loss in points)
    most = max(loss for _, loss in points)
    axes = Axis("step", 0, len(made.loss)), Axis("loss of the verdict's token", 0, most or 1)
    return [Plot("Loss", (Series("loss", line, joined=True),), *axes)]


def _agreement(result: Distilled) -> Grid:
    names = {"base": "base, untrained", "distilled": "distilled"}
    rows = [
        (names[name], *_cells(one.agreement), fixed(one.probabilities.brier, 4), fixed(one.probabilities.ece, 4))
        for name, one in result.measured.items()
    ]
    rows.append(("the usual verdict, always", *_cells(result.usual), "-", "-"))
    header = (
        "Judge", "balanced accuracy %", "95 % interval", "accuracy %", "95 % interval", "n", "undecided", "Brier", "ECE"
    )  # fmt: skip
    note = (
        "On the instructions held out, the teacher's verdict taken as right, yes from P(yes) = 0.5 on. How often teacher "
        "and pupil are right `truebench metaeval` tells. Intervals: the clusters are the instructions."
    )
    return Grid("Agreement with the teacher", header, tuple(rows), note=note)


def _cells(found: Mapping[str, Score]) -> tuple[str | int, ...]:
    balanced, plain = found["balanced_accuracy"], found["accuracy"]
    return value(balanced), interval(balanced), value(plain), interval(plain), plain.n, plain.unscored
