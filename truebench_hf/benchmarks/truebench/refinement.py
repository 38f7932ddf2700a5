"""`truebench study refine-criteria`: criteria are refined until judge and people agree, and a validator finds no defect.

Abstract: responses of several models are judged by the criteria, people say of each whether it passes, and where the two
differ people change criteria or prompts; what changed is judged anew and validated, round by round (paper 000, section
3.4, appendix F). All between two rounds is a work list that people fill in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.truebench import rating, worklist
from truebench_hf.benchmarks.truebench.data import (
    InstanceOptions,
    JudgeOptions,
    ModelResponses,
    SeveralOptions,
    answered,
)
from truebench_hf.benchmarks.truebench.run import JudgingStudy, answer
from truebench_hf.benchmarks.truebench.validator import Validation, validate_instance
from truebench_hf.benchmarks.truebench.worklist import CriterionVersion, State, WorkRow
from truebench_hf.data import instances, jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGMENTS, judgment_lines
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question
from truebench_hf.report.table import Column, Table
from truebench_hf.results.folder import Results
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import SHEETS, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.text.whole_files import write_whole

KIND, HISTORY, DATA, ROUND, NUMBERS = "criteria-refinement", "criteria_history.jsonl", "data.jsonl", "round", "numbers"
_AGAIN = "Repeat `truebench study refine-criteria` with the same options"
_OTHER_PROMPT = "its prompt was revised, and this response answers the earlier one"
_BEFORE, _SAME = "before", "before, on what the last round has"


class RefineCriteriaOptions(JudgeOptions, InstanceOptions, SeveralOptions):
    """Which responses are judged by which criteria, and how the criteria are to change."""

    validator: str = role(help="Who validates what was changed: a model spec.")


@dataclass(frozen=True, slots=True)
class RefinementRound:
    """An instance after some round: its responses judged, and, where it was changed, what the validator says."""

    state: State
    judged: tuple[Judged, ...]
    validation: Validation | None


Rounds = tuple[RefinementRound, ...]  # an instance before any round, and after each
Labels = Mapping[str, bool | None]  # by response id: whether people pass it


class RefineCriteria(JudgingStudy[RefineCriteriaOptions, ModelResponses, Rounds, dict[str, Table]]):
    """Every instance as it stood before any round and after each; `value` are the tables by name."""

    kind, unit = KIND, "instances"
    files = (HISTORY, DATA, JUDGMENTS, worklist.FILE)
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
        self.people = {
            row["id"]: None if row["label"] is None else row["label"] == rating.OPTIONS[0]
            for row in labels.read_rows(folder / labels.FILE, rating.OPTIONS)
        }
        self.versions = [version for version in read_history(folder / HISTORY) if version.round]
        self.round = max((version.round for version in self.versions), default=0)
        known = {item.instance.id for item in self.chosen}
        if lost := next((version.instance for version in self.versions if version.instance not in known), None):
            raise UserError(
                f"{folder / HISTORY}: holds instance {lost} too, which would be dropped; take the data and --limit as before"
            )

    def setup(self) -> None:
        super().setup()
        self.schemas = SchemaFallback(self.caller("validator"), self.options.structured)

    async def work(self, item: ModelResponses) -> Rounds:
        """The instance in all its states, of which only those that differ from what there was ask for something."""
        own = [version for version in self.versions if version.instance == item.instance.id]
        rounds: list[RefinementRound] = []
        for number in range(self.round + 1):
            state = State.of(item.instance).revised(version for version in own if version.round <= number)
            same = next((earlier for earlier in rounds if earlier.state.instance == state.instance), None)
            rounds.append(replace(same, state=state) if same else await self._judged_round(item, state))
        return tuple(rounds)

    async def _judged_round(self, item: ModelResponses, state: State) -> RefinementRound:
        instance, numbers = state.instance, range(1, len(self.options.model) + 1)
        new = await asyncio.gather(*(answer(self, instance, number) for number in numbers))
        same = [turn.prompt for turn in item.instance.turns] == [turn.prompt for turn in instance.turns]
        old = [r if same else replace(r, messages=(), reasoning=(), error=_OTHER_PROMPT) for r in item.responses]
        judging = asyncio.gather(*(self.judged(instance, response) for response in (*old, *new)))
        validation = None
        if instance != item.instance:
            validating = validate_instance(self.schemas, instance, self.options.prompts)
            _, validation = await asyncio.gather(judging, validating)
        return RefinementRound(state, tuple(await judging), validation)

    def score(self, done: Sequence[Rounds]) -> Outcome[dict[str, Table]]:
        options = self.options
        known = {response_name(judged) for rounds in done for round in rounds for judged in round.judged}
        passed = {name: label for name, label in self.people.items() if name in known}
        listed = open_rows(done, passed, self.versions) if self.people else []
        tables = [rounds_table(done, passed, self.versions)]
        tables += [worklist.table(listed, "open", "Open on the work list")] if listed else []
        last = [judged for rounds in done for judged in rounds[-1].judged]
        unjudged = [j for j in last if j.passed is None and j.response.error != _OTHER_PROMPT]
        order = {rounds[0].state.instance.id: place for place, rounds in enumerate(done)}
        versions = [version for rounds in done for version in rounds[0].state.originals()] + self.versions
        versions.sort(key=lambda version: (order[version.instance], version.turn, version.criterion or 0))
        return Outcome(
            {table.name: table for table in tables}, title="TRUEBench: criteria refined", tables=tables,
            items={
                HISTORY: [version.line for version in versions],
                DATA: [
                    instances.as_row(rounds[-1].state.instance) | {NUMBERS: rounds[-1].state.numbers} for rounds in done
                ],
                JUDGMENTS: judgment_lines(last, options.judge_name),
                worklist.FILE: [row.model_dump() for row in listed],
            },
            lead=f"judged by {options.judge_name}, validated by {options.validator}",
            notes=[
                *cut_off(sum(bool(judged.response.truncated) for judged in last)),
                *(f"Responses not judged: {len(unjudged)} of {len(last)} (the first: {j.name}, {j.response.model}: {j.undecided})."
                  for j in unjudged[:1]),
                *weak_judges([*options.judge, options.validator]), *self._notes(last, passed, listed),
            ],
            facts={"Judge": options.judge_name, "Validator": options.validator}, known={ROUND: self.round},
            incomplete=len(unjudged) + sum(row.what == worklist.UNREAD for row in listed),
        )  # fmt: skip

    def _notes(self, last: Sequence[Judged], passed: Labels, listed: Sequence[WorkRow]) -> list[str]:
        """Say what people are to do next."""
        out, names = self.options.out, list(filter(None, map(response_name, last)))
        if not self.people:
            return [
                f"Nobody has judged these responses yet: `truebench label out {out}` asks people, who see no criteria; once "
                f"`truebench label in {out}` has read what they say, this command makes the work list."
            ]
        notes = []
        if strange := [key for key in self.people if key not in passed]:
            notes.append(f"Labels of other responses, left out: {len(strange)} (the first: {strange[0]}).")
        if blank := sum(passed.get(name) is None for name in names):
            notes.append(
                f"Responses without a label (annotators are tied, gave no answer, or were not asked), left out: {blank}. "
                f"`truebench label out {out} --unlabelled` asks about them."
            )
        if all(label is None for label in passed.values()):
            notes.append("No response is labelled yet: there is nothing to hold the judge against.")
        elif listed:
            notes.append(
                f"Open rows of the work list: {len(listed)}. `truebench label out {out}` (or `label open`) asks what is to be "
                f"done, and once `truebench label in {out}` has read the answers this command goes on."
            )
        else:
            notes.append(f"Nothing is open. The data as it stands: truebench run --data {out}/{DATA}.")
        return notes


def read_history(file: Path) -> list[CriterionVersion]:
    """Return all versions in a history, by round; [] before the first run. Raises UserError on a line that is none."""
    lines = jsonl.read(file) if file.is_file() else ()
    return sorted(
        (Record(where, row).read(CriterionVersion) for where, row in lines), key=lambda version: version.round
    )


def response_name(judged: Judged) -> str:
    """The id of a response, by which people's labels know it; "" where it is not complete, and nobody was asked."""
    return rating.response_id(judged.instance, judged.response)


