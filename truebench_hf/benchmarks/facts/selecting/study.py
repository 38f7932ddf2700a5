"""Choosing how each judge is asked, by labelled answers: `truebench facts select-template`.

Abstract: every judge is asked about every labelled answer in every way, and compared with people, as in paper 002,
Tables 2 and 4. For each judge the way with the highest macro F1 is chosen, as there; beyond the paper the choice is
measured on answers that had no say in it, and one that the labels do not tell from its runner-up is marked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.facts.chosen import Chosen, as_json, usual
from truebench_hf.benchmarks.facts.selecting import rows
from truebench_hf.benchmarks.facts.selecting.asked import Asked, Column, Way, accurate, ineligible, sentences
from truebench_hf.benchmarks.facts.selecting.fitting import Fitted, fitted
from truebench_hf.benchmarks.facts.selecting.measures import Selected, Shares, select
from truebench_hf.benchmarks.facts.selecting.options import SelectOptions
from truebench_hf.benchmarks.facts.selecting.rows import Labelled
from truebench_hf.benchmarks.facts.selecting.sections import TITLE, doubts, facts, tables
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.classifier import CLASSIFIER, ClassifierJudge, worst_share
from truebench_hf.judging.grounding.eligibility import EligibilityJudge
from truebench_hf.judging.grounding.judge import GroundingJudge
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study


@dataclass(frozen=True)
class Selection:
    """What was chosen for each judge by name, and the figures behind it; None where there are no such labels."""

    chosen: Mapping[str, Chosen]
    grounding: Selected | None
    eligibility: Selected | None
    sentences: Mapping[Way, Shares]


class SelectTemplate(Study[SelectOptions, Labelled, Asked, Selection]):
    """Every judge on every labelled answer, in every way."""

    kind, unit = "facts-select", "answers"
    needs = ("sklearn",)
    files = ("templates.json", "selection.json", "rows.jsonl")

    def __init__(self, options: SelectOptions) -> None:
        super().__init__(options)
        self.prompts = options.prompts_used

    def items(self) -> Items[Labelled]:
        """The labelled answers; a sample keeps labels in proportion, and takes answers to one document apart."""
        every = rows.load(self.options.labelled)
        used = [row for row in every if row.accurate is not None or row.rated]
        if not used:
            raise UserError(
                f"--labelled {self.options.labelled}: no answer has a label; give a column accurate, or eligible with a "
                "baseline, yes or no"
            )
        self.unused = len(every) - len(used)
        return Items(
            used, lambda row: row.id, None, lambda row: (row.accurate, row.eligible), lambda row: row.group,
            size=lambda row: len(row.item.document),
        )  # fmt: skip

    def check(self) -> None:
        """Both labels are needed: macro F1 is about two classes."""
        check_prompts(self.prompts, self.options.prompts, self.options.structured)
        counts = {label: sum(row.accurate == label for row in self.chosen) for label in ("yes", "no")}
        rated = {label: sum(row.rated and row.eligible == label for row in self.chosen) for label in ("yes", "no")}
        if not all(counts.values()) and not (self.options.variants and all(rated.values())):
            raise UserError(
                f"--labelled {self.options.labelled}: needs answers of both kinds, accurate and inaccurate; there are "
                f"{counts['yes']} and {counts['no']}"
            )
        self.asks = all(counts.values()), bool(self.options.variants) and all(rated.values())

    def setup(self) -> None:
        options = self.options
        how: dict[str, Any] = {"sampling": options.sampling, "structured": options.structured}
        callers = {name: self.caller("judge", number) for number, name, _ in options.ways}
        self.writers = {
            (name, template): GroundingJudge(callers[name], template, options.prompts, **how)
            for _, name, template in options.ways
            if template != CLASSIFIER
        }
        self.classifiers = {name: ClassifierJudge(callers[name]) for _, name, t in options.ways if t == CLASSIFIER}
        self.raters = {
            (name, variant): EligibilityJudge(callers[name], variant, options.prompts, **how)
            for _, name, variant in options.ratings
        }

    async def work(self, row: Labelled) -> Asked:
        """What every judge says of an answer, as far as there is a label to compare it with."""
        source, answer, baseline = row.item.source, row.answer, row.item.baseline or ""
        grounded = self.asks[0] and row.accurate is not None
        rated = self.asks[1] and row.rated
        verdicts, shares, ratings = await asyncio.gather(
            asyncio.gather(*(judge.verdict(source, answer) for judge in self.writers.values() if grounded)),
            asyncio.gather(*(self._share(judge, row) for judge in self.classifiers.values() if grounded)),
            asyncio.gather(*(judge.rate(source, answer, baseline) for judge in self.raters.values() if rated)),
        )
        return Asked(
            row,
            dict(zip(self.writers, verdicts, strict=True)) if grounded else {},
            dict(zip(self.raters, ratings, strict=True)) if rated else {},
            dict(zip(self.classifiers, shares, strict=True)) if grounded else {},
        )

    async def _share(self, judge: ClassifierJudge, row: Labelled) -> float | None:
        try:
            return worst_share(await judge.shares(row.item.source, row.answer))
        except RequestFailed:
            return None

    def score(self, done: Sequence[Asked]) -> Outcome[Selection]:
        options, fits = self.options, self._fits(done) if self.asks[0] else {}
        grounding, eligibility = self._grounding(done, fits), self._eligibility(done)
        single = {way: counted for way in self.writers if (counted := sentences(done, way))["n"]}
        specs = dict(zip(options.names, options.judge, strict=True))
        chosen = {name: _chosen(name, usual(spec), grounding, eligibility, fits) for name, spec in specs.items()}
        found = Selection(chosen, grounding, eligibility, single)
        made = self.provenance | {"data": options.labelled}
        files = {
            "templates.json": as_json(chosen) | {"labelled": options.labelled, "data_sha256": made["data_sha256"]},
            "selection.json": {
                "grounding": grounding and grounding.as_json(), "eligibility": eligibility and eligibility.as_json(),
                "sentences": [{"judge": j, "template": t, **one} for (j, t), one in single.items()],
                "provenance": made,
            },
            "rows.jsonl": [one.as_json() for one in done],
        }  # fmt: skip
        return Outcome(
            found, files, TITLE, tables(grounding, eligibility, single), notes=self._notes(found),
            facts=facts(options) | {"Data": options.labelled},
        )  # fmt: skip

    def _fits(self, done: Sequence[Asked]) -> dict[str, Fitted]:
        """The calibrator and threshold of every classifier that can be fitted."""
        gold, groups = [one.row.accurate for one in done], [one.row.group for one in done]
        found = {
            name: fitted(
                self.options.kind, [one.shares.get(name) for one in done], gold, groups,
                folds=self.options.folds, seed=self.options.seed,
            )
            for name in self.classifiers
        }  # fmt: skip
        return {name: one for name, one in found.items() if one}

    def _grounding(self, done: Sequence[Asked], fits: Mapping[str, Fitted]) -> Selected | None:
        if not self.asks[0]:
            return None
        gold, columns = accurate(done, self.writers)
        return self._select(gold, columns | {(name, CLASSIFIER): fit.labels for name, fit in fits.items()}, done)

    def _eligibility(self, done: Sequence[Asked]) -> Selected | None:
        return self._select(*ineligible(done, self.raters), done) if self.asks[1] else None

    def _select(self, gold: Column, columns: Mapping[Way, Column], done: Sequence[Asked]) -> Selected:
        groups = [one.row.group for one in done]
        return select(gold, columns, groups, folds=self.options.folds, seed=self.options.seed)

    def _notes(self, found: Selection) -> list[str]:
        notes = [*doubts("grounding", found.grounding), *doubts("eligibility", found.eligibility)]
        unfit = [name for name in self.classifiers if self.asks[0] and not found.chosen[name].fitted]
        notes += [f"{name}: could not be fitted, and stays at a threshold of 0.5." for name in unfit]
        if not self.asks[1] and self.options.variants:
            notes.append("Eligibility was not judged: it needs eligible and ineligible answers with a baseline answer.")
        if not self.asks[0]:
            notes.append("Grounding was not judged: it needs accurate and inaccurate answers.")
        if self.unused:
            notes.append(f"Answers without a label that could be used: {self.unused}.")
        notes += weak_judges(self.options.judge)
        notes.append(f"`truebench facts run --template {self.options.out}/templates.json` asks these judges so.")
        return notes


def _chosen(
    name: str, plain: Chosen, grounding: Selected | None, eligibility: Selected | None, fits: Mapping[str, Fitted]
) -> Chosen:
    """What is written down for a judge; what was not measured stays as it is without a file (`plain`)."""
    template = grounding.choices[name].best if grounding and name in grounding.choices else plain.template
    variant = eligibility.choices[name].best if eligibility and name in eligibility.choices else plain.eligibility
    return Chosen(template, variant, fits[name].cut if name in fits else None)


def select_template(options: SelectOptions) -> Selection:
    """Choose a template for every judge; `truebench facts select-template` as a Python call. Raises UserError."""
    return SelectTemplate(options).run().value
