"""What the report of a run shows: the pass rate, the criteria missed most, scores by group, human labels, instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, cast

from truebench_hf.benchmarks.truebench.board import REPEATED, models_of, scores_of
from truebench_hf.benchmarks.truebench.correction import human_labels
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.scores import as_frames, by_category_and_language, passes, rule
from truebench_hf.data.judged import Judged
from truebench_hf.options import NOBODY
from truebench_hf.report import sections
from truebench_hf.report.page import page_bytes
from truebench_hf.report.sections import Matrix, Section, as_counted, conversation
from truebench_hf.report.table import ABOUT, Column, Table, pairs, repeated
from truebench_hf.results.report import Report
from truebench_hf.results.verdicts import VerdictFrames, ordered
from truebench_hf.text.terminal import how_many, shortened
from truebench_hf.types import Score, Verdict

# By name in scores.json: how a score is called, and what it is.
HEADLINES = {
    "overall": ("Pass rate", "The share of instances whose every criterion of every turn is met."),
    "strict": ("Strict (unscored = fail)", "The same with unscored instances as failed."),
    "official": ("Official rule", "A criterion without a verdict does not count."),
    "single_turn": ("Single-turn", "The pass rate of instances of one turn."),
    "multi_turn": ("Multi-turn", "The pass rate of instances of several turns."),
    "soft_criterion": ("Soft by criterion", "The mean over instances of the share of criteria that are met."),
    "soft_turn": ("Soft by turn", "The mean over instances of the share of turns that pass."),
    "drfr": ("DRFR (criteria)", "The share of all decided criteria that are met."),
    "weighted": ("Weighted share of points", "The mean over instances of the points that are met, of all positive ones."),
    "flip_rate": ("Flip rate (criteria whose votes differ)", "The share of criteria on which votes are not unanimous."),
    "vote_share": ("Vote share (votes that agree with the verdict)", "The mean share of votes cast for the verdict."),
    "conflicting": ("Conflicting (criteria given two labels)", "The share of criteria to which one answer gave two labels."),
}  # fmt: skip
_TURNS = ("single_turn", "multi_turn")
_REASONS = 5
_MOST_GROUPS = 100  # of a kind: nobody reads more, and a page shall stay small
_PAGE = 3_500_000  # bytes of conversations on a page, which stays below 5 MB with all else
_FRAME = 900  # bytes of a conversation beside its texts, and of a verdict a quarter of it
_PARTS: Any = ("value", "interval", "n", "unscored")


def run_tables(report: Report, judged: Sequence[Judged] = ()) -> list[Table]:
    """Return the tables of a report, in order; those that need the answers only where some are `judged`."""
    models = models_of(report.provenance) if report.provenance else []
    groups = {name: group for name, group in report.scores.items() if isinstance(group, Mapping) and group}
    if len(models) > 1:
        tables = [_models(report), *(human_labels(own, model) for model, own in report.bias_corrected.items())]
    else:
        failed = missed_most(judged)
        tables = [_headline(report), *([failed] if failed.rows else [])]
        for name, group in groups.items():
            if name == REPEATED:
                continue
            title = name.removeprefix("by_")
            rows = [{title: key, "value": score} for key, score in list(group.items())[:_MOST_GROUPS]]
            more = f"And {len(group) - len(rows):,} more, in scores.json." if len(group) > len(rows) else ""
            columns = _columns(title.capitalize(), title)
            tables.append(Table("", columns, rows, note=more, printed=name != "by_task"))
        tables += [human_labels(report.bias_corrected)] if report.bias_corrected else []
    samples = any(name.partition(":")[0] == REPEATED for name in groups)
    return [*tables, *([unscored(report, samples)] if report.unscored else [])]


def run_charts(report: Report, judged: Sequence[Judged] = (), frames: VerdictFrames | None = None) -> list[Section]:
    """Return what is drawn beside them; `frames` are what is judged without its texts."""
    models = models_of(report.provenance) if report.provenance else []
    scores = cast("Mapping[str, Mapping[str, Score]]", report.scores)
    if len(models) <= 1:
        charts: list[Section] = [repeated(scores[REPEATED])] if scores.get(REPEATED) else []
        cells = by_category_and_language(frames or as_frames(judged), report.provenance)
        categories, languages = (
            ordered({pair[i] for pair in cells}, first) for i, first in ((0, CATEGORIES), (1, LANGUAGES))
        )
        if not cells or max(len(categories), len(languages)) > _MOST_GROUPS:
            return charts
        rows = tuple((name, tuple(cells.get((name, language)) for language in languages)) for name in categories)
        return [*charts, Matrix("Category by language", "Pass rate in %", tuple(languages), rows)]
    charts = [requirements(judged)] if judged else []
    samples = {model: group for model in models if (group := scores_of(scores, model).get(REPEATED))}
    charts += [repeated(group, f"Repeated samples: {model}") for model, group in samples.items()]
    for by in ("category", "language", "task"):  # none where the data tells no groups
        groups = {name.partition(":")[2]: cells for name, cells in scores.items() if name.startswith(f"by_{by}:")}
        rows = tuple((group, tuple(own.get(model) for model in models)) for group, own in groups.items())
        more = f"And {len(rows) - _MOST_GROUPS:,} more, in scores.json." if len(rows) > _MOST_GROUPS else ""
        if rows:
            charts.append(Matrix(by.capitalize(), "Pass rate in %", tuple(models), rows[:_MOST_GROUPS], more))
    return charts


def lead(report: Report) -> str:
    """Who was judged by whom, in a line; "" where nobody knows."""
    provenance = report.provenance
    by = f" judged by {provenance['judge']}" if provenance.get("judge") else ""
    if provenance.get("judge") == NOBODY:
        by = ", no judge: what can be counted is decided"
    level = f", level {provenance['judging']['level']}" if provenance.get("judging", {}).get("level") else ""
    return f"{' · '.join(models_of(provenance))}{by}{level}" if provenance else ""


def facts(report: Report) -> dict[str, object]:
    """What was run."""
    provenance = report.provenance
    judging = provenance.get("judging", {})
    return {
        "Model": " · ".join(models_of(provenance)),
        "Judge": provenance.get("judge"),
        "Judge level": judging.get("level"),
        "Cascade judge": provenance.get("cascade_judge"),
        "Reasoning": {True: "on", False: "off"}.get(judging.get("reasoning")),
        "Protocol": provenance.get("protocol"),
    }


def _headline(report: Report) -> Table:
    """The pass rate, and folded below it every other score."""
    scores = {name: score for name, score in report.scores.items() if isinstance(score, Score)}
    alone = [name for name in _TURNS if name in scores and not scores[name].n + scores[name].unscored]
    left_out = {*(_TURNS if alone else ()), *meaningless(report)}  # data of one sort
    rows = [
        {"score": title, ABOUT: about, "value": scores[name]}
        for name, (title, about) in HEADLINES.items()
        if name in scores and name not in left_out
    ]
    note = (
        "95 % intervals: Wilson for rates over instances; for shares of criteria Wilson with instances as clusters, and "
        f"none from fewer than ten instances. {_open(report)}"
    )
    return Table("", _columns("Score"), rows, note=note, headline=True)


def _open(report: Report) -> str:
    if rule(report.provenance) == "official":
        return "Undecided instances count by the labels given, as the official rule has it."
    return "Unscored instances are left out of the pass rate and counted beside it."


def meaningless(report: Report) -> set[str]:
    """The figures that say nothing: the official rule leaves out what nobody was asked about, as if it were met."""
    return {"official"} if report.provenance.get("judge") == NOBODY and rule(report.provenance) != "official" else set()


def _columns(title: str, key: str = "score") -> list[Column]:
    return [Column(key, title), Column("value", "%", "score", parts=_PARTS, drawn=True)]


def _models(report: Report) -> Table:
    """One row a model: the pass rate with its interval, and what stands beside it."""
    scores = cast("Mapping[str, Mapping[str, Score]]", report.scores)
    known = {name for name in HEADLINES if any(score.n + score.unscored for score in scores.get(name, {}).values())}
    known -= meaningless(report)
    if not known.issuperset(_TURNS):  # data of one sort
        known -= set(_TURNS)
    beside = [name for name in HEADLINES if name in known and name != "overall"]
    (title, about), *_ = HEADLINES.values()
    columns = [
        Column("model", "Model"),
        Column("overall", title, "score", about, parts=_PARTS, drawn=True),
        *(Column(name, HEADLINES[name][0], "score", HEADLINES[name][1], minor=1) for name in beside),
    ]
    rows = [
        {"model": model, **{name: scores[name].get(model) for name in ("overall", *beside)}}
        for model in scores["overall"]
    ]
    return Table("", columns, rows, "Models", f"In %; intervals by Wilson. {_open(report)}")


def unscored(report: Report, samples: bool) -> Table:
    """What has no score, of several `samples` each by itself, and the first reasons."""
    count = how_many(len(report.unscored), "sample" if samples else "instance")
    title = f"Unscored: {count}, left out of the {'mean of their instance' if samples else 'pass rate'}"
    if rule(report.provenance) == "official":
        title = f"Undecided: {count}; the official rule counts them by the labels given"
    rows = [(name, reason[:160]) for name, reason in list(report.unscored.items())[:_REASONS]]
    more = len(report.unscored) - len(rows)
    return pairs(title, rows, f"And {more} more, in scores.json." if more else "")


def conversations(report: Report, judged: Sequence[Judged], folder: str = "") -> sections.Conversations:
    """The instances, failed ones first, by the run's own rule, as many as a page holds.

    `folder` is where all of them are. Those of several models are named with whose answer it is.
    """
    provenance = report.provenance
    named = len(models_of(provenance)) > 1 if provenance else False
    samples = any(item.response.sample > 1 for item in judged)
    order = sorted(judged, key=lambda item: {False: 0, None: 1, True: 2}[passes(item, provenance)])
    rows: list[sections.Conversation] = []
    held = 0
    for item in order:
        texts = [message.content for message in item.response.messages] + list(item.response.reasoning)
        verdicts = [verdict for turn in item.verdicts for verdict in turn]
        texts += [text for verdict in verdicts for text in (verdict.criterion.text, verdict.reason)]
        size = page_bytes(texts) + _FRAME * (1 + len(verdicts) // 3)  # about, of a page
        if size > _PAGE // 4:  # a few giants would leave no room for others
            continue
        if (held := held + size) > _PAGE:
            break
        rows.append(conversation(item, passes(item, provenance), samples, item.response.model if named else ""))
    more = len(judged) - len(rows)
    note = f"And {more:,} more: `truebench space --runs {folder or 'DIR'}` shows all." if more else ""
    return sections.Conversations("Samples" if samples else "Instances", tuple(rows), note)


RULES = "rules"  # who judges what a program counts
_ROWS, _TABLE_PAGE = 200, 800_000  # of a page
_MEASURED = "measured: "
_EXAMPLE = 60  # characters of an answer, or of a reason

_MISSED = (
    Column("criterion", "Criterion", "prose"),
    Column("failed", "failed", "count", "Answers that fail the criterion."),
    Column("decided", "of", "count", "Answers on which there is a verdict."),
    Column("example", "for example", "prose", "How one of the answers that fail begins."),
    Column("why", "why", "prose", "What was counted in it, or the judge's reason."),
)
Cell = tuple[Verdict, str]  # a verdict and the answer it is on


def requirements(judged: Sequence[Judged]) -> sections.Requirements:
    """Return every requirement with its outcome for each model; of many those that are missed most."""
    models = list(dict.fromkeys(item.response.model for item in judged))
    cells = _by_requirement(judged)
    rows = []
    for (_, prompt, text), by_model in cells.items():
        outcomes = []
        for model in models:
            if not (own := by_model.get(model)):
                outcomes.append(sections.Met(""))
                continue
            labels = [verdict.label for verdict, _ in own]
            state: sections.Outcome = "no" if "no" in labels else "yes" if set(labels) == {"yes"} else "open"
            # Of several answers one that misses it is shown.
            verdict, answer = next((cell for cell in own if cell[0].label == "no"), own[0])
            figure = measured(verdict) if len(own) == 1 else f"{labels.count('yes')} of {len(labels)}"
            outcomes.append(sections.Met(state, figure, answer, verdict.reason))
        rows.append(sections.Outcomes(text, prompt, tuple(outcomes)))
    rows.sort(key=lambda row: -sum(cell.outcome == "no" for cell in row.cells))
    sizes = (page_bytes(text for cell in row.cells for text in (cell.answer, cell.reason)) for row in rows)
    rows = rows[: sum(size <= _TABLE_PAGE for size in accumulate(islice(sizes, _ROWS)))]
    more = len(cells) - len(rows)
    note = (
        "What was counted stands beside its sign. ▸ opens the prompt, with the answers and why they meet it or do not."
    )
    if more > 0:
        note += f" And {more:,} more, of which fewer are missed: judgments.jsonl has all."
    return sections.Requirements("Requirements", tuple(models), tuple(rows), note)


def missed_most(judged: Iterable[Judged], rows: int = 20) -> Table:
    """Return the criteria that answers fail most: how often, the start of one answer, and why that one fails.

    Those that fail most often come first, of equals those that fail the larger share of the times they are decided.
    """
    by_text: dict[str, list[Cell]] = defaultdict(list)
    for by_model in _by_requirement(judged).values():
        for cells in by_model.values():
            for verdict, answer in cells:
                by_text[verdict.criterion.text].append((verdict, answer))
    failed = {text: [cell for cell in cells if cell[0].label == "no"] for text, cells in by_text.items()}
    decided = {text: sum(verdict.label in ("yes", "no") for verdict, _ in cells) for text, cells in by_text.items()}
    ranked = sorted(
        filter(failed.get, failed), key=lambda text: (-len(failed[text]), -len(failed[text]) / decided[text], text)
    )
    table = []
    for text in ranked[:rows]:
        verdict, answer = failed[text][0]
        example = f'"{shortened(answer, _EXAMPLE)}"'
        why = measured(verdict) or shortened(verdict.reason, _EXAMPLE)
        counts = {"failed": len(failed[text]), "decided": decided[text]}
        table.append({"criterion": text, **counts, "example": example, "why": why})
    return Table("", _MISSED, table, "Criteria failed most", printed=False)


def measured(verdict: Verdict) -> str:
    """Return what a program counted for a verdict; "" for the verdict of a judge."""
    return verdict.reason.removeprefix(_MEASURED) if verdict.judge == RULES else ""


def _by_requirement(judged: Iterable[Judged]) -> dict[tuple[str, str, str], dict[str, list[Cell]]]:
    """Return the verdicts as they count, each with its answer, by (place, prompt, requirement), then by model.

    Several samples make a list.
    """
    cells: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
    for item in judged:
        answers = [message.content for message in item.response.messages if message.role == "assistant"]
        for number, (turn, verdicts) in enumerate(zip(item.instance.turns, item.verdicts, strict=False)):
            answer = answers[number] if number < len(answers) else ""
            for place, verdict in enumerate(map(as_counted, verdicts)):
                key = (f"{item.instance.id} {number} {place}", turn.prompt, verdict.criterion.text)
                cells.setdefault(key, {}).setdefault(item.response.model, []).append((verdict, answer))
    return cells
