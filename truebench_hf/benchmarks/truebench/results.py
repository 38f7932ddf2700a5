"""What comes of a run: its report with what produced it, and the official result tables, written into its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench.board import content, joined, judging_specs, models_of, one_model, ranking
from truebench_hf.benchmarks.truebench.correction import corrected
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.labels import label_place
from truebench_hf.benchmarks.truebench.scores import as_frames, response_values, score, unfinished
from truebench_hf.benchmarks.truebench.tables import conversations, facts, lead, run_charts, run_tables
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import judgment_lines
from truebench_hf.engine.folder import RunFolder
from truebench_hf.models.spec import family
from truebench_hf.report.csv_table import csv_text
from truebench_hf.results.estimators import rate, unit_means
from truebench_hf.results.report import Report, score_tables
from truebench_hf.results.verdicts import VerdictFrames
from truebench_hf.study.outcome import Outcome

if TYPE_CHECKING:
    from pandas import DataFrame


CORRECTED = "bias_corrected.json"  # by model what human labels say, of a run that has some
FILES = ("judgments.jsonl", "scores_category.csv", "scores_language.csv", CORRECTED)


def provenance(info: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of how it was made, from `run.json`; its settings may be no more than model and judge.

    Whether a judge belongs to the family of a model is told by model where there are several.
    """
    settings, families = info["settings"], set(map(family, judging_specs(info["settings"])))
    own = {name: family(name) in families for name in models_of(settings)}
    return {
        **settings,
        "versions": info.get("versions", {}),  # a submission has none
        "self_judged": own if len(own) > 1 else next(iter(own.values())),
    }


def results(folder: RunFolder, judged: Sequence[Judged]) -> Outcome[Report]:
    """What comes of a run; the report of a model whose labels are in its folder is corrected by them."""
    info, models = folder.info, models_of(folder.info["settings"])
    origin, judge = provenance(info), str(info["settings"]["judge"])
    by_model = {name: [item for item in judged if item.response.model == name] for name in models}
    frames = {name: as_frames(items) for name, items in by_model.items()}
    reports: dict[str, Report] = {}
    for name, items in by_model.items():
        report = score(frames[name], folder.usage(), provenance(one_model(info, name)))
        reports[name] = corrected(report, items, label_place(folder.path, name, models))
    report = replace(joined(reports, origin), judged=tuple(judged))
    contents = [content(items, judge) for items in by_model.values()]
    what = "TRUEBench" if all(item.instance.category in CATEGORIES for item in judged) else "Instructions followed"
    return Outcome(
        report, title=f"{what}: {models[0] if len(models) == 1 else f'{len(models)} models'}", lead=lead(report),
        tables=[*score_tables(reports), *run_tables(report, judged)], charts=run_charts(report, judged),
        conversations=conversations(report, judged, str(folder.path)), items=_items(judged, judge, reports, frames, origin),
        notes=report.notes, facts=facts(report), ranking=ranking(reports),
        known={"self_judged": origin["self_judged"], "content": contents[0] if len(models) == 1 else contents},
        incomplete=sum(map(unfinished, frames.values())),
    )  # fmt: skip


def _items(
    judged: Sequence[Judged], judge: str, reports: Mapping[str, Report], frames: Mapping[str, VerdictFrames],
    origin: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The files of a run beside those of its tables."""
    items: dict[str, Any] = {"judgments.jsonl": judgment_lines(judged, judge)}
    if by_labels := {name: report.bias_corrected for name, report in reports.items() if report.bias_corrected}:
        items[CORRECTED] = by_labels
    for name, table in (("category", category_table), ("language", language_table)):
        if any(f"by_{name}" in report.scores for report in reports.values()):
            items[f"scores_{name}.csv"] = csv_text(table(list(frames.items()), origin.get("protocol") == "official"))
    return items


Cells = list[list[str | float]]
Runs = Sequence[tuple[str, VerdictFrames]]
Rows = Callable[["DataFrame"], Any]  # which responses count in a column
_SINGLE = tuple(name for name in CATEGORIES if name != "Multi-Turn")
_USAGE = ("input", "think", "response", "total")
_UNKNOWN = "unknown"


def category_table(runs: Runs, official: bool) -> Cells:
    """`stats_cat.csv`: a row per model; pass rates in percent, two decimals.

    Official rule: a cell without rows is 0, categories outside the list are left out. Ours: blank, and appended.
    """

    def multi_turn(responses: DataFrame) -> Any:  # officially by name, whatever the number of turns
        return responses["category"] == "Multi-Turn" if official else responses["turns"] > 1

    columns = _columns(runs, "category", _SINGLE, official)
    columns += [("Single-Turn", lambda responses: ~multi_turn(responses)), ("Multi-Turn", multi_turn)]
    return _table(runs, columns, official)


def language_table(runs: Runs, official: bool) -> Cells:
    """`stats_lang.csv`: a row per model, columns as in the official code."""
    return _table(runs, _columns(runs, "language", LANGUAGES, official), official)


def usage_table(runs: Runs) -> Cells:
    """`usage.csv`: tokens of inference and judge per model; response tokens exclude thinking.

    Where a server left counts out, a sum is `unknown`.
    """
    header = [f"{role}_{kind}_tokens" for role in ("inference", "judge") for kind in _USAGE]
    table: Cells = [["Model Name", *header, "total_tokens"]]
    for model, frames in runs:
        cells: list[str | float] = []
        total, spent = 0, frames.responses
        for role in ("model", "judge"):
            read, written, thought, unknown = (
                int(spent[f"{role}_{count}"].sum())
                for count in ("input_tokens", "output_tokens", "reasoning_tokens", "unknown_calls")
            )
            cells += [_UNKNOWN] * 4 if unknown else [read, thought, written - thought, read + written]
            total += read + written
        table.append([model, *cells, _UNKNOWN if _UNKNOWN in cells else total])
    return table


def _columns(runs: Runs, field: str, known: Sequence[str], official: bool) -> list[tuple[str, Rows]]:
    """Columns, and which responses count in each; what the official code does not know stands behind what it does."""
    names = {name for _, frames in runs for name in frames.responses[field].unique()} - {*known, "Multi-Turn", ""}
    columns = [*known, *([] if official else sorted(names))]
    return [
        ("Overall", lambda responses: responses["turns"] >= 0),
        *((name, lambda responses, name=name: responses[field] == name) for name in columns),
    ]


def _table(runs: Runs, columns: Sequence[tuple[str, Rows]], official: bool) -> Cells:
    table: Cells = [["Model Name", *(name for name, _ in columns)]]
    for model, frames in runs:
        passed = response_values(frames)["official" if official else "passed"].to_numpy()
        instances = frames.responses["instance"].to_numpy()
        cells: list[str | float] = []
        for _, rows_of in columns:
            rows = rows_of(frames.responses).to_numpy(dtype=bool)
            # The official code counts rows, whatever they are of.
            value = rate(passed[rows] if official else unit_means(passed[rows], instances[rows])).value
            # It rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
            cells.append((0 if official else "") if value is None else round(value * 100, 2))
        table.append([model, *cells])
    return table
