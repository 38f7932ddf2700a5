"""How far a judge, and other people, agree with experts on tri-valued verdicts (paper 001, section 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from truebench_hf.benchmarks.flexbench.judgments import LABELS
from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import Judged
from truebench_hf.data import row_files
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.flexeval import flexeval
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.report import sheets
from truebench_hf.report.labels import adjudicate
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Grid, Section, interval, percent
from truebench_hf.types import Label, Score

Key = tuple[str, str, str]  # model, conversation (with its seed), dimension
Labels = Mapping[Key, Label | None]
OPTIONS = ("yes", "no", "unknown")


@dataclass(frozen=True)
class Agreement:
    """Of one kind of labels beside the experts': accuracy by model, over all (micro), mean of models (macro), and
    Pearson's r of the models' Coverage and Achievement; None with fewer than three models, or all alike."""

    by_model: Mapping[str, Score]
    micro: Score
    macro: float | None
    pearson: Mapping[str, float | None]
    dialogues: Mapping[str, int]


def key_of(one: Judged, dimension: str) -> Key:
    """Where a verdict stands."""
    return one.talk.model, f"{one.talk.seed}/{one.talk.id}", dimension


def question_id(one: Judged, dimension: str = "") -> str:
    """The name of a verdict on a sheet, which tells the annotator neither model nor label; without a dimension that of
    the conversation."""
    said = [[message.role, message.content] for message in one.talk.messages]
    return f"d{digest(canonical([*key_of(one, dimension), said]))[:15]}"  # no spreadsheet program takes it for a number


def labels_of(judged: Iterable[Judged]) -> dict[Key, Label | None]:
    """A judge's verdicts."""
    return {key_of(one, name): label for one in judged for name, label in one.labels.items()}


def read_labels(files: Sequence[str], judged: Sequence[Judged]) -> dict[Key, Label | None]:
    """People's labels: filled-in sheets (several people: their majority, a tie is None), the `labels.jsonl` that
    `truebench label in` wrote, or rows with the id of a conversation (with model and seed where several have it) and its
    `verdicts` (dimension_id, label), as in the data set `flexbench`. Raises UserError."""
    known = {question_id(one, name): key_of(one, name) for one in judged for name in one.labels}
    rows = [path for path in files if Path(path).suffix in (".jsonl", ".parquet")]
    by_id: dict[str, str | None] = {}
    if filled := [path for path in files if path not in rows]:
        by_id |= adjudicate(sheets.read(filled)).labels
    labels: dict[Key, Label | None] = {}
    for record in (record for path in rows for record in row_files.records(Path(path))):
        if "annotations" in record.row:
            if record.row.get("label") not in LABELS:
                raise record.wrong("label", "must be yes, no, unknown or null")
            by_id[record.id("id")] = record.row.get("label")
        else:
            labels |= dict(_row(record, judged))
    if strange := [name for name in by_id if name not in known]:
        raise UserError(f"{', '.join(files)}: is about {strange[0]}, which is not among the judged conversations")
    labels |= {known[name]: label for name, label in by_id.items()}  # type: ignore[misc]
    if not any(labels.values()):
        raise UserError(f"{', '.join(files)}: holds no answers")
    return labels


def _row(record: Record, judged: Sequence[Judged]) -> list[tuple[Key, Label | None]]:
    name, model = record.id("id"), record.row.get("model")
    seed = record.row.get("seed")
    meant = [
        one for one in judged
        if one.talk.id == name and model in (None, "", one.talk.model) and (seed is None or str(seed) == one.talk.seed)
    ]  # fmt: skip
    if len(meant) != 1:
        there = "none of the judged conversations has it" if not meant else "several have it; give model and seed, too"
        raise record.wrong("id", f"is {name!r}: {there}")
    pairs = []
    for part in record.parts("verdicts"):
        label, dimension = part.row.get("label"), part.text("dimension_id")
        if label not in LABELS:
            raise part.wrong("label", "must be yes, no, unknown or null")
        if dimension not in meant[0].labels:
            raise part.wrong("dimension_id", f"is {dimension!r}, which is no dimension of this instruction")
        pairs.append((key_of(meant[0], dimension), label))
    return pairs