def open_rows(done: Sequence[Rounds], people: Labels, versions: Sequence[CriterionVersion]) -> list[WorkRow]:
    """The work list after the last round, without what somebody looked at and left as it is."""
    kept = {version.row for version in versions if version.change == "kept"}
    rows: dict[str, WorkRow] = {}
    for *_, last in done:
        named = [(judged, name, people.get(name)) for judged in last.judged for name in [response_name(judged)]]
        rows |= {row.id: row for row in worklist.rows(last.state, named, last.validation) if row.id not in kept}
    return list(rows.values())


_ROUNDS = (
    Column("round", ""),
    Column("kappa", "kappa", "score", "Cohen's kappa of judge and people, on responses that the judge decided.", "", 3,
           ("value", "interval", "n", "unscored"), drawn=True),
    Column("band", "in words", minor=2),
    Column("fp", "people FAIL, judge passes", "count"),
    Column("fn", "people PASS, judge fails", "count"),
    Column("unlabelled", "without a label", "count", minor=1),
    Column("changed", "changes", "count", "What people revised, removed and added.", minor=3),
    Column("validated", "validated", "count", "Instances that differ from the data after the round.", minor=3),
    Column("clean", "without a defect", "count", minor=3),
    Column("defects", "defects", "count", minor=3),
)  # fmt: skip


