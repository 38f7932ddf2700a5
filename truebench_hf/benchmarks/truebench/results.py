"""A finished run read back, whether a folder, a `judgments.jsonl` or an official evaluation file, and the official tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.board import KIND, models_of
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.scores import response_values
from truebench_hf.data import jsonl
from truebench_hf.data.instances import of_row
from truebench_hf.data.judged import Judged, as_answered
from truebench_hf.data.records import JUDGMENTS, LARGEST, RESPONSES, Form, Reader, read_lines
from truebench_hf.data.rows import Record
from truebench_hf.engine.folder import INFO
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import official_passes, pass_rate
from truebench_hf.results import verdicts
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import VerdictFrames, unit_means
from truebench_hf.types import Instance, Label, Response, Usage, Verdict


def judgments(path: Path) -> Path:
    """Return the file of judged instances that a folder or file is."""
    return path / JUDGMENTS if path.is_dir() else path


def made_by(path: Path) -> Results:
    """Return the run folder that this is, or in which a `judgments.jsonl` lies; without settings where it is of no run."""
    folder = path if path.is_dir() else path.parent
    has_run = (folder / INFO).is_file() and (path.is_dir() or path.name == JUDGMENTS)
    run = Results.open(folder) if has_run else Results(path, {})
    return run if {"model", "judge"} <= run.settings.keys() else Results(path, {})


def read_each(path: Path, context: Callable[[str], str] = str) -> Iterator[tuple[Judged, str]]:
    """Return (judged instance, judge) of the rows one after the other, of each context what `context` makes of it.

    Raises UserError naming the line.
    """
    file = judgments(path)
    kind = Results.open(file.parent).kind if file.name == JUDGMENTS and (file.parent / INFO).is_file() else ""
    if kind not in ("", KIND):
        raise UserError(f"{path}: is a study of kind {kind}; give a run, or a file of judged instances")
    return read_lines(file, "give a run folder or an evaluation file", form(path), context)


def read_run(path: Path) -> list[Judged]:
    """Return the judged responses of a run, of every model, each once: of one that stands twice its last row.

    Raises UserError naming the line, and where they are of others than the `run.json` beside them says.
    """
    rows = {(item.response.model, judge, *item.key): item for item, judge in read_each(path)}
    check_run(path, rows)
    return list(rows.values())


def read_frames(path: Path) -> VerdictFrames:
    """Return the same as frames, what scores are made of, without texts; rows that stand twice do so here, too."""
    each = read_each(path, no_context)  # refuses what is no run
    frames = verdicts.read_frames(judgments(path), lambda: each)
    keys = frames.responses[["model", "judge", "instance", "sample"]].drop_duplicates()
    check_run(path, keys.itertuples(index=False, name=None))
    return frames


def no_context(text: str) -> str:
    """Return what is left of a context for those who count: nothing."""
    return ""


def check_run(path: Path, keys: Iterable[tuple[str, str, str, int]]) -> None:
    """Raise UserError where a file is empty, or not what the run beside it wrote when it was finished.

    `keys` are (model, judge, instance, sample) of its responses, each once.
    """
    file, run, remedy = judgments(path), made_by(path), "repeat the command of the run"
    instances: dict[tuple[str, str], list[str]] = {}
    for model, judge, instance, _ in keys:
        instances.setdefault((model, judge), []).append(instance)
    if not instances:
        raise UserError(f"{file}: holds no judged instances")
    if not run.settings:
        return
    run.check_finished()
    expected = {(model, str(run.settings["judge"])) for model in models_of(run.settings)}
    if odd := sorted(instances.keys() ^ expected):
        model, judge = odd[0]
        raise UserError(f"{file}: of {model} judged by {judge} run.json tells, or this file, but not both; {remedy}")
    for (model, _), held in instances.items():
        count = len(set(held))
        items, samples = run.settings.get("items", count), run.settings.get("samples", 1)
        if count != items or len(held) < items * samples:
            raise UserError(
                f"{file}: holds {len(held)} responses of {model} to {count} instances, run.json beside it is about "
                f"{items * samples} to {items}; {remedy}"
            )


def form(path: Path) -> Form:
    """Return what reads a row of such a file: ours, or one of an official evaluation file, whose name tells the model."""
    name = path.name.split("_TRUEBench-v")[0].removesuffix(".jsonl").removesuffix("_eval_result")

    def read(reader: Reader, row: Any, where: str) -> tuple[Judged, str]:
        official = isinstance(row, dict) and "judge_parsed" in row
        return (from_official_row(row, where, name), "") if official else reader.judged(row, where)

    return read


def read_responses(path: Path) -> list[tuple[Instance, Response]]:
    """Return the instances of a run folder with their responses.

    Raises UserError where there are none, naming the line that is none, and where they are of another model or other
    data than `run.json` says: left over from before a `generate` that was stopped.
    """
    file, again = path / RESPONSES, "finish `truebench study generate` with this folder first"
    if not (path / INFO).is_file() or not file.is_file() or not file.stat().st_size:
        raise UserError(f"--out {path}: holds no answers; run `truebench study generate` with this folder first")
    run = Results.open(path)
    if run.kind not in ("", KIND):
        raise UserError(f"--out {path}: is a study of kind {run.kind}; give the folder of `truebench study generate`")
    reader = Reader()
    answers = [reader.answered(row, where) for where, row in jsonl.read(file, "generate again")]
    models, samples = models_of(run.settings), run.settings.get("samples", 1)
    if others := {response.model for _, response in answers} - set(models):
        raise UserError(f"{file} holds answers of {min(others)}, run.json there is about {', '.join(models)}; {again}")
    for model in models:
        own = [(instance, response.sample) for instance, response in answers if response.model == model]
        first = [instance for instance, sample in own if sample == 1]
        held = Counter(instance.id for instance, _ in own)
        doubled = len(own) > len({(instance.id, sample) for instance, sample in own})
        short = any(count < samples for count in held.values())
        if doubled or short or data.data_hash(first) != run.settings.get("data_sha256"):
            raise UserError(f"{file} does not hold the answers of {model} that run.json there is about; {again}")
    return answers


Cells = list[list[str | float]]
Runs = Sequence[tuple[str, VerdictFrames]]
_USAGE = ("input", "think", "response", "total")
_UNKNOWN = "unknown"


def pass_rate_table(runs: Runs, field: str, official: bool) -> Cells:
    """Return `stats_cat.csv` (the field is "category") or `stats_lang.csv` ("language"): percentages, a row per model.

    Official rule: a cell without rows is 0, groups that the official code does not know are left out. Ours: blank, and
    appended.
    """
    by_category = field == "category"
    known = [name for name in CATEGORIES if name != "Multi-Turn"] if by_category else list(LANGUAGES)
    others = {name for _, frames in runs for name in frames.responses[field].unique()} - {*known, "Multi-Turn", ""}
    groups = [*known, *([] if official else sorted(others))]
    table: Cells = [["Model Name", "Overall", *groups, *(["Single-Turn", "Multi-Turn"] if by_category else [])]]
    for model, frames in runs:
        responses = frames.responses
        passed = response_values(frames)["official" if official else "passed"].to_numpy()
        instances = responses["instance"].to_numpy()
        # Officially by name, whatever the number of turns.
        multi_turn = responses["category"] == "Multi-Turn" if official else responses["turns"] > 1
        masks = [responses["turns"] >= 0, *(responses[field] == name for name in groups)]
        cells: list[str | float] = []
        for mask in [*masks, *([~multi_turn, multi_turn] if by_category else [])]:
            rows = mask.to_numpy(dtype=bool)
            # The official code counts rows, whatever they are of.
            value = pass_rate(passed[rows] if official else unit_means(passed[rows], instances[rows])).value
            # It rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
            cells.append((0 if official else "") if value is None else round(value * 100, 2))
        table.append([model, *cells])
    return table


def usage_table(runs: Runs) -> Cells:
    """Return `usage.csv`: tokens of inference and judge per model; response tokens exclude thinking.

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


