"""What the report of best of N shows: each way to choose beside Tables 5 and 8, and every answer with its scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truebench_hf.benchmarks.tick import summary as checklists
from truebench_hf.benchmarks.tick.best_of.scores import BEST, GREEDY, RANDOM, Answer, Line, Sampled, table, undecided
from truebench_hf.benchmarks.tick.differences import NOTE, points
from truebench_hf.benchmarks.tick.outside import NAMES, outside_facts, outside_lead
from truebench_hf.benchmarks.tick.paper import paper_rows
from truebench_hf.report.conversation import as_counted
from truebench_hf.report.sections import (
    Conversation,
    Conversations,
    Exchange,
    Grid,
    Section,
    fixed,
    interval,
    value,
)
from truebench_hf.study.board import Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Message, Score

_WORDS = {GREEDY: "greedy (temperature 0)", RANDOM: "random pick (expected)", BEST: "best possible"}
# The paper's columns for an outside score: data set, its measure, and what makes it percent.
_PRINTED = {"drfr": ("InFoBench", "DRFR", 100), "rating": ("WildBench", "WB-Score", 1)}
_TABLES = {"5": "Command-R+", "8": "Llama3.1-70B"}


def sections(done: Sequence[Sampled], options: Any) -> list[Section]:
    """The report, in order."""
    found: list[Section] = [_lines(done, options)] if options.outside else []
    found.append(_ties(done, options))
    open_ = [(one.instance.id, why) for one in done if (why := undecided(one, options.by, bool(options.outside)))]
    if open_:
        found.append(Grid("Something undecided", ("instruction", "what"), tuple(open_), prose=(1,)))
    if listed := [one.listed for one in done if one.listed]:
        found += checklists.sections(checklists.summary(listed))
    note = "All answers to each instruction with the model's own verdicts; the greedy one is the last."
    return [*found, Conversations("Answers", tuple(_conversation(one, options.by) for one in done), note)]


def lead(options: Any) -> str:
    """Who selected by what, in a line."""
    judge = f", judged by {options.judge or 'itself'}" if set(options.by) - set(options.reward) else ""
    return f"best of {options.n} answers of {options.model} by {', '.join(options.by)}{judge}; {outside_lead(options)}"


def _lines(done: Sequence[Sampled], options: Any) -> Grid:
    header = (
        "selected by",
        "score %",
        "95 % interval",
        "n",
        "undecided",
        "precision %",
        "over greedy",
        "95 % interval",
    )
    measure = "the pass rate on the given criteria" if options.outside == "drfr" else NAMES[options.outside].lower()
    note = (
        f"Score: {measure}, averaged over instructions; over all answers that share the top selection score. Precision: the "
        "share of these that is best by the outside score. An instruction with an undecided outside score that matters is "
        f"left out of a line, and counted. {NOTE}"
    )
    note += " The paper's DRFR weighs every question alike." if options.outside == "drfr" else ""
    rows = tuple(_line(line) for line in table(done, options.by))
    return Grid(f"Best of {options.n}", header, rows, paper=_printed(options.outside), note=note)


def _line(line: Line) -> tuple[str | int, ...]:
    return (
        _WORDS.get(line.by, line.by), value(line.outside), interval(line.outside), line.outside.n,
        line.outside.unscored or "", value(line.precision) if line.precision else "-",
        *(points(line.versus) if line.by != GREEDY else ("", "")),
    )  # fmt: skip


def _printed(outside: str) -> tuple[tuple[str | int, ...], ...]:
    """Tables 5 and 8 for such an outside score; the paper prints no n and no intervals."""
    if outside not in _PRINTED:
        return ()
    data, measure, percent = _PRINTED[outside]
    rows = []
    for number, model in _TABLES.items():
        printed = paper_rows(number)
        base = percent * printed[0][f"{data}/{measure}"]
        for row in printed:
            score, precision = percent * row[f"{data}/{measure}"], row[f"{data}/Precision"]
            share = "-" if precision is None else fixed(100 * precision, 1)
            over = "" if row is printed[0] else f"{score - base:+.1f}"
            rows.append((f"{row['Scoring Function']} ({model}, {data})", fixed(score, 1), "", "", "", share, over, ""))
    return tuple(rows)


def _ties(done: Sequence[Sampled], options: Any) -> Grid:
    """How many answers a scoring function selects: it cannot tell more of them apart."""
    rows = []
    for name in options.by:
        sizes = [len(one.selected(name).places) for one in done]
        chosen = [size for size in sizes if size]
        mean = sum(chosen) / len(chosen) if chosen else None
        alone = sum(size == 1 for size in chosen)
        rows.append((name, len(chosen), alone, sum(size == options.n for size in chosen), fixed(mean), sizes.count(0)))
    header = ("selected by", "instructions", "one answer", "all answers", "mean selected", "none had a score")
    return Grid("Ties", header, tuple(rows))


def _conversation(one: Sampled, by: Sequence[str]) -> Conversation:
    asked = (Message("user", one.instance.turns[0].prompt),)
    selected = {name: one.selected(name).places for name in by}
    shown = []
    for number, answer in enumerate((*one.answers, one.greedy)):
        greedy = number == len(one.answers)
        chosen = [name for name in by if number in selected[name]]
        text = "(greedy)" if greedy else f"answer {number + 1}{', selected by ' + ', '.join(chosen) if chosen else ''}"
        said = asked if number == 0 else ()
        message = Message("assistant", answer.problem if answer.text is None else answer.text)
        verdicts = tuple(map(as_counted, answer.verdicts))
        shown.append(Exchange((*said, message), verdicts, f"{text}\n{_told(answer)}".strip()))
    return Conversation(one.instance.id, tuple(shown), "", language=one.instance.language)


def _told(answer: Answer) -> str:
    """The scores of an answer, one a line."""
    found = [f"{name}: {fixed(one.score, 3)}" for name, one in answer.inside.items()]
    return "\n".join([*found, *([f"outside: {fixed(answer.outside.score, 3)}"] if answer.outside else [])])


def board(done: Sequence[Sampled], options: Any, setting: str) -> Board | None:
    """A row per way to choose; ranked together over the same data and outside judge. None without an outside score."""
    if not options.outside:
        return None
    columns = (Column("outside", "Outside score"), Column("precision", "Precision"))
    model, rows = anonymous.name(options.model), []
    for line in table(done, options.by):
        scores: dict[str, Score] = {"outside": line.outside}
        scores |= {"precision": line.precision} if line.precision else {}
        how = _WORDS.get(line.by, anonymous.name(line.by))
        rows.append(Row(f"{model}, {how}", setting, scores, outside_facts(options) | {"N": str(options.n), "By": how}))
    return Board(
        "outside", columns, tuple(rows), title="STICK: best of N", unit="Outside score of what was selected, in %"
    )
