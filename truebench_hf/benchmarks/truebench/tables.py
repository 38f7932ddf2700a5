"""What comes of a run: its scores, the criteria missed most, scores by group, and its instances to look through."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.results import (
    REPEATED,
    content,
    joined,
    judging_words,
    models_of,
    one_model,
    provenance,
    ranking,
)
from truebench_hf.benchmarks.truebench.scores import (
    as_frames,
    by_category_and_language,
    pass_rate_table,
    passes,
    rule,
    score,
    unfinished,
)
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGMENTS, judgment_lines
from truebench_hf.engine.folder import RunFolder
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.options import NOBODY
from truebench_hf.report import sections
from truebench_hf.report.page import page_bytes
from truebench_hf.report.sections import Matrix, Section, as_counted, conversation, csv_text
from truebench_hf.report.table import ABOUT, Column, Table, pairs, repeated
from truebench_hf.results.report import Report, score_tables
from truebench_hf.results.verdicts import VerdictFrames, ordered
from truebench_hf.study.outcome import Outcome
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


Reports = Mapping[str, Report]  # by model


def outcome(folder: RunFolder, judged: Sequence[Judged]) -> Outcome[Report]:
    """Return what comes of a run."""
    info, models = folder.info, models_of(folder.info["settings"])
    origin = provenance(info)
    by_model = {name: [item for item in judged if item.response.model == name] for name in models}
    frames = {name: as_frames(items) for name, items in by_model.items()}
    reports = {
        name: score(of_model, folder.usage(), provenance(one_model(info, name))) for name, of_model in frames.items()
    }
    report = replace(joined(reports, origin), judged=tuple(judged))
    contents = [content(items, str(origin["judge"])) for items in by_model.values()]
    files: dict[str, Any] = {JUDGMENTS: judgment_lines(judged, str(origin["judge"]))}
    for field in ("category", "language"):
        if any(f"by_{field}" in of_model.scores for of_model in reports.values()):
            table = pass_rate_table(list(frames.items()), field, rule(origin) == "official")
            files[f"scores_{field}.csv"] = csv_text(table)
    what = "TRUEBench" if all(item.instance.category in CATEGORIES for item in judged) else "Instructions followed"
    return Outcome(
        report, title=f"{what}: {models[0] if len(models) == 1 else f'{len(models)} models'}", lead=lead(origin),
        tables=[*score_tables(reports), *run_tables(reports, judged)], charts=run_charts(reports, frames, judged),
        conversations=conversations(origin, judged, str(folder.path)), items=files, notes=report.notes,
        ranking=ranking(reports), known={"self_judged": origin["self_judged"], "content": contents[0] if len(models) == 1 else contents},
        incomplete=sum(map(unfinished, frames.values())),
    )  # fmt: skip


def run_tables(reports: Reports, judged: Sequence[Judged] = ()) -> list[Table]:
    """Return the tables of a run, in order; that of the criteria missed most only where some are `judged`."""
    first, *others = reports.values()
    if others:
        tables = [_models(reports)]
    else:
        failed = missed_most(judged)
        tables = [_headline(first), *([failed] if failed.rows else [])]
        for name, group in first.scores.items():
            if isinstance(group, Score) or not group or name == REPEATED:
                continue
            title = name.removeprefix("by_")
            rows = [{title: key, "value": cell} for key, cell in list(group.items())[:_MOST_GROUPS]]
            columns = _columns(title.capitalize(), title)
            tables.append(Table("", columns, rows, note=_more(len(group) - len(rows)), printed=name != "by_task"))
    left = unscored(reports)
    return [*tables, *([left] if left.rows else [])]


def run_charts(reports: Reports, frames: Mapping[str, VerdictFrames], judged: Sequence[Judged] = ()) -> list[Section]:
    """Return what is drawn beside them; `frames` are what is judged without its texts, by model."""
    charts: list[Section] = [requirements(judged)] if judged and len(reports) > 1 else []
    for model, report in reports.items():
        if samples := _group(report, REPEATED):
            charts.append(repeated(samples, f"Repeated samples: {model}" if len(reports) > 1 else "Repeated samples"))
    if len(reports) == 1:
        ((model, report),) = reports.items()
        cells = by_category_and_language(frames[model], report.provenance)
        categories, languages = (
            ordered({pair[i] for pair in cells}, first) for i, first in ((0, CATEGORIES), (1, LANGUAGES))
        )
        if cells and max(len(categories), len(languages)) <= _MOST_GROUPS:
            rows = tuple((name, tuple(cells.get((name, language)) for language in languages)) for name in categories)
            charts.append(Matrix("Category by language", "Pass rate in %", tuple(languages), rows))
        return charts
    for by in ("category", "language", "task"):  # none where the data tells no groups
        groups = [_group(report, f"by_{by}") for report in reports.values()]
        names = list(dict.fromkeys(name for group in groups for name in group))
        rows = tuple((name, tuple(group.get(name) for group in groups)) for name in names[:_MOST_GROUPS])
        if rows:
            more = _more(len(names) - len(rows))
            charts.append(Matrix(by.capitalize(), "Pass rate in %", tuple(reports), rows, more))
    return charts


def _group(report: Report, name: str) -> Mapping[str, Score]:
    group = report.scores.get(name, {})
    return {} if isinstance(group, Score) else group


def _more(count: int) -> str:
    return f"And {count:,} more, in scores.json." if count else ""


def lead(provenance: Mapping[str, Any]) -> str:
    """Return who was judged by whom, and how, in a line; "" where nobody knows."""
    if not provenance:
        return ""
    models, judge = " · ".join(models_of(provenance)), provenance.get("judge")
    if judge == NOBODY:
        return f"{models}, no judge: what can be counted is decided"
    return ", ".join(filter(None, (f"{models} judged by {judge}" if judge else models, judging_words(provenance))))


def _headline(report: Report) -> Table:
    """Return the pass rate, and folded below it every other score."""
    rows = [
        {"score": HEADLINES[name][0], ABOUT: HEADLINES[name][1], "value": report.scores[name]}
        for name in _meaningful([report])
    ]
    note = (
        "95 % intervals: Wilson for rates over instances; for shares of criteria Wilson with instances as clusters, and "
        f"none from fewer than ten instances. {_open(report)}"
    )
    return Table("", _columns("Score"), rows, note=note, headline=True)


def _models(reports: Reports) -> Table:
    """Return a row for each model: the pass rate with its interval, and what stands beside it."""
    _, *beside = _meaningful(list(reports.values()))
    (title, about), *_ = HEADLINES.values()
    columns = [
        Column("model", "Model"), Column("overall", title, "score", about, parts=_PARTS, drawn=True),
        *(Column(name, HEADLINES[name][0], "score", HEADLINES[name][1], minor=1) for name in beside),
    ]  # fmt: skip
    rows = [{"model": model, **report.scores} for model, report in reports.items()]
    return Table("", columns, rows, "Models", f"In %; intervals by Wilson. {_open(next(iter(reports.values())))}")


def _meaningful(reports: Sequence[Report]) -> list[str]:
    """Return the names of the scores that say something of some report.

    Rates by number of turns do not where data is of one sort; the official rule does not where nobody was asked, since
    it takes for met what nobody was asked about.
    """
    provenance = reports[0].provenance
    held = [{name: cell for name, cell in report.scores.items() if isinstance(cell, Score)} for report in reports]
    names = [name for name in HEADLINES if any(name in cells for cells in held)]
    empty = {name for name in names if not any(cells[name].n + cells[name].unscored for cells in held if name in cells)}
    left = {*_TURNS} if empty & {*_TURNS} else set()
    left |= empty - {"overall"} if len(reports) > 1 else set()
    left |= {"official"} if provenance.get("judge") == NOBODY and rule(provenance) != "official" else set()
    return [name for name in names if name not in left]


def _open(report: Report) -> str:
    if rule(report.provenance) == "official":
        return "Undecided instances count by the labels given, as the official rule has it."
    return "Unscored instances are left out of the pass rate and counted beside it."


def _columns(title: str, key: str = "score") -> list[Column]:
    return [Column(key, title), Column("value", "%", "score", parts=_PARTS, drawn=True)]


def unscored(reports: Reports) -> Table:
    """Return what has no score, of several samples each by itself, and the first reasons."""
    first, *others = reports.values()
    rows = [
        (f"{name} ({model})" if others else name, reason[:160])
        for model, report in reports.items()
        for name, reason in report.unscored.items()
    ]
    samples = any(REPEATED in report.scores for report in reports.values())
    count = how_many(len(rows), "sample" if samples else "instance")
    title = f"Unscored: {count}, left out of the {'mean of their instance' if samples else 'pass rate'}"
    if rule(first.provenance) == "official":
        title = f"Undecided: {count}; the official rule counts them by the labels given"
    return pairs(title, rows[:_REASONS], _more(max(0, len(rows) - _REASONS)))


def conversations(provenance: Mapping[str, Any], judged: Sequence[Judged], folder: str = "") -> sections.Conversations:
    """Return the instances, failed ones first, by the run's own rule, as many as a page holds.

    `folder` is where all of them are. Those of several models are named with whose answer it is.
    """
    named, samples = len(models_of(provenance)) > 1, any(item.response.sample > 1 for item in judged)
    rows: list[sections.Conversation] = []
    held = 0
    for item in sorted(judged, key=lambda item: {False: 0, None: 1, True: 2}[passes(item, provenance)]):
        verdicts = [verdict for turn in item.verdicts for verdict in turn]
        texts = [message.content for message in item.response.messages] + list(item.response.reasoning)
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
Cell = tuple[Verdict, str]  # a verdict as it counts, and the answer it is on


def requirements(judged: Sequence[Judged]) -> sections.Requirements:
    """Return every requirement with its outcome for each model; of many those that are missed most."""
    models = list(dict.fromkeys(item.response.model for item in judged))
    by_place: dict[tuple[str, str, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for place, prompt, model, cell in _cells(judged):
        by_place[place, prompt, cell[0].criterion.text][model].append(cell)
    rows = [
        sections.Outcomes(text, prompt, tuple(_met(by_model.get(model, [])) for model in models))
        for (_, prompt, text), by_model in by_place.items()
    ]
    rows.sort(key=lambda row: -sum(cell.outcome == "no" for cell in row.cells))
    sizes = (page_bytes(text for cell in row.cells for text in (cell.answer, cell.reason)) for row in rows)
    rows = rows[: sum(size <= _TABLE_PAGE for size in accumulate(islice(sizes, _ROWS)))]
    more = len(by_place) - len(rows)
    note = (
        "What was counted stands beside its sign. ▸ opens the prompt, with the answers and why they meet it or do not."
    )
    if more > 0:
        note += f" And {more:,} more, of which fewer are missed: judgments.jsonl has all."
    return sections.Requirements("Requirements", tuple(models), tuple(rows), note)


def _met(cells: Sequence[Cell]) -> sections.Met:
    """Return what became of a requirement in a model's answers; of several one that misses it is shown."""
    if not cells:
        return sections.Met("")
    labels = [verdict.label for verdict, _ in cells]
    state: sections.Outcome = "no" if "no" in labels else "yes" if set(labels) == {"yes"} else "open"
    verdict, answer = next((cell for cell in cells if cell[0].label == "no"), cells[0])
    figure = measured(verdict) if len(cells) == 1 else f"{labels.count('yes')} of {len(labels)}"
    return sections.Met(state, figure, answer, verdict.reason)


