"""Judged corpora held against each other (paper 001, section 5.3, figure 3) and against people (section 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import Judged, models_of, read_judged, totals
from truebench_hf.benchmarks.flexbench.tables import told
from truebench_hf.data import row_files
from truebench_hf.data.rows import Record, Row, Text
from truebench_hf.engine.sample import sample
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.flexeval import flexeval
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.report import labels, sheets
from truebench_hf.report.labels import Annotations, adjudicate
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series, interval, percent
from truebench_hf.report.sheets import Question
from truebench_hf.study.labelling import Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.types import Label, Score

MEASURES = {"coverage": "Coverage", "achievement": "Achievement"}
PAPER = (("paper: seven models", "0.56", "0.41", "2.04", "1.39"),)  # section 5.3, in percent


@dataclass(frozen=True)
class Stability:
    """Both scores of the models on two corpora. `crossed` are pairs of models that change places."""

    seeds: tuple[str, str]
    scores: Mapping[str, Mapping[str, tuple[Score, Score]]]  # by measure and model
    errors: Mapping[str, tuple[float | None, float | None]]  # mean absolute error and its deviation
    crossed: Mapping[str, tuple[tuple[str, str], ...]]
    alone: tuple[str, ...] = ()  # models that have conversations of one seed only


def stability(procedure: Procedure, judged: Sequence[Judged], seeds: tuple[str, str]) -> Stability:
    """The models that have conversations of both seeds. Raises UserError where there are none."""
    first, second = (models_of([one for one in judged if one.talk.seed == seed]) for seed in seeds)
    both = [model for model in first if model in second]
    if not both:
        there = ", ".join(sorted({one.talk.seed or "none" for one in judged}))
        raise UserError(
            f"--seeds {','.join(seeds)}: no model has judged conversations of both; there are seeds {there}"
        )
    pairs = {model: (totals(procedure, first[model]), totals(procedure, second[model])) for model in both}
    scores = {name: {model: (a[name], b[name]) for model, (a, b) in pairs.items()} for name in MEASURES}
    return Stability(
        seeds, scores, {name: _error(list(found.values())) for name, found in scores.items()},
        {name: _crossed(found) for name, found in scores.items()},
        tuple(model for model in first | second if model not in both),
    )  # fmt: skip


def _values(pairs: Sequence[tuple[Score, Score]]) -> list[tuple[float, float]]:
    return [(a.value, b.value) for a, b in pairs if a.value is not None and b.value is not None]


def _error(pairs: Sequence[tuple[Score, Score]]) -> tuple[float | None, float | None]:
    gaps = [abs(a - b) for a, b in _values(pairs)]
    return (mean(gaps) if gaps else None), (stdev(gaps) if len(gaps) > 1 else None)


def _crossed(scores: Mapping[str, tuple[Score, Score]]) -> tuple[tuple[str, str], ...]:
    known = {model: pair for model, found in scores.items() for pair in _values([found])}
    return tuple(
        (one, other) for one, other in combinations(known, 2)
        if (known[one][0] - known[other][0]) * (known[one][1] - known[other][1]) < 0
    )  # fmt: skip


def stability_sections(found: Stability) -> list[Section]:
    """The scores of both corpora, how far apart they are, Bland-Altman plots, pair lines."""
    a, b = (f"seed {seed}" for seed in found.seeds)
    names = list(found.scores["coverage"])
    header = ("model", *(f"{title} {seed}" for title in MEASURES.values() for seed in (a, b)))
    rows = tuple((m, *(told(score) for name in MEASURES for score in found.scores[name][m])) for m in names)
    cells = [text for name in MEASURES for text in map(_points, found.errors[name])]
    columns = ("", *(f"{title} {part}" for title in MEASURES.values() for part in ("mean error", "deviation")))
    crossed = [(title, f"{x}, {y}") for name, title in MEASURES.items() for x, y in found.crossed[name]]
    alone = f" Not compared, since judged with one seed alone: {', '.join(found.alone)}." if found.alone else ""
    kept = "No two models change places." if not crossed else f"{len(crossed)} pairs of models change places."
    shown: list[Section] = [
        Grid("Scores on both corpora, in percent", header, rows),
        Grid("Mean absolute error, in points", columns, (("here", *cells),), PAPER, note=kept + alone),
    ]
    if crossed:
        shown.append(Grid("Models that change places", ("score", "models"), tuple(crossed)))
    for name, title in MEASURES.items():
        shown += [_bland_altman(title, found.scores[name]), _lines(title, found.scores[name], (a, b))]
    return shown


def _points(value: float | None) -> str:
    return "n/a" if value is None else percent(value)


def _bland_altman(title: str, scores: Mapping[str, tuple[Score, Score]]) -> Plot:
    """Mean of both corpora against their difference, with the mean difference and its limits of agreement."""
    known = _known(scores)
    points = {model: ((x + y) / 2, x - y) for model, (x, y) in known.items()}
    gaps = [gap for _, gap in points.values()]
    centre, reach = (mean(gaps) if gaps else 0.0), (1.96 * stdev(gaps) if len(gaps) > 1 else 0.0)
    top = max(1.0, *(abs(gap) for gap in gaps), abs(centre) + reach) * 1.2 if gaps else 1.0
    series = [Series(model, ((x, gap, 1.0, f"{model}: {gap:+.2f}"),)) for model, (x, gap) in points.items()]
    for name, level in (("mean", centre), ("mean + 1.96 sd", centre + reach), ("mean - 1.96 sd", centre - reach)):
        series.append(Series(name, ((0.0, level, 0.0, f"{level:+.2f}"), (100.0, level, 0.0, "")), joined=True))
    axes = Axis("mean of both corpora %", 0, 100), Axis("difference (points)", -top, top)
    return Plot(f"{title}: Bland-Altman", tuple(series), *axes)


def _known(scores: Mapping[str, tuple[Score, Score]]) -> dict[str, tuple[float, float]]:
    """Both scores of the models that have them, in percent."""
    return {model: (100 * x, 100 * y) for model, found in scores.items() for x, y in _values([found])}


def _lines(title: str, scores: Mapping[str, tuple[Score, Score]], names: tuple[str, str]) -> Plot:
    """A line per model from one corpus to the other: crossings are changed places."""
    known = _known(scores)
    series = [
        Series(m, ((0.0, x, 1.0, f"{m}, {names[0]}: {x:.1f}"), (1.0, y, 1.0, f"{m}, {names[1]}: {y:.1f}")), joined=True)
        for m, (x, y) in known.items()
    ]  # fmt: skip
    return Plot(
        f"{title}: from one corpus to the other", tuple(series), Axis(" to ".join(names), -0.2, 1.2), Axis("%", 0, 100)
    )


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
            by_id[record.id("id")] = record.value("label", Label | None)
        else:
            labels |= dict(_row(record, judged))
    if strange := [name for name in by_id if name not in known]:
        raise UserError(f"{', '.join(files)}: is about {strange[0]}, which is not among the judged conversations")
    labels |= {known[name]: label for name, label in by_id.items()}  # type: ignore[misc]
    if not any(labels.values()):
        raise UserError(f"{', '.join(files)}: holds no answers")
    return labels


class _VerdictRow(Row):
    dimension_id: Text
    label: Label | None = None


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
    for verdict in record.value("verdicts", tuple[_VerdictRow, ...]):
        if verdict.dimension_id not in meant[0].labels:
            raise record.wrong("verdicts", f"has {verdict.dimension_id!r}, which is no dimension of this instruction")
        pairs.append((key_of(meant[0], verdict.dimension_id), verdict.label))
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


def agreement_sections(found: Mapping[str, Agreement]) -> list[Section]:
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


class FlexLabels(Labelling):
    """Every dimension of every judged conversation: yes, no or unknown."""

    answers = OPTIONS

    def draw(self, options: LabelAskOptions) -> Draw:
        """All conversations, or `n` of them, in the shares of the models."""
        procedure, judged = read_judged(self.place)
        chosen = sample(judged, options.n, _name, lambda conversation: (conversation.talk.model,), options.seed)
        return Draw([question for conversation in chosen for question in questions(procedure, conversation)])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`; `value` is the agreement of the judge with them."""
        procedure, judged = read_judged(self.place)
        known = {
            question_id(conversation, name): key_of(conversation, name)
            for conversation in judged
            for name in conversation.labels
        }
        file = Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, known)
        labels.write_rows(file, settled.rows)
        experts = {known[name]: label for name, label in settled.labels.items()}
        agreement = agree(procedure, experts, labels_of(judged))  # type: ignore[arg-type]
        among = labels.agreement(settled.annotations)
        shown = [labels.agreement_section(among), *agreement_sections({"judge": agreement})]
        return Taken(agreement, among, shown, notes=open_notes(settled), files=[file])


def questions(procedure: Procedure, judged: Judged) -> list[Question]:
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


def _name(judged: Judged) -> str:
    return f"{judged.talk.model} {judged.talk.seed} {judged.talk.id}"
