"""`truebench study compare-criteria`: the same responses judged by four types of criteria, and held against people.

Abstract: TRUEBench's claim that a checklist agrees with people better than ratings do, on responses, data and a judge of
one's own (paper 000, section 5.1, appendices C.3 and E, Figures 7 and 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.truebench.criteria_types import people
from truebench_hf.benchmarks.truebench.criteria_types import people as raters
from truebench_hf.benchmarks.truebench.criteria_types.people import People, response_id
from truebench_hf.benchmarks.truebench.criteria_types.scores import LEAD, TITLE, Row, score, sections
from truebench_hf.benchmarks.truebench.criteria_types.ways import METHODS, Rated, RatingJudge, rated, skills_by_category
from truebench_hf.benchmarks.truebench.data import ModelResponses, SeveralOptions, answered
from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.benchmarks.truebench.study import answer
from truebench_hf.data import jsonl
from truebench_hf.data.records import RESPONSES, response_lines
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError, unknown
from truebench_hf.extras import need
from truebench_hf.judging.judge import JUDGE_SAMPLING, Judge, JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.options import Binds, option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import LabelAskOptions, LabelInOptions, Labelling, Taken, with_history
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.options import JudgingOptions
from truebench_hf.study.outcome import Outcome, write
from truebench_hf.study.study import Study
from truebench_hf.types import Instance, Response


@dataclass(frozen=True, kw_only=True)
class CompareCriteriaOptions(InstanceOptions, JudgingOptions, SeveralOptions):
    """Which responses, and who judges them by which types of criteria."""

    TEXT_LEVEL: ClassVar[str] = "checklist"

    judge: str = role(help="Judge by all types of criteria: a spec.", binds=Binds(late=True))
    type: tuple[str, ...] = option(
        (), panel="Judging", help=f"{', '.join(METHODS)}: a type of criteria; may be repeated; all four if not given.",
        binds=Binds("types", lambda options: list(options.types), grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.type:
            if name not in METHODS:
                raise unknown("type of criteria", name, tuple(METHODS))

    @property
    def types(self) -> tuple[str, ...]:
        """The types asked for, in the paper's order."""
        return tuple(name for name in METHODS if not self.type or name in self.type)


SCORES, RATINGS = "scores.json", "ratings.jsonl"

FILES = (SCORES, RATINGS, RESPONSES)


class CompareCriteria(Study[CompareCriteriaOptions, ModelResponses, list[Row], dict[str, Any]]):
    """Every response to every instance, by every type of criteria; `value` is the content of `scores.json`."""

    kind, unit = raters.KIND, "instances"
    files = FILES
    prompts = tuple(way.prompt for way in METHODS.values() if way.prompt)

    def items(self) -> Items[ModelResponses]:
        """The instances; of one that is sampled all responses are."""
        options = self.options
        chosen = options.chosen(judged=bool({"biggen", "checklist"} & set(options.types)))
        if options.types == ("flask",) and not any(i.category in skills_by_category() for i in chosen):
            raise UserError(
                f"--type flask: no instance has one of the categories that the paper names skills for: "
                f"{', '.join(skills_by_category())}; give the data a column category, or name other types"
            )
        items, self.models = answered(options, chosen)
        return items

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.judging(self.options.judge, "checklist")]

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts, self.options.structured)
        if labels.read_rows(Path(self.options.out) / labels.FILE, raters.OPTIONS):
            need("stats", "sklearn", what="comparing with raters")  # kappa: better missed before anything is paid for

    def setup(self) -> None:
        # One model, however many types: together they ask it no more at a time than the option allows.
        judge = self.caller("judge")
        self.asked = {name: self._asked(judge.in_role(name)) for name in self.options.types}

    def _asked(self, caller: Caller) -> RatingJudge:
        options = self.options
        return RatingJudge(
            SchemaFallback(caller, options.structured), options.prompts, JUDGE_SAMPLING,
            Judge(caller, self.judge_settings()[0], options.prompts),
        )  # fmt: skip

    async def work(self, one: ModelResponses) -> list[Row]:
        """The responses that are given and those made here, each judged in every way."""
        numbers = range(1, len(self.options.model) + 1)
        made = await asyncio.gather(*(answer(self, one.instance, number) for number in numbers))
        responses = [*one.given, *made]
        return list(await asyncio.gather(*(self._row(one.instance, response) for response in responses)))

    async def _row(self, instance: Instance, response: Response) -> Row:
        found = await asyncio.gather(*(rated(METHODS[t], asked, instance, response) for t, asked in self.asked.items()))
        return Row(instance, response, response_id(instance, response), dict(zip(self.asked, found, strict=True)))

    def score(self, done: Sequence[list[Row]]) -> Outcome[dict[str, Any]]:
        rows = [row for several in done for row in several]
        options, usage = self.options, self.folder.usage()["total"]
        return outcome(Path(options.out), rows, self.models, str(options.judge), usage, options.seed)


