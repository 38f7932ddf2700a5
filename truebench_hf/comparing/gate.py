"""`truebench check NEW --against OLD`: whether a new run may be released, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from truebench_hf.comparing import compare as comparing
from truebench_hf.comparing.anchors import Anchors, watch
from truebench_hf.comparing.gate_statistics import Loss, Verdict, more_needed, ratio_loss, score_loss, verdicts
from truebench_hf.comparing.runs import pair, read_run
from truebench_hf.data.judged import Judged
from truebench_hf.engine.money import PaidTokens, Prices
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.sections import as_counted
from truebench_hf.results.finished import Finished
from truebench_hf.text.terminal import how_many, shortened

if TYPE_CHECKING:
    from pandas import DataFrame, Series

T = TypeVar("T")
GROUPS = ("category", "language")
COVERED = 0.9  # the share of pairs that has to be decided
CODES = {"within": 0, "worse": 1, "unsure": 3, "drifted": 4}


@dataclass(frozen=True)
class GateLine:
    """One thing that is gated: scores as shares (or mean lengths, costs), the loss (above 0 the new run is worse) with its
    margin, both as shares, and what that shows.
    """

    name: str
    old: float | None
    new: float | None
    loss: Loss
    margin: float
    verdict: Verdict
    more: int | None
    amount: bool = False  # a length or a cost: the loss is a share of the old mean

    @property
    def named(self) -> str:
        """What is gated, and by which margin where that is not the score's."""
        margin_percent = 100 * self.margin
        return f"{self.name}, margin {margin_percent:g} %" if self.amount else self.name


@dataclass(frozen=True)
class Gate:
    """What a check comes to. `missed` are instances of the new run that miss a must-pass criterion, with it.

    `pairs` has a row per pair, by the id in the new run: the scores `old` and `new` (NaN: undecided).
    """

    old: Finished | None
    new: Finished
    margin: float
    lines: tuple[GateLine, ...]
    missed: tuple[tuple[str, str], ...]
    unjudged: tuple[tuple[str, str], ...]
    counts: dict[str, int]
    must: tuple[str, ...] = ()
    pairs: DataFrame | None = field(default=None, repr=False)
    anchors: Anchors | None = None
    unchanged: bool = False  # whether every pair has the same answer, which shows what no number of rows could

    @property
    def verdict(self) -> Verdict | Literal["drifted"]:
        """The verdict on the whole: nothing is said of the run where its judge has drifted."""
        if self.anchors and self.anchors.drifted:
            return "drifted"
        of_lines = {line.verdict for line in self.lines}
        if "worse" in of_lines or self.missed:
            return "worse"
        return "unsure" if "unsure" in of_lines or self.unjudged or self.too_open or self.blind else "within"

    @property
    def too_open(self) -> bool:
        """Whether more than a tenth of the pairs is undecided."""
        return self.counts.get("open", 0) > (1 - COVERED) * self.counts.get("paired", 0)

    @property
    def blind(self) -> bool:
        """Whether the judge left more than a tenth of its anchors open, so that nothing is known of it."""
        return self.anchors is not None and self.anchors.left_open > self.anchors.count / 10

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        if self.anchors and self.anchors.drifted:
            return self.anchors.sentence
        margin_points = 100 * self.margin
        margin = f"{margin_points:g} points"
        if self.missed:
            names = ", ".join(shortened(name, 60) for name, _ in self.missed[:5])
            return f"Worse: {how_many(len(self.missed), 'must-pass criterion', 'must-pass criteria')} missed ({names})."
        worse = [line for line in self.lines if line.verdict == "worse"]
        if worse:
            return f"Worse by more than {margin}: {', '.join(line.named for line in worse)}."
        if self.unjudged:
            return f"Unsure: the judge left {how_many(len(self.unjudged), 'must-pass criterion', 'must-pass criteria')} open."
        if self.too_open:
            return f"Unsure: {self.counts['open']} of {self.counts['paired']} pairs are undecided, which is no failure of either run."
        if self.blind:
            return (
                "Unsure: the judge left more than a tenth of its anchors open, which is no failure of the application."
            )
        if unsure := [line for line in self.lines if line.verdict == "unsure"]:
            more = [line.more for line in unsure]
            count = "more than 100,000" if None in more else f"about {max(n for n in more if n is not None):,}"
            names = ", ".join(line.named for line in unsure)
            return (
                f"Unsure: the data do not tell whether the loss is within {margin} ({names}). If it stays as it is, {count} "
                "more instances would decide it in 4 of 5 runs."
            )
        if self.old is None:
            return "Every must-pass criterion is met." if self.must else "Held against no earlier run."
        if self.unchanged:
            return f"All {self.counts['paired']:,} answers are the same as before."
        return f"Not worse by more than {margin}, shown at 95 %."


