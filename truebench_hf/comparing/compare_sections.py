"""What a comparison of two runs shows: the differences, what flipped with both answers, and what is not compared."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from truebench_hf.comparing.compare import GROUPS, Comparison, Flip, Line
from truebench_hf.comparing.finished import ABOUT
from truebench_hf.data.judged import Judged
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.report.conversation import as_counted, conversation
from truebench_hf.report.csv_table import guard
from truebench_hf.report.sections import (
    Beside,
    Cells,
    Conversation,
    Grid,
    Section,
    p_value,
    percent,
    points,
    points_between,
)
from truebench_hf.text.terminal import how_many

_SHOWN = 20  # flips on the terminal; all are in the CSV
_ON_PAGE = 1000  # flips with both answers on the page: more than anybody reads
_LONGEST = 160  # characters of a reason on the terminal


def sections(found: Comparison, *, page: bool = True) -> list[Section]:
    """Everything a comparison shows, in order; what only a `page` shows is not read for the terminal."""
    if not found.flips:
        return [_differences(found)]
    return [_differences(found), *_flips(found), *([_beside(found)] if page else [])]


def title(found: Comparison) -> str:
    """What is compared."""
    return f"A {_name(found, 0)} and B {_name(found, 1)}"


def notes(found: Comparison) -> list[str]:
    """What keeps the runs from being comparable, what is not compared, and what came out."""
    said = [f"Not comparable as models: {'; '.join(found.differs)}."] if found.differs else []
    said.append(_outcome(found))
    if found.undecided:
        said.append(f"Undecided in one of the runs, and left out: {_listed(found.undecided)}.")
    if found.otherwise:
        said.append(f"Of one id, but ask something else in each run, and left out: {_listed(found.otherwise)}.")
    said += [f"Only in {letter}: {_listed(only)}." for letter, only in zip("AB", found.only, strict=True) if only]
    said += [
        f"Self-judged: the model of {letter} and a judge belong to one family, which favours it."
        for letter, own in zip("AB", found.self_judged, strict=True)
        if own
    ]
    said += [
        f"Self-preference of {one.judge}: beyond other judges it gives {', '.join(one.own)} {one.text} more than the other."
        for one in found.preferences
    ]
    return said


def as_json(found: Comparison) -> dict[str, Any]:
    """The content of `compare.json`: shares are between 0 and 1, differences (B - A) between -1 and 1."""
    return {
        **{letter: {"run": run.where, "model": run.model, "judge": run.judge} for letter, run in zip("ab", found.runs, strict=True)},
        "kind": found.runs[0].kind, "differs": list(found.differs), "overall": asdict(found.overall),
        "groups": {by: {name: asdict(line) for name, line in lines.items()} for by, lines in found.groups.items()},
        "flips": [{"id": flip.id, "a": flip.scores[0], "b": flip.scores[1]} for flip in found.flips],
        "undecided": list(found.undecided), "otherwise": list(found.otherwise),
        "only_a": list(found.only[0]), "only_b": list(found.only[1]), "self_judged": list(found.self_judged),
        "self_preference": [asdict(one) for one in found.preferences],
    }  # fmt: skip


def files(found: Comparison) -> dict[str, str | Iterable[str]]:
    """The files beside the page, by name; those that hold texts in parts, since these are read as they are written."""
    return {"compare.json": json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n", "flips.csv": _csv(found)}


def _name(found: Comparison, place: int) -> str:
    run = found.runs[place]
    return run.model if found.runs[0].model != found.runs[1].model else f"{run.model} ({run.where})"


def _outcome(found: Comparison) -> str:
    sure = found.overall.difference
    if sure.difference is None:
        return "No instance is decided in both runs."
    how = "by the 95 % interval" if sure.interval else "by McNemar's exact test: fewer than ten instances are shared"
    if not sure.ahead:
        return f"A and B cannot be told apart on these {sure.n} instances ({how})."
    return f"{'B' if sure.ahead > 0 else 'A'} is ahead ({how})."


def _differences(found: Comparison) -> Grid:
    header = (
        "", "n", "A %", "B %", "B - A", "95 % interval", "McNemar p", "A alone", "B alone", "undecided",
    )  # fmt: skip
    rows = [_row("Overall", found.overall, found, None)]
    for by, lines in found.groups.items():
        rows += [_row(f"{by}: {name}", line, found, (by, name)) for name, line in lines.items()]
    note = (
        f"Of {ABOUT[found.runs[0].kind]}; B - A in points over the instances that both decided: above 0, B is better. "
        "Intervals: Bonett and Price for passes, else of the mean difference; none below ten instances. McNemar: exact, "
        "for passes. A alone: instances where only A passes (or scores more). Of twenty groups one differs by chance."
    )
    return Grid(title(found), header, tuple(rows), note=note)


def _row(name: str, line: Line, found: Comparison, group: tuple[str, str] | None) -> Cells:
    inside = [flip for flip in found.flips if group is None or getattr(flip, GROUPS[group[0]]) == group[1]]
    gap, ends = line.difference.difference, line.difference.interval
    return (
        name, line.difference.n, percent(line.first), percent(line.second),
        points(gap, 2), points_between(ends),
        p_value(line.difference.p_value),
        sum(flip.scores[0] > flip.scores[1] for flip in inside),
        sum(flip.scores[0] < flip.scores[1] for flip in inside), line.undecided or "",
    )  # fmt: skip


def _flips(found: Comparison) -> list[Grid]:
    flips = [flip for half in _most(found, _SHOWN) for flip in half]
    rows = tuple(
        (flip.id, flip.language, flip.category, _score(flip.scores[0]), _score(flip.scores[1]),
         whys[flip.scores[0] > flip.scores[1]][:_LONGEST])
        for flip, whys in zip(flips, found.texts(flips, _why), strict=True)
    )  # fmt: skip
    more = len(found.flips) - len(rows)
    pages = "report.html and flips.csv" if len(found.flips) <= _ON_PAGE else "flips.csv"
    note = f"And {more} more, in {pages} of --out." if more else ""
    header = ("Instance", "language", "category", "A", "B", "why the lower one")
    return [Grid(f"Flipped: {how_many(len(found.flips), 'instance')}", header, rows, note=note, prose=(5,))]


def _most(found: Comparison, number: int) -> tuple[list[Flip], list[Flip]]:
    """So many flips, the greatest first, where B and where A is ahead: both directions, however many there are of one."""
    won, lost = ([flip for flip in found.flips if (flip.scores[0] > flip.scores[1]) is side] for side in (True, False))
    half = number // 2
    return lost[: max(half, number - len(won))], won[::-1][: max(half, number - len(lost))]


def _score(score: float) -> str:
    return {0.0: "fail", 1.0: "pass"}.get(score, f"{100 * score:.0f} %")


def _why(item: Judged) -> str:
    """The first criterion that a response fails, with the judge's reason."""
    return next(iter(_failed(item)), item.response.error or "")


