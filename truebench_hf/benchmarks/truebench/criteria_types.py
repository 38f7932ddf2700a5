"""`truebench study compare-criteria`: the same responses judged by four types of criteria, and held against people.

Abstract: TRUEBench's claim that a checklist agrees with people better than ratings do, on responses, data and a judge of
one's own (paper 000, section 5.1, appendices C.3 and E, Figures 7 and 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.truebench import rating
from truebench_hf.benchmarks.truebench.criteria_scores import RatedResponse, by_category, comparison_tables
from truebench_hf.benchmarks.truebench.data import ModelResponses, SeveralOptions, answered
from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.benchmarks.truebench.study import Answered, answer
from truebench_hf.data import jsonl
from truebench_hf.data.records import RESPONSES, Reader, response_lines
from truebench_hf.engine.folder import RunFolder, read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.extras import need
from truebench_hf.judging.judge import JUDGE_SAMPLING, CriteriaJudge, JudgeSettings
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import Binds, option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.report.table import SCORES, Table
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import LabelAskOptions, LabelInOptions, Labelling, Taken, written_anew
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.options import JudgingOptions
from truebench_hf.study.outcome import WRITTEN, Outcome
from truebench_hf.study.study import Study

KIND, RATINGS, SEED = "criteria-types", "ratings.jsonl", "seed"
FILES = (RATINGS, RESPONSES)


@dataclass(frozen=True, kw_only=True)
class CompareCriteriaOptions(InstanceOptions, JudgingOptions, SeveralOptions):
    """Which responses, and who judges them by which types of criteria."""

    TEXT_LEVEL: ClassVar[str] = "checklist"

    judge: str = role(help="Judge by all types of criteria: a spec.", binds=Binds(late=True))
    type: tuple[str, ...] = option(
        (), panel="Judging", help=f"{', '.join(rating.METHODS)}: a type of criteria; may be repeated; all four if not given.",
        binds=Binds("types", lambda options: list(options.types), grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.type:
            if name not in rating.METHODS:
                raise unknown("type of criteria", name, tuple(rating.METHODS))

    @property
    def types(self) -> tuple[str, ...]:
        """The types asked for, in the paper's order."""
        return tuple(name for name in rating.METHODS if not self.type or name in self.type)


class CompareCriteria(Study[CompareCriteriaOptions, ModelResponses, list[RatedResponse], dict[str, Table]]):
    """Every response to every instance, by every type of criteria; `value` are the tables by name."""

    kind, unit = KIND, "instances"
    files = FILES
    prompts = tuple(method.prompt for method in rating.METHODS.values() if method.prompt)

    def items(self) -> Items[ModelResponses]:
        """The instances; of one that is sampled all responses are."""
        options = self.options
        chosen = options.chosen(judged=bool({"biggen", "checklist"} & set(options.types)))
        if options.types == ("flask",) and not any(i.category in rating.skills_by_category() for i in chosen):
            raise UserError(
                f"--type flask: no instance has one of the categories that the paper names skills for: "
                f"{', '.join(rating.skills_by_category())}; give the data a column category, or name other types"
            )
        return answered(options, chosen)[0]

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.judging(self.options.judge, "checklist")]

    def check(self) -> None:
        if labels.read_rows(Path(self.options.out) / labels.FILE, rating.OPTIONS):
            need("stats", "sklearn", what="comparing with raters")  # kappa: better missed before anything is paid for

    def setup(self) -> None:
        # One model, however many types: together they ask it no more at a time than the option allows.
        options, caller, (settings,) = self.options, self.caller("judge"), self.judge_settings()
        self.judges: dict[str, rating.RatingJudge] = {}
        for name in options.types:
            own = caller.in_role(name)
            schemas, checklist = SchemaFallback(own, options.structured), CriteriaJudge(own, settings, options.prompts)
            self.judges[name] = rating.RatingJudge(schemas, options.prompts, JUDGE_SAMPLING, checklist)

    async def work(self, item: ModelResponses) -> list[RatedResponse]:
        """The responses that there are and those made here, each judged in every way."""
        instance, numbers = item.instance, range(1, len(self.options.model) + 1)
        new = await asyncio.gather(*(answer(self, instance, number) for number in numbers))
        responses = [*item.responses, *new]
        ratings = await asyncio.gather(*(
            asyncio.gather(*(rating.rated(rating.METHODS[name], judge, instance, response) for name, judge in self.judges.items()))
            for response in responses
        ))  # fmt: skip
        return [
            RatedResponse(
                instance, response, rating.response_id(instance, response), dict(zip(self.judges, own, strict=True))
            )
            for response, own in zip(responses, ratings, strict=True)
        ]

    def score(self, done: Sequence[list[RatedResponse]]) -> Outcome[dict[str, Table]]:
        return outcome(self.folder, [row for rows in done for row in rows], self.options.seed)


