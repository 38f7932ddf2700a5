"""The work list of validation and refinement: what is wrong with criteria and prompts, for people to decide about.

Somebody whose verdict differs from the judge's picks why (paper 000, appendix F): a criterion that is unclear or missing
lets a bad response pass, one that is too strict fails a good one. And what a validator finds is no more than a proposal
until people accept it (section 3.4). What they decide are new versions of criteria and prompts (`revisions`); what can
be read in two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.truebench.history import CriterionVersion, State, revised
from truebench_hf.benchmarks.truebench.validator import MEANING, PROMPT_KINDS, Finding, Kind, Validation
from truebench_hf.data import jsonl
from truebench_hf.data.judged import NOTES, Judged, stated
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import one_line
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question

FILE = "worklist.jsonl"
UNCLEAR, MISSING, STRICT, ERROR, COMPOSITE = "unclear", "missing", "too strict", "error", "composite"
PROMPT, KEEP, ACCEPT = "prompt", "keep", "accept"
PASSED, FAILED = "people FAIL, the judge passes", "people PASS, the judge fails"
UNREAD = "validator: nothing could be read"
_CHANGE_BY_KIND: Mapping[Kind, str] = {
    "E1": ERROR, "E2": STRICT, "E3": MISSING, "composite": COMPOSITE, **dict.fromkeys(PROMPT_KINDS, PROMPT),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One matter to decide. `id` names it in every round; `choices` are the answers to what is to be done about it.

    A row on a finding has its `kind`, `turn` and `criterion`, the text as it is `now`, and the `proposal` with what that
    does (`change`). Criteria have the numbers that they keep through all rounds.
    """

    id: str
    instance: str
    model: str
    what: str
    conversation: str
    criteria: str
    reason: str
    choices: tuple[str, ...]
    kind: Kind | str = ""
    turn: int = 1
    criterion: int | None = None
    now: str = ""
    change: str = ""
    proposal: tuple[str, ...] = ()


# A response, its id, and whether people pass it.
Labelled = tuple[Judged, str, bool | None]


def rows(state: State, responses: Sequence[Labelled], validation: Validation | None) -> Iterator[WorkRow]:
    """Yield what is open about one instance: where people and judge differ, then what the validator says."""
    instance = state.instance
    by_id: dict[str, WorkRow] = {}
    for judged, name, human in responses:
        if human is None or judged.passed is None or judged.passed == human:
            continue
        row, model = _id("response", instance.id, name, human), judged.response.model
        if row in by_id:  # of a model that gave the same answer
            if model not in by_id[row].model.split(", "):
                by_id[row] = replace(by_id[row], model=f"{by_id[row].model}, {model}")
            continue
        reasons = [
            f"{number}. {verdict.reason}"
            for numbers, verdicts, outcomes in zip(state.numbers, judged.verdicts, judged.outcomes, strict=True)
            for number, verdict, outcome in zip(numbers, verdicts, outcomes, strict=True)
            if verdict.reason and (human is False or outcome != "yes")
        ]
        kind = STRICT if human else UNCLEAR
        changes = [f"criterion {number}: {kind}" for numbers in state.numbers for number in numbers]
        changes += [] if human else _of_turns(state, MISSING)
        by_id[row] = WorkRow(
            row, instance.id, model, FAILED if human else PASSED, _conversation(state, judged),
            _criteria(state, judged), "\n".join(reasons), (*changes, *_of_turns(state, PROMPT), KEEP),
        )  # fmt: skip
    yield from by_id.values()
    for finding in validation.findings if validation else ():
        yield finding_row(state, finding)
    if validation and validation.label is None:
        yield WorkRow(
            _id("unread", canonical(asdict(instance))), instance.id, "", UNREAD, _conversation(state), _criteria(state),
            validation.problem, (*_of_turns(state, PROMPT), KEEP),
        )  # fmt: skip


