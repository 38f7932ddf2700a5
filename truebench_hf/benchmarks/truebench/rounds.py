"""Rounds of refinement: the state of an instance after each, how far judge and people agree then, and what is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.truebench import rating, worklist
from truebench_hf.benchmarks.truebench.history import CriterionVersion, State
from truebench_hf.benchmarks.truebench.validator import Validation
from truebench_hf.benchmarks.truebench.worklist import WorkRow
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.report.table import Column, Table

_LISTED = 20  # rows of the work list in the report
_BEFORE, _SAME = "before", "before, on what the last round has"


@dataclass(frozen=True, slots=True)
class RefinementRound:
    """An instance after some round: its responses judged, and, where it was changed, what the validator says."""

    state: State
    judged: tuple[Judged, ...]
    validation: Validation | None


Rounds = tuple[RefinementRound, ...]  # an instance before any round, and after each
Labels = Mapping[str, bool | None]  # by response id: whether people pass it


def response_name(judged: Judged) -> str:
    """The id of a response, by which people's labels know it; "" where it is not complete, and nobody was asked."""
    complete = judged.response.error is None and len(judged.response.answers) == len(judged.instance.turns)
    return rating.response_id(judged.instance, judged.response) if complete else ""


def open_rows(done: Sequence[Rounds], people: Labels, revisions: Sequence[CriterionVersion]) -> list[WorkRow]:
    """The work list after the last round, without what somebody looked at and left as it is."""
    kept = {version.row for version in revisions if version.change == "kept"}
    rows = {
        row.id: row
        for *_, last in done
        for row in worklist.rows(
            last.state, [(j, response_name(j), people.get(response_name(j))) for j in last.judged], last.validation
        )
    }
    return [row for row in rows.values() if row.id not in kept]


def refinement_tables(
    done: Sequence[Rounds], people: Labels, revisions: Sequence[CriterionVersion], listed: Sequence[WorkRow]
) -> list[Table]:
    """Kappa by round, what was changed and found in each, what is open."""
    labelled = sum(people.get(response_name(judged)) is not None for rounds in done for judged in rounds[0].judged)
    responses = sum(len(rounds[0].judged) for rounds in done)
    clean = not listed and any(label is not None for label in people.values())
    facts = {"instances": len(done), "responses": responses, "labelled": labelled, "clean": "yes" if clean else "no"}
    set_columns = (
        *(Column(name, name, "count") for name in ("instances", "responses", "labelled")), Column("clean", "nothing is open"),
    )  # fmt: skip
    work_columns = (
        Column("instance", "instance"), Column("model", "model"), Column("what", "what"), Column("choices", "choices", "prose"),
    )  # fmt: skip
    work = [
        {"instance": row.instance, "model": row.model, "what": row.what, "choices": " | ".join(row.choices)}
        for row in listed[:_LISTED]
    ]
    more = f"And {len(listed) - _LISTED} more." if len(listed) > _LISTED else ""
    counts = [{"what": what, "rows": count} for what, count in Counter(row.what for row in listed).items()]
    tables = [
        _agreement(done, people, visible=bool(labelled)), _changes(done, revisions),
        Table("", work_columns, work, f"Open on the work list: {len(listed)}", more),
        Table("open", (Column("what", "what"), Column("rows", "rows", "count")), counts, on_page=False),
        Table("set", set_columns, [facts], keys=0, printed=False),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


_KAPPA = (
    Column("round", ""),
    Column("kappa", "kappa", "score", "Cohen's kappa of judge and people, on responses that the judge decided.", "", 3,
           ("value", "interval", "n", "unscored"), drawn=True),
    Column("band", "in words", minor=2),
    Column("fp", "people FAIL, judge passes", "count"),
    Column("fn", "people PASS, judge fails", "count"),
    Column("unlabelled", "without a label", "count", minor=1),
)  # fmt: skip


def _agreement(done: Sequence[Rounds], people: Labels, *, visible: bool) -> Table:
    """The agreement of judge and people after each round, and before on what the last round has."""
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
    decided = frame.dropna(subset=["gold", "label"])["round"].value_counts()
    if len(names) > 1 and decided.get(_SAME, 0) != decided.get(_BEFORE, 0):
        names.append(_SAME)
    frame = frame[frame["round"].isin(names)].assign(round=lambda kept: pd.Categorical(kept["round"], names))
    table = agreement(frame, ["round"], measures=("kappa",)).to_dict("records")
    table = [row | {"band": None if row["kappa"].value is None else verbal_band(row["kappa"].value)} for row in table]
    note = "Judge and people on complete responses; intervals are by instance."
    if len(names) > 1:
        note += (
            " The criteria were changed to agree with these very labels: kappa on other responses will be lower, and wants "
            "labels of its own."
        )
    return Table("rounds", _KAPPA, table, "Cohen's kappa of judge and people", note, printed=visible, on_page=visible)


def _changes(done: Sequence[Rounds], revisions: Sequence[CriterionVersion]) -> Table:
    """What people changed in each round and why, and what the validator says of the instances that differ from the data."""
    rows: list[dict[str, Any]] = []
    for number in range(1, len(done[0]) if done else 1):
        versions = [version for version in revisions if version.round == number]
        validations = [rounds[number].validation for rounds in done]
        known = [validation for validation in validations if validation]
        clean = sum(validation.label is not None and not validation.findings for validation in known)
        counts: dict[str, Counter[str]] = {
            "changed": Counter("prompt" if v.criterion is None and v.change != "kept" else v.change for v in versions),
            "because": Counter(version.kind for version in versions),
            "validated": Counter(
                {"instances": len(known), "clean": clean, "undecided": sum(v.label is None for v in known)}
            ),
            "defect found": Counter(finding.kind for validation in known for finding in validation.findings),
        }
        rows += [
            {"round": number, "what": what, "which": which, "count": count}
            for what, of_which in counts.items()
            for which, count in of_which.items()
            if count
        ]
    columns = (
        Column("round", "round", "count"), Column("what", "what"), Column("which", ""), Column("count", "number", "count"),
    )  # fmt: skip
    note = (
        "Changes are of criteria, but for prompts; kept: looked at, and left as it is. Validated is every instance that "
        "differs from the data, as it stands after the round; the defects are on the work list."
    )
    return Table("changes", columns, rows, "What people changed, and what the validator says of it", note, keys=3)
