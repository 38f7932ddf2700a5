"""`truebench check NEW --against OLD`: whether a new run may be released, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truebench_hf.comparing import compare as comparing
from truebench_hf.comparing.finished import read
from truebench_hf.comparing.gate_statistics import Loss, Verdict, more_needed, score_loss, verdicts
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError, unknown
from truebench_hf.report.conversation import as_counted
from truebench_hf.report.table import Column, Table
from truebench_hf.results.finished import Finished
from truebench_hf.text.terminal import how_many

if TYPE_CHECKING:
    from pandas import DataFrame

GROUPS = ("category", "language")
COVERED = 0.9  # the share of pairs that has to be decided
CODES = {"within": 0, "worse": 1, "unsure": 3}


@dataclass(frozen=True)
class GateLine:
    """One thing that is gated: scores as shares, the loss (above 0 the new run is worse), and what that shows."""

    name: str
    old: float | None
    new: float | None
    loss: Loss
    verdict: Verdict
    more: int | None


@dataclass(frozen=True)
class Gate:
    """What a check comes to. `missed` are instances of the new run that miss a must-pass criterion, with it."""

    old: Finished
    new: Finished
    margin: float
    lines: tuple[GateLine, ...]
    missed: tuple[tuple[str, str], ...]
    unjudged: tuple[tuple[str, str], ...]
    counts: dict[str, int]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole."""
        shown = {line.verdict for line in self.lines}
        if "worse" in shown or self.missed:
            return "worse"
        return "unsure" if "unsure" in shown or self.unjudged or self.too_open else "within"

    @property
    def too_open(self) -> bool:
        """Whether more than a tenth of the pairs is undecided."""
        return self.counts["open"] > (1 - COVERED) * self.counts["paired"]

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        margin_points = 100 * self.margin
        margin = f"{margin_points:g} points"
        if self.missed:
            names = ", ".join(name for name, _ in self.missed[:5])
            return f"Worse: {how_many(len(self.missed), 'must-pass criterion', 'must-pass criteria')} missed ({names})."
        worse = [line for line in self.lines if line.verdict == "worse"]
        if worse:
            return f"Worse by more than {margin}: {', '.join(line.name for line in worse)}."
        if self.unjudged:
            return f"Unsure: the judge left {how_many(len(self.unjudged), 'must-pass criterion', 'must-pass criteria')} open."
        if self.too_open:
            return f"Unsure: {self.counts['open']} of {self.counts['paired']} pairs are undecided, which is no failure of either run."
        if unsure := [line for line in self.lines if line.verdict == "unsure"]:
            more = [line.more for line in unsure]
            count = "more than 100,000" if None in more else f"about {max(n for n in more if n is not None):,}"
            names = ", ".join(line.name for line in unsure)
            return (
                f"Unsure: the data do not tell whether the loss is within {margin} ({names}). If it stays as it is, {count} "
                "more instances would decide it in 4 of 5 runs."
            )
        return f"Not worse by more than {margin}, shown at 95 %."


def check(
    new: str, against: str, *, margin: float = 3.0, by: Sequence[str] = (), must: Sequence[str] = (),
    model_new: str | None = None, model_old: str | None = None,
) -> Gate:  # fmt: skip
    """Hold a finished run against an earlier one. `margin` is in points.

    Raises UserError as `compare`, where the runs were judged differently, and on unknown groups or criteria.
    """
    if not 0 <= margin < 100:
        raise UserError(f"--margin {margin}: is in points of the score, 0 to below 100")
    if strange := [name for name in by if name not in GROUPS]:
        raise unknown("group of --by", strange[0], GROUPS)
    old_run, new_run = read(against, model_old), read(new, model_new)
    if old_run.kind != new_run.kind:
        raise UserError(f"{against} is of kind {old_run.kind}, {new} of kind {new_run.kind}; check runs of one kind")
    differs = [text for text in comparing.differences(old_run, new_run, False) if not text.startswith("provider of")]
    if differs:
        raise UserError(f"{against} and {new} were judged differently ({'; '.join(differs)}); judge both in one way")
    pairs, counts = pair(old_run.instances, new_run.instances)
    if not len(pairs):
        raise UserError(f"{against} and {new} have no instance in common, neither by id nor by content")
    share = margin / 100
    decided = pairs.dropna(subset=["old", "new"])
    counts["open"] = len(pairs) - len(decided)
    named = [("all", decided)]
    named += [
        (f"{column}: {name}", rows)
        for column in by
        for name, rows in decided.groupby(column, observed=True, sort=True)
        if name
    ]
    missed, unjudged = _must(new_run, must)
    return Gate(old_run, new_run, share, _lines(named, share), missed, unjudged, counts)


