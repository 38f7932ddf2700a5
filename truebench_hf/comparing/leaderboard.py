"""One table of finished runs and published results, of which only what is comparable is ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.data import LANGUAGES
from truebench_hf.comparing import runs, table
from truebench_hf.comparing.papers import JUDGES, PAPERS
from truebench_hf.comparing.runs import BoardEntry, BoardRun, judges, read_all, self_judged
from truebench_hf.comparing.table import Kind, TablePreference
from truebench_hf.data.records import JUDGMENTS, Head, of_entry, read_heads
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.pass_rate import Mix, common_mix, standardised
from truebench_hf.metrics.ranks import Results as Outcomes
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import ordered
from truebench_hf.study.ranking import BoardColumn
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import warn
from truebench_hf.types import Score

GROUP, RANKED_BY, SELF_JUDGED = "Group", "Ranked by", "Self-judged"
PAIRED, TOTALS = "instances in pairs", "intervals of totals (approximate)"
MIXED = "Languages at a common category mix"
_MIX = "mix:"  # begins the names of its columns


@dataclass(frozen=True)
class Leaderboard:
    """The lines in the order of the table, each with its group among its facts.

    `groups` says by letter what the lines of a group have in common, `mixes` the mix of categories at which its
    languages are compared. `left_out` are folders, with the reason. `preferences` are those of judges for their family.
    """

    kind: Kind
    entries: tuple[BoardEntry, ...]
    groups: Mapping[str, str]
    mixes: Mapping[str, Mix]
    left_out: Mapping[str, str]
    preferences: tuple[TablePreference, ...] = ()


@dataclass(frozen=True)
class _ReadRun:
    """A run with what is read of its folder beside the board: of each model, by instance."""

    run: BoardRun
    folder: Path
    by_model: Mapping[str, Mapping[str, Head]]

    def heads(self, entry: BoardEntry) -> Mapping[str, Head]:
        """What is known of the instances of a line."""
        return (of_entry(self.by_model, entry.name) if self.by_model else None) or {}


def leaderboard(folders: Sequence[str], *, published: bool = False, kind: str = TRUEBENCH) -> Leaderboard:
    """All finished runs of a kind at or below these folders, with `published` the paper's results beside them.

    `truebench leaderboard` as a Python call. Raises UserError where there is nothing to show.
    """
    left_out: dict[str, str] = {}
    read_runs = _read(folders, kind, left_out)
    if published and kind not in PAPERS:
        raise unknown("kind with published results", kind, PAPERS)
    boards = [_with_mix(read_run) if kind == TRUEBENCH else read_run.run for read_run in read_runs]
    if kind != JUDGES:  # whose lines are the judges
        boards = [
            _marked(run, set(map(anonymous.name, judges(kind, Results.open(read_run.folder).settings))), "unknown")
            for run, read_run in zip(boards, read_runs, strict=True)
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
    (merged,), ranked, favoured = table.ranked((merged,), plain, _outcomes(plain, read_runs))
    order = table.by_rank(ranked)
    settings = list(dict.fromkeys(entry.setting for entry in order))
    letters = dict(
        zip(settings, map("".join, chain(ascii_uppercase, product(ascii_uppercase, repeat=2))), strict=False)
    )
    mixes = {
        letters[entry.setting]: _mix(read_run.heads(entry))
        for read_run in read_runs
        for entry in read_run.run.entries
        if entry.setting in letters
    }
    return Leaderboard(
        replace(merged, facts=(GROUP, RANKED_BY, *merged.facts)),
        tuple(
            replace(
                entry,
                facts={GROUP: letters[entry.setting]}
                | ({} if entry.rank is None else {RANKED_BY: TOTALS if entry.approximate else PAIRED})
                | dict(entry.facts),
            )
            for entry in order
        ),
        {letters[entry.setting]: _about(entry) for entry in order},
        {letter: mix for letter, mix in mixes.items() if mix.weights or mix.dropped},
        left_out,
        tuple(
            {id(preference): preference for preference in favoured.values()}.values()
        ),  # of two data sets they may be equal
    )


def _read(folders: Sequence[str], kind: str, left_out: dict[str, str]) -> list[_ReadRun]:
    """The finished runs of a kind, each folder once; what is left out goes into `left_out`."""
    read_runs: dict[Path, _ReadRun] = {}
    for root in folders:
        for folder in runs.below(root, "--runs "):
            run = runs.read_board(folder)
            if why := _why_not(folder, run, kind):
                left_out[str(folder)] = why
            elif run and folder.resolve() not in read_runs:
                read_runs[folder.resolve()] = _ReadRun(run, folder, _heads(folder) if kind == TRUEBENCH else {})
    return list(read_runs.values())


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


def _heads(folder: Path) -> Mapping[str, Mapping[str, Head]]:
    """What its judgments say of each instance; without them its scores are shown all the same, ranked by intervals."""
    try:
        return read_heads(folder / JUDGMENTS)
    except (OSError, UserError) as error:
        warn(f"{folder}: ranked by its totals, since its judgments cannot be read: {error}")
        return {}


def _marked(run: BoardRun, specs: Collection[str], untold: str) -> BoardRun:
    """The run with whether one of these judges is of a model's family; `untold` where there are none."""
    marks = (("yes" if self_judged(entry.name, specs) else "no") if specs else untold for entry in run.entries)
    entries = (replace(e, facts={**e.facts, SELF_JUDGED: mark}) for e, mark in zip(run.entries, marks, strict=True))
    return replace(run, entries=tuple(entries))


