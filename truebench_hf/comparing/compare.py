"""Two runs on the same instances: the paired difference, overall and by group, and what flipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.comparing.runs import Pairing, judges, pair_runs, read_run, self_judged
from truebench_hf.data.judged import Judged
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.options import NOBODY
from truebench_hf.report.sections import Beside, Conversation, as_counted, conversation, percent
from truebench_hf.report.table import Column, Table
from truebench_hf.results.finished import Finished
from truebench_hf.results.verdicts import ordered
from truebench_hf.study.notes import providers
from truebench_hf.study.outcome import Outcome
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import how_many, shortened

if TYPE_CHECKING:
    from pandas import DataFrame


T = TypeVar("T")
_SAME = 1e-12  # scores that differ by no more are equal
GROUPS = {"Category": "category", "Language": "language"}


@dataclass(frozen=True)
class ComparedMeans:
    """Both means (0..1) over the instances that both runs decided, second minus first (above 0 the second is better), and
    of how many instances the first alone passes (or scores more), and the second alone."""

    first: float | None
    second: float | None
    difference: PairedDifference
    alone: tuple[int, int]

    @classmethod
    def of(cls, pairs: DataFrame) -> ComparedMeans:
        """The means of some rows of a `Pairing`."""
        decided = pairs[["a", "b"]].dropna()
        first, second = (sum(decided[run].tolist()) / len(decided) if len(decided) else None for run in "ab")
        gaps = decided["a"] - decided["b"]
        alone = int((gaps > _SAME).sum()), int((gaps < -_SAME).sum())
        return cls(first, second, paired_difference(pairs["b"].to_numpy(), pairs["a"].to_numpy()), alone)


@dataclass(frozen=True)
class Comparison:
    """What two runs say of the instances that both hold; `differs` names what keeps the difference from being one of the
    models alone."""

    runs: tuple[Finished, Finished]
    differs: tuple[str, ...]
    pairing: Pairing = field(repr=False)

    @cached_property
    def overall(self) -> ComparedMeans:
        """Both means over all instances."""
        return ComparedMeans.of(self.pairing.rows)

    @cached_property
    def groups(self) -> dict[str, dict[str, ComparedMeans]]:
        """The same by category and by language."""
        groups = {}
        for title, column in GROUPS.items():
            rows = {str(name): of for name, of in self.pairing.rows.groupby(column, sort=False, observed=True) if name}
            groups[title] = {name: ComparedMeans.of(rows[name]) for name in ordered(rows, (*CATEGORIES, *LANGUAGES))}
        return groups

    @cached_property
    def flips(self) -> DataFrame:
        """The rows of the pairing that the runs score differently, first where the second is ahead most."""
        rows = self.pairing.rows
        apart = rows[(rows["a"] - rows["b"]).abs() > _SAME]
        return apart.iloc[(apart["a"] - apart["b"]).argsort(kind="stable")]

    @property
    def undecided(self) -> list[str]:
        """The instances that one of the runs left undecided."""
        rows = self.pairing.rows
        return list(rows.index[rows[["a", "b"]].isna().any(axis=1)])

    @property
    def self_judged(self) -> tuple[bool, bool]:
        """Of each run, whether a judge belongs to the family of its model."""
        first, second = (self_judged(run.model, judges(run.kind, run.settings) or {run.judge}) for run in self.runs)
        return first, second

    def texts(self, flips: DataFrame, make: Callable[[Judged], T]) -> Iterator[tuple[T, T]]:
        """What `make` returns of the answer and verdicts of each flip in either run. Raises UserError as `Finished.judged`."""
        names = flips.index.tolist(), flips["other"].tolist()
        first, second = (run.judged(ids, make) for run, ids in zip(self.runs, names, strict=True))
        return ((first[a], second[b]) for a, b in zip(*names, strict=True))


def compare(first: str, second: str, *, model_a: str | None = None, model_b: str | None = None) -> Comparison:
    """Compare two finished runs; `truebench compare` as a Python call.

    Raises UserError as `read_run`, on runs of two kinds, and where they have no instance in common.
    """
    return compare_runs(read_run(first, model_a), read_run(second, model_b))


def compare_runs(run_a: Finished, run_b: Finished) -> Comparison:
    """Compare two runs that are read already. Raises as `compare`."""
    pairing = pair_runs(run_a, run_b)
    return Comparison((run_a, run_b), tuple(differences(run_a, run_b, bool(pairing.changed))), pairing)


def differences(run_a: Finished, run_b: Finished, otherwise: bool) -> list[str]:
    """What of data and judging is not the same in both, each in a few words.

    Of data of which one run has more (a sample, say) the same instances are compared: that they are `otherwise` counts.
    """
    differences = []
    for run in (run_a, run_b):
        if not run.settings:
            return [f"nothing is known of how {run.where} was judged (no run.json)"]
    if otherwise:
        differences.append("other data")
    shaping, rules = _shaping()["shaping"], _shaping()["implied"]
    settings = [anonymous.settings({name: run.settings.get(name) for name in shaping}) for run in (run_a, run_b)]
    for prompts in (held["prompts"] or {} for held in settings):
        prompts.pop("generate_checklist", None)  # who writes checklists judges nothing; they are compared themselves
    pairs = {name: [held[name] or None for held in settings] for name in shaping}
    unlike = [name for name, (a, b) in pairs.items() if a != b]
    implied = {after for before in unlike for after in rules.get(before, ())}
    if NOBODY in pairs["judge"]:  # who asks nobody asks in no way
        implied.add("judging")
    ran = [providers(run.settings, {}).get(run.model) for run in (run_a, run_b)]
    if run_a.model == run_b.model and ran[0] != ran[1]:
        differences.append(f"provider of {run_a.model}: {_both_values(*ran)}")
    return differences + [f"{shaping[name]}: {_both_values(*pairs[name])}" for name in unlike if name not in implied]


@cache
def _shaping() -> Any:
    """What `shaping.yaml` holds."""
    import yaml

    return yaml.safe_load((files(__package__) / "shaping.yaml").read_text(encoding="utf-8"))


def _both_values(first: Any, second: Any) -> str:
    """Two values side by side; of objects the entries that differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [key for key in first | second if first.get(key) != second.get(key)]
        return ", ".join(f"{key} {_both_values(first.get(key), second.get(key))}" for key in keys[:4])
    values = ["not told" if value is None else str(value) for value in (first, second)]
    return " and ".join(shortened(text, 60) for text in values)


