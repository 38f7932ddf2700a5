"""Two runs on the same instances: the paired difference, overall and by group, and what flipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truebench_hf.benchmarks.facts.rank import scores_by_judge
from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.comparing.finished import Finished, judges, read, self_judged
from truebench_hf.comparing.ranking import Preference, preferences
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.options import NOBODY
from truebench_hf.results.estimators import ordered
from truebench_hf.study.providers import providers
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
_SAME = 1e-12  # scores that differ by no more are equal
# What shapes verdicts, by the names under which runs of any kind note it, and how that is called.
_SHAPING = {
    "judge": "judge", "judges": "judges", "cascade_judge": "second judge", "panel": "panel", "judging": "judging",
    "judge_level": "judge level", "templates": "templates", "eligibility": "eligibility", "protocol": "protocol",
    "votes": "votes", "threshold": "threshold", "judge_temperature": "judge temperature", "baseline": "baseline",
    "rules": "rules", "judge_models": "how the judge was run", "prompts": "judge prompts",
}  # fmt: skip
# Where the first differs, the second says nothing more.
_IMPLIED = (
    ("judge", "judge_models"), ("judge", "panel"), ("judges", "judge_models"), ("judges", "templates"),
    ("judges", "eligibility"), ("judge", "judge_level"), ("judging", "prompts"), ("judging", "rules"), ("judge_level", "prompts"),
    ("templates", "prompts"),
)  # fmt: skip
GROUPS = {"Category": "category", "Language": "language"}


@dataclass(frozen=True)
class Line:
    """Both means (0..1) over the instances that both runs decided, and second minus first: above 0 the second is better.

    `undecided`: in either run.
    """

    first: float | None
    second: float | None
    difference: PairedDifference
    undecided: int


@dataclass(frozen=True, slots=True)
class Flip:
    """An instance that the runs score differently: `Comparison.texts` has what they answered."""

    id: str
    language: str
    category: str
    scores: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """What two runs say of the instances that both hold.

    `differs` names what keeps the difference from being one of the models alone. `otherwise` are instances of one id
    that do not ask the same in both; `only` those that one run alone holds. `preferences` are
    those of judges for the model of their family, where several judged both.
    """

    runs: tuple[Finished, Finished]
    differs: tuple[str, ...]
    overall: Line
    groups: Mapping[str, Mapping[str, Line]]
    flips: tuple[Flip, ...]
    undecided: tuple[str, ...]
    otherwise: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    preferences: tuple[Preference, ...] = ()

    @property
    def self_judged(self) -> tuple[bool, bool]:
        """Of each run, whether a judge belongs to the family of its model."""
        one, other = (self_judged(run.model, judges(run.kind, run.settings) or {run.judge}) for run in self.runs)
        return one, other

    def texts(self, flips: Sequence[Flip], made: Callable[[Judged], T]) -> Iterator[tuple[T, T]]:
        """What is `made` of the answer and verdicts of each flip in either run. Raises UserError as `Finished.judged`."""
        one, other = (run.judged([flip.id for flip in flips], made) for run in self.runs)
        return ((one[flip.id], other[flip.id]) for flip in flips)


def compare(first: str, second: str, *, model_a: str | None = None, model_b: str | None = None) -> Comparison:
    """Compare two finished runs; `truebench compare` as a Python call.

    Raises UserError as `read`, on runs of two kinds, and where they have no instance in common.
    """
    one, other = read(first, model_a), read(second, model_b)
    if one.kind != other.kind:
        raise UserError(f"{first} is of kind {one.kind}, {second} of kind {other.kind}; compare runs of one kind")
    a, b = one.instances, other.instances
    common = a.index[a.index.isin(b.index)]
    alike = (a.loc[common, "asked"] == b.loc[common, "asked"]).to_numpy()
    if not alike.any():
        why = "ask other things under the same ids" if len(common) else "have no instance in common"
        raise UserError(f"{first} and {second} {why}; compare runs on the same data")
    same = common[alike]
    pairs = a.loc[same, ["language", "category"]].assign(a=a.loc[same, "score"], b=b.loc[same, "score"])
    return Comparison(
        (one, other), tuple(_differs(one, other, len(same) < len(common))), _line(pairs),
        {title: _by(pairs, column) for title, column in GROUPS.items()},
        _flips(pairs),
        tuple(same[pairs[["a", "b"]].isna().any(axis=1)]),
        tuple(common[~alike]),
        (tuple(a.index[~a.index.isin(b.index)]), tuple(b.index[~b.index.isin(a.index)])),
        tuple(_preferences(one, other)),
    )  # fmt: skip


def _preferences(one: Finished, other: Finished) -> list[Preference]:
    """What judges give one of the models beyond other judges; a run of FACTS has several."""
    if one.kind != FACTS or one.model == other.model:
        return []
    return preferences({run.model: scores_by_judge(Path(run.where)).get("final", {}) for run in (one, other)})


def _flips(pairs: DataFrame) -> tuple[Flip, ...]:
    """The instances that the runs score differently, those first where B is ahead most."""
    apart = pairs[(pairs["a"] - pairs["b"]).abs() > _SAME]
    apart = apart.iloc[(apart["a"] - apart["b"]).argsort(kind="stable")]
    columns = (apart[name].tolist() for name in ("language", "category", "a", "b"))
    rows = zip(apart.index, *columns, strict=True)
    return tuple(Flip(name, language, category, (a, b)) for name, language, category, a, b in rows)


def _line(pairs: DataFrame) -> Line:
    decided = pairs[["a", "b"]].dropna()
    means = (
        [sum(column) / len(decided) for column in (decided["a"].tolist(), decided["b"].tolist())]
        if len(decided)
        else [None] * 2
    )
    difference = paired_difference(pairs["b"].to_numpy(), pairs["a"].to_numpy())
    return Line(means[0], means[1], difference, difference.left_out)


def _by(pairs: DataFrame, column: str) -> dict[str, Line]:
    groups = {str(name): rows for name, rows in pairs.groupby(column, sort=False, observed=True) if name}
    return {name: _line(groups[name]) for name in ordered(groups, (*CATEGORIES, *LANGUAGES))}


def _differs(one: Finished, other: Finished, otherwise: bool) -> list[str]:
    """What of data and judging is not the same in both, each in a few words.

    Of data of which one run has more (a sample, say) the same instances are compared: that they are `otherwise` counts.
    """
    found = []
    for run in (one, other):
        if not run.settings:
            return [f"nothing is known of how {run.where} was judged (no run.json)"]
    if otherwise:
        found.append("other data")
    pairs = {name: [_plain(name, run.settings.get(name)) for run in (one, other)] for name in _SHAPING}
    unlike = [name for name, (a, b) in pairs.items() if a != b]
    implied = {after for before, after in _IMPLIED if before in unlike}
    if NOBODY in pairs["judge"]:  # who asks nobody asks in no way
        implied.add("judging")
    ran = [providers(run.settings, {}).get(run.model) for run in (one, other)]
    if one.model == other.model and ran[0] != ran[1]:
        found.append(f"provider of {one.model}: {_told(*ran)}")
    return found + [f"{_SHAPING[name]}: {_told(*pairs[name])}" for name in unlike if name not in implied]


def _plain(name: str, value: Any) -> Any:
    if name == "prompts":  # that of who writes checklists judges nothing; the checklists themselves are compared
        value = {key: text for key, text in (value or {}).items() if key != "generate_checklist"}
    return anonymous.settings(value) or None


def _told(first: Any, second: Any) -> str:
    """Two values side by side; of objects the entries that differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [key for key in first | second if first.get(key) != second.get(key)]
        return ", ".join(f"{key} {_told(first.get(key), second.get(key))}" for key in keys[:4])
    shown = ["not told" if value is None else str(value) for value in (first, second)]
    return " and ".join(shortened(text, 60) for text in shown)