def missed_most(judged: Iterable[Judged], rows: int = 20) -> Table:
    """Return the criteria that answers fail most: how often, the start of one answer, and why that one fails.

    Those that fail most often come first, of equals those that fail the larger share of the times they are decided.
    """
    decided, failed, examples = Counter[str](), Counter[str](), dict[str, Cell]()
    for _, _, _, (verdict, answer) in _cells(judged):
        text = verdict.criterion.text
        decided[text] += verdict.label in ("yes", "no")
        if verdict.label == "no":
            failed[text] += 1
            examples.setdefault(text, (verdict, answer))
    table = []
    for text in sorted(failed, key=lambda text: (-failed[text], -failed[text] / decided[text], text))[:rows]:
        verdict, answer = examples[text]
        table.append({
            "criterion": text, "failed": failed[text], "decided": decided[text],
            "example": f'"{shortened(answer, _EXAMPLE)}"', "why": measured(verdict) or shortened(verdict.reason, _EXAMPLE),
        })  # fmt: skip
    return Table("", _MISSED, table, "Criteria failed most", printed=False)


def measured(verdict: Verdict) -> str:
    """Return what a program counted for a verdict; "" for the verdict of a judge."""
    return verdict.reason.removeprefix(_MEASURED) if verdict.judge == JUDGE else ""