_SHOWN = 20  # flips on the terminal; all are in compare.json
_ON_PAGE = 1000  # flips with both answers on the page: more than anybody reads
_LONGEST = 160  # characters of a reason on the terminal


def outcome(comparison: Comparison, *, page: bool = True) -> Outcome[Comparison]:
    """What a comparison shows and writes; what only a `page` shows is not read for the terminal."""
    flipped = len(comparison.flips) > 0
    return Outcome(
        comparison, title=_title(comparison), notes=notes(comparison),
        tables=[_differences(comparison), *([_flips(comparison)] if flipped else [])],
        charts=[_beside(comparison)] if flipped and page else [],
        items={"compare.json": as_json(comparison)},
    )  # fmt: skip


def _title(comparison: Comparison) -> str:
    return f"A {_name(comparison, 0)} and B {_name(comparison, 1)}"


def notes(comparison: Comparison) -> list[str]:
    """What keeps the runs from being comparable, what is not compared, and what came out."""
    lines = [f"Not comparable as models: {'; '.join(comparison.differs)}."] if comparison.differs else []
    lines.append(_verdict(comparison))
    pairing, undecided = comparison.pairing, comparison.undecided
    if undecided:
        lines.append(f"Undecided in one of the runs, and left out: {_listed(undecided)}.")
    if pairing.by_content:
        lines.append(f"Paired by what they ask, under different ids: {pairing.by_content}.")
    if pairing.changed:
        lines.append(f"Same id, different prompt or criteria, left out: {_listed(pairing.changed)}.")
    lines += [f"Only in {letter}: {_listed(only)}." for letter, only in zip("AB", pairing.only, strict=True) if only]
    lines += [
        f"Self-judged: the model of {letter} and a judge belong to one family, which favours it."
        for letter, own in zip("AB", comparison.self_judged, strict=True)
        if own
    ]
    return lines


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The content of `compare.json`: shares are between 0 and 1, differences (B - A) between -1 and 1."""
    runs, table = zip("ab", comparison.runs, strict=True), _differences(comparison)
    pairing, flips = comparison.pairing, comparison.flips[["other", "a", "b"]].rename(columns={"other": "id_b"})
    return {
        **{letter: {"run": run.where, "model": run.model, "judge": run.judge} for letter, run in runs},
        "kind": comparison.runs[0].kind, "differs": list(comparison.differs),
        "differences": [{"by": row["by"], **record} for row, record in zip(table.rows, table.records(), strict=True)],
        "flips": flips.rename_axis("id").reset_index().to_dict("records"),
        "undecided": comparison.undecided, "otherwise": list(pairing.changed),
        "only_a": list(pairing.only[0]), "only_b": list(pairing.only[1]), "self_judged": list(comparison.self_judged),
    }  # fmt: skip


def _name(comparison: Comparison, place: int) -> str:
    run = comparison.runs[place]
    return run.model if comparison.runs[0].model != comparison.runs[1].model else f"{run.model} ({run.where})"


def _verdict(comparison: Comparison) -> str:
    sure = comparison.overall.difference
    if sure.value is None:
        return "No instance is decided in both runs."
    how = "by the 95 % interval" if sure.ci95 else "by McNemar's exact test: fewer than ten instances are shared"
    if not sure.ahead:
        return f"A and B cannot be told apart on these {sure.n} instances ({how})."
    return f"{'B' if sure.ahead > 0 else 'A'} is ahead ({how})."


_LINES = (
    Column("name", ""), Column("a", "A %", "number"), Column("b", "B %", "number"),
    Column("difference", "B - A", "score", "In points: above 0, B is better.", "points", parts=("value", "interval", "n", "unscored")),
    Column("p_value", "p", "p_value", "McNemar's exact test.", minor=1),
    Column("alone", "A:B alone", about="Instances where only A passes (or scores more), and where only B does."),
)  # fmt: skip
_FLIPS = (
    Column("id", "Instance"), Column("language", "language"), Column("category", "category"), Column("a", "A"), Column("b", "B"),
    Column("why", "why the lower one", "prose"),
)  # fmt: skip


def _differences(comparison: Comparison) -> Table:
    lines = [("", "Overall", comparison.overall)]
    lines += [(by, name, line) for by, of_group in comparison.groups.items() for name, line in of_group.items()]
    rows = [
        {
            "name": name, "by": by, "a": line.first, "b": line.second, "difference": line.difference,
            "p_value": line.difference.p_value, "alone": f"{line.alone[0]} : {line.alone[1]}",
        }
        for by, name, line in lines
    ]  # fmt: skip
    note = (
        f"Of {comparison.runs[0].of.about}; B - A in points over the instances that both decided: above 0, B is better. "
        "Intervals: Bonett and Price for passes, else of the mean difference; none below ten instances. McNemar: exact, "
        "for passes. Alone: instances where only A passes (or scores more), and only B. Of twenty groups one differs by chance."
    )
    return Table("differences", _LINES, rows, _title(comparison), note)


def _flips(comparison: Comparison) -> Table:
    flips = _greatest(comparison.flips, _SHOWN)
    # Of each the first criterion that it fails, with the judge's reason.
    reasons = comparison.texts(flips, lambda item: (next(iter(_failed(item)), item.response.error or ""))[:_LONGEST])
    lower = [pair[a > b] for pair, a, b in zip(reasons, flips["a"], flips["b"], strict=True)]
    cells = flips.assign(id=flips.index, a=flips["a"].map(_score), b=flips["b"].map(_score), why=lower)
    more = len(comparison.flips) - len(flips)
    note = f"And {more} more, in report.html of --out (the ids in compare.json, too)." if more else ""
    title = f"Flipped: {how_many(len(comparison.flips), 'instance')}"
    return Table.of_frame("flips", cells, _FLIPS, title=title, note=note)


def _greatest(flips: DataFrame, number: int) -> DataFrame:
    """The flips from both ends, where B is ahead most and where A is; all where there are no more than this number."""
    ends = [*range(number // 2), *range(len(flips) - number // 2, len(flips))]
    return flips if len(flips) <= number else flips.iloc[ends]


def _score(score: float) -> str:
    return {0.0: "fail", 1.0: "pass"}.get(score, f"{percent(score, 0)} %")


def _failed(item: Judged) -> list[str]:
    """Every criterion that a response fails, with the judge's reason."""
    failed = (v for turn in item.verdicts for v in map(as_counted, turn) if v.label == "no")
    who = {JUDGE: "Rules"}
    return [f"{v.criterion.text} · {who.get(v.judge, 'Judge')}: {v.reason or 'no reason'}" for v in failed]


def _beside(comparison: Comparison) -> Beside:
    flips = _greatest(comparison.flips, _ON_PAGE)
    rows = tuple(
        tuple(_side(comparison, scores, place, item) for place, item in enumerate(items))
        for *scores, items in zip(flips["a"], flips["b"], comparison.texts(flips, lambda item: item), strict=True)
    )
    more = len(comparison.flips) - len(flips)
    less = f" The {len(flips)} greatest in both directions; {more} more are named in compare.json." if more else ""
    return Beside("Flipped, answer by answer", rows, f"First where B is ahead. Both answers with every verdict.{less}")


def _side(comparison: Comparison, scores: Sequence[float], place: int, item: Judged) -> Conversation:
    """The conversation of one run of a flip, under the scores of both."""
    score = scores[place]
    decided = score in (0, 1)
    whole_conversation = conversation(item, bool(score) if decided else None)
    who = f"{'AB'[place]}: {_name(comparison, place)}" + ("" if decided else f", {_score(score)}")
    name = f"{whole_conversation.name} · A {_score(scores[0])}, B {_score(scores[1])}"
    return replace(whole_conversation, name=name, who=who, outcome=whole_conversation.outcome if decided else "")


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return f"{len(ids)} ({', '.join(ids[:5])}{more})"
