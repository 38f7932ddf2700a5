"""What a report on judged checklists shows, in order: models, pairs, categories, checklists, every conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.benchmarks.tick import summary
from truebench_hf.benchmarks.tick.differences import NOTE, points
from truebench_hf.benchmarks.tick.scores import Graded, Pair
from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.data.case import as_answered, with_history
from truebench_hf.data.judged import Judged
from truebench_hf.report.conversation import as_counted
from truebench_hf.report.repeated import repeated as samples
from truebench_hf.report.sections import (
    Conversation,
    Conversations,
    Dots,
    Exchange,
    Grid,
    Matrix,
    Outcome,
    Section,
    dot,
    exchanges,
    interval,
    value,
)
from truebench_hf.types import Criterion, Instance, Message, Score, Verdict

Scores = Mapping[str, Mapping[str, Score]]
_REASONS = 5


def sections(
    scores: Scores, categories: Scores, pairs: Sequence[Pair], unscored: Sequence[Mapping[str, Any]],
    checklists: Mapping[str, Any], graded: Sequence[Graded], repeated: Scores,
) -> list[Section]:  # fmt: skip
    """Everything there is to show."""
    shown: list[Section] = [_models(scores), _dots(scores)]
    shown += [samples(by, f"Repeated samples, all met: {model}") for model, by in repeated.items()]
    shown += [_pairs(pairs)] if pairs else []
    shown += [_categories(categories)] if categories else []
    shown += [_unscored(unscored)] if unscored else []
    return [*shown, *summary.sections(checklists), _conversations(graded, bool(repeated))]


def _models(scores: Scores) -> Grid:
    header = (
        "Model",
        "pass rate",
        "95 % interval",
        "DRFR",
        "95 % interval",
        "all met",
        "responses",
        "unscored",
        "open questions",
    )
    rows = []
    for model, rate in scores["pass_rate"].items():
        micro, whole = scores["drfr"][model], scores["all_met"][model]
        figures = (value(rate), interval(rate), value(micro), interval(micro), value(whole))
        rows.append((model, *figures, rate.n, rate.unscored, micro.unscored))
    note = (
        "In %. Pass rate: mean over responses of the share of questions answered YES; a response with an open question "
        "has none. DRFR: the share of all answered questions. All met: responses with every question answered YES. "
        "Intervals have instructions as clusters; none from fewer than ten."
    )
    return Grid("Models", header, tuple(rows), note=note)


def _dots(scores: Scores) -> Dots:
    rates = [(model, rate) for model, rate in scores["pass_rate"].items() if rate.value is not None]
    lines = tuple((model, (dot("Pass rate", rate.value or 0.0, rate.ci95),)) for model, rate in rates)
    return Dots("Mean pass rates", lines)


def _pairs(pairs: Sequence[Pair]) -> Grid:
    header = ("First", "Second", "win", "tie", "loss", "instructions", "left out", "difference", "95 % interval")
    rows: list[tuple[str | int, ...]] = []
    for pair in pairs:
        gap = pair.difference
        shares = map(_with_interval, (pair.win, pair.tie, pair.loss))
        rows.append((pair.first, pair.second, *shares, gap.n, gap.left_out, *points(gap)))
    note = (
        "On each instruction the response with the higher pass rate wins; shares in %, with Wilson intervals. The "
        f"difference is that of the mean pass rates on the same instructions, in points. {NOTE}"
    )
    return Grid("Models against each other", header, tuple(rows), note=note)


def _with_interval(score: Score) -> str:
    return f"{value(score)} ({interval(score)})" if score.ci95 else value(score)


def _categories(categories: Scores) -> Matrix:
    models = list(next(iter(categories.values())))
    rows = tuple((name, tuple(found[model] for model in models)) for name, found in categories.items())
    return Matrix("Pass rate by category", "Pass rate in %", tuple(models), rows)


def _unscored(found: Sequence[Mapping[str, Any]]) -> Grid:
    rows = tuple((one["id"], one["model"] or "all", one["reason"][:160]) for one in found[:_REASONS])
    more = f"And {len(found) - len(rows)} more, in scores.json." if len(found) > len(rows) else ""
    return Grid(f"Without a pass rate: {len(found)}", ("id", "model", "why"), rows, note=more, prose=(2,))


def unanswered(listed: Sequence[Listed]) -> Conversations:
    """Every instruction with its questions, to which there are no answers yet."""
    return Conversations("Instructions and their checklists", tuple(map(_asked, listed)))


def _conversations(graded: Sequence[Graded], several: bool) -> Conversations:
    """Every response with the answers to its questions; responses to one instruction stand together."""
    rows = []
    for one in graded:
        found = [_answered(name, item, several) for name, samples in one.judged.items() for item in samples]
        rows += found or [_asked(one.listed)]
    return Conversations("Responses, question by question", tuple(rows))


def _asked(one: Listed) -> Conversation:
    error = "" if one.criteria else f"no checklist: {one.problem}"
    shown = _exchanges(one.instance, (), one.criteria)
    return Conversation(_title(one.instance), shown, "", error, language=one.instance.language)


def _answered(model: str, found: Judged, several: bool) -> Conversation:
    passed, instance, response = found.passed, found.instance, found.response
    outcome: Outcome = "open" if passed is None else "yes" if passed else "no"
    shown = _exchanges(
        instance, response.answers, tuple(map(as_counted, found.verdicts[0])), "".join(response.reasoning)
    )
    number = f" · sample {response.sample}" if several else ""
    name = f"{_title(instance)} · {model}{number}"
    return Conversation(name, shown, outcome, response.error or "", language=instance.language)


def _exchanges(
    instance: Instance, answers: Sequence[str], found: Sequence[Verdict | Criterion], reasoning: str = ""
) -> tuple[Exchange, ...]:
    """What was said before, and the instruction with its answer and its questions."""
    asked = (Message("user", instance.turns[0].prompt), *(Message("assistant", text) for text in answers))
    whole = exchanges((*with_history(instance, as_answered(instance, ())), *asked), ())
    return (*whole[:-1], replace(whole[-1], verdicts=tuple(found), reasoning=reasoning))


def _title(instance: Instance) -> str:
    """What an instruction is called; what the data does not tell is left out."""
    return " · ".join(filter(None, (instance.id, instance.language, instance.category, instance.task)))
