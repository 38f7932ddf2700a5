"""How each judge is asked about grounding and eligibility: said by options or by the file that `facts select-template` writes,
and chosen by how well it agrees with people (paper 002, Tables 2 and 4)."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import MALFORMED, UserError, refused
from truebench_hf.judging.grounding.classifier import CLASSIFIER, Cut, classifies
from truebench_hf.judging.grounding.types import DEFAULT, TEMPLATES, prompts_of, template_named
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.calibration import Calibrator, best_threshold, cross_fit, fit
from truebench_hf.metrics.choosing import Choice, choose
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.types import Label, Score

if TYPE_CHECKING:
    from pandas import DataFrame

UNJUDGED = "none"  # of --eligibility: nobody asks whether answers do what was asked
GROUNDING, ELIGIBILITY, SENTENCES = "grounding", "eligibility", "sentences"  # no choice rests on the last question
HELD_OUT, STRICT = "held out", "macro_f1_strict"
_POSITIVE = {GROUNDING: "accurate", ELIGIBILITY: "ineligible"}
_TABLES = {GROUNDING: 2, ELIGIBILITY: 4}  # the paper's, which call the ways:
_TITLES = {name: template.paper for name, template in TEMPLATES.items()} | {
    "request": "User request only", "full": "User request and context document",
}  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """How one judge is asked; a classifier by its `fitted` cut, or by a plain one where there is none."""

    template: str = DEFAULT
    eligibility: str = "request"
    fitted: Cut | None = None

    @property
    def prompts(self) -> tuple[str, ...]:
        """The names of the prompts that shape verdicts on grounding; a classifier has none."""
        return () if self.template == CLASSIFIER else prompts_of(self.template)

    @property
    def bound(self) -> Any:
        """What a run folder is tied to: the template, and the cut of a classifier."""
        return self.to_json() if self.fitted else self.template

    def to_json(self) -> dict[str, Any]:
        """How grounding is asked about, as it is written down."""
        return {"template": self.template} | (asdict(self.fitted) if self.fitted else {})


def usual_choice(spec: str) -> TemplateChoice:
    """Return how a judge is asked of which nothing is said."""
    return TemplateChoice(CLASSIFIER) if classifies(spec) else TemplateChoice()


class _ChoiceRow(Row):
    template: str = DEFAULT
    eligibility: Literal["request", "full"] = "request"
    threshold: float | None = None
    calibrator: dict[str, Any] | None = None


def read_choices(path: str, specs: Mapping[str, str]) -> dict[str, TemplateChoice]:
    """Read what a file of `facts select-template` says of judges by name and spec. Raises UserError where it cannot be read or lacks one."""
    remedy = "; give a file that `truebench facts select-template` wrote"
    with refused(f"--template {path}: cannot be read", remedy, *MALFORMED):
        judges = json.loads(Path(path).read_text(encoding="utf-8"))["judges"]
        known = {name: Record(f"--template {path}, {name}", row).read(_ChoiceRow) for name, row in judges.items()}
    choices = {}
    for name, spec in specs.items():
        row = known.get(name) or known.get(spec)
        if row is None:
            raise UserError(f"--template {path}: says nothing on judge {spec}; it is about {', '.join(known)}")
        calibrator = Calibrator.of_fields(row.calibrator) if row.calibrator else None
        cut = None if row.threshold is None else Cut(row.threshold, calibrator)
        template = CLASSIFIER if classifies(spec) else template_named(row.template)
        choices[name] = TemplateChoice(template, row.eligibility, cut)
    return choices


def chosen_templates(specs: Mapping[str, str], templates: Sequence[str]) -> dict[str, TemplateChoice]:
    """Return how each judge is asked, by its name, of the arguments of --template.

    `specs` are the judges' by name. Raises UserError on a template or judge that there is not.
    """
    names = list(specs)
    choices = {name: usual_choice(spec) for name, spec in specs.items()}
    for argument in templates:
        number, dot, template = argument.partition(".")
        if not (dot and number.isdigit()):  # 1.json: the first judge by json
            if Path(argument).suffix.lower() == ".json" or Path(argument).is_file():
                choices |= read_choices(argument, specs)
                continue
            writing = [name for name, spec in specs.items() if not classifies(spec)]
            choices |= {name: replace(choices[name], template=template_named(argument)) for name in writing}
        elif not 1 <= int(number) <= len(names):
            count = f"there {'is' if len(names) == 1 else 'are'} {len(names)}"
            raise UserError(f"--template {argument}: there is no judge number {number}; {count}")
        elif classifies(specs[judge := names[int(number) - 1]]):
            raise UserError(f"--template {argument}: {judge} is a classifier, which no template asks; leave it out")
        else:
            choices[judge] = replace(choices[judge], template=template_named(template))
    return choices


@dataclass(frozen=True)
class SelectedTemplate:
    """One `question` (grounding or eligibility) for all judges.

    `agreement` has a row per judge and template (or variant): counts and Scores as `metrics.agreement` has them, of the
    constant judge that always says the positive, of every judge in every way, and of what was chosen without the rows
    it is measured on (`HELD_OUT`). `choices` go by judge.
    """

    question: str
    agreement: DataFrame
    choices: Mapping[str, Choice]

    def row(self, judge: str, template: str) -> dict[str, Any]:
        """Return the figures of a judge under a template."""
        frame = self.agreement
        (row,) = frame[(frame["judge"] == judge) & (frame["template"] == template)].to_dict("records")
        return {str(name): value for name, value in row.items()}

    @property
    def constant(self) -> dict[str, Any]:
        """The figures of the judge that always says the positive."""
        return self.row(f"always {_POSITIVE[self.question]}", "-")


def select(question: str, frame: DataFrame, *, folds: int, seed: int) -> SelectedTemplate | None:
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
    choices, rows = {}, [first.assign(judge=f"always {_POSITIVE[question]}", template="-", label="yes"), labelled]
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
    about, base = selected.question, selected.constant
    yes, no = base["tp"], base["fp"]  # of people's labels
    constant = max(yes / (2 * yes + no), no / (2 * no + yes)) if yes and no else 0.0  # macro F1 of the better one
    for judge, choice in selected.choices.items():
        if (selected.row(judge, choice.best)[STRICT].value or 0.0) <= constant:
            yield f"{judge}: for {about} no way of asking is better than always saying the same."
        elif choice.runner_up and choice.lead.ahead <= 0:
            yield f"{judge}: for {about} these labels do not tell {choice.best} from {choice.runner_up}."


def agreement_table(selected: SelectedTemplate) -> Table:
    """The agreement of every judge in every way, what was chosen and how sure that is, and the rows of the paper's table."""
    question, rows = selected.question, []
    for row in selected.agreement.to_dict("records"):
        choice = selected.choices.get(row["judge"])
        if choice and choice.best == row["template"]:
            row |= {
                "chosen": "chosen" if choice.lead.ahead > 0 else "chosen, not surely", "runner_up": choice.runner_up,
                "lead": choice.lead, "folds": f"{choice.won.get(choice.best, 0)} of {sum(choice.won.values())}",
            }  # fmt: skip
        rows.append(row | {"template": _TITLES.get(row["template"], row["template"])})
    about = "Points of strict F1 on the same answers beyond the runner-up; answers to one document hang together."
    columns = (
        Column("judge", "Judge"), Column("template", "template"), *_SCORES,
        Column(STRICT, "strict F1", "score", "Macro-F1 with undecided as wrong; by this one a template is chosen."), _UNDECIDED,
        Column("chosen", ""), Column("runner_up", "runner-up", minor=5),
        Column("lead", "lead", "score", about, "points", parts=("value", "interval"), minor=5),
        Column("folds", "best in folds", about="In how many parts of the data it was the best of the other parts.", minor=5),
    )  # fmt: skip
    title = f"{question.capitalize()} against labels (like the paper's table {_TABLES[question]})"
    note = f"Percent of {selected.constant['n']} labelled answers; the positive class is {_POSITIVE[question]}. Held out: chosen without the "
    note += "rows it is measured on. Paper rows: on its own data."
    return Table(question, columns, [*rows, *_published(question)], title, note, keys=2)


