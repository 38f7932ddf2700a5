"""From verdicts to scores (paper 002, section 3): a frame with a row per answer and judge, and estimates on its groups.

The frame is made of the lines of verdicts.jsonl, while a run ends and whenever its folder is read later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import by_group
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.intervals import clustered_mean, clustered_share
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.results.estimators import rate
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame, Series

KIND, VERDICTS = "facts", "verdicts.jsonl"
MEAN = "mean"  # of the judges, where a judge is named
Measure = Literal["unadjusted", "final"]
MEASURES: tuple[Measure, ...] = ("unadjusted", "final")
_TRUTH = {"yes": 1.0, "no": 0.0}
_COLUMNS = (
    "answer", "item", "cluster", "split", "groups", "ineligible", "judge", "unadjusted", "rated", "rating", "supported",
    "checkable", "unquoted",
)  # fmt: skip


def verdict_frame(lines: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Return a row per answer and judge of the lines of verdicts.jsonl.

    Columns: `answer` numbers the answers; `item` is the id that samples of one answer share; `cluster` the document,
    whose answers hang together; `split` ("" without one) and `groups` ({"domain": "finance"}) are the data's;
    `ineligible`: all judges see major issues; `judge` its name; `unadjusted` 1.0 for grounded, 0.0 for not, NaN for
    undecided; `final` the same, with 0.0 for ineligible answers; `rated`: the judge was asked about eligibility, and
    `rating` is "yes", "no" (major issues) or None. `supported` counts the sentences that a judge calls supported where it
    was to quote for each, `checkable` those of which every excerpt is found, `unquoted` those without one.
    """
    import pandas as pd

    rows = [
        (number, line["id"], line["document"], line["split"], line.get("groups", {}), bool(line["ineligible"]), judge,
         _TRUTH.get(label), judge in line.get("eligible", {}) and not line.get("is_baseline", False),
         line.get("eligible", {}).get(judge), *_evidence(line.get("grounding", {}).get(judge, {})))
        for number, line in enumerate(lines)
        for judge, label in line["grounded"].items()
    ]  # fmt: skip
    frame = pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(_COLUMNS)})
    counts = dict.fromkeys(("answer", "supported", "checkable", "unquoted"), int)
    frame = frame.astype({**counts, "ineligible": bool, "rated": bool, "unadjusted": float})
    return frame.assign(judge=in_order(frame["judge"]), final=frame["unadjusted"].mask(frame["ineligible"], 0.0))


def _evidence(grounding: Mapping[str, Any]) -> tuple[int, int, int]:
    """(sentences called supported, those whose excerpts are all found, those without any) by a template that asks for excerpts."""
    if not str(grounding.get("template", "")).startswith("json"):
        return 0, 0, 0
    supported = [unit for unit in grounding["units"] if unit["label"] == "supported"]
    return (
        len(supported),
        sum(not unit["untraced"] for unit in supported),
        sum(not unit["excerpts"] for unit in supported),
    )


def in_order(values: Any) -> Any:
    """Return a column of names whose groups stand in the order of their first row; "" is in none."""
    import pandas as pd

    names = [name for name in dict.fromkeys(values) if name]
    return pd.Categorical([name or None for name in values], categories=names)


def read_frame(folder: Path, split: str = "") -> DataFrame:
    """Return the frame of a finished run (of a split). Raises UserError where verdicts.jsonl cannot be read."""
    file = folder / VERDICTS
    lines = (line for _, line in jsonl.read(file, "repeat the run's command"))
    try:
        return verdict_frame(line for line in lines if not split or line["split"] == split)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read ({type(error).__name__}: {error}); repeat the run's command"
        ) from error


def judge_scores(frame: DataFrame, by: Sequence[str] = ()) -> DataFrame:
    """Return a row per group of `by` for the mean of the judges, and then one per group and judge (see `estimate`)."""
    import pandas as pd

    means = by_group(frame, by, estimate).assign(judge=MEAN)
    judges = by_group(frame, [*by, "judge"], estimate).astype({"judge": object})
    return pd.concat([means, judges], ignore_index=True)


def group_scores(frame: DataFrame) -> DataFrame:
    """Return the rows of `judge_scores` for every split and every group of the data: columns `by` and `group` say which.

    Answers without a split or group are in none.
    """
    import pandas as pd

    columns = dict.fromkeys(name for groups in frame["groups"] for name in groups)
    values = {"split": frame["split"]} | {
        name: [groups.get(name, "") for groups in frame["groups"]] for name in columns
    }
    parts = [judge_scores(frame.assign(group=in_order(names)), ["group"]).assign(by=by) for by, names in values.items()]
    return pd.concat([part.astype({"group": object}) for part in parts], ignore_index=True)