def pair(old: DataFrame, new: DataFrame) -> tuple[DataFrame, dict[str, int]]:
    """Return the rows that ask the same in both, by id or else by content, and the counts of what does not pair."""
    import pandas as pd

    shared = new.index[new.index.isin(old.index)]
    same = shared[(new.loc[shared, "asked"] == old.loc[shared, "asked"]).to_numpy()]
    old_rest, new_rest = old.drop(index=same), new.drop(index=same)
    by_content = {
        asked: name for name, asked in zip(old_rest.index[::-1], old_rest["asked"].tolist()[::-1], strict=True)
    }
    matched = {name: by_content.pop(asked) for name, asked in new_rest["asked"].items() if asked in by_content}
    left_new, left_old = set(new_rest.index) - set(matched), set(old_rest.index) - set(matched.values())
    changed = left_new & left_old
    names = [*same, *matched]
    rows = new.loc[names, ["category", "language"]].assign(new=new.loc[names, "score"])
    rows["old"] = old.loc[[*same, *matched.values()], "score"].to_numpy()
    counts = {
        "paired": len(names), "paired by content": len(matched), "changed": len(changed),
        "new": len(left_new - changed), "gone": len(left_old - changed),
    }  # fmt: skip
    return pd.DataFrame(rows), counts


def _lines(named: Sequence[tuple[str, DataFrame]], margin: float) -> tuple[GateLine, ...]:
    scores = [(rows["old"].to_numpy(dtype=float), rows["new"].to_numpy(dtype=float)) for _, rows in named]
    losses = [score_loss(*columns) for columns in scores]
    shown = verdicts(losses, [margin] * len(losses))
    return tuple(
        GateLine(
            name, float(old.mean()) if len(old) else None, float(new.mean()) if len(new) else None, loss, verdict,
            more_needed(loss, margin) if verdict == "unsure" else None,
        )
        for (name, _), (old, new), loss, verdict in zip(named, scores, losses, shown, strict=True)
    )  # fmt: skip


def _must(run: Finished, must: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """(instance, criterion) that miss a must-pass criterion, and those that are open. Every answer has to meet it."""
    if not must:
        return (), ()
    labels = run.judged(run.instances.index, lambda item: _labels(item, must))
    if absent := [text for text in must if not any(text == wanted for of in labels.values() for wanted, _ in of)]:
        raise UserError(f"--must {absent[0]!r}: no criterion of {run.where} contains it")
    pairs = [(name, text, label) for name, of in labels.items() for text, label in of]
    missed = tuple((name, text) for name, text, label in pairs if label == "no")
    return missed, tuple((name, text) for name, text, label in pairs if label not in ("yes", "no"))


def _labels(item: Judged, must: Sequence[str]) -> list[tuple[str, Any]]:
    return [
        (text, verdict.label)
        for turn in item.verdicts
        for verdict in map(as_counted, turn)
        for text in must
        if text.casefold() in verdict.criterion.text.casefold()
    ]


def table(gate: Gate) -> Table:
    """The lines as a table: shares in percent, the change (new less old) in points with its one-sided bounds."""
    columns = (
        Column("name", "", about="what is compared"), Column("n", "n", "count"), Column("old", "old %", "number"),
        Column("new", "new %", "number"), Column("change", "change", "number", unit="points"),
        Column("low", "at least", "number", unit="points", about="lower one-sided 95 % bound"),
        Column("high", "at most", "number", unit="points", about="upper one-sided 95 % bound"),
        Column("verdict", "verdict"),
    )  # fmt: skip
    rows = []
    for line in gate.lines:
        bounds = line.loss.bounds(0.05)
        ends = {"low": -bounds[1], "high": -bounds[0]} if bounds else {}
        rows.append(
            {"name": line.name, "n": line.loss.n, "old": line.old, "new": line.new, "change": 0.0 - line.loss.value}
            | ends
            | {"verdict": line.verdict}
        )
    note = f"{gate.counts['paired']} pairs, {gate.counts['open']} of them undecided; rows changed {gate.counts['changed']}, new {gate.counts['new']}, gone {gate.counts['gone']}."
    if len(gate.lines) > 1:
        note += " All have to be within the margin; blame holds 5 % over all of them (Holm)."
    margin = 100 * gate.margin
    return Table("gate", columns, rows, f"Margin {margin:g} points", note)
