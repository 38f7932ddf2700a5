"""`truebench study checklist categories`: what the questions of checklists ask for, and how responses do by that (appendix A).

A model names any number of categories for a question. What three annotators all named is right; how well the model
finds it is told per question, then averaged (Table 7). Figure 4 is the pass rate of the questions of a category.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick import data
from truebench_hf.benchmarks.tick.categories.names import SCHEMES
from truebench_hf.benchmarks.tick.categories.scores import (
    Question,
    against_annotators,
    board,
    by_scheme,
    counts,
    pass_rates,
    questions,
    sections,
)
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections as case_sections
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.signed import ListOf, label_of
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

_REASON = "A response has to show this and nothing else, so that the answer is yes. " * 2


@dataclass(frozen=True, kw_only=True)
class CategoriesOptions(StudyOptions):
    """Which questions are sorted, by whom, and into which categories."""

    data: str = option(help=data.HELP)
    model: str | None = role(None, help="Who sorts: a model spec; none: only what annotators named is shown.")
    scheme: str = option(
        "internal", binds=Binds("categories", lambda o: o.categories),
        help=f"The categories: {' or '.join(SCHEMES)} (of the paper, appendix A), or a JSON file of names and definitions."
    )  # fmt: skip
    max_tokens: int = option(1024, binds=True, help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")
        self.categories  # noqa: B018  # read now, not when the first question is due

    @cached_property
    def categories(self) -> dict[str, str]:
        """Names and definitions. Raises UserError."""
        if self.scheme in SCHEMES:
            return SCHEMES[self.scheme]
        try:
            found = json.loads(Path(self.scheme).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            names = ", ".join(SCHEMES)
            raise UserError(f"--scheme {self.scheme}: give {names}, or a JSON file of categories ({error})") from error
        texts = isinstance(found, dict) and all(
            isinstance(x, str) and x.strip() for pair in found.items() for x in pair
        )
        if not texts or len(found) < 2 or len({name.casefold() for name in found}) < len(found):
            raise UserError(
                f'--scheme {self.scheme}: write {{"NAME": "definition", ...}}, two names or more, all different'
            )
        return dict(found)


class Categories(Study[CategoriesOptions, Question, Question, dict[str, Any]]):
    """The questions of checklists, sorted; `value` is the content of `scores.json`."""

    kind, unit = "checklist-categories", "questions"
    needs = ("sklearn",)
    files, prompts = ("scores.json", "categories.jsonl"), ("categories",)

    def items(self) -> Items[Question]:
        left_out: list[str] = []
        self.entries = data.load(self.options.data, left_out)
        every = [question for entry in self.entries for question in questions(entry, self.options.categories)]
        if not every:
            raise UserError(f"--data {self.options.data}: holds no checklist")
        if self.options.model is None and not any(question.gold is not None for question in every):
            raise UserError(
                f"--data {self.options.data}: nobody sorted its questions by these categories; name a --model"
            )
        rows = {entry.id: digest(canonical(dict(entry.row))) for entry in self.entries}
        return Items(
            every, lambda one: f"{one.entry.id} {one.checklist.id} {one.index + 1}",
            lambda one: [rows[one.entry.id], one.checklist.id, one.index],
            lambda one: (one.entry.language, one.entry.category), lambda one: one.entry.id,
            left_out=tuple(left_out),
        )  # fmt: skip

    def check(self) -> None:
        named = [{"name": name, "definition": text} for name, text in self.options.categories.items()]
        check_prompts(("categories",), self.options.prompts, categories=named)

    def setup(self) -> None:
        if self.options.model is not None:
            self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, one: Question) -> Question:
        """The question with its categories; None with the reason where no answer can be read."""
        if self.options.model is None:
            return replace(one, reason="no model was asked")
        words = {name: name for name in self.options.categories}
        named = [{"name": name, "definition": text} for name, text in self.options.categories.items()]
        values = case_sections(one.entry.case("", [one.text]))
        answer = await ask_by_prompt(
            self.schemas, self.options.prompts, "categories",
            {**values, "question": values["criteria"][0], "categories": named}, {"categories": ListOf(words)},
            sampling=Sampling(max_tokens=self.options.max_tokens), reason=_REASON,
        )  # fmt: skip
        if answer.problem:
            return replace(one, reason=answer.problem)
        chosen = [label_of(item, words) for item in answer.labels["categories"]]
        return replace(one, named=tuple(name for name in words if name in chosen), reason=answer.reason)

    def score(self, done: Sequence[Question]) -> Outcome[dict[str, Any]]:
        options = self.options
        scores = against_annotators(done) if options.model else None
        rates = pass_rates(done)
        unread = [one for one in done if options.model and one.named is None]
        result: dict[str, Any] = {
            "questions": len(done),
            "against_annotators": asdict(scores) if scores else None,
            "not_sorted_by_annotators": sum(one.gold is None for one in done),
            "categories": {name: counts(done, name) for name in options.categories},
            "pass_rates": {who: {name: asdict(score) for name, score in found.items()} for who, found in rates.items()},
            "rows_left_out": list(self.all.left_out),
        }
        notes = [f"{len(unread)} questions have no categories: {unread[0].reason}"] if unread else []
        if other := sum(bool(entry.categories) and not by_scheme(entry, options.categories) for entry in self.entries):
            notes.append(f"in {other} rows annotators sorted by other categories than these; they are passed over")
        files = {"scores.json": result, "categories.jsonl": [one.row() for one in done]}
        facts = {"Questions": len(done), "Sorted by": options.model or "annotators alone"}
        drawn = sections(options.model, scores, result["categories"], rates)
        return Outcome(
            result,
            files,
            "TICK: what checklists ask for",
            drawn,
            notes=notes,
            facts=facts,
            incomplete=len(unread),
            board=board(options.model or "", scores, self.provenance),
        )


def categories(options: CategoriesOptions) -> dict[str, Any]:
    """Sort the questions of checklists into categories. Returns scores.json's content. Raises UserError."""
    return Categories(options).run().value
