"""`truebench check NEW --against OLD`: whether a new run may be released, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from truebench_hf.comparing import compare as comparing
from truebench_hf.comparing.anchors import Anchors, watch
from truebench_hf.comparing.gate_statistics import Loss, Verdict, more_needed, ratio_loss, score_loss, verdicts
from truebench_hf.comparing.runs import pair_runs, read_run
from truebench_hf.data.judged import Judged
from truebench_hf.engine.money import PaidTokens, Prices
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.options import Options, option
from truebench_hf.report.sections import as_counted
from truebench_hf.results.finished import Finished
from truebench_hf.text.terminal import how_many, shortened
from truebench_hf.types import Usage
from truebench_hf.types import Verdict as CriterionVerdict

if TYPE_CHECKING:
    from pandas import DataFrame

COVERED = 0.9  # the share of pairs that has to be decided
CODES = {"within": 0, "worse": 1, "unsure": 3, "drifted": 4}


class CheckOptions(Options):
    """What a new run is held against, and by how much it may be worse."""

    PANEL: ClassVar[str] = "Options"
    new: str = option(help="Folder of the new run.", argument=True)
    against: str | None = option(None, help="Folder of the earlier run, of the same kind, judged in the same way.")
    margin: float = option(3.0, ge=0, lt=100, help="Points of the score by which the new run may be worse.")
    by: tuple[str, ...] = option(
        (), choices=("category", "language"), help="Gate the groups, too: category or language; may be repeated."
    )
    must: tuple[str, ...] = option((), help="Part of a criterion that every answer has to meet; may be repeated.")
    length_margin: float | None = option(
        None, ge=0, lt=100, help="Gate the length, too: percent by which answers may be longer."
    )
    cost_margin: float | None = option(
        None, ge=0, lt=100, help="Gate the cost, too: percent by which answers may cost more, by prices.toml."
    )
    anchors: str | None = option(
        None, help="File of labelled rows (prompt, response, criterion, label), at most 100: NEW's judge judges them "
        "along, and has to agree with them as on the day of the record beside FILE, which the first check keeps."
    )  # fmt: skip
    model_new: str | None = option(None, help="Which model of NEW, where it holds several.")
    model_old: str | None = option(None, help="Which model of --against, where it holds several.")
    allow: str | None = option(None, choices=("unsure",), help="unsure: exit with 0 where the data do not tell.")
    junit: str | None = option(None, help="File for a JUnit report: a case per instance of NEW.")
    summary: str | None = option(
        None, help="File for a summary in Markdown; on GitHub the job's page has it by itself."
    )

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if not all(self.must) or self.anchors == "":
            empty = "anchors" if all(self.must) else "must"
            raise UserError(f"--{empty}: is empty; leave it out, or write what it is about")
        if self.against is not None:
            return
        if not (self.must or self.anchors or self.junit or self.summary):
            raise UserError(
                "give --against OLD, an earlier run; or --must, --anchors, --junit or --summary for NEW alone"
            )
        if self.by or self.model_old or self.length_margin is not None or self.cost_margin is not None:
            raise UserError(
                "--by, --length-margin, --cost-margin and --model-old hold against an earlier run; give --against OLD"
            )


@dataclass(frozen=True, slots=True)
class GatedAnswer:
    """What a gate looks at of one answer, and no more of its texts than it shows: `prompt` opens that of its last turn."""

    group: str
    prompt: str
    content: str  # a hash of the answer
    length: int
    usage: Usage
    verdicts: tuple[CriterionVerdict, ...]  # as they count; reasons stand where a criterion is not met


@dataclass(frozen=True)
class GatedRun:
    """A run, and its answers."""

    run: Finished

    @cached_property
    def answers(self) -> dict[str, list[GatedAnswer]]:
        """Every sample of each instance by its id, in the order of the run; of one that stands twice the last row."""
        self.run.judged((), str)  # says so where the file is another by now
        by_id: dict[str, dict[int, GatedAnswer]] = {name: {} for name in self.run.instances.index}
        for item, judge in self.run.of.each(Path(self.run.where)):
            if (item.response.model, judge) == (self.run.model, self.run.judge):
                by_id[item.instance.id][item.response.sample] = self._answer(item)
        return {name: [samples[number] for number in sorted(samples)] for name, samples in by_id.items()}

    def _answer(self, item: Judged) -> GatedAnswer:
        instance, answers = item.instance, item.response.answers
        verdicts = [as_counted(verdict) for turn in item.verdicts for verdict in turn]
        return GatedAnswer(
            instance.category or instance.language or self.run.kind,
            shortened(instance.turns[-1].prompt, 80) if instance.turns else "",
            digest(canonical(answers)), sum(map(len, answers)), item.response.usage,
            tuple(replace(verdict, reason="") if verdict.label == "yes" else verdict for verdict in verdicts),
        )  # fmt: skip

    def lengths(self, names: Sequence[str]) -> list[float]:
        """The characters of the answers to each of these instances, in the mean of its samples."""
        return [fmean(answer.length for answer in self.answers[name]) for name in names]

    def costs(self, names: Sequence[str]) -> list[float]:
        """The dollars of the same, at today's prices. Raises UserError where nobody tells the price or the tokens."""
        price = Prices().of(self.run.model)
        if price is None:
            raise UserError(
                f"--cost-margin: no price of {self.run.model} is known; write it into prices.toml (see docs/models.md)"
            )
        costs = []
        for name in names:
            spent = [answer.usage for answer in self.answers[name]]
            if any(usage.unknown_calls or not usage.calls for usage in spent):
                raise UserError(f"--cost-margin: {self.run.where} does not tell the tokens of {name}; leave it out")
            costs.append(fmean(price.of(PaidTokens(usage.input_tokens, usage.output_tokens)) for usage in spent))
        return costs


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
        percent = 100 * self.margin
        return f"{self.name}, margin {percent:g} %" if self.amount else self.name


