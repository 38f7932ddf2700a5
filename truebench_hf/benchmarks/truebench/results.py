"""What a run leaves in its folder: its results and the official tables, written, and answers and verdicts read back.

Official evaluation files are read, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.board import KIND, content, joined, judging_specs, models_of, one_model, ranking
from truebench_hf.benchmarks.truebench.correction import corrected
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.labels import label_place
from truebench_hf.benchmarks.truebench.scores import as_frames, response_values, score, unfinished
from truebench_hf.benchmarks.truebench.tables import conversations, facts, lead, run_charts, run_tables
from truebench_hf.data import jsonl
from truebench_hf.data.instances import of_row
from truebench_hf.data.judged import Judged, as_answered
from truebench_hf.data.records import JUDGMENTS, LARGEST, RESPONSES, Form, Reader, judgment_lines, read_lines
from truebench_hf.data.rows import Record
from truebench_hf.engine.folder import RunFolder, read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.pass_rate import official_passes, pass_rate
from truebench_hf.models.spec import family
from truebench_hf.report.sections import csv_text
from truebench_hf.results import verdicts
from truebench_hf.results.report import Report, score_tables
from truebench_hf.results.verdicts import VerdictFrames, unit_means
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Instance, Label, Response, Usage, Verdict

CORRECTED = "bias_corrected.json"  # by model what human labels say, of a run that has some
FILES = (JUDGMENTS, "scores_category.csv", "scores_language.csv", CORRECTED)


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
    files: dict[str, Any] = {JUDGMENTS: judgment_lines(judged, judge)}
    if by_labels := {name: of.bias_corrected for name, of in reports.items() if of.bias_corrected}:
        files[CORRECTED] = by_labels
    for name, table in (("category", category_table), ("language", language_table)):
        if any(f"by_{name}" in of.scores for of in reports.values()):
            files[f"scores_{name}.csv"] = csv_text(table(list(frames.items()), origin.get("protocol") == "official"))
    what = "TRUEBench" if all(item.instance.category in CATEGORIES for item in judged) else "Instructions followed"
    return Outcome(
        report, title=f"{what}: {models[0] if len(models) == 1 else f'{len(models)} models'}", lead=lead(report),
        tables=[*score_tables(reports), *run_tables(report, judged)], charts=run_charts(report, judged),
        conversations=conversations(report, judged, str(folder.path)), items=files,
        notes=report.notes, facts=facts(report), ranking=ranking(reports),
        known={"self_judged": origin["self_judged"], "content": contents[0] if len(models) == 1 else contents},
        incomplete=sum(map(unfinished, frames.values())),
    )  # fmt: skip


Cells = list[list[str | float]]
Runs = Sequence[tuple[str, VerdictFrames]]
_USAGE = ("input", "think", "response", "total")
_UNKNOWN = "unknown"


def category_table(runs: Runs, official: bool) -> Cells:
    """`stats_cat.csv`: a row per model; pass rates in percent, two decimals.

    Official rule: a cell without rows is 0, categories outside the list are left out. Ours: blank, and appended.
    """
    return _table(runs, "category", [name for name in CATEGORIES if name != "Multi-Turn"], official)


def language_table(runs: Runs, official: bool) -> Cells:
    """`stats_lang.csv`: a row per model, columns as in the official code."""
    return _table(runs, "language", LANGUAGES, official)


def _table(runs: Runs, field: str, known: Sequence[str], official: bool) -> Cells:
    """What the official code does not know stands behind what it does; categories go with columns by turns."""
    others = {name for _, frames in runs for name in frames.responses[field].unique()} - {*known, "Multi-Turn", ""}
    groups = [*known, *([] if official else sorted(others))]
    turns = ["Single-Turn", "Multi-Turn"] if field == "category" else []
    table: Cells = [["Model Name", "Overall", *groups, *turns]]
    for model, frames in runs:
        responses = frames.responses
        passed = response_values(frames)["official" if official else "passed"].to_numpy()
        instances = responses["instance"].to_numpy()
        # Officially by name, whatever the number of turns.
        multi_turn = responses["category"] == "Multi-Turn" if official else responses["turns"] > 1
        columns = [responses["turns"] >= 0, *(responses[field] == name for name in groups)]
        columns += [~multi_turn, multi_turn] if turns else []
        cells: list[str | float] = []
        for column in columns:
            rows = column.to_numpy(dtype=bool)
            # The official code counts rows, whatever they are of.
            value = pass_rate(passed[rows] if official else unit_means(passed[rows], instances[rows])).value
            # It rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
            cells.append((0 if official else "") if value is None else round(value * 100, 2))
        table.append([model, *cells])
    return table


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


def read_judged(path: Path, model: str | None = None) -> list[Judged]:
    """The judged instances of a run folder, or of a file with one run; of several models those of the one named.

    Raises UserError as `read_runs` does, and where it stays open which model is meant.
    """
    runs = read_runs(path)
    matching = [rows for name, _, rows in runs if model in (None, name)]
    if len(matching) > 1:
        names = " and ".join(_by(name, judge) for name, judge, _ in runs)
        raise UserError(f"{path}: holds rows of {names}; name one by --model, or give a file of one model and judge")
    if not matching:
        raise unknown(f"model in {path}", str(model), [name for name, _, _ in runs])
    return matching[0]


def read_runs(path: Path) -> list[tuple[str, str, list[Judged]]]:
    """(model, judge, judged instances) from a run folder, a `judgments.jsonl` or an official evaluation file.

    Rows of several models or judges are kept apart, in the order of their first. Rows that stand twice are returned
    twice: see `without_doubles`. Raises UserError naming the line, and where the rows are of others than the `run.json`
    beside them says.
    """
    runs: dict[tuple[str, str], list[Judged]] = {}
    for item, judge in read_each(path):
        runs.setdefault((item.response.model, judge), []).append(item)
    check_run(path, {by: [item.key for item in items] for by, items in runs.items()})
    return [(model, judge, items) for (model, judge), items in runs.items()]


def read_frames(path: Path) -> VerdictFrames:
    """The same as frames: what scores are made of, without texts."""
    each = read_each(path, no_context)  # refuses what is no run
    frames = verdicts.read_frames(judgments(path), lambda: each)
    by_run = frames.responses.groupby(["model", "judge"], sort=False, observed=True)[["instance", "sample"]]
    check_run(path, {by: list(rows.itertuples(index=False, name=None)) for by, rows in by_run})
    return frames


def read_each(path: Path, context: Callable[[str], str] = str) -> Iterator[tuple[Judged, str]]:
    """(judged instance, judge) of the rows one after the other, of each context what `context` makes of it.

    Whose the rows are says `check_run`.

    Raises UserError naming the line.
    """
    file = judgments(path)
    kind = read_info(file.parent).get("kind") if file.name == JUDGMENTS else None
    if kind not in (None, "", KIND):
        raise UserError(f"{path}: is a study of kind {kind}; give a run, or a file of judged instances")
    return read_lines(file, "give a run folder or an evaluation file", form(path), context)


def no_context(text: str) -> str:
    """What is left of a context for those who count: nothing."""
    return ""


def judgments(path: Path) -> Path:
    """The file of judged instances that a folder or file is."""
    return path / JUDGMENTS if path.is_dir() else path


def form(path: Path) -> Form:
    """Reads a row of such a file: ours, or one of an official evaluation file, whose name tells the model."""
    name = path.name.split("_TRUEBench-v")[0].removesuffix(".jsonl").removesuffix("_eval_result")

    def read(reader: Reader, row: Any, where: str) -> tuple[Judged, str]:
        official = isinstance(row, dict) and "judge_parsed" in row
        return (from_official_row(row, where, name), "") if official else reader.judged(row, where)

    return read


def check_run(path: Path, runs: Mapping[tuple[str, str], Collection[tuple[str, int]]]) -> None:
    """Raise UserError where a file is empty, or not that of the run whose `run.json` lies beside it.

    `runs` are the keys of the responses, by model and judge.
    """
    file = judgments(path)
    if not runs:
        raise UserError(f"{file}: holds no judged instances")
    if not (settings := made_by(path).get("settings", {})):
        return
    remedy = "finish that run first"
    expected = [(model, settings["judge"]) for model in models_of(settings)]
    about = " and ".join(_by(*by) for by in expected)
    if other := [by for by in runs if by not in expected]:
        raise UserError(f"{file}: {_by(*other[0])}, but run.json beside it is about {about}; {remedy}")
    for by in expected:
        if by not in runs:
            raise UserError(f"{file}: holds nothing of {_by(*by)}, run.json beside it is about {about}; {remedy}")
        held = len({name for name, _ in runs[by]})
        if (wanted := settings.get("items", held)) != held:
            raise UserError(f"{file}: holds {held} instances, run.json beside it is about {wanted}; {remedy}")
        _check_samples(file, runs[by], settings, remedy)


def _check_samples(file: Path, keys: Collection[tuple[str, int]], settings: Mapping[str, Any], remedy: str) -> None:
    """Raise UserError where a file lacks samples that `run.json` beside it is about."""
    if (wanted := settings.get("samples", 1)) == 1:
        return
    held = Counter(name for name, _ in dict.fromkeys(keys))
    if short := [name for name, count in held.items() if count < wanted]:
        raise UserError(
            f"{file}: holds {held[short[0]]} samples of instance {short[0]}, run.json beside it is about {wanted}; {remedy}"
        )


def made_by(path: Path) -> dict[str, Any]:
    """The `run.json` of a run folder, or of the one that a `judgments.jsonl` lies in; {} where none is of a run."""
    folder = path if path.is_dir() else path.parent
    info = read_info(folder) if path.is_dir() or path.name == JUDGMENTS else {}
    return info if {"model", "judge"} <= info.get("settings", {}).keys() else {}


def _by(model: str, judge: str) -> str:
    return f"{model} judged by {judge}" if judge else model


def without_doubles(judged: Sequence[Judged]) -> tuple[list[Judged], int]:
    """The rows with each sample once (its last row, at its first place), and how many rows were left out."""
    unique = {item.key: item for item in judged}
    return list(unique.values()), len(judged) - len(unique)


def read_responses(path: Path) -> list[tuple[Instance, Response]]:
    """The instances of a run folder with their responses.

    Raises UserError where there are none, naming the line that is none, and where they are of another model or other
    data than `run.json` says: left over from before a `generate` that was stopped.
    """
    file, info = path / RESPONSES, read_info(path)
    settings = info.get("settings")
    if info.get("kind", KIND) not in ("", KIND):
        raise UserError(
            f"--out {path}: is a study of kind {info['kind']}; give the folder of `truebench study generate`"
        )
    if not settings or not file.is_file() or not file.stat().st_size:
        raise UserError(f"--out {path}: holds no answers; run `truebench study generate` with this folder first")
    reader = Reader()
    try:
        answers = [reader.answered(row, where) for where, row in jsonl.read(file)]
    except UserError as error:
        raise UserError(f"{error}; generate again") from error
    models, again = models_of(settings), "finish `truebench study generate` with this folder first"
    if others := {response.model for _, response in answers} - set(models):
        raise UserError(f"{file} holds answers of {min(others)}, run.json there is about {', '.join(models)}; {again}")
    for model in models:
        own = [(instance, response) for instance, response in answers if response.model == model]
        keys = [(instance.id, response.sample) for instance, response in own]
        first_samples = [instance for instance, response in own if response.sample == 1]
        if len(set(keys)) < len(keys) or data.data_hash(first_samples) != settings.get("data_sha256"):
            of = f" for {model}" if len(models) > 1 else ""
            raise UserError(f"{file} does not hold the instances{of} that run.json there is about; {again}")
        _check_samples(file, keys, settings, again)
    return answers


def from_official_row(row: dict[str, Any], where: str, model: str) -> Judged:
    """A judged instance from a row of an official evaluation file (`judge_parsed` with `labels` per turn)."""
    instance = of_row(Record(where, row))
    answers, parsed = row.get("response"), row.get("judge_parsed")
    if not isinstance(answers, list) or not isinstance(parsed, list):
        raise UserError(f"{where}: fields 'response' and 'judge_parsed' must be lists, one entry per turn")
    known: dict[bool, Label] = {True: "yes", False: "no"}
    by_turn: list[list[Label | None]] = []
    for entry in parsed:
        labels = entry.get("labels") if isinstance(entry, dict) else None
        labels = labels if isinstance(labels, list) else []
        by_turn.append([known[label] if isinstance(label, bool) else None for label in labels])
    by_turn += [[]] * (len(instance.turns) - len(by_turn))
    # Of more turns than were asked nobody knows which is which.
    odd = f"labels of {len(by_turn)} turns for {len(instance.turns)}" if len(by_turn) > len(instance.turns) else ""
    verdicts = []
    for turn, labels in zip(instance.turns, by_turn, strict=False):
        # Labels stand by position, so of too many or too few nobody knows what they are about.
        uneven = (
            f"{len(labels)} labels for {len(turn.criteria)} criteria"
            if len(labels) not in (0, len(turn.criteria))
            else ""
        )
        reason = f"the official file holds {odd or uneven or 'no label for this criterion'}"
        usable = labels if labels and not (odd or uneven) else [None] * len(turn.criteria)
        pairs = zip(turn.criteria, usable, strict=True)
        verdicts.append(tuple(Verdict(criterion, label, "" if label else reason) for criterion, label in pairs))
    messages = as_answered(instance, list(map(str, answers)))
    try:
        response = Response(instance.id, model, messages, tuple(map(str, row.get("think") or ())))
        usage = {"model": _tokens(row, "inference"), "judge": _tokens(row, "judge")}
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{where}: not a row of an official evaluation file ({error})") from error
    recorded = row.get("pass")
    if not isinstance(recorded, bool):
        recorded = official_passes(by_turn)
    return Judged(instance, response, tuple(verdicts), usage, recorded)


def _tokens(row: dict[str, Any], role: str) -> Usage:
    spent, thought, written = (
        sum(int(count or 0) for count in row.get(f"{role}_{kind}_tokens") or ())
        for kind in ("input", "think", "response")
    )
    if max(spent, thought, written) > LARGEST:
        raise ValueError(f"more than {LARGEST:.0e} tokens")
    return Usage(spent, thought + written, thought, len(row.get(f"{role}_input_tokens") or ()))
