"""`truebench study refine-criteria`: criteria are refined until judge and people agree, and a validator finds no defect.

Abstract: responses of several models are judged by the criteria, people say of each whether it passes, and where the two
differ people change criteria or prompts; what changed is judged anew and validated, round by round (paper 000, section
3.4, appendix F). All between two rounds is a work list that people fill in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types import people
from truebench_hf.benchmarks.truebench.data import ModelResponses, SeveralOptions, answered
from truebench_hf.benchmarks.truebench.options import InstanceOptions, JudgeOptions
from truebench_hf.benchmarks.truebench.refinement import filled, history, worklist
from truebench_hf.benchmarks.truebench.refinement.history import State, Version
from truebench_hf.benchmarks.truebench.refinement.worklist import Done, Round, Row, name, open_rows, scores, sections
from truebench_hf.benchmarks.truebench.study import Judges, answer
from truebench_hf.benchmarks.truebench.validation.validator import validate_instance
from truebench_hf.data import instances, jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGMENTS, Reader, judgment_lines
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import at_least_one, option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import SHEETS, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Instance

DATA, LISTED, TAKEN = "data.jsonl", "worklist.jsonl", "rounds"
_OTHER_PROMPT = "its prompt was revised, and this response answers the earlier one"


@dataclass(frozen=True, kw_only=True)
class RefineCriteriaOptions(JudgeOptions, InstanceOptions, SeveralOptions):
    """Which responses are judged by which criteria, and how the criteria are to change."""

    validator: str = role(help="Who validates what was changed: a model spec.")
    revisions: str | None = option(
        None, panel="Data", help="The filled-in work list: OUT/worklist.csv, or a copy of it."
    )
    rounds: int = option(5, panel="Method", help="How many work lists are taken in at most.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "rounds")
        if self.nobody:
            raise UserError("--judge none: criteria are refined until judge and people agree; name a judge")


class RefineCriteria(Judges[RefineCriteriaOptions, ModelResponses, Done, dict[str, Any]]):
    """Every instance as it stood before any round and after each; `value` is the content of `refinement.json`."""

    kind, unit = "criteria-refinement", "instances"
    files = ("refinement.json", history.FILE, DATA, JUDGMENTS, LISTED, worklist.FILE, "worklist.html", TAKEN)
    editable = {worklist.FILE: "", DATA: ""}  # noqa: RUF012
    prompts = ("validate_criteria",)
    unforeseen = "How many rounds people need is not known: this is what the next one takes."

    def items(self) -> Items[ModelResponses]:
        """The instances; of one that is sampled all responses are."""
        return answered(self.options, self.options.chosen())[0]

    def check(self) -> None:
        """Everything that people filled in is read before anything is paid for."""
        super().check()
        options, folder = self.options, Path(self.options.out)
        check_prompts(self.prompts, options.prompts)
        self.people = {row["id"]: row["label"] for row in labels.read_rows(folder / labels.FILE, people.OPTIONS)}
        self.instances = {one.instance.id: one.instance for one in self.chosen}
        self.history = list[Version]()
        if read_info(folder).get("kind") == self.kind:  # another folder is refused later, by what it is
            self._refuse_to_lose(folder)
            self.history = history.read(folder, self.instances)
        self.round = max((one.round for one in self.history), default=0)
        self.lines: list[filled.Line] = []  # what is taken in now
        self.note = ""
        if options.revisions:
            if not self.people:
                raise UserError(
                    f"--revisions: nobody has labelled the responses in {folder} yet; `truebench label out {folder}` asks"
                )
            self._take_in(Path(options.revisions))
        self.states = {
            key: history.states(instance, self.history, self.round) for key, instance in self.instances.items()
        }

    def _refuse_to_lose(self, folder: Path) -> None:
        """Raise UserError where the folder has a work list in the making, and the command does not name it."""
        there, given = folder / worklist.FILE, self.options.revisions
        if (folder / LISTED).exists() and not self.people:
            raise UserError(f"--out {folder}: has a work list made with {labels.FILE}, which is not there; put it back")
        if there.exists() and not (given and Path(given).resolve() == there.resolve()) and filled.read(there):
            raise UserError(f"{there} is filled in; add --revisions {there} to take it in, or move it away")

    def _take_in(self, path: Path) -> None:
        """The next round, from a filled-in work list; none where nothing is filled in, or where it was taken in."""
        given = filled.read(path)
        if not given:
            self.note = f"{path}: no row has a kind, a new text or a new prompt yet; nothing was changed."
            return
        if taken := [one.round for one in self.history if one.source == filled.source(given)]:
            self.note = f"{path} was taken in as round {taken[0]}."
            return
        if self.round >= self.options.rounds:
            raise UserError(
                f"--revisions {path}: would be round {self.round + 1}; raise --rounds {self.options.rounds}"
            )
        listed = {row.id: row for row in worklist.read(Path(self.options.out) / LISTED)}
        now = {key: history.states(one, self.history, self.round)[-1] for key, one in self.instances.items()}
        before = [version for one in self.instances.values() for version in history.originals(one)]
        made = filled.revisions(given, listed, now, [*before, *self.history], self.round + 1)
        filled.check_left(self.instances, self.history, made)
        self.history, self.round, self.lines = [*self.history, *made], self.round + 1, given

    def setup(self) -> None:
        super().setup()
        self.schemas = SchemaFallback(self.caller("validator"))

    async def work(self, one: ModelResponses) -> Done:
        """The instance in all its states, of which only those that differ from what there was ask for something."""
        found: dict[Instance, Round] = {}
        for state in self.states[one.instance.id]:
            if state.instance not in found:
                found[state.instance] = await self._round(one, state)
        return tuple(replace(found[state.instance], state=state) for state in self.states[one.instance.id])

    async def _round(self, one: ModelResponses, state: State) -> Round:
        numbers = range(1, len(self.options.model) + 1)
        made = await asyncio.gather(*(answer(self, state.instance, number) for number in numbers))
        asked = [turn.prompt for turn in one.instance.turns] == [turn.prompt for turn in state.instance.turns]
        given = [r if asked else replace(r, messages=(), reasoning=(), error=_OTHER_PROMPT) for r in one.given]
        judged = asyncio.gather(*(self.judged(state.instance, response) for response in (*given, *made)))
        if state.instance == one.instance:
            return Round(state, tuple(await judged), None)
        validation = validate_instance(self.schemas, state.instance, self.options.prompts)
        found = await asyncio.gather(judged, validation)
        return Round(state, tuple(found[0]), found[1])

    def score(self, done: Sequence[Done]) -> Outcome[dict[str, Any]]:
        known = {name(judged) for one in done for round in one for judged in round.judged}
        passed = {
            key: None if label is None else label == people.OPTIONS[0]
            for key, label in self.people.items()
            if key in known
        }
        listed = open_rows(done, passed, self.history) if self.people else []
        result = scores(done, passed, self.history, listed)
        last = [judged for one in done for judged in one[-1].judged]
        facts = {"Judge": self.options.judge_name, "Validator": self.options.validator}
        return Outcome(
            result, self._files(done, result, last, listed), "TRUEBench: criteria refined", sections(result, listed),
            lead=f"judged by {self.options.judge_name}, validated by {self.options.validator}",
            notes=self._notes(last, passed, listed), facts=facts,
            incomplete=len(_unscored(last)) + sum(row.what == worklist.UNREAD for row in listed),
        )  # fmt: skip

    def _files(
        self, done: Sequence[Done], result: Mapping[str, Any], last: Sequence[Judged], listed: Sequence[Row]
    ) -> dict[str, Any]:
        """What was taken in comes first, and the next work list late: killed between, the same command goes on."""
        files: dict[str, Any] = {}
        if self.lines:
            files[f"{TAKEN}/{self.round}.jsonl"] = [dict(line.cells) for line in self.lines]
        files |= {
            history.FILE: history.lines(list(self.instances.values()), self.history),
            DATA: [instances.as_row(one[-1].state.instance) for one in done],
            JUDGMENTS: judgment_lines(last, self.options.judge_name),
        }
        if self.people:
            number = self.round + 1
            files[LISTED] = [asdict(row) for row in listed]
            files |= {"worklist.html": worklist.page(listed, number), worklist.FILE: worklist.table(listed, number)}
        return files | {"refinement.json": result}

    def _notes(self, last: Sequence[Judged], passed: Mapping[str, bool | None], listed: Sequence[Row]) -> list[str]:
        options, out = self.options, self.options.out
        notes = [self.note] if self.note else []
        notes += cut_off(sum(bool(one.response.truncated) for one in last))
        if left := _unscored(last):
            first = f"{left[0].name}, {left[0].response.model}: {left[0].undecided}"
            notes.append(f"Responses not judged: {len(left)} of {len(last)} (the first: {first}).")
        notes += weak_judges([*options.judge, options.validator])
        if not self.people:
            notes.append(
                f"Nobody has judged these responses yet: `truebench label out {out}` asks people, who see no criteria; once "
                f"`truebench label in {out}` has read what they say, this command makes the work list."
            )
            return notes
        if strange := [key for key in self.people if key not in passed]:
            notes.append(f"Labels of other responses, left out: {len(strange)} (the first: {strange[0]}).")
        if blank := sum(passed.get(name(one)) is None for one in last if name(one)):
            notes.append(
                f"Responses without a label (annotators are tied, gave no answer, or were not asked), left out: {blank}. "
                f"`truebench label out {out} --unlabelled` asks about them."
            )
        if not any(label is not None for label in passed.values()):
            notes.append("No response is labelled yet: there is nothing to hold the judge against.")
        elif listed:
            notes.append(
                f"Open rows of {out}/{worklist.FILE} (worklist.html is a form of it): {len(listed)}. Fill in what you decide, "
                f"and repeat the command with --revisions {out}/{worklist.FILE}."
            )
        else:
            notes.append(f"Nothing is open. The data as it stands: truebench run --data {out}/{DATA}.")
        return notes


def _unscored(last: Sequence[Judged]) -> list[Judged]:
    """The responses that should be judged, and are not; those to an earlier prompt are no concern any more."""
    return [one for one in last if one.passed is None and one.response.error != _OTHER_PROMPT]


SCORES = "refinement.json"


class RefinementLabels(Labelling):
    """Each response as it stands after the last round, pass or fail."""

    answers = people.OPTIONS
    heeds = ("unlabelled",)
    keeps_others = True  # of an earlier prompt

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """After a round a folder of its own below the sheets: a revised prompt has new responses."""
        path = Path(self.place)
        scores = jsonl.parsed((path / SCORES).read_bytes(), str(path / SCORES))
        number = len(scores["rounds"]) - 1
        return path / SHEETS / f"round_{number}" if number else path / SHEETS

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        own = Path(self.place) / SHEETS
        return sorted({file.parent for file in own.rglob("*") if file.suffix in (".csv", ".json")})

    def questions(self, options: LabelAskOptions) -> list[Question]:
        """All responses; with `unlabelled` those without a label."""
        before = labels.read_rows(Path(self.place) / labels.FILE, self.answers) if options.unlabelled else []
        done = {row["id"] for row in before if row["label"] is not None}
        asked = [question for question in self._questions() if question.id not in done]
        if not asked:
            raise UserError(
                f"{self.place}: every response has a label; leave out --unlabelled to ask about all of them"
            )
        return asked

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, which the study reads when it is repeated; `value` are its rows."""
        file = Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, {question.id for question in self._questions()})
        labels.write_rows(file, settled.rows)
        notes = [
            *open_notes(settled),
            "Repeat `truebench study refine-criteria` with the same options: its work list asks why people and judge differ.",
        ]
        among = labels.agreement(settled.annotations)
        sections = [labels.agreement_section(among, "responses")]
        return Taken(settled.rows, among, sections, notes=notes, files=[file])

    def _questions(self) -> list[Question]:
        reader, path = Reader(), Path(self.place)
        if not (path / SCORES).is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        judged = [reader.judged(row, where)[0] for where, row in jsonl.read(path / JUDGMENTS)]
        return people.questions([(item.instance, item.response) for item in judged])
