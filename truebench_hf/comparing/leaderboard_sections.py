"""What a leaderboard shows, with what a reader has to know of its ranks; and the scores of runs as one table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from truebench_hf.comparing import runs, table
from truebench_hf.comparing.leaderboard import GROUP, MIXED, RANKED_BY, SELF_JUDGED, Leaderboard, as_json
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import TablePreference
from truebench_hf.errors import UserError, unknown
from truebench_hf.report.sections import Matrix, Section
from truebench_hf.report.table import PUBLISHED, Column, Part, Row, Table
from truebench_hf.study.ranking import COST
from truebench_hf.text.terminal import how_many

_APPROXIMATE, _OWN = "≈", "*"
_MOST = 40  # columns of a map
_RANKS = "A rank spans the places that cannot be told apart within its group."


def sections(board: Leaderboard) -> list[Section]:
    """Everything a leaderboard shows, in order."""
    return [_table(board), *([preferred(board.preferences)] if board.preferences else []), *_maps(board)]


def title(board: Leaderboard) -> str:
    """What the board is called."""
    return f"{board.kind.title}: {how_many(len(board.entries), 'result')}"


def notes(board: Leaderboard) -> list[str]:
    """What the ranks rest on, and what is not in them."""
    lines = [f"Group {letter}: {about}." for letter, about in board.groups.items()]
    if len(board.groups) > 1:
        lines.append(
            "Only results of one group are ranked together; between groups data, judge or way of judging differ."
        )
    if any(entry.approximate for entry in board.entries):
        lines.append(
            f"{_APPROXIMATE} ranked by the intervals of totals (unpaired; Wilson's, or as printed), since not all of the group have results by "
            "instance: approximate, and wider than pairs would make it."
        )
    if any(entry.facts.get(SELF_JUDGED) == "yes" for entry in board.entries):
        lines.append(f"{_OWN} self-judged: model and a judge belong to one family, which favours the model.")
    if any(
        entry.overall.value is not None and table.coverage(entry.overall) < table.COVERED for entry in board.entries
    ):
        lines.append("No rank where more than a tenth is left unscored: the score says more of what was left open.")
    lines += _mixes(board)
    if any(entry.misprints for entry in board.entries):
        lines += [note for note in PAPERS[board.kind.name].notes if note.startswith(table.MISPRINT.strip())]
    lines += [f"Left out: {folder}: {why}." for folder, why in list(board.left_out.items())[:5]]
    if len(board.left_out) > 5:
        lines.append(f"Left out: {len(board.left_out) - 5} more folders.")
    return lines


def files(board: Leaderboard) -> dict[str, str]:
    """The files beside the page, by name."""
    content = json.dumps(as_json(board), ensure_ascii=False, indent=1) + "\n"
    return {"leaderboard.csv": table.to_csv(board.kind, board.entries), "leaderboard.json": content}


def preferred(preferences: Sequence[TablePreference]) -> Table:
    """What judges give models of their family beyond other judges."""
    columns = [
        Column("judge", "Judge"),
        *(
            [Column("data", "data")] if len({preference.judge for preference in preferences}) < len(preferences) else []
        ),  # of one judge on several
        Column("own", "models of its family", "prose", minor=2),
        Column("others", "other models", "prose", minor=2),
        Column("peers", "other judges", "prose", minor=1),
        Column("to_own", "to its own", "number", "Points beyond the mean of judges of other families.", "points", 1),
        Column("to_others", "to others", "number", "The same for all other models.", "points", 1),
        Column("preference", "preference", about="The difference, with its 95 % interval over instances."),
    ]
    rows = [
        {
            "judge": preference.judge, "data": preference.data, "own": ", ".join(preference.own), "others": ", ".join(preference.others),
            "peers": ", ".join(preference.peers), "to_own": preference.found.own, "to_others": preference.found.others,
            "preference": preference.text,
        }
        for preference in preferences
    ]  # fmt: skip
    note = "Who is lenient to all prefers nobody."
    return Table("self_preference", columns, rows, "Self-preference of judges", note)


def _table(board: Leaderboard) -> Table:
    percent = board.kind.factor(board.kind.main) == 100
    has_sources = any(entry.source in ("submitted", "others") for entry in board.entries)
    parts: tuple[Part, ...] = ("value", "interval", "n", "unscored")
    columns = (
        Column("model", "Model"),
        Column("group", "group", about="Only results of one group are ranked together."),
        Column("rank", "rank", about="From 1 + the models surely better to N - the models surely worse, in its group."),
        Column("score", board.kind.main, "score", board.kind.unit, "%" if percent else "", parts=parts, drawn=percent),
        *([Column("results", "results")] if has_sources else []),  # which a paper's are by their mark
        Column("judge", "judge (level)", minor=1),
    )
    apart = _apart(board.entries)
    rows = [_row(board, entry, apart.get(entry.key, "")) for entry in board.entries]
    return Table("leaderboard", columns, rows, "Leaderboard", f"{board.kind.unit}. {_RANKS}")


def _apart(entries: Sequence[BoardEntry]) -> dict[str, str]:
    """By key what tells lines of one name in one group apart: the facts that differ (the paradigm of a judge, say)."""
    same: dict[tuple[str, str], list[BoardEntry]] = {}
    for entry in entries:
        same.setdefault((entry.name, entry.setting), []).append(entry)
    differences: dict[str, str] = {}
    for alike in same.values():
        facts = [
            fact for fact in dict.fromkeys(fact for entry in alike for fact in entry.facts)
            if fact not in (GROUP, RANKED_BY) and len({entry.facts.get(fact) for entry in alike}) > 1
        ]  # fmt: skip
        differences |= {
            entry.key: ", ".join(entry.facts[fact] for fact in facts if fact in entry.facts) for entry in alike
        }
    return differences


def _row(board: Leaderboard, entry: BoardEntry, apart: str) -> Row:
    mark = f" {_OWN}" if entry.facts.get(SELF_JUDGED) == "yes" else ""
    rank = board.kind.text(entry, "Rank") or "-"
    return {
        "model": (f"{entry.name} ({apart})" if apart else entry.name) + mark,
        "group": entry.facts[GROUP],
        "rank": f"{_APPROXIMATE} {rank}" if entry.approximate else rank,
        "score": entry.overall,
        "results": table.SOURCES[entry.source],
        "judge": entry.facts.get("Judge"),
        PUBLISHED: entry.source == "paper",
    }


def _maps(board: Leaderboard) -> Iterator[Matrix]:
    """A map of models by the columns of each group of scores."""
    for name, headers in board.kind.groups.items():
        shares = [header for header in headers if board.kind.factor(header) == 100]  # a map is of percent
        headers_shown = shares[:_MOST]
        columns = [board.kind.scores[header] for header in headers_shown]
        if not headers_shown:
            continue
        rows = tuple(
            (f"{entry.name} ({entry.facts[GROUP]})", tuple(entry.scores.get(column) for column in columns))
            for entry in board.entries
            if any(column in entry.scores for column in columns)
        )
        titles = {column.name: column.title for column in board.kind.columns}
        note = (
            ""
            if len(shares) == len(headers_shown)
            else f"And {len(shares) - len(headers_shown)} more, in leaderboard.csv."
        )
        yield Matrix(name, "Model (group)", tuple(titles[column] for column in columns), rows, note)


def _mixes(board: Leaderboard) -> Iterator[str]:
    for letter, mix in board.mixes.items():
        lost = "; ".join(f"{kind} (only in {', '.join(having)})" for kind, having in mix.dropped.items())
        if not mix.weights:
            yield f"Group {letter}: its languages have no category in common, and no common mix."
        else:
            shares = ", ".join(f"{kind} {share:.1%}" for kind, share in mix.weights.items())
            dropped = f"; dropped: {lost}" if lost else "; nothing was dropped"
            yield f"{MIXED}, group {letter}: {shares}{dropped}."
    if board.mixes and any(entry.source == "paper" for entry in board.entries):
        yield (
            "Published results cannot be brought to a common mix: the paper prints no rates by category and language together."
        )


OVERVIEW = "overview"


def score_table(folders: Sequence[str], by: str = OVERVIEW) -> Table:
    """A row per model (or judge) of the finished runs at or below these folders; `truebench table` as a Python call.

    Columns are the main score with its interval and n, and those of a group that the boards of the runs have: by
    default those of their overview, where the main score is, else `categories`, `languages` ... What tells rows of one
    name apart (the paradigm of a judge) stands beside the name. Raises UserError where there is no finished run, where
    runs are of several kinds, and naming the groups that there are.
    """
    run_folders = [folder for root in folders for folder in runs.below(root)]
    boards = [board for folder in run_folders if (board := runs.read_board(folder)) is not None]
    if not boards:
        tables = [str(folder / "tables") for folder in run_folders if (folder / "tables").is_dir()]
        why = (
            f"no scores of models or judges there; what was found lies in {', '.join(tables[:3])}"
            if tables
            else "no finished run with scores there; give the --out of finished runs"
        )
        raise UserError(f"{', '.join(folders)}: {why}")
    if len(kinds := {board.kind for board in boards}) > 1:
        raise UserError(f"these runs are of kind {' and '.join(sorted(kinds))}; give runs of one kind")
    main = next(column for column in boards[0].columns if column.name == boards[0].main)
    columns_by_name = {column.name: column for board in boards for column in board.columns if column.group != COST}
    first = main.group.casefold()  # the group of the main score is the overview, whatever it is called
    groups = {name: c.group.casefold() or OVERVIEW for name, c in columns_by_name.items()}
    groups = {name: OVERVIEW if group == first else group for name, group in groups.items()}
    chosen = OVERVIEW if by == first else by
    if chosen not in groups.values():
        raise unknown("group of scores", by, sorted(set(groups.values())))
    beside = [c for name, c in columns_by_name.items() if groups[name] == chosen and name != main.name]
    entries = [entry for board in boards for entry in board.entries]
    has_settings = len({entry.setting for entry in entries}) > 1
    telling = {
        f"fact:{fact}" if fact.casefold() in columns_by_name else fact.casefold(): fact
        for fact in _telling_apart(entries, ["Judge"] if has_settings else [])
    }
    columns = [
        Column("name", "Model"),
        *(Column(name, fact) for name, fact in telling.items()),
        Column(main.name, main.title, "score", boards[0].unit, _unit(main.percent), parts=("value", "interval", "n"), drawn=main.percent),
        *(Column(c.name, c.title, "score", unit=_unit(c.percent), digits=1, minor=1) for c in beside),
    ]  # fmt: skip
    rows = [
        {"name": entry.name, **{name: entry.facts.get(fact) for name, fact in telling.items()}, **entry.scores}
        for entry in entries
    ]
    note = f"{boards[0].unit or 'Shares in %'}; intervals of 95 %."
    if has_settings:
        note += " Data, judge or way of judging differ between these runs: `truebench leaderboard` says how."
    return Table("scores", columns, rows, boards[0].title, note)


def _telling_apart(entries: Sequence[BoardEntry], always: Sequence[str]) -> list[str]:
    """Facts that stand beside the names: those of `always` that are known, and what tells rows of one name apart."""
    chosen = [fact for fact in always if any(fact in entry.facts for entry in entries)]

    def told_apart(facts: Sequence[str]) -> int:
        return len({(entry.name, *(entry.facts.get(fact) for fact in facts)) for entry in entries})

    for fact in dict.fromkeys(fact for entry in entries for fact in entry.facts):
        if fact not in chosen and told_apart([*chosen, fact]) > told_apart(chosen):
            chosen.append(fact)
    return chosen


def _unit(percent: bool) -> Literal["%", ""]:
    return "%" if percent else ""