def estimate(rows: DataFrame) -> dict[str, Any]:
    """Return the counts and scores of some answers by the judges in these rows.

    A judge's `unadjusted` score is the share of decided answers that are grounded; in `final` ineligible answers are
    inaccurate, decided or not. Several samples of an answer count as their mean. With several judges it is the mean of
    their shares, undefined where one of them is, and `unscored` counts answers that no judge decided. `checkable` is the
    share of the sentences called supported whose excerpts are all found; None without any.
    """
    answers = rows.drop_duplicates("answer")
    rated = rows[rows["rated"]]
    return {
        "answers": len(answers),
        "ineligible": int(answers["ineligible"].sum()),
        **{measure: _mean_share(*_by_unit(rows, measure)) for measure in MEASURES},
        "undecided": int(rows["unadjusted"].isna().sum()),
        "major": int((rated["rating"] == "no").sum()) if len(rated) else None,
        "unrated": int(rated["rating"].isna().sum()) if len(rated) else None,
        "supported": (supported := int(rows["supported"].sum())),
        "unquoted": (unquoted := int(rows["unquoted"].sum())),
        "unfound": supported - unquoted - int(rows["checkable"].sum()),
        "checkable": _checkable(rows),
    }


def _by_unit(rows: DataFrame, measure: Measure, unit: str = "item") -> tuple[Any, Any]:
    """(the mean of a measure over the rows of a unit: an array (units, judges), NaN where none is decided; their clusters)."""
    import numpy as np

    units, names = rows[unit].factorize()
    judges, specs = rows["judge"].factorize()
    values, shape = rows[measure].to_numpy(dtype=float), (len(names), len(specs))
    known, places = ~np.isnan(values), units * len(specs) + judges
    counts = np.bincount(places[known], minlength=shape[0] * shape[1])
    sums = np.bincount(places[known], values[known], minlength=len(counts))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means.reshape(shape), rows.drop_duplicates(unit)["cluster"].to_numpy()


def _mean_share(means: Any, clusters: Any) -> Score:
    """The mean of the judges' shares. Its interval comes from how documents differ: more judges are no more answers."""
    import numpy as np
    import pandas as pd

    shares = [_share(column, clusters) for column in means.T]
    if len(shares) == 1:
        return shares[0]
    known = ~np.isnan(means)
    n = int(known.any(axis=1).sum())
    value = mean_of(*(share.value for share in shares))
    if value is None:
        return Score(None, n, len(means) - n)
    codes, names = pd.factorize(clusters)
    tops, bottoms = np.zeros((2, len(names), len(shares)))  # per document and judge how many are yes, and decided
    np.add.at(tops, codes, np.nan_to_num(means))
    np.add.at(bottoms, codes, known)
    return Score(value, n, len(means) - n, clustered_mean(tops[:, None, :], bottoms[:, None, :]))


def _share(values: Any, clusters: Any) -> Score:
    """A judge's share: with Wilson's interval, or one over documents where some have several answers."""
    if len(set(clusters)) == len(clusters):
        return rate(values)
    return clustered_rate([None if value != value else value for value in values.tolist()], list(clusters))


def _checkable(rows: DataFrame) -> Score | None:
    sums = rows.groupby("cluster", sort=False)[["checkable", "supported"]].sum()
    n = int(sums["supported"].sum())
    if not n:
        return None
    return Score(int(sums["checkable"].sum()) / n, n, 0, clustered_share(sums["checkable"], sums["supported"]))


def scores_by_document(frame: DataFrame) -> dict[str, float | None]:
    """Return the final score of every document: the mean over judges, then over the answers that all judges decided."""
    import pandas as pd

    scores, clusters = _by_unit(frame, "final", "answer")
    return _or_none(pd.Series(scores.mean(axis=1)).groupby(clusters, sort=False).mean())


def scores_by_judge(frame: DataFrame, measure: Measure) -> dict[str, dict[str, float | None]]:
    """Return what each judge gave the answers to every document by a measure: {judge: {document: mean}}."""
    judges = frame.groupby("judge", observed=True)
    return {str(judge): _or_none(rows.groupby("cluster", sort=False)[measure].mean()) for judge, rows in judges}


def _or_none(values: Series) -> dict[str, float | None]:
    return {name: None if value != value else value for name, value in values.to_dict().items()}


@dataclass(frozen=True)
class GroundingScores:
    """The scores of a run. `verdicts` is the frame of `verdict_frame`; `table` the rows of `judge_scores` over all answers
    (`by` and `group` are ""), and of `group_scores`."""

    verdicts: DataFrame = field(repr=False)
    table: DataFrame

    @classmethod
    def of(cls, verdicts: DataFrame) -> GroundingScores:
        """Return the scores of a frame of verdicts."""
        import pandas as pd

        return cls(
            verdicts,
            pd.concat([judge_scores(verdicts).assign(by="", group=""), group_scores(verdicts)], ignore_index=True),
        )

    def rows(self, by: str = "", judge: str = "") -> list[dict[str, Any]]:
        """Return the rows of one grouping ("" for all answers), of one judge or of all."""
        table = self.table[self.table["by"] == by]
        table = table[table["judge"] == judge] if judge else table
        return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]

    @property
    def mean(self) -> dict[str, Any]:
        """The mean of the judges over all answers: `final`, `unadjusted` and counts."""
        return self.rows(judge=MEAN)[0]

    @property
    def groupings(self) -> list[str]:
        """By what the data tells answers apart: split, domain, task, length, language."""
        return [name for name in dict.fromkeys(self.table["by"]) if name]
