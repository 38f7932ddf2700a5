"""How far judge and people agree in each round, and the work list: what they disagree on, and what the validator finds.

Somebody whose verdict differs from the judge's picks why (paper 000, appendix F): a criterion that is unclear or missing
lets a bad response pass, one that is too strict fails a good one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types.people import response_id
from truebench_hf.benchmarks.truebench.refinement.history import State, Version
from truebench_hf.benchmarks.truebench.validation.validator import MEANING, Finding, Kind, Validation
from truebench_hf.data import jsonl
from truebench_hf.data.case import stated
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.kappa import cohen_kappa, kappa_interval
from truebench_hf.report.sections import Cells, Grid, Section, fixed
from truebench_hf.report.sheets import Question

Labels = Mapping[str, bool | None]  # by response id: whether people pass it


@dataclass(frozen=True, slots=True)
class Round:
    """An instance after some round: its responses judged, and, where it was changed, what the validator says."""

    state: State
    judged: tuple[Judged, ...]
    validation: Validation | None


Done = tuple[Round, ...]  # an instance before any round, and after each


def name(judged: Judged) -> str:
    """The id of a response, by which people's labels know it; "" where it is not whole, and nobody was asked."""
    whole = judged.response.error is None and len(judged.response.answers) == len(judged.instance.turns)
    return response_id(judged.instance, judged.response) if whole else ""


def open_rows(done: Sequence[Done], labels: Labels, revisions: Sequence[Version]) -> list[WorkRow]:
    """The work list after the last round, without what somebody looked at and left as it is."""
    kept = {one.row for one in revisions if one.change == "kept"}
    found = [
        row
        for one in done
        for row in rows(one[-1].state, [(j, name(j), labels.get(name(j))) for j in one[-1].judged], one[-1].validation)
    ]
    return [row for row in {row.id: row for row in found}.values() if row.id not in kept]


def scores(
    done: Sequence[Done], labels: Labels, revisions: Sequence[Version], listed: Sequence[WorkRow]
) -> dict[str, Any]:
    """The content of `refinement.json`. Kappas are of labelled responses that the judge decided."""
    rounds = len(done[0]) if done else 1
    last = [_compared(one[-1], labels) for one in done]
    both = [
        [pair for pair, after in zip(_compared(one[0], labels), pairs, strict=True) if None not in after[:2]]
        for one, pairs in zip(done, last, strict=True)
    ]
    open_ = Counter(row.what for row in listed)
    return {
        "instances": len(done),
        "responses": sum(len(one[0].judged) for one in done),
        "labelled": sum(labels.get(name(judged)) is not None for one in done for judged in one[0].judged),
        "rounds": [_round(number, done, labels, revisions) for number in range(rounds)],
        "before_on_the_same": _agreement([pair for pairs in both for pair in pairs]),
        "open": dict(open_),
        "clean": not listed and any(label is not None for label in labels.values()),
    }


def _compared(one: Round, labels: Labels) -> list[tuple[bool | None, bool | None, str]]:
    """(people, judge, instance) of every response."""
    return [(labels.get(name(judged)), judged.passed, judged.instance.id) for judged in one.judged]


def _agreement(pairs: Sequence[tuple[bool | None, bool | None, str]]) -> dict[str, Any]:
    human, judge = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = cohen_kappa(human, judge)
    labelled = [pair for pair in pairs if pair[0] is not None]
    return {
        "n": found.n,
        "kappa": found.value,
        "band": found.band,
        "ci95": kappa_interval(human, judge, [pair[2] for pair in pairs]),
        "people_fail_judge_passes": sum(pair[:2] == (False, True) for pair in labelled),
        "people_pass_judge_fails": sum(pair[:2] == (True, False) for pair in labelled),
        "not_judged": sum(pair[1] is None for pair in labelled),
        "not_labelled": len(pairs) - len(labelled),
    }


def _round(number: int, done: Sequence[Done], labels: Labels, revisions: Sequence[Version]) -> dict[str, Any]:
    agreement = _agreement([pair for one in done for pair in _compared(one[number], labels)])
    validated = [one[number].validation for one in done]
    found = [one for one in validated if one]
    mine = [one for one in revisions if one.round == number]
    changes = Counter("prompts" if one.criterion is None and one.change != "kept" else one.change for one in mine)
    return {"round": number} | agreement | {
        "changes": {kind: changes[kind] for kind in ("revised", "removed", "added", "prompts", "kept")},
        "kinds": dict(Counter(one.kind for one in mine)),
        "validated": len(found),
        "validated_clean": sum(one.label is not None and not one.findings for one in found),
        "validation_undecided": sum(one.label is None for one in found),
        "findings": dict(Counter(finding.kind for one in found for finding in one.findings)),
    }  # fmt: skip


_SHOWN = 20  # rows of the work list
_Found = Mapping[str, Any]


def sections(result: _Found, listed: Sequence[WorkRow]) -> list[Section]:
    """Kappa by round; what was changed and found; what is open."""
    shown: list[Section] = [_agreement_grid(result)] if result["labelled"] else []
    if len(result["rounds"]) > 1:
        shown += [_changes(result["rounds"][1:]), _validated(result["rounds"][1:])]
    return [*shown, *([_open(listed)] if listed else [])]


