"""One table of finished runs and published results, of which only what is comparable is ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from operator import attrgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.comparing import runs, table
from truebench_hf.comparing.papers import JUDGES, PAPERS
from truebench_hf.comparing.runs import BoardEntry, BoardRun, judges, read_all, self_judged
from truebench_hf.comparing.table import Kind
from truebench_hf.data.records import JUDGMENTS, of_entry, read_outcomes
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.ranks import RankSpan
from truebench_hf.metrics.ranks import Results as Outcomes
from truebench_hf.report.sections import Matrix
from truebench_hf.report.table import PUBLISHED, Column, Part, Row, Table, plain_score
from truebench_hf.results.folder import Results
from truebench_hf.study.outcome import Outcome
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import how_many, warn

GROUP, RANKED_BY, SELF_JUDGED = "Group", "Ranked by", "Self-judged"
PAIRED, TOTALS = "instances in pairs", "intervals of totals (approximate)"


@dataclass(frozen=True)
class Leaderboard:
    """The lines in the order of the table, each with its group among its facts.

    `groups` says by letter what the lines of a group have in common. `left_out` are folders, with the reason.
    """

    kind: Kind
    entries: tuple[BoardEntry, ...]
    groups: Mapping[str, str]
    left_out: Mapping[str, str]


def leaderboard(folders: Sequence[str], *, published: bool = False, kind: str = TRUEBENCH) -> Leaderboard:
    """All finished runs of a kind at or below these folders, with `published` the paper's results beside them.

    `truebench leaderboard` as a Python call. Raises UserError where there is nothing to show.
    """
    left_out: dict[str, str] = {}
    read_runs = _read(folders, kind, left_out)
    if published and kind not in PAPERS:
        raise unknown("kind with published results", kind, PAPERS)
    boards = list(read_runs.values())
    if kind != JUDGES:  # whose lines are the judges
        boards = [
            _marked(run, set(map(anonymous.name, judges(kind, Results.open(folder).settings))), "unknown")
            for folder, run in read_runs.items()
        ]
    if published:
        boards.append(_marked(PAPERS[kind].published(), PAPERS[kind].judges, "no"))
    if not boards:
        hint = "; ".join(f"{folder}: {why}" for folder, why in list(left_out.items())[:3])
        raise UserError(
            f"no finished run of kind {kind} there{f' ({hint})' if hint else ''}; name run folders, or a folder of them"
        )
    (merged,), entries = table.merged(boards)
    plain = table.by_score(runs.once(entries))
    order = table.by_rank(table.paired(plain, _outcomes(plain)))
    names = map("".join, chain(ascii_uppercase, product(ascii_uppercase, repeat=2)))
    letters = dict(zip(dict.fromkeys(entry.setting for entry in order), names, strict=False))
    lines = []
    for entry in order:
        ranked_by = {} if entry.rank is None else {RANKED_BY: TOTALS if entry.approximate else PAIRED}
        lines.append(replace(entry, facts={GROUP: letters[entry.setting], **ranked_by, **entry.facts}))
    return Leaderboard(
        replace(merged, facts=(GROUP, RANKED_BY, *merged.facts)),
        tuple(lines),
        {letters[entry.setting]: _about(entry) for entry in order},
        left_out,
    )


def _read(folders: Sequence[str], kind: str, left_out: dict[str, str]) -> dict[Path, BoardRun]:
    """The finished runs of a kind by their folders, each once; what is left out goes into `left_out`."""
    read_runs: dict[Path, tuple[Path, BoardRun]] = {}
    for root in folders:
        for folder in runs.below(root):
            run = runs.read_board(folder)
            if why := _why_not(folder, run, kind):
                left_out[str(folder)] = why
            elif run and folder.resolve() not in read_runs:
                read_runs[folder.resolve()] = folder, run
    return dict(read_runs.values())


def _why_not(folder: Path, run: BoardRun | None, kind: str) -> str:
    """Why a folder has no results to be shown; "" where it has some."""
    if run and run.kind != kind:
        return f"of kind {run.kind}; --kind {run.kind} ranks it"
    if run:
        return ""
    try:
        results = Results.open(folder)
    except UserError as error:
        return str(error)
    if results.kind not in ("", kind) and results.is_finished:
        return f"finished, but a study of kind {results.kind} like this one has no place on a leaderboard"
    return "no results that a leaderboard can show; finish it by repeating its command"


def _marked(run: BoardRun, specs: Collection[str], untold: str) -> BoardRun:
    """The run with whether one of these judges is of a model's family; `untold` where there are none."""
    marks = (("yes" if self_judged(entry.name, specs) else "no") if specs else untold for entry in run.entries)
    entries = (replace(e, facts={**e.facts, SELF_JUDGED: mark}) for e, mark in zip(run.entries, marks, strict=True))
    return replace(run, entries=tuple(entries))