def _published(question: str) -> list[dict[str, Any]]:
    """The rows of the paper's table 2 or 4."""
    return [
        {"judge": row["Judge Model"], "template": row["Prompt Template"], "chosen": "chosen" if row["Chosen"] else "",
         **{name: Score(row[title] / 100, 0) for name, title in _PAPER.items()}, PUBLISHED: True}
        for row in paper_rows("facts", f"facts_table{_TABLES[question]}")
    ]  # fmt: skip


def sentence_table(frame: DataFrame) -> Table:
    """How the labels of single sentences agree; `frame` has judge, template, gold and label, "yes" being ungrounded."""
    table = agreement(frame, ["judge", "template"], measures=tuple(_PAPER))
    size = Column("n", "sentences", "count", "Sentences that judge and people have labelled.")
    columns = (Column("judge", "Judge"), Column("template", "template"), *_SCORES, size, _UNDECIDED)
    note = "The positive class is ungrounded. Sentences are those the judge labelled."
    rows = table[table["n"] + table["undecided"] > 0].to_dict("records")
    return Table("sentences", columns, rows, "Single sentences against labels", note, keys=2, printed=False)


def fitted(
    shares: Sequence[float | None], gold: Sequence[Label | None], groups: Sequence[Hashable], *, folds: int, seed: int
) -> tuple[Cut, list[str | None]] | None:  # fmt: skip
    """The cut of a classifier, fitted on all answers as `truebench study calibrate --kind platt` does, and the labels of
    cuts that had not seen the answer's document; None where labels and probabilities do not allow it."""
    calibrator = fit("platt", shares, gold)
    unseen, labels = cross_fit("platt", shares, gold, groups, folds=folds, seed=seed)
    best = best_threshold(unseen, gold)
    return None if calibrator is None or best is None else (Cut(best[0], calibrator), list(labels))
