"""`truebench study checklist categories`: what questions of checklists ask for, and how responses do by that (appendix A).

A model names any number of categories for a question. What three annotators all named is right; how well the model
finds it is told per question, then averaged (Table 7). Figure 4 is the pass rate of the questions of a category. The
names of categories are the papers'; what they mean is worded for this project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick.entries import DATA_HELP, answered, answerers, load_entries
from truebench_hf.benchmarks.tick.scoring import paper_rows
from truebench_hf.data.checklist_rows import Entry, Written
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections as case_sections
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.signed import ListOf, label_of
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.agreement import SetScores, set_scores
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.report.sections import Grid, fixed, interval, percent
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Board, Column, Outcome, Row
from truebench_hf.study.study import Study
from truebench_hf.text import anonymous
from truebench_hf.types import Score


@cache
def schemes() -> dict[str, dict[str, str]]:
    """The names of categories with what they mean, by scheme."""
    import yaml

    listed: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return listed


@dataclass(frozen=True)
class Question:
    """A question of a checklist: what annotators all named (None: nobody sorted it), and what the model named.

    `named` is None where the model gave no answer that can be read, and `reason` says why.
    """

    entry: Entry
    checklist: Written
    index: int
    gold: frozenset[str] | None
    named: tuple[str, ...] | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """The question itself."""
        return self.checklist.questions[self.index]

    @property
    def shown(self) -> Sequence[str]:
        """The categories it counts under: the model's, or else the annotators'."""
        return self.named if self.named is not None else sorted(self.gold or ())

    def row(self) -> dict[str, Any]:
        """Its line in `categories.jsonl`."""
        gold = None if self.gold is None else sorted(self.gold)
        about = {"id": self.entry.id, "checklist_id": self.checklist.id, "question": self.text}
        named = None if self.named is None else list(self.named)
        return about | {"categories": named, "annotators": gold, "reason": self.reason}


def by_scheme(entry: Entry, names: Mapping[str, str]) -> bool:
    """Whether its annotators sorted by these names, if at all."""
    return {name for annotation in entry.categories for listed in annotation.categories for name in listed} <= set(
        names
    )


def questions_of(entry: Entry, names: Mapping[str, str]) -> Iterator[Question]:
    """The questions of a row with what all annotators named, if they sorted by these names."""
    for checklist in entry.checklists:
        sorted_ = [annotation.categories for annotation in entry.categories if annotation.checklist_id == checklist.id]
        if not by_scheme(entry, names):
            sorted_ = []
        for index in range(len(checklist.questions)):
            label_sets = [set(annotation[index]) for annotation in sorted_]
            yield Question(entry, checklist, index, frozenset(set.intersection(*label_sets)) if label_sets else None)


def against_annotators(done: Sequence[Question]) -> SetScores | None:
    """How well what all annotators named is found; None where nobody sorted."""
    known = [question for question in done if question.gold is not None]
    return (
        set_scores([question.gold or () for question in known], [question.named for question in known])
        if known
        else None
    )


def counts(done: Sequence[Question], name: str) -> dict[str, int]:
    """Of a category: questions that annotators, the model, and both put into it."""
    gold = [question for question in done if name in (question.gold or ())]
    named = [question for question in done if name in (question.named or ())]
    return {
        "annotators": len(gold),
        "model": len(named),
        "both": sum(name in (question.named or ()) for question in gold),
    }


def pass_rates(done: Sequence[Question]) -> dict[str, dict[str, Score]]:
    """The pass rate of the questions of each category, by whose responses and who answered (Figure 4).

    Questions left open are counted apart; instructions are the clusters of the intervals.
    """
    entries = list({question.entry.id: question.entry for question in done}.values())
    labels: dict[str, dict[str, dict[str, list[str | None]]]] = {}
    for by in answerers(entries):
        for question in done:
            for response in question.entry.responses:
                answers = answered(question.entry, response, question.checklist, by)
                for name in question.shown if answers else ():
                    who = f"{response.model or 'responses'}, answered by {by}"
                    per = labels.setdefault(who, {}).setdefault(name, {})
                    per.setdefault(question.entry.id, []).append(answers[question.index] if answers else None)
    return {
        who: {name: _score(list(per.values())) for name, per in by_category.items()}
        for who, by_category in labels.items()
    }


def _score(clusters: Sequence[Sequence[str | None]]) -> Score:
    answers = [(None if label is None else label == "yes", i) for i, labels in enumerate(clusters) for label in labels]
    return clustered_rate([answer for answer, _ in answers], [place for _, place in answers])


def category_board(model: str, scores: SetScores | None, provenance: Mapping[str, Any]) -> Board | None:
    """The model by its F1, among those that sorted the same questions by the same categories."""
    if scores is None or scores.f1 is None:
        return None
    columns = (Column("f1", "F1"), Column("precision", "Precision"), Column("recall", "Recall"))
    cells = {column.name: Score(getattr(scores, column.name), scores.n, scores.undecided) for column in columns}
    setting = digest(canonical([provenance["data_sha256"], provenance["categories"]]))
    return Board(
        "f1", columns, (Row(anonymous.name(model), setting, cells, {"Data": anonymous.name(str(provenance["data"]))}),),
        title="TICK: categories of questions", unit="F1 in %",
    )  # fmt: skip


def category_sections(
    model: str | None, scores: SetScores | None, counted: Mapping[str, Mapping[str, int]],
    rates: Mapping[str, Mapping[str, Score]],
) -> list[Grid]:  # fmt: skip
    """The report: paper table 7, how many questions there are of each category, and figure 4."""
    sections: list[Grid] = []
    if scores:
        line = (str(model), scores.n, scores.empty, scores.undecided)
        shares = tuple(fixed(value, 3) for value in (scores.precision, scores.recall, scores.f1))
        paper = [
            (f"GPT-4o on {r['Dataset']}", "", "", "", *(fixed(r[x], 3) for x in ("Precision", "Recall", "F1")))
            for r in paper_rows("7")
        ]
        note = "Against what all annotators named; each measure per question, then averaged, as the paper must have done: its F1 is no harmonic mean of the two beside it. Questions on which annotators share no category are left out, as are those without a readable answer."
        header = ("Sorted by", "questions", "no common category", "unread", "precision", "recall", "F1")
        sections.append(
            Grid("Questions sorted (like the paper's table 7)", header, ((*line, *shares),), tuple(paper), note)
        )
    rows: list[tuple[str | int, ...]] = [(name, *of.values()) for name, of in counted.items() if any(of.values())]
    sections.append(Grid("Questions by category", ("category", "annotators", "model", "both"), tuple(rows)))
    lines = [
        (name, who, of[name].n, percent(of[name].value, 1), interval(of[name]), of[name].unscored)
        for name in counted for who, of in rates.items() if name in of
    ]  # fmt: skip
    if lines:
        note = (
            "Share of questions answered yes, by the categories of the model, or of the annotators where it gave none."
        )
        columns = ("category", "responses", "answers", "pass rate", "95 % interval", "open")
        sections.append(Grid("Pass rate by category (like the paper's figure 4)", columns, tuple(lines), note=note))
    return sections


_REASON = "A response has to show this and nothing else, so that the answer is yes. " * 2


@dataclass(frozen=True, kw_only=True)
class CategoriesOptions(StudyOptions):
    """Which questions are sorted, by whom, and into which categories."""

    data: str = option(help=DATA_HELP)
    model: str | None = role(None, help="Who sorts: a model spec; none: only what annotators named is shown.")
    scheme: str = option(
        "internal", binds=Binds("categories", lambda o: o.categories),
        help="The categories: internal or infobench (of the paper, appendix A), or a JSON file of names and definitions."
    )  # fmt: skip
    max_tokens: int = option(1024, binds=True, help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")
        self.categories  # noqa: B018  # read now, not when the first question is due

    @cached_property
    def categories(self) -> dict[str, str]:
        """Names and definitions. Raises UserError."""
        if self.scheme in schemes():
            return schemes()[self.scheme]
        try:
            scheme = json.loads(Path(self.scheme).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            names = ", ".join(schemes())
            raise UserError(f"--scheme {self.scheme}: give {names}, or a JSON file of categories ({error})") from error
        texts = isinstance(scheme, dict) and all(
            isinstance(x, str) and x.strip() for pair in scheme.items() for x in pair
        )
        if not texts or len(scheme) < 2 or len({name.casefold() for name in scheme}) < len(scheme):
            raise UserError(
                f'--scheme {self.scheme}: write {{"NAME": "definition", ...}}, two names or more, all different'
            )
        return dict(scheme)

    @property
    def defined(self) -> list[dict[str, str]]:
        """The categories as a prompt is filled with them."""
        return [{"name": name, "definition": text} for name, text in self.categories.items()]


class Categories(Study[CategoriesOptions, Question, Question, dict[str, Any]]):
    """The questions of checklists, sorted; `value` is the content of `scores.json`."""

    kind, unit = "checklist-categories", "questions"
    needs = ("sklearn",)
    files, prompts = ("scores.json", "categories.jsonl"), ("categories",)

    def items(self) -> Items[Question]:
        left_out: list[str] = []
        self.entries = load_entries(self.options.data, left_out)
        questions = [question for entry in self.entries for question in questions_of(entry, self.options.categories)]
        if not questions:
            raise UserError(f"--data {self.options.data}: holds no checklist")
        if self.options.model is None and not any(question.gold is not None for question in questions):
            raise UserError(
                f"--data {self.options.data}: nobody sorted its questions by these categories; name a --model"
            )
        rows = {entry.id: digest(canonical(dict(entry.row))) for entry in self.entries}
        return Items(
            questions, lambda question: f"{question.entry.id} {question.checklist.id} {question.index + 1}",
            lambda question: [rows[question.entry.id], question.checklist.id, question.index],
            lambda question: (question.entry.language, question.entry.category), lambda question: question.entry.id,
            left_out=tuple(left_out),
        )  # fmt: skip

    def check(self) -> None:
        check_prompts(("categories",), self.options.prompts, categories=self.options.defined)

    def setup(self) -> None:
        if self.options.model is not None:
            self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, question: Question) -> Question:
        """The question with its categories; None with the reason where no answer can be read."""
        if self.options.model is None:
            return replace(question, reason="no model was asked")
        words = {name: name for name in self.options.categories}
        values = case_sections(question.entry.case("", [question.text]))
        answer = await ask_by_prompt(
            self.schemas, self.options.prompts, "categories",
            {**values, "question": values["criteria"][0], "categories": self.options.defined}, {"categories": ListOf(words)},
            sampling=Sampling(max_tokens=self.options.max_tokens), reason=_REASON,
        )  # fmt: skip
        if answer.problem:
            return replace(question, reason=answer.problem)
        chosen = [label_of(item, words) for item in answer.labels["categories"]]
        return replace(question, named=tuple(name for name in words if name in chosen), reason=answer.reason)

    def score(self, done: Sequence[Question]) -> Outcome[dict[str, Any]]:
        options = self.options
        scores = against_annotators(done) if options.model else None
        rates = pass_rates(done)
        unread = [question for question in done if options.model and question.named is None]
        result: dict[str, Any] = {
            "questions": len(done),
            "against_annotators": asdict(scores) if scores else None,
            "not_sorted_by_annotators": sum(question.gold is None for question in done),
            "categories": {name: counts(done, name) for name in options.categories},
            "pass_rates": {
                who: {name: asdict(score) for name, score in by_category.items()} for who, by_category in rates.items()
            },
            "rows_left_out": list(self.all.left_out),
        }
        notes = [f"{len(unread)} questions have no categories: {unread[0].reason}"] if unread else []
        if other := sum(bool(entry.categories) and not by_scheme(entry, options.categories) for entry in self.entries):
            notes.append(f"in {other} rows annotators sorted by other categories than these; they are passed over")
        files = {"scores.json": result, "categories.jsonl": [question.row() for question in done]}
        facts = {"Questions": len(done), "Sorted by": options.model or "annotators alone"}
        drawn = category_sections(options.model, scores, result["categories"], rates)
        return Outcome(
            result,
            files,
            "TICK: what checklists ask for",
            drawn,
            notes=notes,
            facts=facts,
            incomplete=len(unread),
            board=category_board(options.model or "", scores, self.provenance),
        )


def categories(options: CategoriesOptions) -> dict[str, Any]:
    """Sort the questions of checklists into categories. Returns scores.json's content. Raises UserError."""
    return Categories(options).run().value
