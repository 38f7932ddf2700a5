"""What the report of a validation shows: how many instances need change and why, every finding, every instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from truebench_hf.benchmarks.truebench.validation.findings import MEANING, Finding, Kind, Validation
from truebench_hf.benchmarks.truebench.validation.output import Validated, now
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