def _outcomes(entries: Iterable[BoardEntry], read_runs: Sequence[_ReadRun]) -> dict[str, Outcomes]:
    """By the key of an entry the results of its instances, where its folder holds them."""
    known = {entry.key: read_run for read_run in read_runs for entry in read_run.run.entries}
    results: dict[str, Outcomes] = {}
    by_folder: dict[Path, dict[str, Outcomes]] = {}
    for entry in entries:
        if (read_run := known.get(entry.key)) is None:
            continue
        results[entry.key] = {name: head.passed for name, head in read_run.heads(entry).items()}
        if not table.is_the_share(entry, results[entry.key]):
            if read_run.folder not in by_folder:
                by_folder[read_run.folder] = _scores(str(read_run.folder))
            results[entry.key] = by_folder[read_run.folder].get(entry.name, {})
    return results


def _scores(folder: str) -> dict[str, Outcomes]:
    """By model the scores by instance as the run itself counts: of another kind, or by the official rule."""
    try:
        runs_in = read_all(folder)
        names = anonymous.names(run.model for run in runs_in)
        return {names[run.model]: run.scores for run in runs_in}
    except UserError:  # a kind that does not score instance by instance, say: compared by the intervals of its scores
        return {}


def _mix(heads: Mapping[str, Head]) -> Mix:
    return common_mix(Counter((h.language, h.category) for h in heads.values() if h.language and h.category))


def _with_mix(read_run: _ReadRun) -> BoardRun:
    """The run with the scores of its languages at the mix of categories that they all have."""
    mixed = {entry.key: _at_mix(entry, read_run.heads(entry)) for entry in read_run.run.entries}
    names = dict.fromkeys(name for scores in mixed.values() for name in scores)
    columns = tuple(BoardColumn(name, name.removeprefix(_MIX), MIXED) for name in names)
    entries = tuple(replace(e, scores={**e.scores, **mixed[e.key]}) for e in read_run.run.entries)
    return replace(read_run.run, columns=(*read_run.run.columns, *columns), entries=entries)


def _at_mix(entry: BoardEntry, heads: Mapping[str, Head]) -> dict[str, Score]:
    """The scores of a model's languages at the mix; {} where there is none, or the model is scored by another rule."""
    mix, passed = _mix(heads), dict[str, dict[str, list[float | None]]]()
    for head in heads.values():
        if head.language and head.category:
            passed.setdefault(head.language, {}).setdefault(head.category, []).append(head.passed)
    if not mix.weights or len(passed) < 2:
        return {}
    if not table.is_the_share(entry, {name: head.passed for name, head in heads.items()}):
        return {}
    return {f"{_MIX}{name}": standardised(passed[name], mix.weights) for name in ordered(passed, LANGUAGES)}


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
        "mixes": {letter: {"weights": dict(m.weights), "dropped": dict(m.dropped)} for letter, m in board.mixes.items()},
        "left_out": dict(board.left_out),
        "self_preference": [asdict(preference) for preference in board.preferences],
        "rows": [
            {
                "model": entry.name, "results": entry.source, "rank": entry.rank, "last_rank": entry.last,
                "approximate": entry.approximate, "facts": dict(entry.facts),
                "scores": {
                    name: {"value": s.value, "n": s.n, "unscored": s.unscored, "ci95": s.ci95}
                    for name, s in entry.scores.items()
                },
                "misprints": sorted(entry.misprints),
            }
            for entry in board.entries
        ],
    }  # fmt: skip