def finding_row(state: State, finding: Finding, *, only_accept: bool = False) -> WorkRow:
    """Return the row for a finding; with `only_accept` there is no choice beside taking the proposal or leaving it."""
    numbers = state.numbers[finding.turn - 1]
    number = None if finding.criterion is None else numbers[finding.criterion - 1]
    change = _CHANGE_BY_KIND[finding.kind]
    now = state.instance.turns[finding.turn - 1].prompt if change == PROMPT else ""
    now = now if number is None else state.criterion(number).text
    other = f"turn {finding.turn}: {MISSING}" if number is None else f"criterion {number}: {change}"
    choices = (ACCEPT, KEEP) if only_accept else (ACCEPT, other, f"turn {finding.turn}: {PROMPT}", KEEP)
    about: tuple[object, ...] = (finding.kind, finding.turn, number, finding.proposal if number is None else (now,))
    if only_accept:  # an answer to another proposal, or about other texts, is none to this one
        about = (*about, asdict(finding), asdict(state.instance))
    return WorkRow(
        _id("finding", state.instance.id, *about), state.instance.id, "", f"validator: {MEANING[finding.kind]}",
        _conversation(state), _criteria(state), finding.reason, choices, finding.kind, finding.turn, number, now,
        finding.change, finding.proposal,
    )  # fmt: skip


def _of_turns(state: State, kind: str) -> list[str]:
    return [f"turn {turn}: {kind}" for turn in range(1, len(state.numbers) + 1)]


def _id(*parts: object) -> str:
    """An id with a letter, so that no spreadsheet program takes 12e34567 for a number."""
    return f"r{digest(canonical(parts))[:10]}"


def _conversation(state: State, judged: Judged | None = None) -> str:
    if judged is None:
        return "\n\n".join(f"[user]\n{turn.prompt}" for turn in state.instance.turns)
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in judged.response.messages)


def _criteria(state: State, judged: Judged | None = None) -> str:
    """The criteria by their numbers, as the judge reads them, with its verdict on each."""
    lines: list[str] = []
    for place, (turn, numbers) in enumerate(zip(state.instance.turns, state.numbers, strict=True)):
        lines += [f"Turn {place + 1}"] if len(state.numbers) > 1 else []
        verdicts = judged.verdicts[place] if judged else [None] * len(numbers)
        for number, criterion, verdict in zip(numbers, turn.criteria, verdicts, strict=True):
            marks: list[str] = [verdict.label or "not judged"] if verdict else []
            marks += [] if criterion.weight == 1 else [f"{criterion.weight:g} points"]
            lines.append(f"{number}. {stated(criterion)}" + (f" [{', '.join(marks)}]" if marks else ""))
    return "\n".join(lines)


_DO = (
    "What is to be done? A criterion may be unclear, too strict, wrong (error) or several in one (composite), one may be "
    "missing, or the prompt may be at fault; keep leaves all as it is, and accept takes the proposal."
)
_ACCEPT = "Is this change to be made? accept takes the proposal, keep leaves all as it is."
_TEXT = (
    "The new text of the criterion (in place of it the word remove takes it away, several lines split one that is "
    "composite), of the one that is missing, or of the prompt; nothing to keep or accept."
)


def questions(listed: Sequence[WorkRow], round: int | None = None) -> list[Question]:
    """Return the work list as people are asked it: of each row what is to be done, and in a `round` the new text, too."""
    sheet = []
    for row in listed:
        place = f", turn {row.turn}" + (f", criterion {row.criterion}" if row.criterion else "") if row.kind else ""
        texts = {
            "What": f"{row.what}{place}; instance {row.instance}" + (f", {row.model}" if row.model else ""),
            "Conversation": row.conversation, "Criteria": row.criteria, "Reason": row.reason, "Now": row.now,
            "Proposal": "\n".join(row.proposal) or ("remove" if ACCEPT in row.choices else ""),
        }  # fmt: skip
        material = {title: text for title, text in texts.items() if text}
        if round is None:
            sheet.append(Question(row.id, _ACCEPT, material, row.choices, blind=row))
            continue
        name, settling = f"{row.id}-{round}", (KEEP, ACCEPT)
        sheet += [
            Question(f"{name}-do", _DO, material, row.choices, group=name, settles=settling, blind=row),
            Question(f"{name}-text", _TEXT, material, (), group=name, settles=settling, blind=row),
        ]
    return sheet