def check(
    new: str, against: str | None = None, *, margin: float = 3.0, by: Sequence[str] = (), must: Sequence[str] = (),
    length_margin: float | None = None, cost_margin: float | None = None, model_new: str | None = None,
    model_old: str | None = None, anchors: str | None = None,
) -> Gate:  # fmt: skip
    """Hold a finished run against an earlier one, or without one its must-pass criteria alone.

    `margin` is in points of the score, `length_margin` and `cost_margin` in percent of the old mean per answer. `anchors`
    is a file of labelled rows, see `anchors.watch`. Raises UserError as `compare`, where the runs were judged differently, and on unknown groups or criteria.
    """
    for name, value in (("margin", margin), ("length-margin", length_margin), ("cost-margin", cost_margin)):
        if value is not None and not 0 <= value < 100:
            raise UserError(f"--{name} {value}: is in {'points' if name == 'margin' else 'percent'}, 0 to below 100")
    if strange := [name for name in by if name not in GROUPS]:
        raise unknown("group of --by", strange[0], GROUPS)
    if not all(must) or anchors == "":
        raise UserError(f"--{'anchors' if all(must) else 'must'}: is empty; leave it out, or write what it is about")
    new_run = read_run(new, model_new)
    missed, unjudged = _must(new_run, must)
    if against is None:
        watched = watch(new_run, anchors) if anchors else None
        return Gate(None, new_run, margin / 100, (), missed, unjudged, {}, tuple(must), anchors=watched)
    old_run = read_run(against, model_old)
    pairs, counts = _paired(old_run, new_run)
    decided = pairs.dropna(subset=["old", "new"])
    counts["open"] = len(pairs) - len(decided)
    named = [("all", decided)]
    named += [
        (f"{column}: {name}", rows)
        for column in dict.fromkeys(by)
        for name, rows in decided.groupby(column, observed=True, sort=True)
        if name
    ]
    if absent := [column for column in by if not any(pairs[column].tolist())]:
        raise UserError(f"--by {absent[0]}: the rows have none; leave it out")
    gated = [(name, rows["old"], rows["new"], margin / 100, False) for name, rows in named]
    for name, percent, amount in (
        ("length", length_margin, lambda _: lambda item: float(sum(map(len, item.response.answers)))),
        ("cost", cost_margin, _cost),
    ):
        if percent is not None:
            gated.append((name, *_amounts(old_run, new_run, pairs, amount), percent / 100, True))
    lines, unchanged = _lines(gated), _unchanged(old_run, new_run, pairs)
    if unchanged:
        lines = tuple(line if line.name == "cost" else replace(line, verdict="within", more=None) for line in lines)
    watched = watch(new_run, anchors) if anchors else None  # last, since it costs calls
    return Gate(old_run, new_run, margin / 100, lines, missed, unjudged, counts, tuple(must), pairs, watched, unchanged)


def _paired(old: Finished, new: Finished) -> tuple[DataFrame, dict[str, int]]:
    """The pairs of two runs, with the counts of what does not pair. Raises UserError where they cannot be compared."""
    if old.kind != new.kind:
        raise UserError(f"{old.where} is of kind {old.kind}, {new.where} of kind {new.kind}; check runs of one kind")
    differs = [text for text in comparing.differences(old, new, False) if not text.startswith("provider of")]
    if differs:
        raise UserError(
            f"{old.where} and {new.where} were judged differently ({'; '.join(differs)}); judge both in one way"
        )
    pairing = pair(new.instances, old.instances)
    if not len(pairing.rows):
        raise UserError(f"{old.where} and {new.where} have no instance in common, neither by id nor by content")
    counts = {
        "paired": len(pairing.rows), "paired by content": pairing.by_content, "changed": len(pairing.changed),
        "new": len(pairing.only[0]), "gone": len(pairing.only[1]),
    }  # fmt: skip
    return pairing.rows.rename(columns={"a": "new", "b": "old", "other": "old_id"}), counts


