"""`truebench flex study agree`: the judge, and other people, held against experts; sheets for them (paper 001, section 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import JudgedConversation, read_judged
from truebench_hf.data import row_files
from truebench_hf.data.rows import Record, Row, Text
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.pass_rate import flexeval
from truebench_hf.report import labels, sheets
from truebench_hf.report.labels import Annotations, adjudicate
from truebench_hf.report.sections import Section
from truebench_hf.report.sheets import Question
from truebench_hf.report.table import PUBLISHED, Column, Part, Table, paper_rows
from truebench_hf.study.items import sample
from truebench_hf.study.labelling import Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
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


def key_of(conversation: JudgedConversation, dimension: str) -> Key:
    """Where a verdict stands."""
    return conversation.talk.model, f"{conversation.talk.seed}/{conversation.talk.id}", dimension


def question_id(conversation: JudgedConversation, dimension: str = "") -> str:
    """The name of a verdict on a sheet, which tells the annotator neither model nor label; without a dimension that of
    the conversation."""
    messages = [[message.role, message.content] for message in conversation.talk.messages]
    return f"d{digest(canonical([*key_of(conversation, dimension), messages]))[:15]}"  # no spreadsheet program takes it for a number


def labels_of(judged: Iterable[JudgedConversation]) -> dict[Key, Label | None]:
    """A judge's verdicts."""
    return {key_of(conversation, name): label for conversation in judged for name, label in conversation.labels.items()}


def read_labels(files: Sequence[str], judged: Sequence[JudgedConversation]) -> dict[Key, Label | None]:
    """People's labels: filled-in sheets (several people: their majority, a tie is None), the `labels.jsonl` that
    `truebench label in` wrote, or rows with the id of a conversation (with model and seed where several have it) and its
    `verdicts` (dimension_id, label), as in the data set `flexbench`. Raises UserError."""
    known = _asked(judged)
    rows = [path for path in files if Path(path).suffix in (".jsonl", ".parquet")]
    by_id: dict[str, str | None] = {}
    if filled := [path for path in files if path not in rows]:
        by_id |= adjudicate(sheets.read(filled)).labels
    labels: dict[Key, Label | None] = {}
    for record in (record for path in rows for record in row_files.records(Path(path))):
        if "annotations" in record.row:
            by_id[record.id("id")] = record.value("label", Label | None)
            continue
        conversation = _conversation(record, judged)
        for verdict in record.value("verdicts", tuple[_VerdictRow, ...]):
            if verdict.dimension_id not in conversation.labels:
                what = f"has {verdict.dimension_id!r}, which is no dimension of this instruction"
                raise record.wrong("verdicts", what)
            labels[key_of(conversation, verdict.dimension_id)] = verdict.label
    if strange := [name for name in by_id if name not in known]:
        raise UserError(f"{', '.join(files)}: is about {strange[0]}, which is not among the judged conversations")
    labels |= {known[name]: label for name, label in by_id.items()}  # type: ignore[misc]
    if not any(labels.values()):
        raise UserError(f"{', '.join(files)}: holds no answers")
    return labels


def _asked(judged: Iterable[JudgedConversation]) -> dict[str, Key]:
    """Every verdict that a sheet may ask for, by its name there."""
    return {question_id(each, name): key_of(each, name) for each in judged for name in each.labels}


class _VerdictRow(Row):
    dimension_id: Text
    label: Label | None = None


def _conversation(record: Record, judged: Sequence[JudgedConversation]) -> JudgedConversation:
    """The one that a row is about."""
    name, model, seed = record.id("id"), record.row.get("model"), record.row.get("seed")
    meant = [
        conversation for conversation in judged
        if conversation.talk.id == name and model in (None, "", conversation.talk.model) and (seed is None or str(seed) == conversation.talk.seed)
    ]  # fmt: skip
    if len(meant) != 1:
        why = "several have it; give model and seed, too" if meant else "none of the judged conversations has it"
        raise record.wrong("id", f"is {name!r}: {why}")
    return meant[0]


def agree(procedure: Procedure, experts: Labels, others: Labels) -> Agreement:
    """How far the others agree with the experts, where both have settled on a label; conversations are the clusters."""
    import pandas as pd

    rows = [
        {"model": key[0], "cluster": key[:2], "gold": "yes", "label": None if (other := others.get(key)) is None else "yes" if other == label else "no"}
        for key, label in experts.items() if label is not None
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["model", "cluster", "gold", "label"], dtype=object)
    (micro,) = agreement(frame, measures=("accuracy",))["accuracy"]
    decided = frame[frame["label"].notna()]
    by_model = agreement(frame[frame["model"].isin(decided["model"])], ["model"], measures=("accuracy",))
    scores = dict(zip(by_model["model"], by_model["accuracy"], strict=True))
    values = [score.value for score in scores.values()]
    return Agreement(
        scores, micro, mean(values) if values else None,
        _pearson(procedure, experts, others),
        {str(model): int(count) for model, count in decided.groupby("model")["cluster"].nunique().items()},
    )  # fmt: skip