def read(folder: Path) -> list[WorkRow]:
    """Return the work list of a folder. Raises UserError where none was written yet, and on a line that is no row."""
    again = "repeat the command of the study"
    if not (folder / FILE).is_file():
        raise UserError(f"{folder}: is not finished; {again} first")
    listed = []
    for where, row in jsonl.read(folder / FILE):
        try:
            listed.append(WorkRow(**{**row, "choices": tuple(row["choices"]), "proposal": tuple(row["proposal"])}))
        except (TypeError, KeyError) as error:
            raise UserError(f"{where}: no row of a work list ({error}); {again}") from error
    return listed


REMOVE = "remove"  # in place of a new text


@dataclass(frozen=True, slots=True)
class WorkDecision:
    """What one annotator decides about a row of the work list: one of its choices, and the new text."""

    row: WorkRow
    who: str
    choice: str
    text: str
    why: str

    def wrong(self, problem: str) -> UserError:
        """Return an error about this decision."""
        return UserError(f"{self}: {problem}")

    def __str__(self) -> str:
        return f"{self.who} on row {self.row.id} of instance {self.row.instance}"


def decisions(work: Sequence[Question], answers: Annotations) -> list[WorkDecision]:
    """Return what annotators decided, from their answers to the questions of a work list."""
    decided = []
    for do, text in zip(work[::2], work[1::2], strict=True):
        for who in answers.annotators:
            choice, new = (answers.labels.get(question.id, {}).get(who) or "" for question in (do, text))
            why = answers.notes.get((do.id, who)) or answers.notes.get((text.id, who), "")
            if choice or new:
                decided.append(WorkDecision(do.blind, who, choice, new.replace("\r\n", "\n").strip(), why))
    return decided


def source(decided: Sequence[WorkDecision]) -> str:
    """Return a hash of decisions, by which those that were taken in already are known."""
    return digest(canonical([[d.row.id, d.who, d.choice, d.text, d.why] for d in decided]))[:16]


def revisions(
    decided: Sequence[WorkDecision], states: Mapping[str, State], before: Sequence[CriterionVersion], round: int
) -> list[CriterionVersion]:
    """Return the versions that decisions ask for. Raises UserError on one that says too little, or contradicts another.

    `states` are the instances as they stand, `before` all their versions so far. What is decided twice alike counts once.
    """
    new: list[CriterionVersion] = []
    origin = source(decided)
    texts: dict[tuple[object, ...], tuple[str | None, WorkDecision]] = {}
    keepers: dict[str, tuple[bool, WorkDecision]] = {}  # by row: whether it is kept, and who says so
    changes = ((decision, c) for decision in decided for c in _changes(decision, states[decision.row.instance]))
    for decision, (turn, number, text, change, kind) in changes:
        row, of, added = decision.row, None, change == "added"
        kept, other = keepers.setdefault(row.id, (change == "kept", decision))
        if kept != (change == "kept"):
            raise decision.wrong(f"is answered otherwise by {other.who}; keep, or change something")
        if added:
            number, of = None, number
        about = (row.instance, turn, number, *([text] if added else [row.id] if kept else []))
        earlier, other = texts.setdefault(about, (text, decision))
        if earlier != text:
            what = f"the prompt of turn {turn}" if number is None else f"criterion {number}"
            raise decision.wrong(f"{what} is changed otherwise by {other}")
        if other is not decision:
            continue
        versions = [version for version in (*before, *new) if version.instance == row.instance]
        if added:
            number = 1 + max((version.criterion or 0 for version in versions), default=0)
        name = CriterionVersion(row.instance, turn, number, 0, None).id
        count = sum(version.id == name and version.change != "kept" for version in versions) + (not kept)
        new.append(CriterionVersion(
            row.instance, turn, number, count, text, change, kind, decision.why, decision.who, round, row.id, origin, of
        ))  # fmt: skip
    _check_left(states, new)
    return new