def _agreement_grid(result: _Found) -> Grid:
    rows = [_line(f"after round {one['round']}" if one["round"] else "before", one) for one in result["rounds"]]
    same, first, last = result["before_on_the_same"], result["rounds"][0], result["rounds"][-1]
    if len(rows) > 1 and same["n"] != first["n"]:
        rows.append(_line("before, on what the last round has", same))
    note = "Judge and people on whole responses; intervals are by instance."
    if len(rows) > 1:
        note += (
            " The criteria were changed to agree with these very labels: kappa on other responses will be lower, and wants labels "
            "of its own."
        )
    if last["not_judged"] or last["not_labelled"]:
        note += (
            f" After the last round {last['not_judged']} labelled responses are not judged, and {last['not_labelled']} have no "
            "label; neither counts."
        )
    header = (
        "", "responses", "people FAIL, judge passes", "people PASS, judge fails", "kappa", "95 % interval", "in words",
    )  # fmt: skip
    return Grid("Cohen's kappa of judge and people", header, tuple(rows), note=note)


def _line(named: str, one: _Found) -> Cells:
    ends = "" if one["ci95"] is None else f"{one['ci95'][0]:.2f} to {one['ci95'][1]:.2f}"
    wrong = (one["people_fail_judge_passes"], one["people_pass_judge_fails"])
    return (named, one["n"], *wrong, fixed(one["kappa"], 3), ends, one["band"] or "-")


def _changes(rounds: Sequence[_Found]) -> Grid:
    names = tuple(rounds[0]["changes"])
    rows = tuple((one["round"], *(one["changes"][name] for name in names)) for one in rounds)
    note = "Criteria, but for prompts. Kept: looked at, and left as it is."
    return Grid("What people changed", ("round", *names), rows, note=note)


def _validated(rounds: Sequence[_Found]) -> Grid:
    rows = tuple(
        (
            one["round"], one["validated"], one["validated_clean"], one["validation_undecided"],
            ", ".join(f"{kind} {count}" for kind, count in one["findings"].items()) or "none",
        )
        for one in rounds
    )  # fmt: skip
    header = ("round", "changed instances", "clean", "undecided", "findings")
    note = "Every instance that differs from the data, as it stands after the round. The findings are on the work list."
    return Grid("What the validator says of changed instances", header, rows, note=note)


def _open(listed: Sequence[WorkRow]) -> Grid:
    rows = tuple((row.instance, row.model or "-", row.what, " | ".join(row.choices)) for row in listed[:_SHOWN])
    note = f"And {len(listed) - _SHOWN} more." if len(listed) > _SHOWN else ""
    return Grid(f"Open on the work list: {len(listed)}", ("instance", "model", "what", "choices"), rows, note=note)