def _cells(judged: Iterable[Judged]) -> Iterator[tuple[str, str, str, Cell]]:
    """Yield (place of the criterion, prompt, model, cell) of every verdict."""
    for item in judged:
        answers = item.response.answers
        for number, (turn, verdicts) in enumerate(zip(item.instance.turns, item.verdicts, strict=False)):
            answer = answers[number] if number < len(answers) else ""
            for place, verdict in enumerate(map(as_counted, verdicts)):
                yield f"{item.instance.id} {number} {place}", turn.prompt, item.response.model, (verdict, answer)


STRATA = {"pass": "judged to pass", "fail": "judged to fail", "undecided": "undecided"}  # of a run that people label
_HUMAN = (
    Column("what", ""), Column("share", "%", "score", parts=("value", "interval", "n"), drawn=True), Column("how", "", "prose"),
)  # fmt: skip


def human_labels(correction: Mapping[str, Any], model: str = "") -> Table:
    """Return what the labels say of a run: a report's `bias_corrected`, estimate or why it is withheld, and its grounds."""
    n, worth, bounds = correction["n"], correction["effective_labels"], correction["bounds"]
    samples = n + correction["undecided"] > correction["instances"]
    how = f"withheld: {correction['withheld']}"
    if correction["withheld"] is None:
        how = "stratified by verdict (double sampling)"
        how += "" if worth is None else f"; as good as {worth:.0f} labels on a simple random sample of the run"
    if bounds:
        how += "; the interval holds whatever the open ones are"
    interval = bounds or correction["ci95"]
    share = Score(correction["estimate"], correction["labels"], 0, interval and (interval[0], interval[1]))
    lines: list[tuple[str, Score | None, str]] = [
        (f"{'Samples' if samples else 'Instances'} that truly pass", share, how),
        ("As judged", Score(correction["observed"], n, correction["undecided"]),
         f"of {correction['instances']} instances" if samples else ""),
    ]  # fmt: skip
    for stratum in correction["strata"]:
        labelled = Score(stratum["share"], stratum["labelled"])
        of_stratum = f"{stratum['labelled']} of {stratum['n']} labelled"
        lines.append((f"Truly pass, {STRATA[stratum['name']]}", labelled, of_stratum))
    if left := _left_out(correction):
        lines.append(("Left out", None, "; ".join(left)))
    note = "The interval is for runs like this one, and carries the uncertainty of the run and that of the labels."
    rows = [dict(zip(("what", "share", "how"), line, strict=True)) for line in lines]
    return Table("", _HUMAN, rows, f"What human labels say{model and f': {model}'}", note)


def _left_out(correction: Mapping[str, Any]) -> list[str]:
    parts = []
    if ties := correction["ties"]:
        parts.append(f"{ties} on which annotators disagree, the difficult ones (`truebench label in --decisions`)")
    if unanswered := correction["unanswered"]:
        partly = f", {correction['partly']} of them in part" if correction["partly"] else ""
        parts.append(f"{unanswered} of {correction['drawn']} drawn are not labelled to the end{partly}")
    if missing := correction["incomplete"]:
        parts.append(f"{missing} instances to which the model gave no complete answer")
    return parts
