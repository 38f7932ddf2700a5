"""Choosing how each judge is asked, by labelled answers: `truebench facts select-template`.

Abstract: every judge is asked about every labelled answer in every way, and compared with people, as in paper 002,
Tables 2 and 4. For each judge the way with the highest macro F1 is chosen, as there; beyond the paper the choice is
measured on answers that had no say in it, and one that the labels do not tell from its runner-up is marked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from truebench_hf.benchmarks.facts.answers import LabelledAnswer, load_labelled
from truebench_hf.benchmarks.facts.templates import (
    ELIGIBILITY,
    GROUNDING,
    SENTENCES,
    SelectedTemplate,
    TemplateChoice,
    agreement_table,
    doubts,
    fitted,
    select,
    sentence_table,
    usual_choice,
)
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.classifier import CLASSIFIER, ClassifierJudge, Cut, classifies, worst_share
from truebench_hf.judging.grounding.judge import ELIGIBILITY_PROMPTS, VARIANTS, EligibilityJudge, GroundingJudge
from truebench_hf.judging.grounding.types import (
    TEMPLATES,
    UNGROUNDED,
    Eligibility,
    Grounding,
    prompts_of,
    template_named,
)
from truebench_hf.options import Binds, option, role
from truebench_hf.report.table import Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import ReplyOptions, SampleOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Label

if TYPE_CHECKING:
    from pandas import DataFrame

Way = tuple[str, str]  # a judge by name, and a template or variant
_YES_NO: Mapping[bool | None, Label | None] = {True: "yes", False: "no", None: None}
_MAJOR: Mapping[str | None, Label | None] = {"major": "yes", "minor": "no", "no_issues": "no", None: None}
_FLIP: Mapping[str | None, Label | None] = {"yes": "no", "no": "yes", None: None}


class SelectOptions(SampleOptions, ReplyOptions):
    """Which judges, asked in which ways, about which labelled answers."""

    PANEL: ClassVar[str] = "Method"

    labelled: str = option(
        panel="Data", help="Labelled answers: facts_mini, a path (CSV, JSONL, JSON, Parquet, or a folder) or a Hub id; prompt "
        "columns, response, accurate, eligible, baseline. See below."
    )  # fmt: skip
    judge: tuple[str, ...] = role(
        help="Judge: a spec; may be repeated, a template is chosen for each.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )
    template: tuple[str, ...] = option(
        (), binds=Binds("templates", lambda o: o.templates, late=True, grows=True),
        help=f"Ways to ask about grounding, by default all seven: {', '.join(TEMPLATES)}; may be repeated."
    )  # fmt: skip
    eligibility: tuple[str, ...] = option(
        (), binds=Binds("eligibility", lambda o: o.variants, late=True, grows=True),
        help="What judges of eligibility see, by default both: request, full; may be repeated."
    )  # fmt: skip
    folds: int = option(5, ge=2, help="Parts, by document, for the figures on answers without a say in the choice.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if not self.judge:
            raise UserError("name a --judge, or several")
        if wrong := next((name for name in self.eligibility if name not in VARIANTS), None):
            raise unknown("eligibility", wrong, VARIANTS)
        for name in self.template:
            template_named(name)

    @cached_property
    def specs(self) -> dict[str, str]:
        """The spec of each judge by its name."""
        return dict(zip(numbered(self.judge), self.judge, strict=True))

    @cached_property
    def writers(self) -> list[str]:
        """The names of the judges that write; classifiers know no template and rate no eligibility."""
        return [name for name, spec in self.specs.items() if not classifies(spec)]

    @cached_property
    def templates(self) -> list[str]:
        """The templates of judges that write, in the order given; none where all are classifiers."""
        return (list(dict.fromkeys(map(template_named, self.template))) or list(TEMPLATES)) if self.writers else []

    @cached_property
    def variants(self) -> list[str]:
        """The variants of eligibility, in the order given; none where no judge writes."""
        return (list(dict.fromkeys(self.eligibility)) or list(VARIANTS)) if self.writers else []


@dataclass(frozen=True)
class JudgedAnswer:
    """A labelled answer with what every judge said of it in every way; `shares` are the classifiers' P(supported)."""

    row: LabelledAnswer
    grounding: Mapping[Way, Grounding]
    ratings: Mapping[Way, Eligibility]
    shares: Mapping[str, float | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Its line in `rows.jsonl`."""
        return {
            "id": self.row.id, "accurate": self.row.accurate, "eligible": self.row.eligible,
            "grounding": [{"judge": judge, **asdict(verdict)} for (judge, _), verdict in self.grounding.items()],
            "ratings": [{"judge": judge, "variant": v, **asdict(verdict)} for (judge, v), verdict in self.ratings.items()],
            "shares": dict(self.shares),
        }  # fmt: skip

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """Yield (question, judge, template, gold, label) of everything that there is a gold label for, "yes" being the
        positive class: accurate (Table 2), ineligible (Table 4), of single sentences ungrounded."""
        for (judge, template), verdict in self.grounding.items():
            yield GROUNDING, judge, template, self.row.accurate, _YES_NO[verdict.accurate]
            for unit in verdict.units:
                ungrounded = None if unit.label is None else _YES_NO[unit.label in UNGROUNDED]
                yield SENTENCES, judge, template, _FLIP[self.row.label(unit.start, unit.end)], ungrounded
        for (judge, variant), rating in self.ratings.items():
            yield ELIGIBILITY, judge, variant, _FLIP[self.row.eligible], _MAJOR[rating.rating]


@dataclass(frozen=True)
class Selection:
    """What was chosen for each judge by name, and the figures behind it; None where there are no such labels."""

    chosen: Mapping[str, TemplateChoice]
    grounding: SelectedTemplate | None
    eligibility: SelectedTemplate | None
    sentences: Table

    @property
    def tables(self) -> list[Table]:
        """The tables of both questions, as far as there are labels, and of single sentences."""
        selections = [selected for selected in (self.grounding, self.eligibility) if selected]
        return [*map(agreement_table, selections), *([self.sentences] if self.sentences.rows else [])]


class SelectTemplate(Study[SelectOptions, LabelledAnswer, JudgedAnswer, Selection]):
    """Every judge on every labelled answer, in every way."""

    kind, unit = "facts-select", "answers"
    needs = ("sklearn",)
    files = ("templates.json", "rows.jsonl")

    def __init__(self, options: SelectOptions) -> None:
        super().__init__(options)
        used = (name for template in options.templates for name in prompts_of(template))
        self.prompts = tuple(dict.fromkeys((*used, *(ELIGIBILITY_PROMPTS if options.variants else ()))))

    def items(self) -> Items[LabelledAnswer]:
        """The labelled answers; a sample keeps labels in proportion, and takes answers to one document apart."""
        rows = load_labelled(self.options.labelled)
        used = [row for row in rows if row.accurate is not None or row.rated]
        if not used:
            raise UserError(
                f"--labelled {self.options.labelled}: no answer has a label; give a column accurate, or eligible with a "
                "baseline, yes or no"
            )
        self.unused = len(rows) - len(used)
        return Items(
            used, lambda row: row.id, None, lambda row: (row.accurate, row.eligible), lambda row: row.item.document,
            size=lambda row: len(row.item.document),
        )  # fmt: skip

    def check(self) -> None:
        """Both labels are needed: macro F1 is about two classes."""
        counts = {label: sum(row.accurate == label for row in self.chosen) for label in ("yes", "no")}
        rated = {label: sum(row.rated and row.eligible == label for row in self.chosen) for label in ("yes", "no")}
        self.asks = all(counts.values()), bool(self.options.variants) and all(rated.values())
        if not any(self.asks):
            raise UserError(
                f"--labelled {self.options.labelled}: needs answers of both kinds, accurate and inaccurate; there are "
                f"{counts['yes']} and {counts['no']}"
            )

    def setup(self) -> None:
        options = self.options
        self.writers: dict[Way, GroundingJudge] = {}
        self.raters: dict[Way, EligibilityJudge] = {}
        self.classifiers: dict[str, ClassifierJudge] = {}
        for number, name in enumerate(options.specs, 1):
            caller = self.caller("judge", number)
            if name not in options.writers:
                self.classifiers[name] = ClassifierJudge(caller)
                continue
            for template in options.templates:
                self.writers[name, template] = GroundingJudge(
                    caller, template, options.prompts, structured=options.structured
                )
            for variant in options.variants:
                self.raters[name, variant] = EligibilityJudge(
                    caller, variant, options.prompts, structured=options.structured
                )

    async def work(self, row: LabelledAnswer) -> JudgedAnswer:
        """What every judge says of an answer, as far as there is a label to compare it with."""
        source, answer, baseline = row.item.source, row.answer, row.item.baseline or ""
        grounded = self.asks[0] and row.accurate is not None
        writers, classifiers = (self.writers, self.classifiers) if grounded else ({}, {})
        raters = self.raters if self.asks[1] and row.rated else {}

        async def share(judge: ClassifierJudge) -> float | None:
            try:
                return worst_share(await judge.shares(source, answer))
            except RequestFailed:
                return None

        verdicts, shares, ratings = await asyncio.gather(
            asyncio.gather(*(judge.verdict(source, answer) for judge in writers.values())),
            asyncio.gather(*map(share, classifiers.values())),
            asyncio.gather(*(judge.rate(source, answer, baseline) for judge in raters.values())),
        )
        by_way = dict(zip(writers, verdicts, strict=True)), dict(zip(raters, ratings, strict=True))
        return JudgedAnswer(row, *by_way, dict(zip(classifiers, shares, strict=True)))

    def score(self, done: Sequence[JudgedAnswer]) -> Outcome[Selection]:
        options = self.options
        how: dict[str, Any] = {"folds": options.folds, "seed": options.seed}
        fits, frame = self._labels(done, how)
        grounding, eligibility = (
            select(question, frame[frame["question"] == question], **how) if is_asked else None
            for question, is_asked in zip((GROUNDING, ELIGIBILITY), self.asks, strict=True)
        )
        chosen = {}
        for name, spec in options.specs.items():
            plain = usual_choice(spec)  # what was not measured stays as it is without a file
            chosen[name] = TemplateChoice(
                grounding.choices[name].best if grounding and name in grounding.choices else plain.template,
                eligibility.choices[name].best if eligibility and name in eligibility.choices else plain.eligibility,
                fits.get(name),
            )
        value = Selection(chosen, grounding, eligibility, sentence_table(frame[frame["question"] == SENTENCES]))
        written = {
            "judges": {name: choice.to_json() | {"eligibility": choice.eligibility} for name, choice in chosen.items()},
            "labelled": options.labelled, "data_sha256": self.provenance["data_sha256"],
        }  # fmt: skip
        return Outcome(
            value, title="FACTS Grounding: choosing judge templates", tables=value.tables,
            items={"templates.json": written, "rows.jsonl": [answer.as_json() for answer in done]},
            notes=self._notes(value),
            facts={
                "Judges": ", ".join(options.judge), "Templates": ", ".join(options.templates), "Data": options.labelled,
            },
        )  # fmt: skip

    def _labels(self, done: Sequence[JudgedAnswer], how: Mapping[str, Any]) -> tuple[dict[str, Cut], DataFrame]:
        """(the cut of every classifier that can be fitted, the labels of all answers as `select` takes them, by `question`)."""
        import pandas as pd

        gold, groups = [answer.row.accurate for answer in done], [answer.row.item.document for answer in done]
        fits: dict[str, tuple[Cut, list[str | None]]] = {}
        for name in self.classifiers if self.asks[0] else ():
            if fit := fitted([answer.shares.get(name) for answer in done], gold, groups, **how):
                fits[name] = fit
        rows = []
        for place, answer in enumerate(done):
            cuts = [(GROUNDING, name, CLASSIFIER, gold[place], unseen[place]) for name, (_, unseen) in fits.items()]
            rows += [(*labels, groups[place]) for labels in (*answer.labels(), *cuts)]
        names = ["question", "judge", "template", "gold", "label", "cluster"]
        cuts_of = {name: cut for name, (cut, _) in fits.items()}
        return cuts_of, pd.DataFrame(rows, columns=names, dtype=object)

    def _notes(self, value: Selection) -> list[str]:
        notes = [note for question in (value.grounding, value.eligibility) if question for note in doubts(question)]
        unfit = [name for name in self.classifiers if self.asks[0] and not value.chosen[name].fitted]
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
