"""The report of a run: its scores, what produced them, and what was judged as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from truebench_hf.data.judged import Judged
from truebench_hf.report.table import Column, Table
from truebench_hf.text.terminal import whole
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

VERDICTS = (
    "id", "sample", "language", "category", "task", "model", "judge", "turn", "criterion", "weight", "label", "met",
    "reason", "probability", "votes", "decided_by", "prompt", "response",
)  # fmt: skip
_MODEL = Column("model", "Model")
_COLUMNS = (
    Column("group", "Group"),
    Column("name", "Score"),
    Column("score", "%", "score", parts=("value", "interval", "n", "unscored"), drawn=True),
)


@dataclass(frozen=True)
class Report:
    """Scores by name (a name maps to a Score or to Scores by group), and what produced them.

    With `models` every name maps to Scores by model, and what a single model has by group is a name such as
    `by_category:Editing`. `judged` are the responses with their verdicts, which `verdicts` and `failures` hold as frames.
    """

    scores: Mapping[str, Score | Mapping[str, Score]]
    unscored: Mapping[str, str] = field(default_factory=dict)  # instance id -> reason
    usage: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    bias_corrected: Mapping[str, Any] = field(default_factory=dict)  # what human labels say; {} without labels
    judged: Sequence[Judged] = field(default=(), repr=False, compare=False)
    models: tuple[str, ...] = ()

    @cached_property
    def table(self) -> Table:
        """The scores, a row each: `model` where it is by model, `group` ("" for all instances), `name` and the score."""
        if not self.models:
            return Table("scores", _COLUMNS, _score_rows(self), keys=2)
        rows: list[dict[str, Any]] = []
        for full_name, scores in self.scores.items():
            head, colon, tail = full_name.partition(":")
            name = {"group": head if colon else "", "name": tail or head}
            by_model = scores.items() if isinstance(scores, Mapping) else ()
            rows += [{"model": model, **name, "score": score} for model, score in by_model]
        return Table("scores", (_MODEL, *_COLUMNS), rows, keys=3)

    @cached_property
    def verdicts(self) -> DataFrame:
        """A DataFrame with a row per criterion of every response.

        Columns: id, sample (from 1), language, category, task, model, judge (that of the run), turn (from 1), criterion,
        weight (its points), label ("yes", "no", "unknown", None where it was not judged), met (whether it is as it should be: of a fault,
        with negative points, whether it is absent; None where undecided), reason, probability (P(yes), where the judge
        gives one), votes, decided_by (the judge, of a cascade or panel the one who decided, `rules` where a program
        did), prompt and response of the turn. `datasets.Dataset.from_pandas` takes it: half a character (a lone
        surrogate) that a server sent stands in it as its escape (`\\ud83d`).
        """
        import pandas

        judge = self.provenance.get("judge")
        rows = [row | {"judge": judge, "decided_by": row["judge"]} for item in self.judged for row in item.rows()]
        rows = [{name: whole(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows]
        columns = {name: pandas.Series([row[name] for row in rows], dtype=object) for name in VERDICTS}
        return pandas.DataFrame(columns).astype({"sample": int, "turn": int, "weight": float, "probability": float})

    @property
    def failures(self) -> DataFrame:
        """The rows of `verdicts` on criteria that are missed."""
        missed = [value is False for value in self.verdicts["met"]]
        return self.verdicts[missed].reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the scores by name, what is unscored, and the notes."""
        flat: dict[str, Any] = {
            name: asdict(score) if isinstance(score, Score) else {key: asdict(of) for key, of in score.items()}
            for name, score in self.scores.items()
        }
        flat |= {"bias_corrected": dict(self.bias_corrected)} if self.bias_corrected else {}
        return flat | {"unscored": dict(self.unscored), "notes": list(self.notes)}

    def to_pandas(self) -> DataFrame:
        """A DataFrame, one row per score: `group` ("" for those of all instances), `name`, and the parts of the score.

        A report of several models has the column `model` before them.
        """
        frame = self.table.to_pandas().rename(columns=lambda name: name.removeprefix("score_"))
        columns = ["group", "name", "value", "n", "unscored", "low", "high"]
        return frame.rename(columns={"score": "value"})[["model"] * bool(self.models) + columns]

    def __str__(self) -> str:
        """The scores as a Markdown table, and the notes."""
        return "\n".join([self.table.to_markdown().rstrip(), "", *self.notes])

    def _repr_html_(self) -> str:
        from truebench_hf.report.page import in_notebook

        return in_notebook(self.table)


def score_tables(reports: Mapping[str, Report]) -> list[Table]:
    """The tables that scores.json has of these models: `scores`, a row for each, and `unscored`, with the reasons."""
    scores = [{"model": model, **row} for model, report in reports.items() for row in _score_rows(report)]
    unscored = [
        {"model": model, "id": name, "reason": reason}
        for model, report in reports.items()
        for name, reason in report.unscored.items()
    ]
    reasons = (_MODEL, Column("id", "Instance"), Column("reason", "Reason", "prose"))
    return [
        Table("scores", (_MODEL, *_COLUMNS), scores, "Scores", keys=3, on_page=False),
        Table("unscored", reasons, unscored, "Unscored", keys=2, on_page=False),
    ]


def _score_rows(report: Report) -> list[dict[str, Any]]:
    single = {name: score for name, score in report.scores.items() if isinstance(score, Score)}
    groups = {"": single} | {name: scores for name, scores in report.scores.items() if isinstance(scores, Mapping)}
    return [
        {"group": group, "name": name, "score": score}
        for group, scores in groups.items()
        for name, score in scores.items()
    ]
