"""What studies tell their readers beside the figures, each in one wording."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.models.caller import Caller, ReadingCost
from truebench_hf.report.sections import percent
from truebench_hf.report.table import Column, Table
from truebench_hf.types import Verdict


def weak_judges(specs: Iterable[object]) -> list[str]:
    """That a judge among these specs is the embedded model or a larger sister of it."""
    weak = any("smollm2" in str(spec).lower() for spec in specs)
    return ["SmolLM2 is far too weak a judge to be trusted: these figures show the workflow only."] if weak else []


def cut_off(count: int) -> list[str]:
    """That so many responses end in the middle."""
    return [f"Responses cut off at the token limit, and judged as they stand: {count}."] if count else []


def lost_calls(count: int) -> list[str]:
    """That so many calls were with a worker when it died."""
    return [f"Calls lost with workers of Ray, and repeated: {count:,}."] if count else []


def from_cache(own: int, count: int, first: float, last: float) -> list[str]:
    """That `count` answers beside the folder's `own` came from the cache, where the first and last had been asked for."""
    if not count:
        return []
    days = list(dict.fromkeys(time.strftime("%Y-%m-%d", time.gmtime(moment)) for moment in (first, last)))
    return [f"Calls: {count:,} of {own + count:,} from the cache (asked {' to '.join(days)})."]


def by_rules(
    cases: Iterable[Sequence[Verdict]], rules: str, level: str, *, votes: int = 1, judges: int = 1
) -> list[str]:
    """How many criteria rules decided, and what that saved; `cases` are the verdicts asked for together.

    Each of the `judges` would have been asked, as often as it votes: at rubric level about every criterion, elsewhere
    about every case.
    """
    if rules != "decide":
        return []
    decided = criteria = calls = 0
    for verdicts in cases:
        ruled = sum(verdict.judge == JUDGE for verdict in verdicts)
        decided, criteria = decided + ruled, criteria + len(verdicts)
        calls += ruled if level == "rubric" else bool(ruled) and ruled == len(verdicts)
    return [decided_by_rules(decided, criteria, calls * votes * judges)]


def decided_by_rules(decided: int, criteria: int, calls: int) -> str:
    """Say how many criteria of how many rules decided, and how many calls that saved."""
    saved = f"; judge calls saved: {calls}" if calls else ""
    return f"Decided by rules: {decided} of {criteria} criteria{saved}."


def decided_by_counting(decided: int, criteria: int) -> str:
    """Say how many criteria of how many are decided where there is no judge."""
    return f"No judge: {decided} of {criteria} criteria decided by counting, {criteria - decided} left open."


def rules_fact(provenance: Mapping[str, Any]) -> dict[str, str]:
    """What a place on a board says of the rules that its verdicts were made with; nothing where there were none."""
    rules = provenance.get("rules", "off")
    return {} if rules == "off" else {"Rules": str(rules)}


Costs = Mapping[str, tuple[str, ReadingCost]]  # part of the study -> model, cost
_COLUMNS = (
    Column("part", "Part"), Column("model", "Model"), Column("labels", "labels", "count"),
    Column("again", "from a later answer", "count"), Column("unread", "unread", "count"),
    Column("unsigned", "without the id", "count"), Column("yes", "share of yes %"),
)  # fmt: skip


def reading_costs(callers: Iterable[Caller]) -> Costs:
    """The cost of every part of a study that asked a model for labels."""
    parts = {part: (caller.parts[part], cost) for caller in callers for part, cost in caller.costs.items()}
    return {part: (model, cost) for part, (model, cost) in sorted(parts.items()) if cost.labels}


def reading_record(costs: Costs) -> dict[str, Any]:
    """The entry `reading` of `run.json`: the counts of every part. `yes_bounds` are shares: all unread no, all yes."""
    return {
        part: {
            "model": model,
            **{name: getattr(cost, name) for name in ("labels", "again", "unread", "unsigned")},
            "yes_bounds": cost.share_of_yes,
        }
        for part, (model, cost) in costs.items()
    }


def reading_table(record: Mapping[str, Any]) -> list[Table]:
    """A row per part of the entry `reading` of `run.json`; no table where every label was read from the first answer."""
    if not any(cost["again"] or cost["unread"] or cost["unsigned"] for cost in record.values()):
        return []
    rows = [{"part": part, **cost, "yes": _percent(cost["yes_bounds"])} for part, cost in record.items()]
    note = (
        "Labels read only after the model was asked again, labels that none of its answers gave, and labels in an object "
        "without the id that was asked for. The share of yes lies between its value with all unread labels no and with "
        "all of them yes."
    )
    return [Table("", _COLUMNS, rows, "How well the judges' answers could be read", note, printed=False)]


def reading_notes(costs: Costs, callers: Iterable[Caller]) -> list[str]:
    """What a reader has to know: labels that were hard to read or are missing, judges that never sign, lost thinking."""
    notes = []
    total = sum((cost for _, cost in costs.values()), ReadingCost())
    if total.again or total.unread:
        share = f"; the share of yes is {_percent(total.share_of_yes)} %, whatever those are" if total.open else ""
        notes.append(
            f"Reading: of {total.labels:,} labels {total.again:,} came from a later answer, {total.unread:,} stayed unread"
            f"{share}."
        )
    for part, (model, cost) in costs.items():
        if cost.unsigned:
            read = cost.labels - cost.unread
            notes.append(
                f"{part} ({model}) left the id out of its objects: {percent(cost.unsigned / read, 1)} % of its labels are "
                "read without it."
            )
    thinking: dict[int, tuple[str, ReadingCost]] = {}
    for caller in callers:
        spec, cost = thinking.get(id(caller.model), (caller.model.spec, ReadingCost()))
        thinking[id(caller.model)] = spec, sum(caller.costs.values(), cost)
    for spec, cost in thinking.values():
        if cost.thinking[False, True] and cost.thinking[True, False] and not cost.thinking[True, True]:
            notes.append(
                f"{spec} gave reasoning without a JSON schema and none with one: its server turns thinking off for "
                "schemas; --structured off keeps it."
            )
    return notes


def _percent(bounds: Sequence[float] | None) -> str:
    if bounds is None:
        return "-"
    low, high = (percent(share, 1) for share in bounds)
    return low if low == high else f"{low} to {high}"