def agree(procedure: Procedure, experts: Labels, others: Labels) -> Agreement:
    """How far the others agree with the experts, where both have settled on a label; conversations are the clusters."""
    rows = {
        key: None if (other := others.get(key)) is None else other == label
        for key, label in experts.items()
        if label is not None
    }
    shared = {key: same for key, same in rows.items() if same is not None}
    models = dict.fromkeys(model for model, _, _ in shared)
    by_model = {name: _score({key: same for key, same in rows.items() if key[0] == name}) for name in models}
    values = [score.value for score in by_model.values() if score.value is not None]
    return Agreement(
        by_model, _score(rows), mean(values) if values else None,
        {name: _pearson(procedure, experts, others, name) for name in ("coverage", "achievement")},
        {name: len({talk for model, talk, _ in shared if model == name}) for name in models},
    )  # fmt: skip


def _score(rows: Mapping[Key, bool | None]) -> Score:
    return clustered_rate(list(rows.values()), [(model, talk) for model, talk, _ in rows])


def _pearson(procedure: Procedure, experts: Labels, others: Labels, name: str) -> float | None:
    """Pearson's r over the models, each scored on the verdicts that both have."""
    shared = {key for key in experts if experts[key] is not None and others.get(key) is not None}
    pairs = []
    for model in dict.fromkeys(model for model, _, _ in shared):
        keys = [key for key in shared if key[0] == model]
        both = [getattr(_flex(procedure, labels, keys), name) for labels in (experts, others)]
        if None not in both:
            pairs.append(both)
    if len(pairs) < 3 or any(len({pair[i] for pair in pairs}) < 2 for i in (0, 1)):
        return None
    from scipy.stats import pearsonr

    return float(pearsonr([a for a, _ in pairs], [b for _, b in pairs]).statistic)


def _flex(procedure: Procedure, labels: Labels, keys: Sequence[Key]) -> Any:
    talks = dict.fromkeys(talk for _, talk, _ in keys)
    told = {(talk, name): labels[model, talk, name] for model, talk, name in keys}
    traces = [{name: told.get((talk, name)) for name in procedure.structure} for talk in talks]
    return flexeval(traces, [procedure.structure] * len(traces))


def sections(found: Mapping[str, Agreement]) -> list[Section]:
    """Accuracy by model and averages, and correlations, for every kind of labels ("judge", "crowd")."""
    models = list(dict.fromkeys(model for one in found.values() for model in one.by_model))
    rows: list[tuple[str | int, ...]] = []
    for model in models:
        dialogues = max(one.dialogues.get(model, 0) for one in found.values())
        rows.append((model, dialogues, *(_told(one.by_model.get(model)) for one in found.values())))
    rows.append(("micro average (verdicts)", "", *(_told(one.micro) for one in found.values())))
    rows.append(("macro average (models)", "", *(_plain(one.macro) for one in found.values())))
    judge = {"judge": "LLM-as-Judge", "crowd": "Crowd-sourced"}
    paper = tuple(
        (
            row["Model"],
            row["Dialogues"] or "",
            *(f"{100 * row[judge[name]]:.1f}" if name in judge else "" for name in found),
        )
        for row in paper_rows("flexbench", "flexbench_table3")
    )
    shown: list[Section] = [
        Grid("Accuracy against the experts, in percent", ("model", "conversations", *found), tuple(rows), paper)
    ]
    lines = tuple((name, *(_r(one.pearson[m]) for m in ("coverage", "achievement"))) for name, one in found.items())
    printed = tuple(
        (row["Pair"], f"{row['Coverage r']:.3f}", f"{row['Achievement r']:.3f}")
        for row in paper_rows("flexbench", "flexbench_table4")
    )
    note = "Pearson's r over models; n/a with fewer than three, or where all score alike."
    return [
        *shown,
        Grid(
            "Correlation of the models' scores with the experts'", ("", "Coverage", "Achievement"), lines, printed, note
        ),
    ]


def _told(score: Score | None) -> str:
    if score is None or score.value is None:
        return "n/a"
    return f"{percent(score.value, 1)} ({interval(score)})" if score.ci95 else percent(score.value, 1)


def _plain(value: float | None) -> str:
    return "n/a" if value is None else percent(value, 1)


def _r(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"
