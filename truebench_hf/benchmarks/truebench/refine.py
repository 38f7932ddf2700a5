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

from truebench_hf.benchmarks.truebench import history, rating, worklist
from truebench_hf.benchmarks.truebench.data import ModelResponses, SeveralOptions, answered
from truebench_hf.benchmarks.truebench.history import CriterionVersion, State
from truebench_hf.benchmarks.truebench.options import InstanceOptions, JudgeOptions
from truebench_hf.benchmarks.truebench.rounds import (
    Labels,
    RefinementRound,
    Rounds,
    open_rows,
    refinement_tables,
    response_name,
)
from truebench_hf.benchmarks.truebench.study import JudgingStudy, answer
from truebench_hf.benchmarks.truebench.validator import validate_instance
from truebench_hf.benchmarks.truebench.worklist import WorkRow
from truebench_hf.data import instances, jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGMENTS, Reader, judgment_lines
from truebench_hf.data.rows import Record
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.report.table import SCORES, Table
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Instance

KIND, DATA, ROUND = "criteria-refinement", "data.jsonl", "round"
ASKED = ("responses", "revisions")
_OTHER_PROMPT = "its prompt was revised, and this response answers the earlier one"


@dataclass(frozen=True, kw_only=True)
class RefineCriteriaOptions(JudgeOptions, InstanceOptions, SeveralOptions):
    """Which responses are judged by which criteria, and how the criteria are to change."""

    validator: str = role(help="Who validates what was changed: a model spec.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nobody:
            raise UserError("--judge none: criteria are refined until judge and people agree; name a judge")


class RefineCriteria(JudgingStudy[RefineCriteriaOptions, ModelResponses, Rounds, dict[str, Table]]):
    """Every instance as it stood before any round and after each; `value` are the tables by name."""

    kind, unit = KIND, "instances"
    files = (history.FILE, DATA, JUDGMENTS, worklist.FILE)
    editable = {DATA: ""}  # noqa: RUF012
    prompts = ("validate_criteria",)
    unforeseen = "How many rounds people need is not known: this is what the next one takes."

    def items(self) -> Items[ModelResponses]:
        """The instances; of one that is sampled all responses are."""
        return answered(self.options, self.options.chosen())[0]

    def check(self) -> None:
        """Everything that people filled in is read before anything is paid for."""
        super().check()
        folder = Path(self.options.out)
        self.people = {row["id"]: row["label"] for row in labels.read_rows(folder / labels.FILE, rating.OPTIONS)}
        self.instances = {item.instance.id: item.instance for item in self.chosen}
        self.history = list[CriterionVersion]()
        if read_info(folder).get("kind") == self.kind:  # another folder is refused later, by what it is
            self.history = history.read(folder, self.instances)
        self.round = max((version.round for version in self.history), default=0)
        self.states = {
            key: history.states(instance, self.history, self.round) for key, instance in self.instances.items()
        }

    def setup(self) -> None:
        super().setup()
        self.schemas = SchemaFallback(self.caller("validator"), self.options.structured)

    async def work(self, item: ModelResponses) -> Rounds:
        """The instance in all its states, of which only those that differ from what there was ask for something."""
        rounds: dict[Instance, RefinementRound] = {}
        for state in self.states[item.instance.id]:
            instance = state.instance
            if instance in rounds:
                continue
            numbers = range(1, len(self.options.model) + 1)
            new = await asyncio.gather(*(answer(self, instance, number) for number in numbers))
            same = [turn.prompt for turn in item.instance.turns] == [turn.prompt for turn in instance.turns]
            old = [r if same else replace(r, messages=(), reasoning=(), error=_OTHER_PROMPT) for r in item.responses]
            judging = asyncio.gather(*(self.judged(instance, response) for response in (*old, *new)))
            validation = None
            if instance != item.instance:
                validating = validate_instance(self.schemas, instance, self.options.prompts)
                _, validation = await asyncio.gather(judging, validating)
            rounds[instance] = RefinementRound(state, tuple(await judging), validation)
        return tuple(replace(rounds[state.instance], state=state) for state in self.states[item.instance.id])

    def score(self, done: Sequence[Rounds]) -> Outcome[dict[str, Table]]:
        options = self.options
        known = {response_name(judged) for rounds in done for round in rounds for judged in round.judged}
        passed = {
            key: None if label is None else label == rating.OPTIONS[0]
            for key, label in self.people.items()
            if key in known
        }
        listed = open_rows(done, passed, self.history) if self.people else []
        tables = refinement_tables(done, passed, self.history, listed)
        last = [judged for rounds in done for judged in rounds[-1].judged]
        items = {
            history.FILE: history.lines(list(self.instances.values()), self.history),
            DATA: [instances.as_row(rounds[-1].state.instance) for rounds in done],
            JUDGMENTS: judgment_lines(last, options.judge_name),
            worklist.FILE: [asdict(row) for row in listed],
        }
        return Outcome(
            {table.name: table for table in tables if table.name}, title="TRUEBench: criteria refined", tables=tables,
            items=items, lead=f"judged by {options.judge_name}, validated by {options.validator}",
            notes=self._notes(last, passed, listed), facts={"Judge": options.judge_name, "Validator": options.validator},
            known={ROUND: self.round},
            incomplete=len(_unscored(last)) + sum(row.what == worklist.UNREAD for row in listed),
        )  # fmt: skip

    def _notes(self, last: Sequence[Judged], passed: Labels, listed: Sequence[WorkRow]) -> list[str]:
        options, out = self.options, self.options.out
        notes = cut_off(sum(bool(judged.response.truncated) for judged in last))
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
        if blank := sum(passed.get(response_name(judged)) is None for judged in last if response_name(judged)):
            notes.append(
                f"Responses without a label (annotators are tied, gave no answer, or were not asked), left out: {blank}. "
                f"`truebench label out {out} --unlabelled` asks about them."
            )
        if not any(label is not None for label in passed.values()):
            notes.append("No response is labelled yet: there is nothing to hold the judge against.")
        elif listed:
            notes.append(
                f"Open rows of the work list: {len(listed)}. `truebench label out {out}` (or `label open`) asks what is to be "
                f"done, and once `truebench label in {out}` has read the answers this command goes on."
            )
        else:
            notes.append(f"Nothing is open. The data as it stands: truebench run --data {out}/{DATA}.")
        return notes


def _unscored(last: Sequence[Judged]) -> list[Judged]:
    """The responses that should be judged, and are not; those to an earlier prompt are no concern any more."""
    return [judged for judged in last if judged.passed is None and judged.response.error != _OTHER_PROMPT]


class RefinementLabels(Labelling):
    """Each response as it stands after the last round, pass or fail; then what is to be done about the work list."""

    answers = rating.OPTIONS
    heeds = ("ask", "unlabelled")
    keeps_others = True  # of an earlier prompt
    written = True

    @property
    def round(self) -> int:
        """The last round that there are results of. Raises UserError where there are none."""
        info = read_info(Path(self.place))
        if ROUND not in info or not (Path(self.place) / SCORES).is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        return int(info[ROUND])

    @property
    def work(self) -> list[Question]:
        """The questions of the work list."""
        return worklist.questions(worklist.read(Path(self.place)), self.round + 1)

    def asks_work(self, options: LabelAskOptions) -> bool:
        """Whether the work list is asked now. Raises UserError on another value of `ask`."""
        if options.ask not in (None, *ASKED):
            raise unknown("--ask", str(options.ask), ASKED)
        return options.ask == "revisions" or (options.ask is None and not options.unlabelled and bool(self.work))

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """A folder for each round below the sheets: a revised prompt has new responses, and work lists differ."""
        work = isinstance(options, LabelAskOptions) and self.asks_work(options)
        responses = f"round_{self.round}" if self.round else ""
        return Path(self.place) / SHEETS / (f"revisions_{self.round + 1}" if work else responses)

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """All sheets but those of earlier work lists."""
        folders = {file.parent for file in (Path(self.place) / SHEETS).rglob("*.csv")}
        own = f"revisions_{self.round + 1}"
        return sorted(folder for folder in folders if folder.name == own or not folder.name.startswith("revisions_"))

    def questions(self, options: LabelAskOptions) -> list[Question]:
        """The work list where something is open on it, else all responses; with `unlabelled` those without a label."""
        if self.asks_work(options):
            if not (work := self.work):
                raise UserError(f"{self.place}: nothing is open on its work list; leave out --ask revisions")
            return work
        before = labels.read_rows(Path(self.place) / labels.FILE, self.answers) if options.unlabelled else []
        done = {row["id"] for row in before if row["label"] is not None}
        open_questions = [question for question in self._responses() if question.id not in done]
        if not open_questions:
            raise UserError(
                f"{self.place}: every response has a label; leave out --unlabelled to ask about all of them"
            )
        return open_questions

    def draw(self, options: LabelAskOptions) -> Draw:
        return Draw(self.questions(options)) if self.asks_work(options) else super().draw(options)

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the history with what was decided about the work list; the study reads both when it
        is repeated. `value` are the rows of the labels.
        """
        work = self.work
        names = {question.id for question in work}
        about_work, rest = new.part(names.__contains__), new.part(lambda name: name not in names)
        notes, files = self._take_work(work, about_work)
        if not rest.labels and not decisions:
            return Taken([], notes=notes or ["Nothing on the work list is answered yet."], files=files)
        file = Path(self.place) / labels.FILE
        settled = self.settle(rest, decisions, file, {question.id for question in self._responses()})
        labels.write_rows(file, settled.rows)
        again = "Repeat `truebench study refine-criteria` with the same options: its work list asks why people and judge differ."
        notes = [*open_notes(settled), *(notes or [again])]
        among = labels.agreement(settled.annotations)
        sections = [labels.agreement_table(among, "responses")]
        return Taken(settled.rows, among, sections, notes=notes, files=[file, *files])

    def _take_work(self, work: Sequence[Question], answers: Annotations) -> tuple[list[str], list[str | Path]]:
        """Put what was decided into the history; returns notes, and the file where it was written."""
        if not (decided := worklist.decisions(work, answers)):
            return [], []
        file, round = Path(self.place) / history.FILE, self.round + 1
        before = history.read_versions(file)
        if taken := [version for version in before if version.round == round]:
            if taken[0].source == worklist.source(decided):
                return [f"Round {round} was taken in; repeat `truebench study refine-criteria`."], []
            raise UserError(
                f"{self.place}: round {round} was taken in with other answers; repeat `truebench study refine-criteria` first"
            )
        data, states = Path(self.place) / DATA, dict[str, State]()
        for instance in instances.of_rows([Record(where, row) for where, row in jsonl.read(data)]):
            try:
                states[instance.id] = history.last_state(instance, [v for v in before if v.instance == instance.id])
            except (ValueError, IndexError) as error:
                raise UserError(f"{data}: {error}; repeat the command of the study first") from error
        new = worklist.revisions(decided, states, before, round)
        text = file.read_text(encoding="utf-8")
        write_whole(file, [text, *(labels.line(history.line(version)) for version in new)])
        again = "Repeat `truebench study refine-criteria` with the same options."
        return [f"Round {round}: changes taken in: {len(new)}. {again}"], [file]

    def _responses(self) -> list[Question]:
        reader = Reader()
        judged = [reader.judged(row, where)[0] for where, row in jsonl.read(Path(self.place) / JUDGMENTS)]
        return rating.questions([(item.instance, item.response) for item in judged])
