"""`truebench study checklist categories`: what questions of checklists ask for, and how responses do by that (appendix A).

A model names any number of categories for a question. What three annotators all named is right; how well the model
finds it is told per question, then averaged (Table 7). Figure 4 is the pass rate of the questions of a category. The
names of categories are the papers'; what they mean is worded for this project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick.scoring import ALL, beside_paper, frame_of, grouped_table, paper_rows
from truebench_hf.data.checklist_rows import DATA_HELP, ChecklistRow, Written, answerers, load_entries
from truebench_hf.data.rows import Text, adapter
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.signed import ListOf, label_of
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.agreement import set_scores
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.prompts import sections as case_sections
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study

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
    def row(self) -> dict[str, Any]:
        """Its line in `categories.jsonl`."""
        gold = None if self.gold is None else sorted(self.gold)
        about = {"id": self.entry.id, "checklist_id": self.checklist.id}
        about["question"] = self.checklist.questions[self.index]
        return about | {"categories": self.named, "annotators": gold, "reason": self.reason}


def by_scheme(entry: ChecklistRow, names: Collection[str]) -> bool:
    """Whether its annotators sorted by these names, if at all."""
    used = {name for annotation in entry.categories for listed in annotation.categories for name in listed}
    return used <= set(names)


def questions_of(entry: ChecklistRow, names: Collection[str]) -> Iterator[SortedQuestion]:
    """The questions of a row with what all annotators named, if they sorted by these names."""
    annotations = entry.categories if by_scheme(entry, names) else ()
    for checklist in entry.checklists:
        sorted_ = [annotation.categories for annotation in annotations if annotation.checklist_id == checklist.id]
        for index in range(len(checklist.questions)):
            label_sets = [set(annotation[index]) for annotation in sorted_]
            gold = frozenset(set.intersection(*label_sets)) if label_sets else None
            yield SortedQuestion(entry, checklist, index, gold)


def rate_table(done: Sequence[SortedQuestion], names: Sequence[str]) -> list[Table]:
    """Return the pass rate of the questions of each category, by whose responses and who answered (Figure 4)."""
    met = {"yes": 1.0, "no": 0.0}  # an open question is neither
    rows = [
        (name, f"{response.model or 'responses'}, answered by {by}", question.entry.id, met.get(labels[question.index] or ""))
        for by in answerers(list({question.entry.id: question.entry for question in done}.values()))
        for question in done for response in question.entry.responses
        if (labels := question.entry.answered(response, question.checklist, by))
        for name in (sorted(question.gold or ()) if question.named is None else question.named)
    ]  # fmt: skip
    frame = frame_of(("category", "responses", "cluster", "met"), rows, {"category": names, "responses": None})
    about = "The share of questions answered yes; instructions are the clusters of the interval."
    columns = (
        Column("category", "category"), Column("responses", "responses"),
        Column("pass_rate", "pass rate %", "score", about, digits=1, parts=ALL, drawn=True),
    )  # fmt: skip
    table = grouped_table(
        "pass_rates", frame, ["category", "responses"],
        lambda rows: {"pass_rate": clustered_rate(list(rows["met"]), list(rows["cluster"]))}, columns,
        title="Pass rate by category (like the paper's figure 4)",
        note="By the categories of the model, or of the annotators where it gave none.",
    )  # fmt: skip
    return [table] if rows else []


def count_table(done: Sequence[SortedQuestion], names: Sequence[str]) -> Table:
    """Return how many questions annotators, the model, and both put into each category."""
    gold = Counter(name for question in done for name in question.gold or ())
    named = Counter(name for question in done for name in question.named or ())
    both = Counter(name for question in done for name in (question.gold or frozenset()) & set(question.named or ()))
    rows = [
        {"category": name, "annotators": gold[name], "model": named[name], "both": both[name]}
        for name in names if gold[name] or named[name]
    ]  # fmt: skip
    counts = (Column(name, name, "count") for name in ("annotators", "model", "both"))
    return Table("categories", [Column("category", "category"), *counts], rows, "Questions by category")


def sorting_table(done: Sequence[SortedQuestion], model: str) -> list[Table]:
    """Return how well the model finds what all annotators named (Table 7); no table where nobody sorted."""
    known = [question for question in done if question.gold is not None]
    if not known:
        return []
    scores = set_scores([question.gold or () for question in known], [question.named for question in known])
    printed = paper_rows("7", model="Dataset", **{name: name.capitalize() for name in scores})
    published = [{**row, "model": f"GPT-4o on {row['model']}"} for row in printed]
    columns = (
        Column("model", "Sorted by"), Column("f1", "F1", "score", parts=("value", "n", "unscored"), digits=1),
        Column("precision", "precision", "score", digits=1), Column("recall", "recall", "score", digits=1),
        Column("empty", "no common category", "count", "Questions on which annotators share no category, left out."),
    )  # fmt: skip
    note = (
        "In percent, against what all annotators named; each measure per question, then averaged, as the paper must have "
        "done: its F1 is no harmonic mean of the two beside it. Questions without a readable answer are unscored."
    )
    rows, title = (
        [{"model": model, **scores, "empty": sum(not question.gold for question in known)}],
        "Questions sorted (like the paper's table 7)",
    )
    return [beside_paper(Table("against_annotators", columns, rows, title, note), published)]


_REASON = "A response has to show this and nothing else, so that the answer is yes. " * 2


class CategoriesOptions(StudyOptions):
    """Which questions are sorted, by whom, and into which categories."""

    data: str = option(help=DATA_HELP)
    model: str | None = role(None, help="Who sorts: a model spec; none: only what annotators named is shown.")
    scheme: str = option(
        "internal", binds=Binds("categories", lambda o: o.categories),
        help="The categories: internal or infobench (of the paper, appendix A), or a JSON file of names and definitions."
    )  # fmt: skip
    max_tokens: int = option(1024, ge=1, binds=True, help="Token limit of one answer.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        self.categories  # noqa: B018  # read now, not when the first question is due

    @cached_property
    def categories(self) -> dict[str, str]:
        """Names and definitions. Raises UserError."""
        if self.scheme in schemes():
            return schemes()[self.scheme]
        try:
            scheme = adapter(dict[str, Text]).validate_json(Path(self.scheme).read_text(encoding="utf-8-sig"))
            if len(set(map(str.casefold, scheme))) < len(scheme):
                raise ValueError("two names differ in capitals alone")
        except (OSError, ValueError) as error:
            kinds = f'{", ".join(schemes())}, or a JSON file of {{"NAME": "definition", ...}}'
            raise UserError(f"--scheme {self.scheme}: give {kinds} ({error})") from error
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
            raise UserError(f"--data {self.options.data}: nobody sorted its questions so; name a --model")
        rows = {entry.id: digest(canonical(dict(entry.row))) for entry in self.entries}
        return Items(
            questions, lambda question: f"{question.entry.id} {question.checklist.id} {question.index + 1}",
            lambda question: [rows[question.entry.id], question.checklist.id, question.index],
            lambda question: (question.entry.language, question.entry.category), lambda question: question.entry.id,
            left_out=tuple(left_out),
        )  # fmt: skip

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return ({"categories": self.options.defined},)

    def setup(self) -> None:
        if self.options.model is not None:
            self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, question: SortedQuestion) -> SortedQuestion:
        """The question with its categories; None with the reason where no answer can be read."""
        if self.options.model is None:
            return replace(question, reason="no model was asked")
        words = {name: name for name in self.options.categories}
        values = case_sections(question.entry.case("", [question.checklist.questions[question.index]]))
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
        ranking = None
        if against:  # by F1, among those that sorted the same questions by the same categories
            title, facts = "TICK: categories of questions", {"Data": str(self.provenance["data"])}
            alike = [self.provenance["data_sha256"], self.provenance["categories"]]
            ranking = Ranking(against[0], "f1", alike, title=title, unit="F1 in %", facts=facts)
        return Outcome(
            {table.name: table for table in tables}, title="TICK: what checklists ask for", tables=tables,
            items={LINES: [question.row for question in done]}, notes=notes, incomplete=len(unread),
            facts={"Questions": len(done), "Sorted by": options.model or "annotators alone"}, ranking=ranking,
        )  # fmt: skip