def rounds_table(done: Sequence[Rounds], people: Labels, versions: Sequence[CriterionVersion]) -> Table:
    """Agreement of judge and people after each round, and before on what the last round has; what changed in each."""
    import pandas as pd

    words = {True: "yes", False: "no", None: None}
    names = [f"after round {number}" if number else _BEFORE for number in range(len(done[0]) if done else 1)]
    rows: list[tuple[str, str, str | None, str | None]] = []  # one a round and response; clusters are the instances
    for rounds in done:
        instance = rounds[0].state.instance.id
        pairs = [[(words[people.get(response_name(j))], words[j.passed]) for j in round.judged] for round in rounds]
        rows += [(name, instance, *pair) for name, of_round in zip(names, pairs, strict=True) for pair in of_round]
        shared = zip(pairs[0], pairs[-1], strict=True)
        rows += [(_SAME, instance, *first) for first, last in shared if None not in last]
    frame = pd.DataFrame(rows, columns=["round", "cluster", "gold", "label"], dtype=object)
    visible = bool(frame["gold"].notna().any())
    decided = frame.dropna(subset=["gold", "label"])["round"].value_counts()
    if len(names) > 1 and decided.get(_SAME, 0) != decided.get(_BEFORE, 0):
        names.append(_SAME)
    frame = frame[frame["round"].isin(names)].assign(round=lambda kept: pd.Categorical(kept["round"], names))
    table = agreement(frame, ["round"], measures=("kappa",)).to_dict("records")
    table = [row | {"band": verbal_band(row["kappa"].value)} for row in table]
    for number, row in enumerate(table[1 : len(done[0])] if done else (), 1):
        validations = [validation for rounds in done if (validation := rounds[number].validation)]
        row["changed"] = sum(version.round == number and version.change != "kept" for version in versions)
        row["validated"] = len(validations)
        row["clean"] = sum(validation.label is not None and not validation.findings for validation in validations)
        row["defects"] = sum(len(validation.findings) for validation in validations)
    note = "Judge and people on complete responses; intervals are by instance."
    if len(names) > 1:
        note += (
            " The criteria were changed to agree with these very labels: kappa on other responses will be lower, and wants "
            f"labels of its own. {HISTORY} has every change."
        )
    return Table("rounds", _ROUNDS, table, "Cohen's kappa of judge and people", note, printed=visible)


class RefinementLabels(Labelling):
    """Each response as it stands after the last round, pass or fail; once something is open, the work list."""

    answers = rating.OPTIONS
    keeps_others = True  # of an earlier prompt

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.results = Results.open(place)
        self.results.check_finished()
        self.file = self.results.path / labels.FILE
        self.round = int(self.results.info[ROUND])
        self.work = worklist.questions(worklist.read(self.results.path), self.round + 1)

    def _asks_work(self, options: LabelAskOptions | LabelInOptions) -> bool:
        return isinstance(options, LabelAskOptions) and bool(self.work) and not options.unlabelled

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """A folder for each round below the sheets: a revised prompt has new responses, and work lists differ."""
        responses = f"round_{self.round}" if self.round else ""
        return self.results.path / SHEETS / (f"revisions_{self.round + 1}" if self._asks_work(options) else responses)

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """The sheets of all rounds; `take` knows those of earlier work lists."""
        return sorted({file.parent for file in (self.results.path / SHEETS).rglob("*.csv")})

    def questions(self, options: LabelAskOptions) -> list[Question]:
        """The work list where something is open on it, else all responses; with `unlabelled` those without a label."""
        if self._asks_work(options):
            return self.work
        before = labels.read_rows(self.file, self.answers) if options.unlabelled else []
        settled = {row["id"] for row in before if row["label"] is not None}
        if not (left := [question for question in self._responses() if question.id not in settled]):
            raise UserError(
                f"{self.place}: every response has a label; leave out --unlabelled to ask about all of them"
            )
        return left

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the history with what was decided about the work list; the study reads both when it
        is repeated. `value` are the rows of the labels.
        """
        notes, files = self._take_work(new)
        responses = new.part(lambda name: "-" not in name)  # which stands in the ids of work lists, before the round
        if not responses.labels and not decisions:
            return Taken([], notes=notes or ["Nothing on the work list is answered yet."], files=files)
        settled = self.settle(responses, decisions, self.file, {question.id for question in self._responses()})
        labels.write_rows(self.file, settled.rows)
        notes = [*open_notes(settled), *(notes or [f"{_AGAIN}: its work list asks why people and judge differ."])]
        table = labels.agreement_table(settled.annotations, "responses")
        return Taken(settled.rows, [table], notes=notes, files=[self.file, *files])

    def _take_work(self, answers: Annotations) -> tuple[list[str], list[str | Path]]:
        """Put what was decided into the history, in place of earlier answers to this work list; returns notes and files."""
        if not any(label for question in self.work for label in answers.labels.get(question.id, {}).values()):
            return [], []
        rows = [Record(where, row) for where, row in jsonl.read(self.results.path / DATA)]
        numbers = [record.value(NUMBERS, tuple[tuple[int, ...], ...]) for record in rows]
        states = {i.id: State(i, own) for i, own in zip(instances.of_rows(rows), numbers, strict=True)}
        file = self.results.path / HISTORY
        before = [version for version in read_history(file) if version.round <= self.round]
        new = worklist.revisions(self.work, answers, states, before, self.round + 1)
        write_whole(file, (labels.line(version.line) for version in (*before, *new)))
        return [f"Round {self.round + 1}: changes taken in: {len(new)}. {_AGAIN}."], [file]

    def _responses(self) -> list[Question]:
        return rating.questions([(item.instance, item.response) for item in self.results.judged()])