def _pearson(procedure: Procedure, experts: Labels, others: Labels) -> dict[str, float | None]:
    """Pearson's r of both scores over the models, each scored on the verdicts that both have."""
    structure, pearson = procedure.structure, dict[str, float | None]()
    shared = {key for key, label in experts.items() if label is not None and others.get(key) is not None}
    pairs = []
    for model in dict.fromkeys(model for model, _, _ in experts):
        talks = dict.fromkeys(talk for name, talk, _ in experts if name == model)
        keys = [{name: (model, talk, name) for name in structure} for talk in talks]
        traces = [
            [{name: labels[key] if key in shared else None for name, key in row.items()} for row in keys]
            for labels in (experts, others)
        ]
        pairs.append([flexeval(side, [structure] * len(side)) for side in traces])
    for score in ("coverage", "achievement"):
        values = [[getattr(side, score) for side in pair] for pair in pairs]
        columns = list(zip(*(pair for pair in values if None not in pair), strict=True))
        if not columns or len(columns[0]) < 3 or any(len(set(column)) < 2 for column in columns):
            pearson[score] = None
            continue
        from scipy.stats import pearsonr

        pearson[score] = float(pearsonr(*columns).statistic)
    return pearson


def agreement_tables(kinds: Mapping[str, Agreement]) -> list[Table]:
    """Accuracy by model and over all, and the correlation of the models' scores, with the paper's beside them."""
    parts: tuple[Part, ...] = ("value", "interval", "unscored")
    scores = [
        Column(name, name, "score", "Share of verdicts that are the experts'.", digits=1, parts=parts) for name in kinds
    ]
    models = dict.fromkeys(model for result in kinds.values() for model in result.by_model)
    rows: list[dict[str, Any]] = [
        {"model": model, "conversations": max(result.dialogues.get(model, 0) for result in kinds.values()),
         **{name: result.by_model.get(model) for name, result in kinds.items()}} for model in models
    ]  # fmt: skip
    macro = {name: Score(result.macro, len(result.by_model)) for name, result in kinds.items()}
    rows.append({"model": "micro average (verdicts)", **{name: result.micro for name, result in kinds.items()}})
    rows.append({"model": "macro average (models)", **macro})
    rows += [
        {"model": row["Model"], "conversations": row["Dialogues"], "judge": Score(row["LLM-as-Judge"], row["Dims"] or 0),
         "crowd": Score(row["Crowd-sourced"], row["Dims"] or 0), PUBLISHED: True}
        for row in paper_rows("flexbench", "flexbench_table3")
    ]  # fmt: skip
    columns = [Column("model", "model"), Column("conversations", "conversations", "count", minor=1), *scores]
    r_columns = [
        Column("who", ""), *(Column(name, name.capitalize(), "number", unit="", digits=3) for name in ("coverage", "achievement"))
    ]  # fmt: skip
    correlations: list[dict[str, Any]] = [{"who": name, **result.pearson} for name, result in kinds.items()]
    correlations += [
        {"who": row["Pair"], "coverage": row["Coverage r"], "achievement": row["Achievement r"], PUBLISHED: True}
        for row in paper_rows("flexbench", "flexbench_table4")
    ]  # fmt: skip
    note = "Pearson's r over models; nothing with fewer than three, or where all score alike."
    return [
        Table("accuracy", columns, rows, "Accuracy against the experts"),
        Table("correlation", r_columns, correlations, "Correlation of the models' scores with the experts'", note),
    ]  # fmt: skip


class FlexLabels(Labelling):
    """Every dimension of every judged conversation: yes, no or unknown."""

    answers = OPTIONS

    def draw(self, options: LabelAskOptions) -> Draw:
        """All conversations, or `n` of them, in the shares of the models."""
        procedure, judged = read_judged(self.place)
        chosen = sample(
            judged, options.n, lambda each: f"{each.talk.model} {each.talk.seed} {each.talk.id}",
            lambda each: (each.talk.model,), options.seed,
        )  # fmt: skip
        return Draw([question for conversation in chosen for question in questions(procedure, conversation)])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`; `value` is the agreement of the judge with them."""
        procedure, judged = read_judged(self.place)
        known = _asked(judged)
        file = Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, known)
        labels.write_rows(file, settled.rows)
        experts = {known[name]: label for name, label in settled.labels.items()}
        judge = agree(procedure, experts, labels_of(judged))  # type: ignore[arg-type]
        among = labels.agreement(settled.annotations)
        sections: list[Section] = [labels.agreement_table(among), *agreement_tables({"judge": judge})]
        return Taken(judge, among, sections, notes=open_notes(settled), files=[file])


def questions(procedure: Procedure, judged: JudgedConversation) -> list[Question]:
    """The questions about a conversation: its numbered messages, and one dimension each."""
    read = "\n\n".join(f"{n} {m.role}: {m.content}" for n, m in enumerate(judged.talk.messages, 1))
    return [
        Question(
            question_id(judged, dimension.id), f"{dimension.question} (unknown: it did not apply, or the step was never begun)",
            {"conversation": read} | ({"condition": dimension.condition} if dimension.condition else {}), OPTIONS,
            group=question_id(judged), blind=key_of(judged, dimension.id),
        )
        for dimension in procedure.dimensions
    ]  # fmt: skip