def outcome(folder: RunFolder, rows: Sequence[RatedResponse], seed: int) -> Outcome[dict[str, Table]]:
    """The outcome of these rows, with the labels of people that lie in the folder."""
    people_rows = labels.read_rows(folder.path / labels.FILE, rating.OPTIONS)
    people = rating.read_ratings(people_rows, [row.id for row in rows]) if people_rows else None
    judge, models = str(folder.info["settings"]["judge"]), list(dict.fromkeys(row.response.model for row in rows))
    tables = comparison_tables(rows, models, people, folder.usage()["total"], seed)
    by_name = {table.name: table for table in tables}
    lines: list[dict[str, Any]] = []  # one a response and type
    for row in rows:
        facts: dict[str, Any] = {"id": row.instance.id, "model": row.response.model, "response_id": row.id}
        if people:
            facts |= {"people": people.passed[row.id], "people_open": people.open.get(row.id, "")}
        lines += [facts | {"type": name} | asdict(rating) for name, rating in row.rated.items()]
    return Outcome(
        by_name, title="TRUEBench: types of criteria", tables=tables,
        charts=by_category(by_name["saturation"], models) if rows else (),
        items={RATINGS: lines, RESPONSES: response_lines([(row.instance, row.response) for row in rows])},
        lead=f"The same responses by four types of criteria, judged by {judge}",
        notes=_notes(rows, people, judge), facts={"Judge": judge, "Models": ", ".join(models)},
        known={SEED: seed},
        incomplete=sum(any(rating.value is None for rating in row.rated.values()) for row in rows),
    )  # fmt: skip


def _notes(rows: Sequence[RatedResponse], people: rating.People | None, judge: str) -> list[str]:
    notes = cut_off(sum(bool(row.response.truncated) for row in rows)) + weak_judges([judge])
    strange = [row for row in rows if "flask" in row.rated and row.instance.category not in rating.skills_by_category()]
    if strange:
        notes.append(
            f"Responses in categories that the paper names no skills for, which flask leaves open: {len(strange)}; --type "
            f"names the types to compare, {', '.join(rating.skills_by_category())} are the categories."
        )
    if people is None:
        return [
            *notes,
            "Nobody has rated these responses yet: `truebench label out FOLDER` writes sheets without criteria, and "
            "`truebench label in FOLDER` reads them and compares.",
        ]
    if people.most < rating.RATERS:
        notes.append(f"Raters of a response: {people.most}, of whom the paper has {rating.RATERS}.")
    if people.strangers:
        first = people.strangers[0]
        notes.append(f"Labels of other responses, left out: {len(people.strangers)} (the first: {first}).")
    return notes


def read_answered(folder: Path) -> list[Answered]:
    """The responses that `compare-criteria` left in its folder. Raises UserError."""
    if read_info(folder).get("kind") != KIND or not (folder / RESPONSES).is_file():
        raise UserError(
            f"{folder}: holds no responses; give the --out of a finished `truebench study compare-criteria`"
        )
    reader = Reader()
    return [reader.answered(row, where) for where, row in jsonl.read(folder / RESPONSES)]


class CriteriaLabels(Labelling):
    """Each response of a comparison of criteria, pass or fail."""

    annotators = ("first", "second", "third")  # as many as in the paper
    answers = rating.OPTIONS
    keeps_others = True  # models may be added

    def questions(self, options: LabelAskOptions) -> list[Question]:
        return rating.questions(read_answered(Path(self.place)))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the results of the study anew; `value` are its tables by name."""
        need("stats", "sklearn", what="comparing with raters")
        path = Path(self.place)
        if not (path / SCORES).is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        responses, lines = read_answered(path), [line for _, line in jsonl.read(path / RATINGS)]
        types = len(lines) // len(responses) if responses else 0
        rows = []
        for place, (instance, response) in enumerate(responses):
            ratings = {
                line["type"]: rating.Rated(line["value"], line["reason"], line["parts"], line["own_final"])
                for line in lines[place * types : (place + 1) * types]
            }
            rows.append(RatedResponse(instance, response, rating.response_id(instance, response), ratings))
        settled = self.settle(new, decisions, path / labels.FILE, {row.id for row in rows})
        result = written_anew(
            self.place, labels.FILE, settled.rows, lambda folder: outcome(folder, rows, folder.info.get(SEED, 0))
        )
        return Taken(
            result.value, labels.agreement(settled.annotations), result.report, result.lead, result.notes,
            [path / name for name in (labels.FILE, *FILES, *WRITTEN)],
        )  # fmt: skip
