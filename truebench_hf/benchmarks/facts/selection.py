"""How well each judge agrees with people in every way it may be asked, and which way that chooses (paper 002, Tables 2, 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.facts.paper import published_agreement
from truebench_hf.judging.grounding.classifier import Cut
from truebench_hf.judging.grounding.types import TEMPLATES
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.calibration import best_threshold, cross_fit, fit
from truebench_hf.metrics.choosing import Choice, choose
from truebench_hf.report.table import Column, Table
from truebench_hf.types import Label, Score

if TYPE_CHECKING:
    from pandas import DataFrame

HELD_OUT = "held out"
STRICT = "macro_f1_strict"
# The measures of the paper's tables, by their names there.
_SCORES = (
    Column("macro_f1", "Macro-F1", "score", "Mean of the F1 of both classes; undecided answers are left out."),
    Column("accuracy", "Acc.", "score", "Share that is right.", minor=2),
    Column("fpr", "FPR", "score", "Of the negative class, the share called positive.", minor=3),
    Column("fnr", "FNR", "score", "Of the positive class, the share called negative.", minor=3),
    Column("f1_yes", "F1(+)", "score", "F1 of the positive class.", minor=4),
    Column("f1_no", "F1(-)", "score", "F1 of the negative class.", minor=4),
)
_PAPER = {column.name: column.title for column in _SCORES}
_UNDECIDED = Column("undecided", "undecided", "count", "What the judge settled nothing on.", minor=1)


@dataclass(frozen=True, eq=False)
class GroundingQuestion:
    """What judges and people are compared on: its positive class, the paper's table, and what that calls the ways."""

    name: str
    positive: str
    table: int
    titles: Mapping[str, str]


GROUNDING = GroundingQuestion(
    "grounding", "accurate", 2, {name: template.paper for name, template in TEMPLATES.items()}
)
_VARIANTS = {"request": "User request only", "full": "User request and context document"}
ELIGIBILITY = GroundingQuestion("eligibility", "ineligible", 4, _VARIANTS)


@dataclass(frozen=True)
class SelectedTemplate:
    """One question for all judges.

    `agreement` has a row per judge and template (or variant): counts and Scores as `metrics.agreement` has them, of the
    constant judge that always says the positive, of every judge in every way, and of what was chosen without the rows
    it is measured on (`HELD_OUT`). `choices` go by judge.
    """

    question: GroundingQuestion
    agreement: DataFrame
    choices: Mapping[str, Choice]

    def row(self, judge: str, template: str) -> dict[str, Any]:
        """Return the figures of a judge under a template."""
        frame = self.agreement
        (row,) = frame[(frame["judge"] == judge) & (frame["template"] == template)].to_dict("records")
        return {str(name): value for name, value in row.items()}

    @property
    def constant(self) -> str:
        """The name of the judge that always says the positive."""
        return f"always {self.question.positive}"


def select(question: GroundingQuestion, frame: DataFrame, *, folds: int, seed: int) -> SelectedTemplate | None:
    """Hold every judge against people in every way, and choose a way for each by macro F1, undecided counting as wrong;
    None without a labelled row.

    `frame` has a row per answer, judge and way, the answers of each way in one order: `judge`, `template`, `cluster` (the
    document), and `gold` and `label`, "yes" being the positive class, None where there is none.
    """
    import pandas as pd

    labelled = frame[frame["gold"].notna()]
    if labelled.empty:
        return None
    ways = {key: part for key, part in labelled.groupby(["judge", "template"], sort=False)}  # noqa: C416  # a frame each
    first = next(iter(ways.values()))
    choices, rows = {}, [first.assign(judge=f"always {question.positive}", template="-", label="yes"), labelled]
    for judge in labelled["judge"].unique():
        own = {template: part["label"].tolist() for (name, template), part in ways.items() if name == judge}
        choice = choose(first["gold"].tolist(), own, first["cluster"].tolist(), folds=folds, seed=seed)
        if choice is None:
            continue
        choices[judge] = choice
        if choice.runner_up and any(choice.held_out):
            held_out = pd.Series(choice.held_out, dtype=object, index=first.index)
            rows.append(first.assign(judge=judge, template=HELD_OUT, label=held_out))
    together = pd.concat(rows, ignore_index=True)
    for column, last in (("judge", []), ("template", [HELD_OUT])):
        order = [name for name in together[column].unique() if name not in last] + last
        together[column] = pd.Categorical(together[column], categories=order)
    table = agreement(together, ["judge", "template"], measures=(*_PAPER, STRICT))
    return SelectedTemplate(question, table.astype({"judge": object, "template": object}), choices)


