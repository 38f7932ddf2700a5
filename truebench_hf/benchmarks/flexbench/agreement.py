"""Do people, and a second corpus, say the same? `truebench flex study agree`: the judge, and other people, held against
experts, and sheets for them (paper 001, section 5.5); `stability`: two corpora of one instruction (section 5.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import JudgedConversation, read_judged
from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import MEASURES, PAPERS, totals, verdict_frame
from truebench_hf.data import row_files
from truebench_hf.data.rows import Id, Record, Row, Text
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.agreement import agreement, by_group
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.pass_rate import flexeval
from truebench_hf.metrics.ranks import correlation
from truebench_hf.metrics.texts import spread
from truebench_hf.metrics.votes import majority
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question, adjudicate
from truebench_hf.report.labels import read as read_sheets
from truebench_hf.report.sections import Axis, Plot, Section, Series
from truebench_hf.report.table import PUBLISHED, Column, Part, Table, paper_rows
from truebench_hf.study.items import sample
from truebench_hf.study.labelling import Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.types import Label, Score

Key = tuple[str, str, str]  # model, conversation (with its seed), dimension
Labels = Mapping[Key, Label | None]
OPTIONS = ("yes", "no", "unknown")
_STABLE = {"coverage": (0.0056, 0.0041), "achievement": (0.0204, 0.0139)}  # the paper's seven models, section 5.3
_PARTS: tuple[Part, ...] = ("value", "interval")
_ERRORS = (
    Column("measure", "score"),
    Column("error", "mean error", "number", "How far the two scores of a model lie apart, on average over models.", digits=2),
    Column("deviation", "deviation", "number", digits=2), Column("crossed", "pairs that change places", "prose"),
)  # fmt: skip


@dataclass(frozen=True)
class ExpertAgreement:
    """Of one kind of labels beside the experts': accuracy by model and over all (micro), Pearson's r of the models'
    Coverage and Achievement (None with fewer than three models, or all alike), and the conversations of each model."""

    by_model: Mapping[str, Score]
    micro: Score
    pearson: Mapping[str, float | None]
    dialogues: Mapping[str, int]

    @property
    def macro(self) -> Score:
        """The mean of the models' accuracies."""
        return Score(mean_of(*(score.value for score in self.by_model.values())), len(self.by_model))


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


def _asked(judged: Iterable[JudgedConversation]) -> dict[str, Key]:
    """Every verdict that a sheet may ask for, by its name there."""
    return {question_id(each, name): key_of(each, name) for each in judged for name in each.labels}


class _VerdictRow(Row):
    dimension_id: Text
    label: Label | None = None


class _LabelledRow(Row):
    """Labels of a conversation, or a line of labels.jsonl, which has `annotations`."""

    id: Id
    model: str | None = None
    seed: Any = None
    verdicts: tuple[_VerdictRow, ...] = ()
    label: Label | None = None
    annotations: Any = None


def read_labels(files: Sequence[str], judged: Sequence[JudgedConversation]) -> dict[Key, Label | None]:
    """People's labels: filled-in sheets, the `labels.jsonl` that `truebench label in` wrote, or rows with the id of a
    conversation (with model and seed where several have it) and its `verdicts` (dimension_id, label), as in the data set
    `flexbench`. Of several people on sheets, and of several rows, it is the majority; a tie is None. Raises UserError."""
    known, named = _asked(judged), ", ".join(files)
    rows = [path for path in files if Path(path).suffix in (".jsonl", ".parquet")]
    filled = [path for path in files if path not in rows]
    by_id: dict[str, Any] = dict(adjudicate(read_sheets(filled)).labels) if filled else {}
    votes: defaultdict[Key, list[Any]] = defaultdict(list)  # one a row; all sheets together are one
    for record in (record for path in rows for record in row_files.records(Path(path))):
        row = record.read(_LabelledRow)
        if row.annotations is not None:
            by_id[row.id] = row.label
            continue
        conversation = _conversation(record, row, judged)
        for verdict in row.verdicts:
            if (name := verdict.dimension_id) not in conversation.labels:
                raise record.wrong("verdicts", f"has {name!r}, which is no dimension of this instruction")
            votes[key_of(conversation, name)].append(verdict.label)
    if strange := [name for name in by_id if name not in known]:
        raise UserError(f"{named}: is about {strange[0]}, which is not among the judged conversations")
    for name, label in by_id.items():
        votes[known[name]].append(label)
    labels: dict[Key, Label | None] = {key: majority(cast) for key, cast in votes.items()}
    if not any(labels.values()):
        raise UserError(f"{named}: holds no answers")
    return labels


