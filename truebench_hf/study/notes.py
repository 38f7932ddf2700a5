"""What studies tell their readers beside the figures, each in one wording."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.models.caller import Caller, ReadingCost
from truebench_hf.models.providers import OPEN, pinning
from truebench_hf.report.sections import percent
from truebench_hf.report.table import Column, Table


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


def decided_by_rules(decided: int, criteria: int) -> str:
    """Say how many criteria of how many rules decided."""
    return f"Decided by rules: {decided} of {criteria} criteria."


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


# By spec, kind and value how many answers: see `Calls.served`.
ServedCounts = Mapping[str, Mapping[str, Mapping[str, int]]]


def served_values(counts: Any, spec: str, kind: str) -> list[str]:
    """What the answers of a model said of one kind; of a `run.json` whoever wrote it."""
    part = counts
    for key in (spec, kind):
        part = part.get(key) if isinstance(part, Mapping) else None
    return list(map(str, part)) if isinstance(part, Mapping) else []


def providers(settings: Mapping[str, Any], served_by: ServedCounts) -> dict[str, str]:
    """By spec the provider of every model that has one: that which answered, else the one its name pins."""
    by_spec = {}
    for spec, (_, identity) in identities(settings).items():
        provider = str(identity.get("provider", ""))
        pinned, is_open = provider.partition(":")[2], provider == OPEN
        answered_by = " + ".join(sorted(served_values(served_by, spec, "provider"))) or ("" if is_open else pinned)
        by_spec[spec] = ", ".join(filter(None, (answered_by, "not pinned" if is_open else "")))
    return {spec: provider for spec, provider in by_spec.items() if provider}


def provider_notes(settings: Mapping[str, Any], served_by: ServedCounts) -> list[str]:
    """What readers must know: a provider that was left open, and models that several ran."""
    by_spec = providers(settings, served_by)
    left = [
        f"{pinning(spec)}. Here it was: {provider}."
        for spec, provider in by_spec.items()
        if provider.endswith("not pinned")
    ]
    shared = [f"Several providers ran {spec}: {provider}." for spec, provider in by_spec.items() if " + " in provider]
    return [*left, *(note for note in shared if "not pinned" not in note)]


def identities(settings: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """By spec a model's name in `run.json` and what shapes its answers; of a `run.json` whoever wrote it."""
    by_spec = {}
    for group in (settings.get("judge_models"), settings.get("models")):  # who is both counts as the model
        for name, identity in group.items() if isinstance(group, Mapping) else ():
            role, _, own = str(name).partition(" ")
            spec = own or settings.get(role)
            if isinstance(spec, str) and isinstance(identity, Mapping):
                by_spec[spec] = (name, identity)
    return by_spec
