"""What a ranking shows: places, scores by split and judge, self-preference, and the paper's own table beside."""

from __future__ import annotations

import json
from pathlib import Path

from truebench_hf.benchmarks.facts.paper import FINAL, REPORTED_SELF_PREFERENCE, paper_rows, paper_self_preference
from truebench_hf.benchmarks.facts.ranking import Ranking
from truebench_hf.errors import UserError, write_error
from truebench_hf.report.page import page
from truebench_hf.report.sections import Dots, Grid, Section, dot, interval, percent, points_between, value
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Score

TITLE = "FACTS Grounding: ranking"


def sections(ranking: Ranking) -> list[Section]:
    """Everything a ranking shows, in order."""
    shown: list[Section] = [_places(ranking), _by_judge(ranking), _dots(ranking)]
    return [*shown, *([_preferences(ranking)] if ranking.preferences else []), _paper()]


def write(ranking: Ranking, out: str) -> list[Path]:
    """Write the report (.html) or the figures (.json), or both into a folder; returns the files.

    Raises UserError on a file of another kind, and where they cannot be written.
    """
    files = _files(out)
    whole = page(TITLE, sections(ranking), lead=lead(ranking), notes=notes(ranking))
    figures = json.dumps(ranking.as_json(), ensure_ascii=False, indent=1) + "\n"
    try:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(figures if file.suffix == ".json" else "".join(whole), "utf-8", "backslashreplace")
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
    count = how_many(len(joined.models), "model")
    return f"{count} on {', '.join(joined.splits)}, judged by {judges}."


def notes(ranking: Ranking) -> list[str]:
    """What the ranks rest on, and what is not in them."""
    found, joined = [], ranking.joined
    if joined.left_out:
        found.append(f"Not ranked on {', '.join(joined.left_out)}, which some models lack.")
    if tied := ranking.fused.tied:
        pairs = "; ".join(f"{one} above {other}" for one, other in tied)
        found.append(f"Pairs that win equally many rankings, told apart by the mean score alone: {pairs}.")
    found += [
        f"{', '.join(ring)} beat each other in a ring, so that no order is right for all pairs; Schulze's method orders "
        "them."
        for ring in ranking.fused.cycles
    ]
    if missing := [one.model for one in ranking.standings if one.fused is None]:
        found.append(f"Without a rank, since a judge decided nothing there: {', '.join(missing)}.")
    if len(joined.judges) * len(joined.splits) == 1:
        found.append("With one judge and one split the fused rank is the order of the scores.")
    unscored = sum(one.mean.final.unscored for one in ranking.standings)
    if unscored:
        found.append(f"Answers that no judge decided, left out of the means: {unscored}.")
    return found


def _places(ranking: Ranking) -> Grid:
    rows = tuple(
        (
            one.fused or "-", one.model, value(one.mean.final), interval(one.mean.final), str(one.span) if one.fused else "-",
            value(one.mean.unadjusted), _points(one.mean.effect), one.fused_unadjusted or "-", _signed(one.moved, 0),
            sum(split.ineligible for split in one.scores.values()), sum(split.answers for split in one.scores.values()),
        )
        for one in ranking.standings
    )  # fmt: skip
    header = (
        "Rank", "Model", "final %", "95 % interval", "span", "unadjusted %", "drop", "rank unadjusted", "moved",
        "ineligible", "answers",
    )  # fmt: skip
    note = (
        "Rank: fused over judges and splits by Condorcet's method. Final: ineligible answers count as inaccurate; mean over "
        "judges and splits. Span: the ranks that chance leaves open, by differences answer by answer. Moved: ranks won (+) or lost (-) "
        "by disqualification."
    )
    return Grid("Ranks", header, rows, note=note)


def _by_judge(ranking: Ranking) -> Grid:
    columns = [(split, judge) for split in ranking.joined.splits for judge in ranking.joined.judges]
    rows = tuple(
        (one.model, *(_cell(one.scores[split].judges[judge].final) for split, judge in columns))
        for one in ranking.standings
    )
    header = ("Model", *(f"{split}: {judge}" for split, judge in columns))
    note = "Percent accurate after disqualification, with 95 % intervals; * where answers were left undecided."
    return Grid("Final scores by split and judge", header, rows, note=note)


def _dots(ranking: Ranking) -> Dots:
    lines = tuple(
        (
            one.model,
            tuple(
                dot(kind, score.value, score.ci95)
                for kind, score in (("final", one.mean.final), ("unadjusted", one.mean.unadjusted))
                if score.value is not None
            ),
        )
        for one in ranking.standings
    )
    return Dots("Before and after disqualification", lines)


def _preferences(ranking: Ranking) -> Grid:
    rows: list[tuple[str, ...]] = [
        (
            one.judge, ", ".join(one.own), one.by,
            _points(one.final.own), _points(one.final.others), _points(one.final.preference), points_between(one.final.ci95),
            _points(one.unadjusted.preference),
        )
        for one in ranking.preferences
    ]  # fmt: skip
    if len(rows) > 1:
        final, unadjusted = _means(ranking)
        rows.append(("mean", "", "", "", "", final, "", unadjusted))
    printed = paper_self_preference()
    paper = (
        ("ours, on its tables 6 and 5", "", "model", "", "", f"{printed[0]:+.2f}", "", f"{printed[1]:+.2f}"),
        ("as it reports it", "", "", "", "", f"{REPORTED_SELF_PREFERENCE:+.2f}", "", ""),
    )
    header = (
        "Judge",
        "its own models",
        "matched by",
        "to its own",
        "to others",
        "preference",
        "95 % interval",
        "unadjusted",
    )
    note = (
        "Points a judge gives beyond the mean of the other judges: to its own models, to all others, and the difference "
        "(final scores; the last column before disqualification). The paper does not say how its figure was formed."
    )
    return Grid("Self-preference of judges", header, tuple(rows), paper, note)


def _means(ranking: Ranking) -> tuple[str, str]:
    found = (
        [one.final.preference for one in ranking.preferences],
        [one.unadjusted.preference for one in ranking.preferences],
    )
    return tuple(_points(None if None in some else sum(x or 0 for x in some) / len(some)) for some in found)  # type: ignore[return-value]


def _paper() -> Grid:
    rows = paper_rows(FINAL)
    columns = [name for name in rows[0] if name not in ("Response Model", "Fused Rank") and not name.endswith("/ci95")]
    paper = tuple(
        (row["Response Model"], row["Fused Rank"], *(f"{row[name]} ± {row[f'{name}/ci95']}" for name in columns))
        for row in rows
    )
    note = "On its own two splits, by its three judges; Wald intervals. For reference, not for comparison."
    return Grid("The paper's table 6", ("Model", "rank", *columns), (), paper, note, printed=False)


def _cell(score: Score) -> str:
    ends = f" ({interval(score)})" if score.ci95 else ""
    return f"{percent(score.value, 1)}{ends}{'*' if score.unscored else ''}"


def _points(share: float | None) -> str:
    return _signed(None if share is None else 100 * share)


def _signed(number: float | None, digits: int = 2) -> str:
    return "-" if number is None else f"{number:+.{digits}f}" if number else "0"
