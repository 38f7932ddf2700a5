"""What a ranking shows and writes: places, scores by split and judge, self-preference, and the paper's own table beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts.paper import FINAL, REPORTED_SELF_PREFERENCE, paper_rows, paper_self_preference
from truebench_hf.benchmarks.facts.rank import Preference, Ranking
from truebench_hf.errors import UserError, write_error
from truebench_hf.metrics.binary import mean_of
from truebench_hf.report.page import page
from truebench_hf.report.table import PUBLISHED, Column, Part, Table
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Score

_SHOWN: tuple[Part, ...] = ("value", "interval")
_FINAL = Column("final", "final", "score", "Ineligible answers count as inaccurate.", parts=_SHOWN, drawn=True)
_UNADJUSTED = Column("unadjusted", "unadjusted", "score", "Whatever becomes of eligibility.", drawn=True, minor=1)
_PLACES = (
    Column("rank", "Rank", "count", "Fused over judges and splits by Condorcet's method; none where a judge decided nothing."),
    Column("model", "Model"), _FINAL, Column("span", "span", about="The ranks that chance leaves open, by differences answer by answer."),
    _UNADJUSTED, Column("effect", "drop", "number", "What disqualification changes the score by.", "points", minor=2),
    Column("rank_unadjusted", "rank unadjusted", "count", "The fused rank by unadjusted scores.", minor=3),
    Column("moved", "moved", about="Ranks won (+) or lost (-) by disqualification.", minor=2),
    Column("ineligible", "ineligible", "count", "Answers in which all judges find major issues.", minor=3),
    Column("answers", "answers", "count", minor=4),
)  # fmt: skip
_BY_JUDGE = (
    Column("model", "Model"), Column("split", "split"), Column("judge", "Judge"), _FINAL, _UNADJUSTED,
    Column("ineligible", "ineligible", "count"), Column("answers", "answers", "count"),
)  # fmt: skip
_PREFERENCES = (
    Column("judge", "Judge"), Column("own", "its own models"), Column("by", "matched by", minor=2),
    Column("to_own", "to its own", "number", "Points beyond the mean of the other judges, to its own models.", "points", minor=1),
    Column("to_others", "to others", "number", "The same, to all other models.", "points", minor=1),
    Column("final", "preference", "score", "The difference of the two, by final scores.", "points", parts=_SHOWN),
    Column("unadjusted", "unadjusted", "score", "The same by unadjusted scores.", "points", parts=("value",)),
)  # fmt: skip


def tables(ranking: Ranking) -> list[Table]:
    """Everything a ranking shows, in order."""
    preferences = [_preferences(ranking.preferences)] if ranking.preferences else []
    return [_places(ranking), _by_judge(ranking), *preferences, _paper()]


def as_json(ranking: Ranking) -> dict[str, Any]:
    """The content of `rank.json`: the records of the tables, and what they are made of."""
    joined = ranking.joined
    return {table.name: table.records() for table in tables(ranking) if table.name != "paper"} | {
        "tied": list(ranking.fused.tied), "cycles": list(ranking.fused.cycles), "judges": dict(joined.judges),
        "baseline": dict(joined.baseline), "splits": list(joined.splits), "left_out": list(joined.left_out),
    }  # fmt: skip


def write(ranking: Ranking, out: str) -> list[Path]:
    """Write the report (.html) or the figures (.json), or both into a folder; returns the files.

    Raises UserError on a file of another kind, and where they cannot be written.
    """
    files = _files(out)
    html = page("FACTS Grounding: ranking", tables(ranking), lead=lead(ranking), notes=list(notes(ranking)))
    figures = json.dumps(as_json(ranking), ensure_ascii=False, indent=1) + "\n"
    try:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(figures if file.suffix == ".json" else "".join(html), "utf-8", "backslashreplace")
    except OSError as error:
        raise write_error(f"--out {out}: cannot be written", error.strerror or error) from error
    return files


def _files(out: str) -> list[Path]:
    path = Path(out)
    if path.suffix in (".html", ".json") and not path.is_dir():
        return [path]
    if (path.suffix and not path.is_dir()) or path.is_file():
        raise UserError(f"--out {out}: name a folder, or a file that ends in .html or .json")
    return [path / "rank.json", path / "report.html"]


def lead(ranking: Ranking) -> str:
    """What is ranked by what."""
    joined = ranking.joined
    judges = ", ".join(f"{name} ({how.get('template', '?')})" for name, how in joined.judges.items())
    return f"{how_many(len(joined.models), 'model')} on {', '.join(joined.splits)}, judged by {judges}."


def notes(ranking: Ranking) -> Iterator[str]:
    """What the ranks rest on, and what is not in them."""
    joined = ranking.joined
    if joined.left_out:
        yield f"Not ranked on {', '.join(joined.left_out)}, which some models lack."
    if tied := ranking.fused.tied:
        pairs = "; ".join(f"{standing} above {other}" for standing, other in tied)
        yield f"Pairs that win equally many rankings, told apart by the mean score alone: {pairs}."
    for cycle in ranking.fused.cycles:
        yield f"{', '.join(cycle)} form a Condorcet cycle, so that no order is right for all pairs; Schulze's method orders them."
    if missing := [standing.model for standing in ranking.standings if standing.fused is None]:
        yield f"Without a rank, since a judge decided nothing there: {', '.join(missing)}."
    if len(joined.judges) * len(joined.splits) == 1:
        yield "With one judge and one split the fused rank is the order of the scores."
    if unscored := sum(standing.mean.final.unscored for standing in ranking.standings):
        yield f"Answers that no judge decided, left out of the means: {unscored}."


def _places(ranking: Ranking) -> Table:
    rows = [
        {
            "rank": standing.fused, "model": standing.model, "final": standing.mean.final, "span": str(standing.span) if standing.fused else "-",
            "unadjusted": standing.mean.unadjusted, "effect": standing.mean.effect, "rank_unadjusted": standing.fused_unadjusted,
            "moved": "-" if standing.moved is None else f"{standing.moved:+d}" if standing.moved else "0",
            "ineligible": sum(cell.ineligible for cell in standing.splits.values()),
            "answers": sum(cell.answers for cell in standing.splits.values()),
        }
        for standing in ranking.standings
    ]  # fmt: skip
    return Table("models", _PLACES, rows, "Ranks", "Scores are means over judges and splits.", keys=2)


def _by_judge(ranking: Ranking) -> Table:
    rows = [
        {"model": standing.model, "split": split, "judge": judge, "final": both.final, "unadjusted": both.unadjusted,
         "ineligible": cell.ineligible, "answers": cell.answers}
        for standing in ranking.standings
        for split, cell in standing.splits.items()
        for judge, both in (*cell.judges.items(), ("mean", cell.mean))
    ]  # fmt: skip
    return Table("scores", _BY_JUDGE, rows, "Scores by split and judge", keys=3, printed=False)


def _preferences(preferences: tuple[Preference, ...]) -> Table:
    rows: list[dict[str, Any]] = [
        {"judge": preference.judge, "own": ", ".join(preference.own), "by": preference.by, "to_own": preference.final.own, "to_others": preference.final.others,
         "final": Score(preference.final.preference, 0, 0, preference.final.ci95),
         "unadjusted": Score(preference.unadjusted.preference, 0, 0, preference.unadjusted.ci95)}
        for preference in preferences
    ]  # fmt: skip
    if len(rows) > 1:
        means = {name: mean_of(*(row[name].value for row in rows)) for name in ("final", "unadjusted")}
        rows.append({"judge": "mean", **{name: Score(value, 0) for name, value in means.items()}})
    final, unadjusted = paper_self_preference()
    rows += [
        {"judge": "ours, on its tables 6 and 5", "by": "model", "final": Score(final / 100, 0),
         "unadjusted": Score(unadjusted / 100, 0), PUBLISHED: True},
        {"judge": "as it reports it", "final": Score(REPORTED_SELF_PREFERENCE / 100, 0), PUBLISHED: True},
    ]  # fmt: skip
    note = "The paper does not say how its figure was formed."
    return Table("self_preference", _PREFERENCES, rows, "Self-preference of judges", note)


def _paper() -> Table:
    rows = paper_rows(FINAL)
    names = [name for name in rows[0] if f"{name}/ci95" in rows[0]]
    columns = [
        Column("model", "Model"),
        Column("rank", "rank", "count"),
        *(Column(name, name, "score", digits=1) for name in names),
    ]
    published = [
        {"model": row["Response Model"], "rank": row["Fused Rank"], PUBLISHED: True, **{name: _printed(row, name) for name in names}}
        for row in rows
    ]  # fmt: skip
    note = "On its own two splits, by its three judges; Wald intervals. For reference, not for comparison."
    return Table("paper", columns, published, "The paper's table 6", note, printed=False)


def _printed(row: dict[str, Any], name: str) -> Score:
    value, reach = row[name], row[f"{name}/ci95"]
    return Score(value / 100, 0, 0, ((value - reach) / 100, (value + reach) / 100))