def from_official_row(row: dict[str, Any], where: str, model: str) -> Judged:
    """Return a judged instance from a row of an official evaluation file (`judge_parsed` with `labels` per turn).

    Labels stand by position: where their number is not that of the turns or criteria nobody knows what they are about.
    """
    instance = of_row(Record(where, row))
    answers, parsed = row.get("response"), row.get("judge_parsed")
    if not isinstance(answers, list) or not isinstance(parsed, list):
        raise UserError(f"{where}: fields 'response' and 'judge_parsed' must be lists, one entry per turn")
    by_turn = list(map(_official_labels, parsed)) + [[]] * (len(instance.turns) - len(parsed))
    odd = f"labels of {len(by_turn)} turns for {len(instance.turns)}" if len(by_turn) > len(instance.turns) else ""
    turns = []
    for turn, labels in zip(instance.turns, by_turn, strict=False):
        uneven = f"{len(labels)} labels for {len(turn.criteria)} criteria" if len(labels) != len(turn.criteria) else ""
        problem = odd or (uneven if labels else "")
        usable = [None] * len(turn.criteria) if problem or not labels else labels
        reason = f"the official file holds {problem or 'no label for this criterion'}"
        pairs = zip(turn.criteria, usable, strict=True)
        turns.append(tuple(Verdict(criterion, label, "" if label else reason) for criterion, label in pairs))
    try:
        messages, thinking = as_answered(instance, list(map(str, answers))), tuple(map(str, row.get("think") or ()))
        response = Response(instance.id, model, messages, thinking)
        usage = {"model": _tokens(row, "inference"), "judge": _tokens(row, "judge")}
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{where}: not a row of an official evaluation file ({error})") from error
    recorded = row.get("pass")
    return Judged(
        instance, response, tuple(turns), usage, recorded if isinstance(recorded, bool) else official_passes(by_turn)
    )


def _official_labels(entry: Any) -> list[Label | None]:
    """Return the labels of a turn, None for what is neither true nor false."""
    labels = entry.get("labels") if isinstance(entry, dict) else None
    known: dict[bool, Label] = {True: "yes", False: "no"}
    return [known[label] if isinstance(label, bool) else None for label in labels] if isinstance(labels, list) else []


def _tokens(row: dict[str, Any], role: str) -> Usage:
    spent, thought, written = (
        sum(int(count or 0) for count in row.get(f"{role}_{kind}_tokens") or ())
        for kind in ("input", "think", "response")
    )
    if max(spent, thought, written) > LARGEST:
        raise ValueError(f"more than {LARGEST:.0e} tokens")
    return Usage(spent, thought + written, thought, len(row.get(f"{role}_input_tokens") or ()))
