"""The work list of validation and refinement: what is wrong with criteria and prompts, and what people make of them.

Somebody whose verdict differs from the judge's picks why (paper 000, appendix F): a criterion that is unclear or missing
lets a bad response pass, one that is too strict fails a good one. What a validator finds is no more than a proposal until
people accept it (section 3.4). What they decide are new versions of criteria and prompts; what can be read in two ways is
refused. A criterion keeps its number for life: those of the data are numbered through all turns of an instance from 1, one
that is added gets the next number, and none is used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.validator import MEANING, PROMPT_KINDS, Finding, Validation
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged, stated
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.prompts import one_line
from truebench_hf.report.labels import Annotations, Question
from truebench_hf.report.table import Column, Table
from truebench_hf.types import Criterion, Instance, Message

FILE = "worklist.jsonl"
_LISTED = 20  # rows that the terminal lists
UNCLEAR, MISSING, STRICT, ERROR, COMPOSITE = "unclear", "missing", "too strict", "error", "composite"
PROMPT, KEEP, ACCEPT, REMOVE = "prompt", "keep", "accept", "remove"  # the last in place of a new text
PASSED, FAILED = "people FAIL, the judge passes", "people PASS, the judge fails"
UNREAD = "validator: nothing could be read"
_CHANGE_BY_KIND: Mapping[str, str] = {
    "E1": ERROR, "E2": STRICT, "E3": MISSING, "composite": COMPOSITE, **dict.fromkeys(PROMPT_KINDS, PROMPT),
}  # fmt: skip


class CriterionVersion(Row):
    """One version of a criterion, or of the prompt of a turn (`criterion` None). `text` None: it was removed.

    `change` is original, revised, removed, added, or kept: then somebody looked at `row` of a work list and left all
    as it is. `of` is the number of the criterion that it was split off, and whose kind, condition and points it has.
    """

    keeps_blanks = ("text",)

    instance: str
    turn: int
    criterion: int | None = None
    version: int = 1
    text: str | None = None
    change: str = "original"
    kind: str = ""
    why: str = ""
    who: str = ""
    round: int = 0
    row: str = ""
    of: int | None = None

    @property
    def id(self) -> str:
        """What all versions of one criterion, or prompt, share."""
        return f"{self.instance}#{f'prompt {self.turn}' if self.criterion is None else self.criterion}"

    @property
    def line(self) -> dict[str, Any]:
        """The line of the history."""
        return {"id": self.id, **self.model_dump()}


@dataclass(frozen=True)
class State:
    """An instance as it stands after some rounds, with the numbers of its criteria, per turn."""

    instance: Instance
    numbers: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, instance: Instance) -> State:
        """Return the state of an instance as it stands in the data."""
        counter = count(1)
        return cls(instance, tuple(tuple(next(counter) for _ in turn.criteria) for turn in instance.turns))

    @property
    def criteria(self) -> list[tuple[int, int, Criterion]]:
        """The criteria, turn by turn: (turn from 1, number, criterion)."""
        turns = enumerate(zip(self.numbers, self.instance.turns, strict=True), 1)
        return [(place, *pair) for place, (own, turn) in turns for pair in zip(own, turn.criteria, strict=True)]

    def text(self, turn: int, number: int | None) -> str:
        """Return the text of a criterion, or of the prompt of a turn."""
        texts = {other: criterion.text for _, other, criterion in self.criteria}
        return self.instance.turns[turn - 1].prompt if number is None else texts[number]

    def originals(self) -> list[CriterionVersion]:
        """Return the first versions of prompts and criteria, where this is how the instance stands in the data."""
        places: list[tuple[int, int | None]] = [(turn, None) for turn in range(1, len(self.instance.turns) + 1)]
        places += [(turn, number) for turn, number, _ in self.criteria]
        return [
            CriterionVersion(instance=self.instance.id, turn=turn, criterion=number, text=self.text(turn, number))
            for turn, number in places
        ]

    def revised(self, versions: Iterable[CriterionVersion]) -> State:
        """Return the state after these versions, in their order. A revised criterion keeps its kind, condition and points."""
        prompts = [turn.prompt for turn in self.instance.turns]
        held = {number: (turn, criterion) for turn, number, criterion in self.criteria}
        for version in versions:
            if version.change == "kept":
                continue
            if version.criterion is None:
                prompts[version.turn - 1] = version.text or ""
            elif version.text is None:
                del held[version.criterion]
            else:
                _, earlier = held.get(version.of or version.criterion, (0, Criterion("")))
                # A rule was of the text before.
                held[version.criterion] = version.turn, replace(earlier, text=version.text, rule=None)
        by_turn = [{n: c for n, (own, c) in held.items() if own == turn} for turn in range(1, len(prompts) + 1)]
        turns = [
            replace(turn, prompt=prompt, criteria=tuple(own.values()))
            for turn, prompt, own in zip(self.instance.turns, prompts, by_turn, strict=True)
        ]
        return State(replace(self.instance, turns=tuple(turns)), tuple(map(tuple, by_turn)))


class WorkRow(Row):
    """One matter to decide. `id` names it in every round; `choices` are the answers to what is to be done about it.

    A row on a finding has its `kind`, `turn` and `criterion`, the text as it is `now`, and the `proposal` with what that
    does (`change`). Criteria have the numbers that they keep through all rounds.
    """

    id: str
    instance: str
    what: str
    conversation: str
    criteria: str
    choices: tuple[str, ...]
    model: str = ""
    reason: str = ""
    kind: str = ""
    turn: int = 1
    criterion: int | None = None
    now: str = ""
    change: str = ""
    proposal: tuple[str, ...] = ()


# A response, its id, and whether people pass it.
Labelled = tuple[Judged, str, bool | None]


def rows(state: State, responses: Sequence[Labelled], validation: Validation | None) -> Iterator[WorkRow]:
    """Yield what is open about one instance: where people and judge differ, then what the validator says."""
    prompts, listed = _of_turns(state, PROMPT), set[str]()
    for judged, name, human in responses:
        if human is None or judged.passed is None or judged.passed == human or name in listed:
            continue  # listed: another model gave the same answer
        listed.add(name)
        kind = STRICT if human else UNCLEAR
        changes = [f"criterion {number}: {kind}" for _, number, _ in state.criteria]
        verdicts, outcomes = chain.from_iterable(judged.verdicts), chain.from_iterable(judged.outcomes)
        reasons = [
            f"{number}. {verdict.reason}"
            for (_, number, _), verdict, outcome in zip(state.criteria, verdicts, outcomes, strict=True)
            if verdict.reason and (human is False or outcome != "yes")
        ]
        yield _row(
            state, ("response", state.instance.id, name, human), judged, model=judged.response.model,
            what=FAILED if human else PASSED, reason="\n".join(reasons),
            choices=(*changes, *([] if human else _of_turns(state, MISSING)), *prompts, KEEP),
        )  # fmt: skip
    for finding in validation.findings if validation else ():
        yield finding_row(state, finding)
    if validation and validation.label is None:
        about = ("unread", canonical(asdict(state.instance)))
        yield _row(state, about, what=UNREAD, reason=validation.problem, choices=(*prompts, KEEP))


def finding_row(state: State, finding: Finding, *, only_accept: bool = False) -> WorkRow:
    """Return the row for a finding; with `only_accept` there is no choice beside taking the proposal or leaving it."""
    turn = finding.turn
    number = None if finding.criterion is None else state.numbers[turn - 1][finding.criterion - 1]
    change = _CHANGE_BY_KIND[finding.kind]
    now = "" if change == MISSING else state.text(turn, number)
    other = f"turn {turn}: {change}" if number is None else f"criterion {number}: {change}"
    choices = (ACCEPT, KEEP) if only_accept else (ACCEPT, other, f"turn {turn}: {PROMPT}", KEEP)
    proposal = finding.proposal if number is None else (now,)
    about: tuple[object, ...] = ("finding", state.instance.id, finding.kind, turn, number, proposal)
    if only_accept:  # an answer to another proposal, or about other texts, is none to this one
        about = (*about, asdict(finding), asdict(state.instance))
    return _row(
        state, about, what=f"validator: {MEANING[finding.kind]}", choices=choices, reason=finding.reason, turn=turn,
        kind=finding.kind, criterion=number, now=now, change=finding.change, proposal=finding.proposal,
    )  # fmt: skip


def _row(state: State, about: object, judged: Judged | None = None, **fields: Any) -> WorkRow:
    """Return a row, whose id follows from what it is about: with a letter, so that no spreadsheet program takes it for a number."""
    messages = judged.response.messages if judged else [Message("user", turn.prompt) for turn in state.instance.turns]
    return WorkRow(
        id=f"r{digest(canonical(about))[:10]}", instance=state.instance.id, criteria=_criteria(state, judged),
        conversation="\n\n".join(f"[{message.role}]\n{message.content}" for message in messages), **fields,
    )  # fmt: skip


def _of_turns(state: State, kind: str) -> list[str]:
    return [f"turn {turn}: {kind}" for turn in range(1, len(state.instance.turns) + 1)]


def _criteria(state: State, judged: Judged | None) -> str:
    """Return the criteria by their numbers, as the judge reads them, with its verdict on each."""
    verdicts = [verdict for turn in judged.verdicts for verdict in turn] if judged else [None] * len(state.criteria)
    lines: list[str] = []
    for (turn, number, criterion), verdict in zip(state.criteria, verdicts, strict=True):
        lines += [f"Turn {turn}"] if len(state.instance.turns) > 1 and f"Turn {turn}" not in lines else []
        marks = [str(verdict.label or "not judged")] if verdict else []
        marks += [] if criterion.weight == 1 else [f"{criterion.weight:g} points"]
        lines.append(f"{number}. {stated(criterion)}" + (f" [{', '.join(marks)}]" if marks else ""))
    return "\n".join(lines)


_ACCEPT = "Is this change to be made? accept takes the proposal, keep leaves all as it is."
_DO = (
    "What is to be done? A criterion may be unclear, too strict, wrong (error) or several in one (composite), one may be "
    "missing, or the prompt may be at fault; keep leaves all as it is, and accept takes the proposal. With all others write "
    "into the note the new text of the criterion (in place of it the word remove takes it away, several lines split one that "
    "is composite), of the one that is missing, or of the prompt."
)


def questions(listed: Sequence[WorkRow], round: int | None = None) -> list[Question]:
    """Return the work list as people are asked it: in a `round` what is to be done, else whether proposals are taken."""
    sheet = []
    for row in listed:
        place = f", turn {row.turn}" + (f", criterion {row.criterion}" if row.criterion else "") if row.kind else ""
        texts = {
            "What": f"{row.what}{place}; instance {row.instance}" + (f", {row.model}" if row.model else ""),
            "Conversation": row.conversation, "Criteria": row.criteria, "Reason": row.reason, "Now": row.now,
            "Proposal": "\n".join(row.proposal) or ("remove" if ACCEPT in row.choices else ""),
        }  # fmt: skip
        material = {title: text for title, text in texts.items() if text}
        name, question = (row.id, _ACCEPT) if round is None else (f"{row.id}-{round}", _DO)
        sheet.append(Question(name, question, material, row.choices, blind=row))
    return sheet


def table(rows: Sequence[WorkRow], name: str, title: str) -> Table:
    """Return the work list as reports show it; the terminal leaves out one that is long."""
    columns = (
        Column("instance", "instance"), *([Column("model", "model")] if any(row.model for row in rows) else []),
        Column("what", "what"), Column("turn", "turn", "count", minor=1), Column("criterion", "criterion", "count"),
        Column("reason", "why", "prose"), Column("change", "change"), Column("proposal", "proposal", "prose"),
    )  # fmt: skip
    lines = [row.model_dump() | {"proposal": " / ".join(row.proposal)} for row in rows]
    return Table(name, columns, lines, f"{title}: {len(rows)}", printed=len(rows) <= _LISTED)


def read(folder: Path) -> list[WorkRow]:
    """Return the work list of a folder. Raises UserError where none was written yet, and on a line that is no row."""
    if not (folder / FILE).is_file():
        raise UserError(f"{folder}: is not finished; repeat the command of the study first")
    return [Record(where, row).read(WorkRow) for where, row in jsonl.read(folder / FILE)]


def revisions(
    work: Sequence[Question], answers: Annotations, states: Mapping[str, State], before: Sequence[CriterionVersion], round: int
) -> list[CriterionVersion]:  # fmt: skip
    """Return the versions that the answers to a work list ask for; what is decided twice alike counts once.

    `states` are the instances as they stand, `before` all their versions so far. Raises UserError on an answer that says
    too little, or contradicts another.
    """
    claims: dict[object, tuple[object, CriterionVersion]] = {}
    versions = list(before)
    for draft in _drafts(work, answers, states):
        kept, added = draft.change == "kept", draft.change == "added"
        about = (draft.instance, draft.turn, draft.criterion, added and draft.text, kept and draft.row)
        for key, claim in ((draft.row, kept), (about, draft.text)):
            earlier, other = claims.setdefault(key, (claim, draft))
            if earlier != claim:
                raise UserError(f"{_place(draft)}: is answered otherwise by {_place(other)}; agree on one answer")
        if other is not draft:
            continue
        own = [version for version in versions if version.instance == draft.instance]
        number = 1 + max((version.criterion or 0 for version in own), default=0) if added else draft.criterion
        new = draft.model_copy(update={"criterion": number, "round": round})
        changes = sum(version.id == new.id and version.change != "kept" for version in own) + (not kept)
        versions.append(new.model_copy(update={"version": changes}))
    new_versions = versions[len(before) :]
    for name in dict.fromkeys(version.instance for version in new_versions):
        now = states[name].revised(version for version in new_versions if version.instance == name)
        if not now.criteria:
            raise UserError(f"nothing is left of the criteria of instance {name}; keep or add one")
        if _doubles(now) > _doubles(states[name]):
            raise UserError(f"a criterion would stand twice in instance {name}; remove one of the two")
    return new_versions


def _place(draft: CriterionVersion) -> str:
    return f"{draft.who} on row {draft.row} of instance {draft.instance}"


def _doubles(state: State) -> int:
    """Return how many criteria stand in their turn already, as a judge reads them."""
    return len(state.criteria) - len({(turn, one_line(criterion)) for turn, _, criterion in state.criteria})


def _drafts(work: Sequence[Question], answers: Annotations, states: Mapping[str, State]) -> Iterator[CriterionVersion]:
    """Yield a version for each change that annotators decide, without its number where the criterion is added."""
    for question in work:
        row: WorkRow = question.blind
        for who, choice in answers.labels.get(question.id, {}).items():
            if choice is None:
                continue
            draft = CriterionVersion(instance=row.instance, turn=row.turn, who=who, row=row.id)
            note = answers.notes.get((question.id, who), "").replace("\r\n", "\n").strip()
            try:
                changes = _changes(row, choice, note, states[row.instance])
            except ValueError as error:
                raise UserError(f"{_place(draft)}: {error}") from error
            yield from (draft.model_copy(update=change) for change in changes)


def _changes(row: WorkRow, choice: str, text: str, now: State) -> list[dict[str, Any]]:
    """Return the changes that a choice and the text beside it ask for, as fields of versions. Raises ValueError."""
    number, turn, why = row.criterion, row.turn, text if choice in (KEEP, ACCEPT) else ""
    if choice == KEEP:
        return [{"criterion": number, "text": now.text(turn, number), "change": "kept", "kind": KEEP, "why": why}]
    if choice == ACCEPT:
        kind, texts = _CHANGE_BY_KIND[row.kind], row.proposal
    else:
        place, _, kind = choice.partition(": ")
        what, named = place.split()[0], int(place.split()[1])
        number = named if what == "criterion" else None
        turn = next((place for place, other, _ in now.criteria if other == number), named)
        texts = _new_texts(choice, kind, number, text)
    about = {"turn": turn, "kind": kind, "why": why}
    if number is None and kind != PROMPT:
        return [about | {"text": new, "change": "added"} for new in texts]
    first = about | {"criterion": number, "text": next(iter(texts), None), "change": "revised" if texts else "removed"}
    return [first] + [about | {"text": new, "change": "added", "of": number} for new in texts[1:]]


def _new_texts(choice: str, kind: str, number: int | None, text: str) -> tuple[str, ...]:
    """Return what comes in the place of a criterion or prompt: of a composite a text a line, () where it is removed."""
    removes = text.casefold() == REMOVE
    if not text or (removes and number is None):
        raise ValueError(
            f"{choice}, and no new text in the note" + ("" if number is None else f" (or the word {REMOVE})")
        )
    if kind != COMPOSITE or removes:
        return () if removes else (text,)
    return tuple(line.strip() for line in text.splitlines() if line.strip())
