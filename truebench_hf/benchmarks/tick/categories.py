"""`truebench study checklist categories`: what questions of checklists ask for, and how responses do by that (appendix A).

A model names any number of categories for a question. What three annotators all named is right; how well the model
finds it is told per question, then averaged (Table 7). Figure 4 is the pass rate of the questions of a category. The
names of categories are the papers'; what they mean is worded for this project.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick.entries import DATA_HELP, answered, answerers, load_entries
from truebench_hf.benchmarks.tick.scoring import ALL, beside_paper, frame_of, paper_rows
from truebench_hf.data.checklist_rows import ChecklistRow, Written
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections as case_sections
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.signed import ListOf, label_of
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.agreement import by_group, set_scores
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

LINES = "categories.jsonl"


@cache
def schemes() -> dict[str, dict[str, str]]:
    """The names of categories with what they mean, by scheme."""
    import yaml

    listed: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return listed


@dataclass(frozen=True)
class SortedQuestion:
    """A question of a checklist: what annotators all named (None: nobody sorted it), and what the model named.

    `named` is None where the model gave no answer that can be read, and `reason` says why.
    """

    entry: ChecklistRow
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


def by_scheme(entry: ChecklistRow, names: Mapping[str, str]) -> bool:
    """Whether its annotators sorted by these names, if at all."""
    return {name for annotation in entry.categories for listed in annotation.categories for name in listed} <= set(
        names
    )


def questions_of(entry: ChecklistRow, names: Mapping[str, str]) -> Iterator[SortedQuestion]:
    """The questions of a row with what all annotators named, if they sorted by these names."""
    for checklist in entry.checklists:
        sorted_ = [annotation.categories for annotation in entry.categories if annotation.checklist_id == checklist.id]
        if not by_scheme(entry, names):
            sorted_ = []
        for index in range(len(checklist.questions)):
            label_sets = [set(annotation[index]) for annotation in sorted_]
            yield SortedQuestion(
                entry, checklist, index, frozenset(set.intersection(*label_sets)) if label_sets else None
            )


def answer_frame(done: Sequence[SortedQuestion], names: Sequence[str]) -> DataFrame:
    """A row per question, category that it counts under, response, and who answered.

    Columns: category and responses (the model that wrote them, and who answered), both categorical, cluster (the
    instruction), met (1 where the answer is yes, 0 where it is no; NaN: open).
    """
    rows = [
        (name, f"{response.model or 'responses'}, answered by {by}", question.entry.id, labels[question.index])
        for by in answerers(list({question.entry.id: question.entry for question in done}.values()))
        for question in done for response in question.entry.responses
        if (labels := answered(question.entry, response, question.checklist, by)) for name in question.shown
    ]  # fmt: skip
    frame = frame_of(("category", "responses", "cluster", "label"), rows, {"category": names, "responses": None})
    return frame.assign(met=frame["label"].map({"yes": 1.0, "no": 0.0}).astype(float))


def rate_table(done: Sequence[SortedQuestion], names: Sequence[str]) -> list[Table]:
    """Return the pass rate of the questions of each category, by whose responses and who answered (Figure 4)."""
    about = "The share of questions answered yes; instructions are the clusters of the interval."

    def rate(rows: DataFrame) -> dict[str, Any]:
        met = [None if value != value else value for value in rows["met"].tolist()]
        return {"pass_rate": clustered_rate(met, rows["cluster"].tolist())}

    columns = (
        Column("category", "category"), Column("responses", "responses"),
        Column("pass_rate", "pass rate %", "score", about, digits=1, parts=ALL, drawn=True),
    )  # fmt: skip
    note = "By the categories of the model, or of the annotators where it gave none."
    title = "Pass rate by category (like the paper's figure 4)"
    rates = by_group(answer_frame(done, names), ["category", "responses"], rate)
    return [Table.of_frame("pass_rates", rates, columns, title=title, note=note, keys=2)] if len(rates) else []


def count_table(done: Sequence[SortedQuestion], names: Sequence[str]) -> Table:
    """Return how many questions annotators, the model, and both put into each category."""
    rows = []
    for name in names:
        sides = [(name in (question.gold or ()), name in (question.named or ())) for question in done]
        counts = {"annotators": sum(gold for gold, _ in sides), "model": sum(named for _, named in sides)}
        if any(counts.values()):
            rows.append({"category": name, **counts, "both": sum(gold and named for gold, named in sides)})
    columns = [
        Column("category", "category"),
        *(Column(name, name, "count") for name in ("annotators", "model", "both")),
    ]
    return Table("categories", columns, rows, "Questions by category")


def sorting_table(done: Sequence[SortedQuestion], model: str) -> list[Table]:
    """Return how well the model finds what all annotators named (Table 7); no table where nobody sorted."""
    known = [question for question in done if question.gold is not None]
    if not known:
        return []
    scores = set_scores([question.gold or () for question in known], [question.named for question in known])
    names = ("f1", "precision", "recall")
    cells = {name: Score(getattr(scores, name), scores.n, scores.undecided) for name in names}
    published = [
        {"model": f"GPT-4o on {row['Dataset']}", **{name: Score(row[name.capitalize()], 0) for name in names}}
        for row in paper_rows("7")
    ]  # fmt: skip
    columns = (
        Column("model", "Sorted by"), Column("f1", "F1", "score", parts=("value", "n", "unscored"), digits=1),
        Column("precision", "precision", "score", digits=1), Column("recall", "recall", "score", digits=1),
        Column("empty", "no common category", "count", "Questions on which annotators share no category, left out."),
    )  # fmt: skip
    note = (
        "In percent, against what all annotators named; each measure per question, then averaged, as the paper must have "
        "done: its F1 is no harmonic mean of the two beside it. Questions without a readable answer are unscored."
    )
    own = [{"model": model, **cells, "empty": scores.empty}]
    return [
        beside_paper(
            Table("against_annotators", columns, own, "Questions sorted (like the paper's table 7)", note), published
        )
    ]


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


class Categories(Study[CategoriesOptions, SortedQuestion, SortedQuestion, dict[str, Table]]):
    """The questions of checklists, sorted; `value` is the tables by name."""

    kind, unit = "checklist-categories", "questions"
    needs = ("sklearn",)
    files, prompts = (LINES,), ("categories",)

    def items(self) -> Items[SortedQuestion]:
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

    async def work(self, question: SortedQuestion) -> SortedQuestion:
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

    def score(self, done: Sequence[SortedQuestion]) -> Outcome[dict[str, Table]]:
        options, names = self.options, list(self.options.categories)
        unread = [question for question in done if options.model and question.named is None]
        notes = [f"{len(unread)} questions have no categories: {unread[0].reason}"] if unread else []
        if other := sum(bool(entry.categories) and not by_scheme(entry, options.categories) for entry in self.entries):
            notes.append(f"in {other} rows annotators sorted by other categories than these; they are passed over")
        if unsorted := sum(question.gold is None for question in done):
            notes.append(f"not sorted by annotators: {unsorted} of {len(done)} questions")
        against = sorting_table(done, options.model) if options.model else []
        tables = [*against, count_table(done, names), *rate_table(done, names)]
        return Outcome(
            {table.name: table for table in tables}, title="TICK: what checklists ask for", tables=tables,
            items={LINES: [question.row() for question in done]}, notes=notes, incomplete=len(unread),
            facts={"Questions": len(done), "Sorted by": options.model or "annotators alone"},
            ranking=self._ranking(against[0]) if against else None,
        )  # fmt: skip

    def _ranking(self, table: Table) -> Ranking | None:
        """The model by its F1, among those that sorted the same questions by the same categories."""
        data = str(self.provenance["data"])
        rows = [{**row, "data": data} for row in table.rows]
        columns = [column for column in table.columns if column.kind == "score"]
        drawn = Table("", [table.columns[0], *columns, Column("data", "Data")], rows)
        alike = [self.provenance["data_sha256"], self.provenance["categories"]]
        return Ranking(drawn, "f1", alike, title="TICK: categories of questions", unit="F1 in %")