def _check_left(states: Mapping[str, State], new: Sequence[CriterionVersion]) -> None:
    """Raise UserError where new versions leave an instance without any criterion, or make two criteria of a turn one."""
    for name in dict.fromkeys(version.instance for version in new):
        own = [version for version in new if version.instance == name]
        now = revised(states[name], own)
        if not any(now.numbers):
            raise UserError(f"nothing is left of the criteria of instance {name}; keep or add one")
        changed = {version.criterion for version in own if version.change in ("added", "revised")}
        for numbers in now.numbers:
            texts = {number: one_line(now.criterion(number)) for number in numbers}
            for number in [number for number in numbers if number in changed]:
                if same := [other for other in numbers if other != number and texts[other] == texts[number]]:
                    raise UserError(
                        f"{texts[number]!r:.60} would stand twice in instance {name}, as in its criterion {same[0]}; "
                        "remove one of the two"
                    )


# Turn, criterion (or the one it is split off), text, what becomes of it (as `Version.change`), and why (`Version.kind`).
Change = tuple[int, int | None, str | None, str, str]
# What stands around a criterion in the list that people copy it from: its number, notes on it, label and points.
_COPIED = re.compile(
    r"^[0-9]+\. | \[(?:yes|no|unknown|not judged)?(?:, )?(?:[-+.e0-9]+ points)?\]$|" + "|".join(map(re.escape, NOTES)),
    re.MULTILINE,
)


def _changes(decision: WorkDecision, now: State) -> list[Change]:
    """Return what a decision changes: a criterion is revised, split or removed, one is added, or a prompt is revised."""
    row, text = decision.row, decision.text
    if not decision.choice:
        raise decision.wrong("a new text, and no answer to what is to be done")
    if decision.choice in (KEEP, ACCEPT):
        if text:
            raise decision.wrong(f"a new text, and the answer is {decision.choice}; leave out one")
        if decision.choice == ACCEPT:
            accepted = _CHANGE_BY_KIND[row.kind]  # type: ignore[index]
            return list(_of_criterion(decision, accepted, row.turn, row.criterion, row.proposal, now))
        number = row.criterion
        as_it_is = now.instance.turns[row.turn - 1].prompt if number is None else now.criterion(number).text
        return [(row.turn, row.criterion, as_it_is, "kept", KEEP)]
    place, _, kind = decision.choice.partition(": ")
    what, number = place.split()[0], int(place.split()[1])
    turn = number if what == "turn" else now.turn_of(number) or 0
    if not text:
        raise decision.wrong(
            f"{decision.choice}, and no new text" + ("" if what == "turn" else f" (or the word {REMOVE})")
        )
    if kind == PROMPT:
        if text == now.instance.turns[turn - 1].prompt.strip():
            raise decision.wrong("the new text is the prompt as it is")
        return [(turn, None, text, "revised", kind)]
    own = [criterion.text for of_turn in now.instance.turns for criterion in of_turn.criteria]
    if (copied := _COPIED.search(text)) and not any(
        map(_COPIED.search, own)
    ):  # criteria may have the like of their own
        raise decision.wrong(f"the new text holds {copied[0].strip()!r} of the list of criteria; leave that out")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    texts = [] if text.casefold() == REMOVE else lines if kind == COMPOSITE else [text]
    return list(_of_criterion(decision, kind, turn, None if what == "turn" else number, texts, now))


def _of_criterion(
    decision: WorkDecision, kind: str, turn: int, number: int | None, texts: Sequence[str], now: State
) -> Iterator[Change]:
    if kind == MISSING or number is None:
        if not texts:
            raise decision.wrong("adds nothing")
        yield from ((turn, None, text, "added", kind) for text in texts)
        return
    if not texts:
        yield turn, number, None, "removed", kind
        return
    if len(texts) == 1 and texts[0] in (now.criterion(number).text.strip(), stated(now.criterion(number)).strip()):
        raise decision.wrong(f"the new text is criterion {number} as it is")
    yield turn, number, texts[0], "revised", kind
    yield from ((turn, number, text, "added", kind) for text in texts[1:])