def _outcomes(entries: Iterable[BoardEntry]) -> dict[str, Outcomes]:
    """By the key of an entry the results of its instances, where its folder holds them."""
    passed, scores = cache(_passed), cache(_scores)
    results: dict[str, Outcomes] = {}
    for entry in entries:
        if entry.folder:
            own = of_entry(passed(entry.folder), entry.name) if entry.kind == TRUEBENCH else None
            is_own = own is not None and table.is_the_share(entry, own)
            results[entry.key] = own if own and is_own else scores(entry.folder).get(entry.name, {})
    return results


def _passed(folder: Path) -> Mapping[str, Outcomes]:
    """What its judgments say of each instance; without them its scores are shown all the same, ranked by intervals."""
    try:
        return read_outcomes(folder / JUDGMENTS)
    except (OSError, UserError) as error:
        warn(f"{folder}: ranked by its totals, since its judgments cannot be read: {error}")
        return {}


def _scores(folder: Path) -> dict[str, Outcomes]:
    """By model the scores by instance as the run itself counts: of another kind, or by the official rule."""
    try:
        runs_in = read_all(str(folder))
    except UserError:  # a kind that does not score instance by instance, say: compared by the intervals of its scores
        return {}
    names = anonymous.names(run.model for run in runs_in)
    return {names[run.model]: run.scores for run in runs_in}


def _about(entry: BoardEntry) -> str:
    data, judge = entry.facts.get("Data", "data not told"), entry.facts.get("Judge", "judge not told")
    if entry.source == "paper":
        return f"published: {data}; judged by {' + '.join(PAPERS[entry.kind].judges) or judge}"
    return f"{data}; judged by {judge}"


def as_json(board: Leaderboard) -> dict[str, Any]:
    """The content of `leaderboard.json`."""
    return {
        "kind": board.kind.name,
        "groups": dict(board.groups),
        "left_out": dict(board.left_out),
        "rows": [
            {
                "model": entry.name, "results": entry.source, "rank": entry.rank, "last_rank": entry.last,
                "approximate": entry.approximate, "facts": dict(entry.facts),
                "scores": {name: plain_score(score) for name, score in entry.scores.items()},
                "misprints": sorted(entry.misprints),
            }
            for entry in board.entries
        ],
    }  # fmt: skip


_APPROXIMATE, _OWN = "≈", "*"
_MOST = 40  # columns of a map
_RANKS = "A rank spans the places that cannot be told apart within its group."


def outcome(board: Leaderboard) -> Outcome[Leaderboard]:
    """What a leaderboard shows and writes."""
    return Outcome(
        board, title=f"{board.kind.title}: {how_many(len(board.entries), 'result')}", notes=notes(board),
        tables=[_table(board)], charts=list(_maps(board)),
        items={"leaderboard.csv": table.to_csv(board.kind, board.entries), "leaderboard.json": as_json(board)},
    )  # fmt: skip


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
    if any(entry.misprints for entry in board.entries):
        lines += [note for note in PAPERS[board.kind.name].notes if note.startswith(table.MISPRINT.strip())]
    lines += [f"Left out: {folder}: {why}." for folder, why in list(board.left_out.items())[:5]]
    if len(board.left_out) > 5:
        lines.append(f"Left out: {len(board.left_out) - 5} more folders.")
    return lines


def _table(board: Leaderboard) -> Table:
    percent = board.kind.factor == 100
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
    same = Counter((entry.name, entry.setting) for entry in board.entries)
    telling = table.telling_apart(board.entries, attrgetter("name", "setting"))  # the paradigm of a judge, say
    rows = [_row(entry, telling if same[entry.name, entry.setting] > 1 else ()) for entry in board.entries]
    return Table("leaderboard", columns, rows, "Leaderboard", f"{board.kind.unit}. {_RANKS}")


def _row(entry: BoardEntry, telling: Sequence[str]) -> Row:
    apart = ", ".join(entry.facts[fact] for fact in telling if fact in entry.facts)
    mark = f" {_OWN}" if entry.facts.get(SELF_JUDGED) == "yes" else ""
    rank = "-" if entry.rank is None else str(RankSpan(entry.rank, entry.last or entry.rank))
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
    for name, columns in board.kind.groups.items():
        shares = [column for column in columns if column.percent]  # a map is of percent
        drawn = shares[:_MOST]
        rows = tuple(
            (f"{entry.name} ({entry.facts[GROUP]})", tuple(entry.scores.get(column.name) for column in drawn))
            for entry in board.entries
            if any(column.name in entry.scores for column in drawn)
        )
        note = f"And {len(shares) - len(drawn)} more, in leaderboard.csv." if len(shares) > len(drawn) else ""
        if drawn:
            yield Matrix(name, "Model (group)", tuple(column.title for column in drawn), rows, note)