@dataclass(frozen=True)
class Gate:
    """What a check comes to. `missed` are instances of the new run that miss a must-pass criterion, with it.

    `pairs` has a row per pair, by the id in the new run: the scores `old` and `new` (NaN: undecided).
    """

    options: CheckOptions
    new: GatedRun
    missed: tuple[tuple[str, str], ...]
    unjudged: tuple[tuple[str, str], ...]
    anchors: Anchors | None = None
    lines: tuple[GateLine, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    pairs: DataFrame | None = field(default=None, repr=False)
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
    def code(self) -> int:
        """The exit code of the command."""
        return 0 if self.options.allow and self.verdict == "unsure" else CODES[self.verdict]

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
        margin = f"{self.options.margin:g} points"
        if self.missed:
            names = ", ".join(shortened(name, 60) for name, _ in self.missed[:5])
            return f"Worse: {_criteria(self.missed)} missed ({names})."
        if worse := [line.named for line in self.lines if line.verdict == "worse"]:
            return f"Worse by more than {margin}: {', '.join(worse)}."
        if self.unjudged:
            return f"Unsure: the judge left {_criteria(self.unjudged)} open."
        if self.too_open:
            open_pairs, pairs = self.counts["open"], self.counts["paired"]
            return f"Unsure: {open_pairs} of {pairs} pairs are undecided, which is no failure of either run."
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
        if self.pairs is None:
            return "Every must-pass criterion is met." if self.options.must else "Held against no earlier run."
        if self.unchanged:
            return f"All {self.counts['paired']:,} answers are the same as before."
        return f"Not worse by more than {margin}, shown at 95 %."


def _criteria(listed: Sequence[Any]) -> str:
    return how_many(len(listed), "must-pass criterion", "must-pass criteria")


def check(options: CheckOptions) -> Gate:
    """Hold a finished run against an earlier one, or without one its must-pass criteria alone.

    Raises UserError as `compare`, where the runs were judged differently, and on unknown groups or criteria.
    """
    new = GatedRun(read_run(options.new, options.model_new))
    gate = Gate(options, new, *_must(new, options.must))
    if options.against is not None:
        gate = _held_against(gate, GatedRun(read_run(options.against, options.model_old)))
    return replace(gate, anchors=watch(new.run, options.anchors) if options.anchors else None)  # last: it costs calls


def _held_against(gate: Gate, old: GatedRun) -> Gate:
    """The gate with its lines against an earlier run. Raises UserError where the two cannot be compared."""
    options, new = gate.options, gate.new
    differs = [text for text in comparing.differences(old.run, new.run, False) if not text.startswith("provider of")]
    if differs and old.run.kind == new.run.kind:
        raise UserError(
            f"{old.run.where} and {new.run.where} were judged differently ({'; '.join(differs)}); judge both in one way"
        )
    pairing = pair_runs(new.run, old.run)
    pairs = pairing.rows.rename(columns={"a": "new", "b": "old", "other": "old_id"})
    decided = pairs.dropna(subset=["old", "new"])
    counts = {
        "paired": len(pairs), "open": len(pairs) - len(decided), "paired by content": pairing.by_content,
        "changed": len(pairing.changed), "new": len(pairing.only[0]), "gone": len(pairing.only[1]),
    }  # fmt: skip
    if absent := [column for column in options.by if not any(pairs[column].tolist())]:
        raise UserError(f"--by {absent[0]}: the rows have none; leave it out")
    groups = {"all": decided} | {
        f"{column}: {name}": rows
        for column in options.by
        for name, rows in decided.groupby(column, observed=True, sort=True)
        if name
    }
    gated: list[Any] = [(name, rows["old"], rows["new"], options.margin / 100, False) for name, rows in groups.items()]
    for name, percent, amounts in (
        ("length", options.length_margin, GatedRun.lengths), ("cost", options.cost_margin, GatedRun.costs),
    ):  # fmt: skip
        if percent is not None:
            means = amounts(old, list(pairs["old_id"])), amounts(new, list(pairs.index))
            gated.append((name, *means, percent / 100, True))
    lines = tuple(_lines(gated))
    if unchanged := _unchanged(old, new, pairs):
        lines = tuple(line if line.name == "cost" else replace(line, verdict="within", more=None) for line in lines)
    return replace(gate, lines=lines, counts=counts, pairs=pairs, unchanged=unchanged)


def _lines(gated: Sequence[tuple[str, Any, Any, float, bool]]) -> Iterator[GateLine]:
    """Yield the lines of (name, scores or amounts of the old run, of the new one, margin, whether these are amounts)."""
    import numpy as np

    columns = [(np.asarray(old, dtype=float), np.asarray(new, dtype=float)) for _, old, new, *_ in gated]
    losses = [(ratio_loss if amount else score_loss)(*pair) for pair, (*_, amount) in zip(columns, gated, strict=True)]
    of_lines = verdicts(losses, [margin for *_, margin, _ in gated])
    for (name, _, _, margin, amount), pair, loss, verdict in zip(gated, columns, losses, of_lines, strict=True):
        old, new = (float(values.mean()) if len(values) else None for values in pair)
        more = more_needed(loss, margin) if verdict == "unsure" else None
        yield GateLine(name, old, new, loss, margin, verdict, more, amount)


def _unchanged(old: GatedRun, new: GatedRun, pairs: DataFrame) -> bool:
    """Whether every pair has one score and one answer."""
    if not (pairs["old"].eq(pairs["new"]) | (pairs["old"].isna() & pairs["new"].isna())).all():
        return False
    return all(
        [answer.content for answer in old.answers[old_id]] == [answer.content for answer in new.answers[name]]
        for name, old_id in pairs["old_id"].items()
    )


def _must(new: GatedRun, must: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """(instance, criterion) that miss a must-pass criterion, and those that are open. Every answer has to meet it."""
    labels = dict.fromkeys(
        (name, text, verdict.label)
        for name, samples in (new.answers.items() if must else ())
        for answer in samples
        for verdict in answer.verdicts
        for text in must
        if text.casefold() in verdict.criterion.text.casefold()
    )
    if absent := set(must) - {text for _, text, _ in labels}:
        raise UserError(f"--must {min(absent)!r}: no criterion of {new.run.where} contains it")
    missed = tuple((name, text) for name, text, label in labels if label == "no")
    return missed, tuple((name, text) for name, text, label in labels if label not in ("yes", "no"))