def _lines(gated: Sequence[tuple[str, Any, Any, float, bool]]) -> tuple[GateLine, ...]:
    """The lines of (name, old, new, margin, whether these are amounts)."""
    columns = [(old.to_numpy(dtype=float), new.to_numpy(dtype=float)) for _, old, new, _, _ in gated]
    losses = [(ratio_loss if amount else score_loss)(*pair) for pair, (*_, amount) in zip(columns, gated, strict=True)]
    of_lines = verdicts(losses, [margin for *_, margin, _ in gated])
    return tuple(
        GateLine(
            name, float(old.mean()) if len(old) else None, float(new.mean()) if len(new) else None, loss, margin,
            verdict, more_needed(loss, margin) if verdict == "unsure" else None, amount,
        )
        for (name, _, _, margin, amount), (old, new), loss, verdict in zip(gated, columns, losses, of_lines, strict=True)
    )  # fmt: skip


def _unchanged(old: Finished, new: Finished, pairs: DataFrame) -> bool:
    """Whether every pair has one score and one answer."""
    if not (pairs["old"].eq(pairs["new"]) | (pairs["old"].isna() & pairs["new"].isna())).all():
        return False
    old_answers = of_samples(old, pairs["old_id"], lambda item: digest(canonical(item.response.answers)))
    new_answers = of_samples(new, pairs.index, lambda item: digest(canonical(item.response.answers)))
    return all(old_answers[old_id] == new_answers[name] for name, old_id in pairs["old_id"].items())


def _amounts(
    old: Finished, new: Finished, pairs: DataFrame, amount: Callable[[Finished], Callable[[Judged], float]]
) -> tuple[Series, Series]:
    """What an answer of each pair amounts to, in the mean of its samples: in the old run and in the new one."""
    import pandas as pd

    old_amounts, new_amounts = (
        {name: fmean(amounts) for name, amounts in of_samples(run, names, amount(run)).items()}
        for run, names in ((old, pairs["old_id"]), (new, pairs.index))
    )
    return pairs["old_id"].map(pd.Series(old_amounts, dtype=float)), pd.Series(new_amounts, dtype=float)[pairs.index]


def of_samples(run: Finished, names: Iterable[str], make: Callable[[Judged], T]) -> dict[str, list[T]]:
    """What `make` returns of every sample of instances, by their ids; of a sample that stands twice the last row counts."""
    wanted = dict.fromkeys(names)
    run.judged((), make)  # says so where the file is another by now
    by_id: dict[str, dict[int, T]] = {}
    for item, judge in run.of.each(Path(run.where)):
        if item.instance.id in wanted and (item.response.model, judge) == (run.model, run.judge):
            by_id.setdefault(item.instance.id, {})[item.response.sample] = make(item)
    return {name: [by_sample[sample] for sample in sorted(by_sample)] for name, by_sample in by_id.items()}


def _cost(run: Finished) -> Callable[[Judged], float]:
    """The dollars that an answer took, at today's prices. Raises UserError where nobody tells the price or the tokens."""
    price = Prices().of(run.model)
    if price is None:
        raise UserError(
            f"--cost-margin: no price of {run.model} is known; write it into prices.toml (see docs/models.md)"
        )

    def cost(item: Judged) -> float:
        usage = item.response.usage
        if usage.unknown_calls or not usage.calls:
            raise UserError(f"--cost-margin: {run.where} does not tell the tokens of {item.instance.id}; leave it out")
        return price.of(PaidTokens(usage.input_tokens, usage.output_tokens))

    return cost


def _must(run: Finished, must: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """(instance, criterion) that miss a must-pass criterion, and those that are open. Every answer has to meet it."""
    if not must:
        return (), ()
    verdicts_by_id = of_samples(
        run, run.instances.index, lambda item: [as_counted(v) for turn in item.verdicts for v in turn]
    )
    labels = dict.fromkeys(
        (name, text, verdict.label)
        for name, samples in verdicts_by_id.items()
        for verdict in chain.from_iterable(samples)
        for text in must
        if text.casefold() in verdict.criterion.text.casefold()
    )
    if absent := set(must) - {text for _, text, _ in labels}:
        raise UserError(f"--must {min(absent)!r}: no criterion of {run.where} contains it")
    missed = tuple((name, text) for name, text, label in labels if label == "no")
    return missed, tuple((name, text) for name, text, label in labels if label not in ("yes", "no"))