def _conversation(record: Record, row: _LabelledRow, judged: Sequence[JudgedConversation]) -> JudgedConversation:
    """The one that a row is about."""
    meant = [
        each for each in judged
        if each.talk.id == row.id and row.model in (None, each.talk.model) and (row.seed is None or str(row.seed) == each.talk.seed)
    ]  # fmt: skip
    if len(meant) != 1:
        why = "several have it; give model and seed, too" if meant else "none of the judged conversations has it"
        raise record.wrong("id", f"is {row.id!r}: {why}")
    return meant[0]


def agree(procedure: Procedure, experts: Labels, others: Labels) -> ExpertAgreement:
    """How far the others agree with the experts, where both have settled on a label; conversations are the clusters."""
    import pandas as pd

    rows = [
        (key[0], key[:2], "yes", None if (other := others.get(key)) is None else "yes" if other == label else "no")
        for key, label in experts.items() if label is not None
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["model", "cluster", "gold", "label"], dtype=object)
    (micro,) = agreement(frame, measures=("accuracy",))["accuracy"]
    decided = frame[frame["label"].notna()]
    by_model = agreement(frame[frame["model"].isin(decided["model"])], ["model"], measures=("accuracy",))
    dialogues = {str(model): int(count) for model, count in decided.groupby("model")["cluster"].nunique().items()}
    scores = dict(zip(by_model["model"], by_model["accuracy"], strict=True))
    return ExpertAgreement(scores, micro, _pearson(procedure, experts, others), dialogues)


def _pearson(procedure: Procedure, experts: Labels, others: Labels) -> dict[str, float | None]:
    """Pearson's r of both scores over the models, each scored on the verdicts that both have."""
    structure = procedure.structure
    shared = {key for key, label in experts.items() if label is not None and others.get(key) is not None}
    scores = []  # of each model by the experts, and by the others
    for model in dict.fromkeys(model for model, *_ in experts):
        talks = dict.fromkeys(talk for name, talk, _ in experts if name == model)
        keys = [{name: (model, talk, name) for name in structure} for talk in talks]
        scores.append([
            flexeval(
                [{name: labels[key] if key in shared else None for name, key in row.items()} for row in keys],
                [structure] * len(keys),
            )
            for labels in (experts, others)
        ])  # fmt: skip
    correlations = {}
    for name in PAPERS:
        by_experts, by_others = ([getattr(pair[side], name) for pair in scores] for side in (0, 1))
        correlations[name] = correlation(by_experts, by_others, "pearson")
    return {name: result.value if result.n > 2 else None for name, result in correlations.items()}


def agreement_tables(kinds: Mapping[str, ExpertAgreement]) -> list[Table]:
    """Accuracy by model and over all, and the correlation of the models' scores, with the paper's beside them."""
    about, parts = "Share of verdicts that are the experts'.", (*_PARTS, "unscored")
    models = dict.fromkeys(model for result in kinds.values() for model in result.by_model)
    rows: list[dict[str, Any]] = [
        {"model": model, "conversations": max(result.dialogues.get(model, 0) for result in kinds.values()),
         **{name: result.by_model.get(model) for name, result in kinds.items()}} for model in models
    ]  # fmt: skip
    rows.append({"model": "micro average (verdicts)", **{name: result.micro for name, result in kinds.items()}})
    rows.append({"model": "macro average (models)", **{name: result.macro for name, result in kinds.items()}})
    rows += [
        {"model": row["Model"], "conversations": row["Dialogues"], "judge": Score(row["LLM-as-Judge"], row["Dims"] or 0),
         "crowd": Score(row["Crowd-sourced"], row["Dims"] or 0), PUBLISHED: True}
        for row in paper_rows("flexbench", "flexbench_table3")
    ]  # fmt: skip
    columns = [
        Column("model", "model"), Column("conversations", "conversations", "count", minor=1),
        *(Column(name, name, "score", about, digits=1, parts=parts) for name in kinds),
    ]  # fmt: skip
    r_columns = [Column("who", ""), *(Column(name, MEASURES[name], "number", unit="", digits=3) for name in PAPERS)]
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
        known, file = _asked(judged), Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, known)
        labels.write_rows(file, settled.rows)
        experts: dict[Key, Any] = {known[name]: label for name, label in settled.labels.items()}
        judge = agree(procedure, experts, labels_of(judged))
        tables = [labels.agreement_table(settled.annotations), *agreement_tables({"judge": judge})]
        return Taken(judge, tables, notes=open_notes(settled), files=[file])


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


