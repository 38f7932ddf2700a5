"""What the report of a validation shows, and the work list of its findings for people."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.truebench.validation.ablation import Validated
from truebench_hf.benchmarks.truebench.validation.validator import MEANING, Finding, Kind, Validation
from truebench_hf.report.csv_table import guard
from truebench_hf.report.sections import Cells, Conversation, Conversations, Exchange, Grid, Outcome, Section
from truebench_hf.types import Criterion, Message, Verdict

_SHOWN = 300  # findings in the table of the report; the work list has all


def sections(done: Sequence[Validated], looked: Sequence[Kind]) -> list[Section]:
    """The report of validated instances; `looked` are the kinds of defects that were looked for."""
    shown: list[Section] = [_counts(done, looked)]
    if any(one.edited.instance.category for one in done):
        shown.append(_by_category(done))
    if listed := [(one, finding) for one in done for finding in one.found.findings]:
        shown.append(_findings(listed))
    if undecided := [one for one in done if one.found.label is None]:
        rows = tuple((one.edited.instance.id, one.found.problem[:200]) for one in undecided[:5])
        note = f"And {len(undecided) - 5} more, in worklist.csv." if len(undecided) > 5 else ""
        shown.append(Grid(f"Undecided: {len(undecided)}", ("id", "why"), rows, note=note, prose=(1,)))
    return [*shown, Conversations("Instances and their criteria", tuple(map(_conversation, done)))]


def _counts(done: Sequence[Validated], looked: Sequence[Kind]) -> Grid:
    labels = Counter(one.found.label for one in done)
    rows: list[tuple[str, str | int, str | int]] = [
        ("FAIL", labels["FAIL"], "needs change"), ("PASS", labels["PASS"], "can stay as it is"),
        ("undecided", labels[None], "nothing could be read; neither PASS nor FAIL"),
    ]  # fmt: skip
    for kind in looked:
        found = [len(one.found.of(kind)) for one in done]
        rows.append((kind, sum(map(bool, found)), f"{MEANING[kind]}: {sum(found)} in all"))
    note = "A validator's word, not a proof: people decide what is changed."
    if "composite" in looked:
        note += " A composite criterion by itself makes no FAIL."
    return Grid("Instances", ("", "instances", ""), tuple(rows), note=note)


def _by_category(done: Sequence[Validated]) -> Grid:
    counts = Counter((one.edited.instance.category, one.found.label) for one in done)
    rows: list[Cells] = [
        (name or "(none)", *(counts[name, label] for label in ("FAIL", "PASS", None)))
        for name in dict.fromkeys(one.edited.instance.category for one in done)
    ]
    return Grid("By category", ("", "FAIL", "PASS", "undecided"), tuple(rows))


def _findings(listed: Sequence[tuple[Validated, Finding]]) -> Grid:
    rows = tuple(
        (
            one.edited.instance.id, _where(finding), finding.kind, finding.reason, now(one, finding)[:500],
            f"({finding.change}) " + " / ".join(finding.proposal)[:500],
        )
        for one, finding in listed[:_SHOWN]
    )  # fmt: skip
    note = f"The first {_SHOWN} of {len(listed)}; worklist.csv has all." if len(listed) > _SHOWN else ""
    header = ("id", "where", "defect", "why", "now", "proposal")
    return Grid("Findings", header, rows, note=note, printed=False, prose=(3, 4, 5))


def _where(finding: Finding) -> str:
    return f"turn {finding.turn}" + ("" if finding.criterion is None else f", criterion {finding.criterion}")


def _conversation(one: Validated) -> Conversation:
    """An instance with what was found at each criterion, and what is missing."""
    instance, found = one.edited.instance, one.found
    outcomes: dict[str | None, Outcome] = {"PASS": "yes", "FAIL": "no", None: "open"}
    exchanges = []
    for number, turn in enumerate(instance.turns, 1):
        here = [finding for finding in found.findings if finding.turn == number]
        verdicts = [_verdict(c, place, here, found) for place, c in enumerate(turn.criteria, 1)]
        verdicts += [Verdict(Criterion(f"({_title(one)})"), "no", _said(one)) for one in here if one.criterion is None]
        exchanges.append(Exchange((Message("user", turn.prompt),), tuple(verdicts)))
    name = " · ".join(filter(None, (instance.id, instance.language, instance.category, instance.task)))
    return Conversation(
        name, tuple(exchanges), outcomes[found.label], found.problem, language=instance.language,
        context=instance.context or "",
    )  # fmt: skip


def _verdict(criterion: Criterion, place: int, here: Sequence[Finding], found: Validation) -> Verdict | Criterion:
    """A criterion with the defects found in it: open where a composite is all; bare where nobody could tell."""
    if found.label is None or not {"E1", "E2"} & set(found.looked):
        return criterion
    own = [finding for finding in here if finding.criterion == place]
    label = "no" if any(finding.kind != "composite" for finding in own) else "unknown" if own else "yes"
    return Verdict(criterion, label, " ".join(f"{_title(finding)}: {_said(finding)}" for finding in own))  # type: ignore[arg-type]


def _title(finding: Finding) -> str:
    return f"{finding.kind}, {MEANING[finding.kind]}"


def _said(finding: Finding) -> str:
    proposal = f": {' / '.join(finding.proposal)}" if finding.proposal else ""
    return f"{finding.reason} ({finding.change}{proposal})"


COLUMNS = (
    "id", "language", "category", "task", "turn", "criterion", "defect", "meaning", "reason", "change", "now",
    "proposal", "decision", "note",
)  # fmt: skip


WORK_LIST = "worklist.csv"


def lines(done: Sequence[Validated], known: bool) -> Iterator[dict[str, Any]]:
    """The lines of `validations.jsonl`: one per instance and set of aspects. `known`: the edits are told, too."""
    for one in done:
        instance, edited = one.edited.instance, asdict(one.edited)
        del edited["instance"]
        named = {name: getattr(instance, name) for name in ("id", "language", "category", "task")}
        for aspects, found in one.by_aspects.items():
            told: dict[str, Any] = {"label": found.label, "found": {kind: found.found(kind) for kind in found.looked}}
            findings = [asdict(f) | {"change": f.change, "proposal": list(f.proposal)} for f in found.findings]
            told |= {"findings": findings, "analysis": found.analysis, "problem": found.problem or None}
            yield named | {"aspects": list(aspects)} | ({"edit": edited} if known else {}) | told


def work_list(done: Sequence[Validated]) -> str:
    """`worklist.csv`: a row per proposed change, and per instance that nothing could be read about.

    `decision` and `note` are for whoever works it off. The mark at its beginning tells spreadsheet programs that it is
    UTF-8.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for one in done:
        rows = [_row(one, finding) for finding in one.found.findings]
        if one.found.label is None:
            rows = [(*_named(one), "", "", "undecided", "nothing could be read", one.found.problem, "", "", "", "", "")]
        writer.writerows([guard(cell) for cell in row] for row in rows)
    return "\ufeff" + out.getvalue().encode("utf-8", "replace").decode("utf-8")


def now(one: Validated, finding: Finding) -> str:
    """The text that a finding is about: a criterion, an instruction, or none, where one is missing."""
    turn = one.edited.instance.turns[finding.turn - 1]
    if finding.criterion is not None:
        return turn.criteria[finding.criterion - 1].text
    return "" if finding.kind == "E3" else turn.prompt


def _row(one: Validated, finding: Finding) -> tuple[str | int, ...]:
    where = (finding.turn, "" if finding.criterion is None else finding.criterion)
    what = (finding.kind, MEANING[finding.kind], finding.reason, finding.change)
    return (*_named(one), *where, *what, now(one, finding), "\n".join(finding.proposal), "", "")


def _named(one: Validated) -> tuple[str, ...]:
    instance = one.edited.instance
    return instance.id, instance.language, instance.category, instance.task