FILE = "worklist.jsonl"
UNCLEAR, MISSING, STRICT, ERROR, COMPOSITE = "unclear", "missing", "too strict", "error", "composite"
PROMPT, KEEP, ACCEPT = "prompt", "keep", "accept"
PASSED, FAILED = "people FAIL, the judge passes", "people PASS, the judge fails"
UNREAD = "validator: nothing could be read"
_OF_FINDING: dict[Kind, str] = {"E1": ERROR, "E2": STRICT, "E3": MISSING, "composite": COMPOSITE}


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One matter to decide. `id` names it in every round; `choices` are the answers to what is to be done about it.

    `accepted` is the kind of change that `proposal`, what the validator wants, makes at `turn` and `criterion`.
    """

    id: str
    instance: str
    model: str
    what: str
    conversation: str
    criteria: str
    reason: str
    choices: tuple[str, ...]
    turn: int = 1
    criterion: int | None = None
    accepted: str = ""
    proposal: tuple[str, ...] = ()


def rows(
    state: State, answered: Sequence[tuple[Judged, str, bool | None]], validation: Validation | None
) -> Iterator[WorkRow]:
    """Yield what is open about one instance: responses, each with its id and whether people pass it; then findings."""
    by_id: dict[str, WorkRow] = {}
    for judged, name, human in answered:
        if human is None or judged.passed is None or judged.passed == human:
            continue
        row = _disagreement(state, judged, name, human)
        known = by_id.get(row.id)  # models that give the same answer
        if known is None:
            by_id[row.id] = row
        elif row.model not in known.model.split(", "):
            by_id[row.id] = replace(known, model=f"{known.model}, {row.model}")
    yield from by_id.values()
    for finding in validation.findings if validation else ():
        yield _finding(state, finding)
    if validation and validation.label is None:
        yield WorkRow(
            _id("unread", canonical(asdict(state.instance))), state.instance.id, "", UNREAD, _conversation(state),
            _criteria(state), validation.problem, (*_prompts(state), KEEP),
        )  # fmt: skip


def _disagreement(state: State, judged: Judged, name: str, human: bool) -> WorkRow:
    reasons = [
        f"{number}. {verdict.reason}"
        for numbers, verdicts, counted in zip(state.numbers, judged.verdicts, judged.outcomes, strict=True)
        for number, verdict, outcome in zip(numbers, verdicts, counted, strict=True)
        if verdict.reason and (human is False or outcome != "yes")
    ]
    changes = _about(state, STRICT) if human else [*_about(state, UNCLEAR), *_missing(state)]
    return WorkRow(
        _id("response", state.instance.id, name, human), state.instance.id, judged.response.model,
        FAILED if human else PASSED, _conversation(state, judged), _criteria(state, judged), "\n".join(reasons),
        (*changes, *_prompts(state), KEEP),
    )  # fmt: skip


def _finding(state: State, finding: Finding) -> WorkRow:
    numbers = state.numbers[finding.turn - 1]
    number = None if finding.criterion is None else numbers[finding.criterion - 1]
    about = finding.proposal if number is None else (state.text_of(number),)
    kind = _OF_FINDING[finding.kind]
    change = _missing(state)[finding.turn - 1] if number is None else _criterion_is(number, kind)
    return WorkRow(
        _id("finding", state.instance.id, finding.kind, finding.turn, number, about), state.instance.id, "",
        f"validator: {MEANING[finding.kind]}", _conversation(state), _criteria(state), finding.reason,
        (ACCEPT, change, _prompts(state)[finding.turn - 1], KEEP), finding.turn, number, kind, finding.proposal,
    )  # fmt: skip


def _criterion_is(number: int, kind: str) -> str:
    return f"criterion {number}: {kind}"


def _about(state: State, kind: str) -> list[str]:
    return [_criterion_is(number, kind) for numbers in state.numbers for number in numbers]


def _missing(state: State) -> list[str]:
    return [f"turn {turn}: {MISSING}" for turn in range(1, len(state.numbers) + 1)]


def _prompts(state: State) -> list[str]:
    return [f"turn {turn}: {PROMPT}" for turn in range(1, len(state.numbers) + 1)]


def _id(*parts: object) -> str:
    return (
        f"r{digest(canonical(parts))[:10]}"  # with a letter, so that no spreadsheet program takes 12e34567 for a number
    )


def _conversation(state: State, judged: Judged | None = None) -> str:
    if judged is None:
        return "\n\n".join(f"[user]\n{turn.prompt}" for turn in state.instance.turns)
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in judged.response.messages)


def _criteria(state: State, judged: Judged | None = None) -> str:
    """The criteria by their numbers, as the judge reads them, with what it says of each."""
    said: list[str] = []
    for turn, (one, numbers) in enumerate(zip(state.instance.turns, state.numbers, strict=True), 1):
        said += [f"Turn {turn}"] if len(state.numbers) > 1 else []
        verdicts = judged.verdicts[turn - 1] if judged else [None] * len(numbers)
        for number, criterion, verdict in zip(numbers, one.criteria, verdicts, strict=True):
            marks: list[str] = [verdict.label or "not judged"] if verdict else []
            marks += [] if criterion.weight == 1 else [f"{criterion.weight:g} points"]
            said.append(f"{number}. {stated(criterion)}" + (f" [{', '.join(marks)}]" if marks else ""))
    return "\n".join(said)


_DO = (
    "What is to be done? A criterion may be unclear, too strict, wrong (error) or several in one (composite), one may be "
    "missing, or the prompt may be at fault; keep leaves all as it is, and accept takes the proposal."
)
_TEXT = (
    "The new text of the criterion (in place of it the word remove takes it away, several lines split one that is "
    "composite), of the one that is missing, or of the prompt; nothing to keep or accept."
)


def questions(listed: Sequence[WorkRow], round: int) -> list[Question]:
    """Return the work list as people are asked it: of each row what is to be done, and the new text."""
    asked = []
    for row in listed:
        texts = {
            "What": f"{row.what}; instance {row.instance}" + (f", {row.model}" if row.model else ""),
            "Conversation": row.conversation, "Criteria": row.criteria, "Reason": row.reason,
            "Proposal": "\n".join(row.proposal) or ("remove" if ACCEPT in row.choices else ""),
        }  # fmt: skip
        read = {title: text for title, text in texts.items() if text}
        name, settling = f"{row.id}-{round}", (KEEP, ACCEPT)
        asked += [
            Question(f"{name}-do", _DO, read, row.choices, group=name, settles=settling, blind=row),
            Question(f"{name}-text", _TEXT, read, (), group=name, settles=settling, blind=row),
        ]
    return asked


def read(file: Path) -> list[WorkRow]:
    """Return the work list of a folder; [] where none was written yet. Raises UserError on a line that is no row."""
    listed = []
    for where, row in jsonl.read(file) if file.exists() else ():
        try:
            listed.append(WorkRow(**{**row, "choices": tuple(row["choices"]), "proposal": tuple(row["proposal"])}))
        except (TypeError, KeyError) as error:
            raise UserError(f"{where}: no row of a work list ({error}); repeat the command of the study") from error
    return listed