def doubts(selected: SelectedTemplate) -> Iterator[str]:
    """Judges that are no better than a constant, and choices that the labels do not settle."""
    about, base = selected.question.name, selected.row(selected.constant, "-")
    yes, no = base["tp"], base["fp"]  # of people's labels
    constant = max(yes / (2 * yes + no), no / (2 * no + yes)) if yes and no else 0.0  # macro F1 of the better one
    for judge, choice in selected.choices.items():
        if (selected.row(judge, choice.best)[STRICT].value or 0.0) <= constant:
            yield f"{judge}: for {about} no way of asking is better than always saying the same."
        elif choice.runner_up and choice.lead.ahead <= 0:
            yield f"{judge}: for {about} these labels do not tell {choice.best} from {choice.runner_up}."


def agreement_table(selected: SelectedTemplate) -> Table:
    """The agreement of every judge in every way, with the rows of the paper's table beside."""
    question, choices = selected.question, selected.choices
    chosen = {
        (judge, choice.best): "chosen" if choice.lead.ahead > 0 else "chosen, not surely"
        for judge, choice in choices.items()
    }
    rows = [
        row | {"template": question.titles.get(row["template"], row["template"]),
               "chosen": chosen.get((row["judge"], row["template"]), "")}
        for row in selected.agreement.to_dict("records")
    ]  # fmt: skip
    rows += published_agreement(question.table, _PAPER)
    columns = (
        Column("judge", "Judge"), Column("template", "template"), *_SCORES,
        Column(STRICT, "strict F1", "score", "Macro-F1 with undecided as wrong; by this one a template is chosen."), _UNDECIDED,
        Column("chosen", ""),
    )  # fmt: skip
    title = f"{question.name.capitalize()} against labels (like the paper's table {question.table})"
    base = selected.row(selected.constant, "-")
    note = f"Percent of {base['n']} labelled answers; the positive class is {question.positive}. Held out: chosen without the "
    note += "rows it is measured on. Paper rows: on its own data."
    return Table(question.name, columns, rows, title, note, keys=2)


def choices_table(selected: SelectedTemplate) -> Table:
    """What was chosen for each judge, and how sure that is."""
    rows = [
        {
            "judge": judge, "best": choice.best, "runner_up": choice.runner_up,
            "lead": Score(choice.lead.difference, choice.lead.n, choice.lead.left_out, choice.lead.interval),
            "sure": "alone" if choice.runner_up is None else "yes" if choice.lead.ahead > 0 else "no",
            "folds": f"{choice.won.get(choice.best, 0)} of {sum(choice.won.values())}",
        }
        for judge, choice in selected.choices.items()
    ]  # fmt: skip
    about = "Points of macro F1 on the same answers, undecided ones being wrong; answers to one document hang together."
    columns = (
        Column("judge", "Judge"), Column("best", "chosen"), Column("runner_up", "runner-up"),
        Column("lead", "lead", "score", about, "points", parts=("value", "interval")),
        Column("sure", "told apart", about="Whether the interval lies on one side of 0."),
        Column("folds", "best in folds", about="In how many parts of the data it was the best of the other parts."),
    )  # fmt: skip
    note = "Where labels do not tell the two apart, more of them, or the cheaper template, are the better choice."
    return Table(f"{selected.question.name}_choices", columns, rows, f"The choice for {selected.question.name}", note)


def sentence_table(frame: DataFrame) -> Table:
    """How the labels of single sentences agree; `frame` has judge, template, gold and label, "yes" being ungrounded."""
    table = agreement(frame, ["judge", "template"], measures=tuple(_PAPER))
    size = Column("n", "sentences", "count", "Sentences that judge and people have labelled.")
    columns = (Column("judge", "Judge"), Column("template", "template"), *_SCORES, size, _UNDECIDED)
    note = "The positive class is ungrounded. Sentences are those the judge labelled."
    rows = table[table["n"] + table["undecided"] > 0].to_dict("records")
    return Table("sentences", columns, rows, "Single sentences against labels", note, keys=2, printed=False)


@dataclass(frozen=True)
class Fitted:
    """The cut of a classifier, fitted on all answers; `labels` are those of cuts that had not seen the answer's document."""

    cut: Cut
    labels: Sequence[str | None]


def fitted(
    kind: str, shares: Sequence[float | None], gold: Sequence[Label | None], groups: Sequence[Hashable],
    *, folds: int, seed: int,
) -> Fitted | None:  # fmt: skip
    """Fit as `truebench study calibrate` does; None where labels and probabilities do not allow it."""
    calibrator = fit(kind, shares, gold)
    unseen, labels = cross_fit(kind, shares, gold, groups, folds=folds, seed=seed)
    best = best_threshold(unseen, gold)
    if calibrator is None or best is None:
        return None
    return Fitted(Cut(best[0], calibrator), labels)
