"""Whether judges favour models of their own family, wherever several judges judged several models on the same data."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from truebench_hf.benchmarks.truebench.models import judging_specs
from truebench_hf.comparing import ties
from truebench_hf.comparing.runs import Entry
from truebench_hf.metrics.ranks import Results, SelfPreference, self_preference_over
from truebench_hf.models.spec import family

FACT = "Self-preference"


@dataclass(frozen=True)
class Preference:
    """What a judge gives models of its family beyond other judges: `own` and `others` are the models it is told by,
    `peers` the judges of other families who judged all of them; `data` is what they judged on, "" where that is all one."""

    judge: str
    own: tuple[str, ...]
    others: tuple[str, ...]
    peers: tuple[str, ...]
    found: SelfPreference
    data: str = ""

    @property
    def text(self) -> str:
        """In points, with the interval."""
        ends = self.found.ci95
        shown = "" if ends is None else f" ({100 * ends[0]:+.1f} to {100 * ends[1]:+.1f})"
        return f"{100 * (self.found.preference or 0):+.1f} points{shown}"


def preferences(given: Mapping[str, Mapping[str, Results]]) -> list[Preference]:
    """Of every judge for whom it can be told, from the results by instance of each model (row) by each judge."""
    judges = list(dict.fromkeys(judge for row in given.values() for judge in row))
    return [found for judge in judges if (found := _preference(given, judge)) is not None]


def _preference(given: Mapping[str, Mapping[str, Results]], judge: str) -> Preference | None:
    families = _families(judge)
    models = [model for model, row in given.items() if judge in row]
    others = {name for row in given.values() for name in row if not _families(name) & families}
    # Those who judged most first: each of them must have judged all the models that are compared.
    order = sorted(others, key=lambda name: (-sum(name in given[model] for model in models), name))
    while order:
        shared = [model for model in models if all(name in given[model] for name in order)]
        own = tuple(model for model in shared if family(model) in families)
        if own and len(own) < len(shared):
            rest = tuple(model for model in shared if model not in own)
            table = {model: {name: given[model][name] for name in (judge, *order)} for model in shared}
            found = self_preference_over([table], judge, own)
            return None if found.preference is None else Preference(judge, own, rest, tuple(order), found)
        order.pop()
    return None


def of_entries(entries: Iterable[Entry], outcomes: Mapping[str, Results]) -> dict[str, Preference]:
    """By the key of an entry the preference of its judge for its model; of others there is none.

    Entries belong together by their data, of which many files have one name, and by who measured: a submission says
    nothing of what was measured here. `outcomes` holds the results by instance, by key.
    """
    groups: dict[tuple[str, str, str], dict[tuple[str, str], Entry]] = defaultdict(dict)
    for entry in entries:
        judge = entry.facts.get("Judge")
        if judge and entry.data and entry.key in outcomes and ties.is_the_share(entry, outcomes[entry.key]):
            groups[entry.kind, entry.source, entry.data].setdefault((entry.name, judge), entry)
    found: dict[str, Preference] = {}
    for cells in groups.values():
        given: dict[str, dict[str, Results]] = defaultdict(dict)
        for (model, judge), entry in cells.items():
            given[model][judge] = outcomes[entry.key]
        for one in preferences(given):
            mine = [cells[model, one.judge] for model in one.own]
            on = replace(one, data=mine[0].facts.get("Data", ""))
            found |= {entry.key: on for entry in mine}
    return found


def marked(entries: Sequence[Entry], found: Mapping[str, Preference]) -> tuple[Entry, ...]:
    """The entries, with what their judge's preference for them comes to."""
    return tuple(
        replace(entry, facts={**entry.facts, FACT: found[entry.key].text}) if entry.key in found else entry
        for entry in entries
    )


def _families(judge: str) -> set[str]:
    """Of a judge, or of all judges of a panel; the level behind its name says nothing of that."""
    bare = re.sub(r" \([^()]*\)\Z", "", judge)
    return set(map(family, judging_specs({"judge": bare})))