def outcome(
    folder: Path, rows: Sequence[Row], models: Sequence[str], judge: str, usage: Mapping[str, Any], seed: int
) -> Outcome[dict[str, Any]]:
    """The outcome of these rows, with the labels of people that lie in the folder."""
    own = labels.read_rows(folder / labels.FILE, raters.OPTIONS)
    people = raters.read(own, [row.id for row in rows]) if own else None
    result = score(rows, models, people, usage, seed)
    files = {
        RATINGS: [line for row in rows for line in _lines(row, people)],
        RESPONSES: response_lines([(row.instance, row.response) for row in rows]),
        SCORES: result,
    }
    return Outcome(
        result, files, TITLE, sections(result), lead=f"{LEAD}, judged by {judge}",
        notes=_notes(folder, rows, people, judge), facts={"Judge": judge, "Models": ", ".join(models)},
        incomplete=result["incomplete"],
    )  # fmt: skip


def _notes(folder: Path, rows: Sequence[Row], people: People | None, judge: str) -> list[str]:
    notes = cut_off(sum(bool(row.response.truncated) for row in rows)) + weak_judges([judge])
    strange = [row for row in rows if "flask" in row.rated and row.instance.category not in skills_by_category()]
    if strange:
        notes.append(
            f"Responses in categories that the paper names no skills for, which flask leaves open: {len(strange)}; --type "
            f"names the types to compare, {', '.join(skills_by_category())} are the categories."
        )
    if people is None:
        return [
            *notes,
            f"Nobody has rated these responses yet: `truebench label out {folder}` writes sheets without criteria, and "
            f"`truebench label in {folder}` reads them and compares.",
        ]
    if people.asked < raters.RATERS:
        notes.append(f"Raters of a response: {people.asked}, of whom the paper has {raters.RATERS}.")
    if people.strangers:
        first = people.strangers[0]
        notes.append(f"Labels of other responses, left out: {len(people.strangers)} (the first: {first}).")
    return notes


def _lines(row: Row, people: People | None) -> list[dict[str, Any]]:
    """The lines of `ratings.jsonl` for a response: one a type."""
    facts: dict[str, Any] = {"id": row.instance.id, "model": row.response.model, "response_id": row.id}
    if people:
        facts |= {"people": people.passed[row.id], "people_open": people.open.get(row.id, "")}
    return [facts | {"type": name} | asdict(rated) for name, rated in row.rated.items()]


class CriteriaLabels(Labelling):
    """Each response of a comparison of criteria, pass or fail."""

    annotators = ("first", "second", "third")  # as many as in the paper
    answers = people.OPTIONS
    keeps_others = True  # models may be added

    def questions(self, options: LabelAskOptions) -> list[Question]:
        return people.questions(people.read_answered(Path(self.place)))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the results of the study anew; `value` is the content of `scores.json`."""
        need("stats", "sklearn", what="comparing with raters")
        path = Path(self.place)
        if not (path / SCORES).is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        rows = list(_rows(path))
        settled = self.settle(new, decisions, path / labels.FILE, {row.id for row in rows})
        folder = RunFolder(self.place, {})
        try:
            folder.write_lines(labels.FILE, map(labels.line, settled.rows))
            scores = jsonl.parsed((path / SCORES).read_bytes(), str(path / SCORES))
            judge, usage = str(folder.info["settings"]["judge"]), folder.usage()["total"]
            result = with_history(folder, outcome(path, rows, scores["set"]["models"], judge, usage, scores["seed"]))
            write(folder, result)
        finally:
            folder.ledger.close()
        files = [path / name for name in (labels.FILE, *FILES, "report.html")]
        return Taken(
            result.value, labels.agreement(settled.annotations), result.sections, result.lead, result.notes, files
        )


def _rows(folder: Path) -> Iterator[Row]:
    """The responses of a finished study with what they got, as its files have them."""
    answered = people.read_answered(folder)
    lines = [line for _, line in jsonl.read(folder / RATINGS)]
    types = len(lines) // len(answered) if answered else 0
    for place, (instance, response) in enumerate(answered):
        rated = {
            line["type"]: Rated(line["value"], line["reason"], line["parts"], line["own_final"])
            for line in lines[place * types : (place + 1) * types]
        }
        yield Row(instance, response, people.response_id(instance, response), rated)