def stability(procedure: Procedure, judged: Sequence[JudgedConversation], seeds: tuple[str, str]) -> list[Section]:
    """The scores of the models on two corpora, how far apart they are, Bland-Altman plots, and lines from one to the other.

    Raises UserError where no model has conversations of both seeds.
    """
    frame = verdict_frame(procedure, judged)
    of_seeds = frame[frame["seed"].isin(seeds)]
    scores = by_group(of_seeds, ["model", "seed"], totals).pivot(index="model", columns="seed", values=list(PAPERS))
    both = [model for model, count in of_seeds.groupby("model")["seed"].nunique().items() if count == 2]
    if not both:
        held = ", ".join(sorted({each.talk.seed or "none" for each in judged}))
        raise UserError(f"--seeds {','.join(seeds)}: no model has judged conversations of both; there are seeds {held}")
    names = (f"seed {seeds[0]}", f"seed {seeds[1]}")
    rows: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    plots: list[Plot] = []
    for name in PAPERS:
        title, pairs = MEASURES[name], {model: [scores.at[model, (name, seed)] for seed in seeds] for model in both}
        rows += [{"model": m, "measure": title, "first": a, "second": b} for m, (a, b) in pairs.items()]
        known = {m: (a.value, b.value) for m, (a, b) in pairs.items() if None not in (a.value, b.value)}
        gaps = spread([abs(a - b) for a, b in known.values()])
        pairs_of = combinations(known.items(), 2)
        crossed = "; ".join(f"{m} and {n}" for (m, (a, b)), (n, (c, d)) in pairs_of if (a - c) * (b - d) < 0) or "none"
        errors.append({"measure": title, "error": gaps.mean, "deviation": gaps.deviation, "crossed": crossed})
        plots += [_bland_altman(title, known), _lines(title, known, names)]
    errors += [
        {"measure": f"{MEASURES[name]}, seven models", "error": error, "deviation": deviation, "crossed": "none", PUBLISHED: True}
        for name, (error, deviation) in _STABLE.items()
    ]  # fmt: skip
    alone = [str(model) for model in scores.index if model not in both]
    note = f"Not compared, since judged with one seed alone: {', '.join(alone)}." if alone else ""
    sides = (
        Column(side, name, "score", digits=1, parts=_PARTS)
        for side, name in zip(("first", "second"), names, strict=True)
    )
    columns = (Column("model", "model"), Column("measure", "score"), *sides)
    return [
        Table("scores", columns, rows, "Scores on both corpora", keys=2),
        Table("errors", _ERRORS, errors, "Mean absolute error, in points", note), *plots[::2], *plots[1::2],
    ]  # fmt: skip


def _bland_altman(title: str, scores: Mapping[str, tuple[float, float]]) -> Plot:
    """Mean of both corpora against their difference, with the mean difference and its limits of agreement."""
    points = {model: ((100 * a + 100 * b) / 2, 100 * a - 100 * b) for model, (a, b) in scores.items()}
    gaps = spread([gap for _, gap in points.values()])
    centre, reach = gaps.mean or 0.0, 1.96 * (gaps.deviation or 0.0)
    top = 1.2 * max(1.0, *(abs(gap) for _, gap in points.values()), abs(centre) + reach)
    series = [Series(model, ((x, gap, 1.0, f"{model}: {gap:+.2f}"),)) for model, (x, gap) in points.items()]
    for name, level in (("mean", centre), ("mean + 1.96 sd", centre + reach), ("mean - 1.96 sd", centre - reach)):
        series.append(Series(name, ((0.0, level, 0.0, f"{level:+.2f}"), (100.0, level, 0.0, "")), joined=True))
    axes = Axis("mean of both corpora %", 0, 100), Axis("difference (points)", -top, top)
    return Plot(f"{title}: Bland-Altman", tuple(series), *axes)


def _lines(title: str, scores: Mapping[str, tuple[float, float]], names: tuple[str, str]) -> Plot:
    """A line per model from one corpus to the other: crossings are changed places."""
    series = []
    for model, shares in scores.items():
        ends = ((name, 100 * share) for name, share in zip(names, shares, strict=True))
        points = tuple((float(x), y, 1.0, f"{model}, {name}: {y:.1f}") for x, (name, y) in enumerate(ends))
        series.append(Series(model, points, joined=True))
    axes = Axis(" to ".join(names), -0.2, 1.2), Axis("%", 0, 100)
    return Plot(f"{title}: from one corpus to the other", tuple(series), *axes)
