"""The work list: what people and judge disagree on, and what the validator finds, with columns to be filled in.

Somebody whose verdict differs from the judge's picks why (paper 000, appendix F): a criterion that is unclear or missing
lets a bad response pass, one that is too strict fails a good one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.truebench.refinement.history import State
from truebench_hf.benchmarks.truebench.validation.validator import MEANING, Finding, Kind, Validation
from truebench_hf.data import jsonl
from truebench_hf.data.case import stated
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.csv_table import guard
from truebench_hf.text.terminal import on_page

FILE = "worklist.csv"
FILLED = ("kind", "criterion", "new text", "turn", "new prompt", "why", "who")  # by people
COLUMNS = (
    "row", "round", "instance", "model", "what", "conversation", "criteria", "reason", "proposal", "choices", *FILLED,
)  # fmt: skip
UNCLEAR, MISSING, STRICT, ERROR, COMPOSITE = "unclear", "missing", "too strict", "error", "composite"
PROMPT, KEEP, ACCEPT = "prompt", "keep", "accept"
PASSED, FAILED = "people FAIL, the judge passes", "people PASS, the judge fails"
UNREAD = "validator: nothing could be read"
_OF_FINDING: dict[Kind, str] = {"E1": ERROR, "E2": STRICT, "E3": MISSING, "composite": COMPOSITE}


@dataclass(frozen=True, slots=True)
class Row:
    """One matter to decide. `id` names it in every round; `choices` are the kinds of what may be done about it.

    `turn` and `criterion` say where it is, where that is known, and `proposal` what the validator wants there.
    """

    id: str
    instance: str
    model: str
    what: str
    conversation: str
    criteria: str
    reason: str
    choices: tuple[str, ...]
    turn: int | None
    criterion: int | None = None
    proposal: tuple[str, ...] = ()


def rows(
    state: State, answered: Sequence[tuple[Judged, str, bool | None]], validation: Validation | None
) -> Iterator[Row]:
    """What is open about one instance: its responses, each with its id and whether people pass it; then the findings."""
    by_id: dict[str, Row] = {}
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
        yield Row(
            _id("unread", canonical(asdict(state.instance))), state.instance.id, "", UNREAD, _conversation(state),
            _criteria(state), validation.problem, (PROMPT, KEEP), None if len(state.numbers) > 1 else 1,
        )  # fmt: skip


def _disagreement(state: State, judged: Judged, name: str, human: bool) -> Row:
    several = len(state.instance.turns) > 1
    reasons = [
        f"{number}. {verdict.reason}"
        for numbers, verdicts, counted in zip(state.numbers, judged.verdicts, judged.outcomes, strict=True)
        for number, verdict, outcome in zip(numbers, verdicts, counted, strict=True)
        if verdict.reason and (human is False or outcome != "yes")
    ]
    return Row(
        _id("response", state.instance.id, name, human), state.instance.id, judged.response.model,
        FAILED if human else PASSED, _conversation(state, judged), _criteria(state, judged), "\n".join(reasons),
        (STRICT, PROMPT, KEEP) if human else (UNCLEAR, MISSING, PROMPT, KEEP), None if several else 1,
    )  # fmt: skip


def _finding(state: State, finding: Finding) -> Row:
    numbers = state.numbers[finding.turn - 1]
    number = None if finding.criterion is None else numbers[finding.criterion - 1]
    about = finding.proposal if number is None else (state.text_of(number),)
    return Row(
        _id("finding", state.instance.id, finding.kind, finding.turn, number, about), state.instance.id, "",
        f"validator: {MEANING[finding.kind]}", _conversation(state), _criteria(state), finding.reason,
        (ACCEPT, _OF_FINDING[finding.kind], PROMPT, KEEP), finding.turn, number, finding.proposal,
    )  # fmt: skip


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


def table(listed: Sequence[Row], round: int) -> str:
    """`worklist.csv`. The mark at its beginning tells spreadsheet programs that it is UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in listed:
        writer.writerow([guard(cell) for cell in cells(row, round).values()])
    return "\ufeff" + out.getvalue().encode("utf-8", "replace").decode("utf-8")


def cells(row: Row, round: int) -> dict[str, str]:
    """A row by column; what is known of where the matter is stands in the columns that people fill in."""
    known = dict.fromkeys(FILLED, "") | {"criterion": _text(row.criterion), "turn": _text(row.turn)}
    return {
        "row": row.id, "round": str(round), "instance": row.instance, "model": row.model, "what": row.what,
        "conversation": row.conversation, "criteria": row.criteria, "reason": row.reason,
        "proposal": "\n".join(row.proposal) or ("remove" if ACCEPT in row.choices else ""),
        "choices": " | ".join(row.choices), **known,
    }  # fmt: skip


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def read(file: Path) -> list[Row]:
    """The work list as it was written. Raises UserError where there is none."""
    if not file.exists():
        raise UserError(f"{file}: is not there, so that no work list was written yet; run once without --revisions")
    found = []
    for where, row in jsonl.read(file):
        try:
            found.append(Row(**{**row, "choices": tuple(row["choices"]), "proposal": tuple(row["proposal"])}))
        except (TypeError, KeyError) as error:
            raise UserError(f"{where}: no row of a work list ({error}); run once without --revisions") from error
    return found


def page(listed: Sequence[Row], round: int) -> str:
    """A self-contained page that works offline, keeps what is filled in in the browser, and downloads the work list."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["on_page"] = on_page
    template = environment.from_string(Path(__file__).with_name("worklist.html.jinja").read_text(encoding="utf-8"))
    shown = [cells(row, round) for row in listed]
    key = f"truebench-worklist-{digest(canonical([row['row'] for row in shown]))[:16]}-{round}"
    data = json.dumps(shown).replace("<", "\\u003c")  # no text closes the script
    return template.render(
        rows=list(zip(listed, shown, strict=True)), round=round, key=key, columns=COLUMNS, filled=FILLED, data=data
    )
