"""What a leaderboard shows: the table, categories and languages, and what a reader has to know of its ranks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from truebench_hf.comparing import table, ties
from truebench_hf.comparing.leaderboard import GROUP, MIXED, RANKED_BY, SELF_JUDGED, Leaderboard, as_json
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import Entry
from truebench_hf.comparing.self_preference import Preference
from truebench_hf.report.sections import Cells, Grid, Matrix, Section, fixed, points
from truebench_hf.text.terminal import how_many

_APPROXIMATE, _OWN = "≈", "*"
_MOST = 40  # columns of a map


def sections(found: Leaderboard) -> list[Section]:
    """Everything a leaderboard shows, in order."""
    return [_table(found), *([preferred(found.preferences)] if found.preferences else []), *_maps(found)]


def title(found: Leaderboard) -> str:
    """What the board is called."""
    return f"{found.kind.title}: {how_many(len(found.entries), 'result')}"


def notes(found: Leaderboard) -> list[str]:
    """What the ranks rest on, and what is not in them."""
    said = [f"Group {letter}: {about}." for letter, about in found.groups.items()]
    if len(found.groups) > 1:
        said.append(
            "Only results of one group are ranked together; between groups data, judge or way of judging differ."
        )
    if any(entry.approximate for entry in found.entries):
        said.append(
            f"{_APPROXIMATE} ranked by the intervals of totals (unpaired; Wilson's, or as printed), since not all of the group have results by "
            "instance: approximate, and wider than pairs would make it."
        )
    if any(entry.facts.get(SELF_JUDGED) == "yes" for entry in found.entries):
        said.append(f"{_OWN} self-judged: model and a judge belong to one family, which favours the model.")
    if any(entry.overall.value is not None and ties.coverage(entry.overall) < ties.COVERED for entry in found.entries):
        said.append("No rank where more than a tenth is left unscored: the score says more of what was left open.")
    said += _mixes(found)
    if any(entry.misprints for entry in found.entries):
        said += [note for note in PAPERS[found.kind.name].notes if note.startswith(table.MISPRINT.strip())]
    said += [f"Left out: {folder}: {why}." for folder, why in list(found.left_out.items())[:5]]
    if len(found.left_out) > 5:
        said.append(f"Left out: {len(found.left_out) - 5} more folders.")
    return said


def files(found: Leaderboard) -> dict[str, str]:
    """The files beside the page, by name."""
    told = json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n"
    return {"leaderboard.csv": table.to_csv(found.kind, found.entries), "leaderboard.json": told}


def preferred(found: Sequence[Preference]) -> Grid:
    """What judges give models of their family beyond other judges."""
    several = len({one.judge for one in found}) < len(found)  # some judge on more than one set of data
    header = (
        "Judge", *(["data"] if several else []), "models of its family", "other models", "other judges", "to its own", "to others",
        "preference",
    )  # fmt: skip
    rows = tuple(
        (one.judge, *([one.data] if several else []), ", ".join(one.own), ", ".join(one.others), ", ".join(one.peers),
         points(one.found.own), points(one.found.others), one.text)
        for one in found
    )  # fmt: skip
    note = (
        "Points that a judge gives beyond the mean of judges of other families, to models of its own family and to all "
        "others, and the difference with its 95 % interval over instances: who is lenient to all prefers nobody."
    )
    return Grid("Self-preference of judges", header, rows, note=note, prose=(2, 3, 4) if several else (1, 2, 3))


def _table(found: Leaderboard) -> Grid:
    header = ("Model", "group", "rank", found.kind.main, "95 % interval", "n", "unscored", "results", "judge (level)")
    apart = _apart(found.entries)
    rows = [(_row(found, entry, apart.get(entry.key, "")), entry.source == "paper") for entry in found.entries]
    note = f"{found.kind.unit}. A rank spans from 1 + the models surely better to N - the models surely worse, within its group."
    return Grid(
        "Leaderboard", header, tuple(row for row, paper in rows if not paper),
        tuple(row for row, paper in rows if paper), note,
    )  # fmt: skip


def _apart(entries: Sequence[Entry]) -> dict[str, str]:
    """By key what tells lines of one name in one group apart: the facts that differ (the paradigm of a judge, say)."""
    same: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        same.setdefault((entry.name, entry.setting), []).append(entry)
    told: dict[str, str] = {}
    for alike in same.values():
        facts = [
            fact for fact in dict.fromkeys(fact for entry in alike for fact in entry.facts)
            if fact not in (GROUP, RANKED_BY) and len({entry.facts.get(fact) for entry in alike}) > 1
        ]  # fmt: skip
        told |= {entry.key: ", ".join(entry.facts[fact] for fact in facts if fact in entry.facts) for entry in alike}
    return told


def _row(found: Leaderboard, entry: Entry, apart: str) -> Cells:
    mark = f" {_OWN}" if entry.facts.get(SELF_JUDGED) == "yes" else ""
    rank = found.kind.text(entry, "Rank") or "-"
    return (
        (f"{entry.name} ({apart})" if apart else entry.name) + mark, entry.facts[GROUP], f"{_APPROXIMATE} {rank}" if entry.approximate else rank,
        _shown(found, entry.overall.value, 2), " to ".join(_shown(found, end, 1) for end in entry.overall.ci95 or ()), entry.overall.n or "-", entry.overall.unscored or "",
        table.SOURCES[entry.source], entry.facts.get("Judge", ""),
    )  # fmt: skip


def _shown(found: Leaderboard, value: float | None, digits: int) -> str:
    """A main score, or an end of its interval, as it is read."""
    return fixed(None if value is None else found.kind.factor(found.kind.main) * value, digits)


def _maps(found: Leaderboard) -> Iterator[Matrix]:
    """A map of models by the columns of each group of scores."""
    for name, headers in found.kind.groups.items():
        shares = [header for header in headers if found.kind.factor(header) == 100]  # a map is of percent
        shown = shares[:_MOST]
        columns = [found.kind.scores[header] for header in shown]
        if not shown:
            continue
        rows = tuple(
            (f"{entry.name} ({entry.facts[GROUP]})", tuple(entry.scores.get(column) for column in columns))
            for entry in found.entries
            if any(column in entry.scores for column in columns)
        )
        titles = {column.name: column.title for column in found.kind.columns}
        note = "" if len(shares) == len(shown) else f"And {len(shares) - len(shown)} more, in leaderboard.csv."
        yield Matrix(name, "Model (group)", tuple(titles[column] for column in columns), rows, note)


def _mixes(found: Leaderboard) -> Iterator[str]:
    for letter, mix in found.mixes.items():
        lost = "; ".join(f"{kind} (only in {', '.join(having)})" for kind, having in mix.dropped.items())
        if not mix.weights:
            yield f"Group {letter}: its languages have no category in common, and no common mix."
        else:
            shares = ", ".join(f"{kind} {share:.1%}" for kind, share in mix.weights.items())
            dropped = f"; dropped: {lost}" if lost else "; nothing was dropped"
            yield f"{MIXED}, group {letter}: {shares}{dropped}."
    if found.mixes and any(entry.source == "paper" for entry in found.entries):
        yield (
            "Published results cannot be brought to a common mix: the paper prints no rates by category and language together."
        )