def _failed(item: Judged) -> list[str]:
    verdicts = (as_counted(verdict) for turn in item.verdicts for verdict in turn)
    who = {JUDGE: "Rules"}
    return [
        f"{v.criterion.text} · {who.get(v.judge, 'Judge')}: {v.reason or 'no reason'}"
        for v in verdicts
        if v.label == "no"
    ]


def _beside(found: Comparison) -> Beside:
    ahead, behind = _most(found, _ON_PAGE)
    shown = [*ahead, *behind[::-1]]
    pairs = zip(shown, found.texts(shown, lambda item: item), strict=True)
    rows = tuple(tuple(_shown(found, flip, *one) for one in enumerate(pair)) for flip, pair in pairs)
    more = len(found.flips) - len(shown)
    less = f" The {len(ahead)} greatest there, and the {len(behind)} greatest where A is: {more} more are in flips.csv."
    note = "First where B is ahead. Both answers with every verdict."
    return Beside("Flipped, answer by answer", rows, note + (less if more else ""))


def _shown(found: Comparison, flip: Flip, place: int, item: Judged) -> Conversation:
    score = flip.scores[place]
    shown = conversation(item, bool(score) if score in (0, 1) else None)
    said = "" if score in (0, 1) else f", {_score(score)}"
    name = f"{shown.name} · A {_score(flip.scores[0])}, B {_score(flip.scores[1])}"
    outcome = shown.outcome if score in (0, 1) else ""
    return replace(shown, name=name, who=f"{'AB'[place]}: {_name(found, place)}{said}", outcome=outcome)


_COLUMNS = (
    "id", "language", "category", "score_a", "score_b", "prompts", "answers_a", "answers_b", "failed_a", "failed_b",
)  # fmt: skip


def _csv(found: Comparison) -> Iterator[str]:
    """A line for every flip."""
    yield _row_of(_COLUMNS)
    for flip, cells in zip(found.flips, found.texts(found.flips, _cells), strict=True):
        scores = (f"{score:g}" for score in flip.scores)
        (prompts, *first), (_, *second) = cells
        both = [cell for pair in zip(first, second, strict=True) for cell in pair]
        yield _row_of((flip.id, flip.language, flip.category, *scores, prompts, *both))


def _cells(item: Judged) -> tuple[str, str, str]:
    """The prompts, the answers and what failed of them."""
    prompts = _lines([turn.prompt for turn in item.instance.turns])
    return prompts, _lines(item.response.answers), "\n".join(_failed(item))


def _row_of(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(map(guard, cells))
    return out.getvalue()


def _lines(texts: Sequence[str]) -> str:
    return "\n\n".join(texts)


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return f"{len(ids)} ({', '.join(ids[:5])}{more})"
