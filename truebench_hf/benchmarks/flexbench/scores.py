"""Coverage, Achievement and what stands beside them, of judged conversations (paper 001, section 4), and their tables.

The last are those of `truebench flex study table` (section 5.4), and a procedure as a drawing: base actions with their
branches, and how often models came there and got it right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.flexbench.conversations import JudgedConversation, read_judged
from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.hashing import digest
from truebench_hf.metrics.intervals import resampled_difference, resampled_ratio
from truebench_hf.metrics.pass_rate import UNGATED, base_actions
from truebench_hf.report.sections import (
    Conversation,
    Conversations,
    Matrix,
    Outcome,
    Section,
    Tree,
    TreeNode,
    exchanges,
    percent,
)
from truebench_hf.report.table import PUBLISHED, Column, Part, Table, paper_rows
from truebench_hf.study.ranking import Ranking
from truebench_hf.types import Criterion, Score, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MEASURES = {
    "coverage": "Coverage",
    "achievement": "Achievement",
    "coverage_applicable": "Coverage where applicable",
    "correct": "Correct when attempted",
}
_ABOUT = {
    "coverage": "Of the base actions, the share that the model attempts (equation 6).",
    "achievement": "Of the branches that came up while their base action was attempted, the share that is right (equation 7).",
    "coverage_applicable": "Coverage without the steps that a conversation never came to need; ours, the paper has none.",
    "correct": "Of all that was attempted, base actions too, the share that is right; ours, the paper has none.",
}
PAPERS = ("coverage", "achievement")  # the measures of the paper
LEAD = "Coverage: are the steps taken? Achievement: are the branches right that came up?"
_OVER = {"coverage": "base_action", "achievement": "branch", "coverage_applicable": "base_action"}  # all: the rest
_KINDS = {"cooperativeness": "cooperativeness", "ended by": "end"}  # of conversations, by the column that says so


@dataclass(frozen=True)
class FlexModelScores:
    """One model's scores over its conversations; `dimensions` has Coverage and Achievement of each.

    `groups` count and score the conversations of one cooperativeness or end. `unexercised` dimensions were attempted in
    none, and `differences` are of the first model's scores, less this one's.
    """

    model: str
    conversations: int
    total: Mapping[str, Score]
    groups: Mapping[str, Mapping[str, Any]]
    dimensions: Mapping[str, tuple[Score, ...]]
    unexercised: tuple[str, ...]
    undecided: int
    conflicts: int
    broken: int
    differences: Mapping[str, Score] = field(default_factory=dict)


def verdict_frame(procedure: Procedure, judged: Iterable[JudgedConversation]) -> DataFrame:
    """Return a row per dimension of every conversation: `model`, `seed`, `talk` (seed and id), `cooperativeness`, `end`,
    `dimension`, whether it is a `base_action` or a `branch`, `label`, and a column for each measure.

    A measure is 1.0 or 0.0 where the verdict counts for it, else NaN (equations 4 to 7). Facts in a conflict make no
    verdict, and count for nothing. Ours are coverage over base actions that applied, since equation 6 also counts those
    that a user who hung up never came to; and of all that was attempted the share that is right, which shows base actions
    done wrongly.
    """
    import pandas as pd

    structure, rows = procedure.structure, []
    bases = base_actions(structure)
    for conversation in judged:
        talk, labels = conversation.talk, conversation.labels
        tried = {name: label in ("yes", "no") for name, label in labels.items()}
        about = (talk.model, talk.seed, f"{talk.seed}/{talk.id}", talk.cooperativeness, talk.end)
        for name, base in structure.items():
            facts, settled = conversation.facts[name], labels[name] is not None
            measures = (
                tried[name] if settled else None,
                labels[name] == "yes" if tried[name] and (not base or tried[base]) else None,
                bool(facts.attempted) if settled and facts.applies else None,
                bool(facts.correct) if settled and facts.attempted else None,
            )
            rows.append((*about, name, name in bases, base is not None, labels[name], *measures))
    columns = ["model", "seed", "talk", *_KINDS.values(), "dimension", "base_action", "branch", "label", *MEASURES]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    return frame.astype(dict.fromkeys(MEASURES, float) | {"base_action": bool, "branch": bool})


def score_models(procedure: Procedure, judged: Sequence[JudgedConversation]) -> list[FlexModelScores]:
    """The scores of every model, the highest Achievement first; where that is alike, or n/a, the highest Coverage.

    Differences are from that first one, over the conversations (by id and seed) that both have.
    """

    def height(scores: FlexModelScores) -> list[float]:
        values = (scores.total[name].value for name in ("achievement", "coverage"))
        return [-1.0 if value is None else value for value in values]

    frame = verdict_frame(procedure, judged)
    parts = {str(model): rows for model, rows in frame.groupby("model", sort=False)}
    talks = {model: [each for each in judged if each.talk.model == model] for model in parts}
    first, *others = sorted((_scored(model, parts[model], talks[model]) for model in parts), key=height, reverse=True)
    return [first, *(replace(s, differences=_differences(parts[first.model], parts[s.model])) for s in others)]


def _scored(model: str, rows: DataFrame, talks: Sequence[JudgedConversation]) -> FlexModelScores:
    dimensions = {str(name): part for name, part in rows.groupby("dimension", sort=False)}
    groups = {
        f"{kind}: {value}": {"conversations": part["talk"].nunique(), **totals(part)}
        for kind, column in _KINDS.items() for value, part in rows.groupby(column, sort=False) if value
    }  # fmt: skip
    return FlexModelScores(
        model, len(talks), totals(rows), groups,
        {name: tuple(_score(part, part[measure]) for measure in PAPERS) for name, part in dimensions.items()},
        tuple(name for name, part in dimensions.items() if not part["label"].isin(["yes", "no"]).any()),
        int(rows["label"].isna().sum()), sum(len(conversation.conflicts) for conversation in talks),
        sum(bool(conversation.talk.error) for conversation in talks),
    )  # fmt: skip


def totals(rows: DataFrame) -> dict[str, Score]:
    """The measures over some rows of `verdict_frame`, with intervals by a bootstrap over conversations."""
    return {name: _score(part := _over(rows, name), part[name]) for name in MEASURES}


def _over(rows: DataFrame, measure: str) -> DataFrame:
    """The rows that the total of a measure is over."""
    return rows[rows[_OVER[measure]]] if measure in _OVER else rows


def _score(rows: DataFrame, counted: Series) -> Score:
    sums = counted.groupby(rows["talk"], sort=False).agg(["sum", "count"])
    right, n = float(sums["sum"].sum()), int(sums["count"].sum())
    interval = resampled_ratio(sums["sum"].tolist(), sums["count"].tolist())
    return Score(right / n if n else None, n, int(rows["label"].isna().sum()), interval)


def _differences(best: DataFrame, own: DataFrame) -> dict[str, Score]:
    """What the best model's scores are above a model's own, over the conversations that both have."""
    differences = {}
    for name in MEASURES:
        first, second = (
            _over(rows, name).groupby("talk", sort=False)[name].agg(["sum", "count"]) for rows in (best, own)
        )
        shared = first.join(second.add_suffix("_own"), how="inner")
        columns = [shared[column].astype(float).tolist() for column in shared]
        if len(shared) and (interval := resampled_difference((columns[0], columns[1]), (columns[2], columns[3]))):
            gap = sum(columns[0]) / sum(columns[1]) - sum(columns[2]) / sum(columns[3])
            differences[name] = Score(gap, 0, 0, interval)
    return differences


def measure_columns(names: Iterable[str] = MEASURES, **more: Any) -> list[Column]:
    """Return a column for each measure; on a narrow terminal ours are folded, and the paper's two have their intervals."""
    columns = []
    for name in names:
        ours = name not in PAPERS
        parts: tuple[Part, ...] = ("value",) if ours else ("value", "interval")
        columns.append(
            Column(name, MEASURES[name], "score", _ABOUT[name], digits=1, parts=parts, minor=2 * ours, **more)
        )
    return columns


def score_tables(procedure: Procedure, models: Sequence[FlexModelScores]) -> list[Table]:
    """Return all tables of judged conversations that have rows."""
    tables = (_totals(models), _gaps(models), _dimensions(procedure, models), _groups(models))
    return [table for table in tables if table.rows]


_MODEL, _COUNT = Column("model", "model"), Column("conversations", "conversations", "count", minor=1)


def _totals(models: Sequence[FlexModelScores]) -> Table:
    """The scores of the models, with the paper's beside them."""
    columns = [
        _MODEL, _COUNT, *measure_columns(),
        Column("undecided", "not judged", "count", "Verdicts that no answer of the judge settled.", minor=3),
        Column("conflicts", "conflicts", "count", "Pairs of branches that exclude each other and were both found.", minor=5),
        Column("broken", "broken", "count", "Conversations that ended with an error.", minor=4),
    ]  # fmt: skip
    counts = ("conversations", "undecided", "conflicts", "broken")
    rows = [{"model": s.model, **s.total, **{name: getattr(s, name) for name in counts}} for s in models]
    rows += [
        {
            "model": str(row["Model"]), "conversations": 50, "coverage": Score(row["Coverage/overall"], 0),
            "achievement": Score(row["Achievement/overall"], 0), PUBLISHED: True,
        }
        for row in paper_rows("flexbench", "flexbench_table2")
    ]  # fmt: skip
    note = "95 % intervals by a bootstrap over conversations, from ten on. The paper's rows are of another instruction and judge."
    return Table("scores", columns, rows, "Scores", note)


def _gaps(models: Sequence[FlexModelScores]) -> Table:
    about = (
        "The first model less the other, over the conversations that both had with one user and seed, drawn together."
    )
    rows = [
        {"first": models[0].model, "model": scores.model, "measure": MEASURES[name], "difference": gap,
         "apart": "yes" if gap.ci95 and (gap.ci95[0] > 0 or gap.ci95[1] < 0) else "no"}
        for scores in models for name, gap in scores.differences.items()
    ]  # fmt: skip
    columns = (
        Column("first", "model"), Column("model", "less model"), Column("measure", "score"),
        Column("difference", "difference", "score", about, "points", digits=1, parts=("value", "interval"), drawn=True),
        Column("apart", "told apart"),
    )  # fmt: skip
    return Table("differences", columns, rows, "The first model less each other", keys=3)


def _dimensions(procedure: Procedure, models: Sequence[FlexModelScores]) -> Table:
    columns = [
        _MODEL, Column("dimension", "dimension"), Column("question", "question", "prose"),
        Column("base", "depends on"), *measure_columns(PAPERS),
    ]  # fmt: skip
    rows = [
        {"model": scores.model, "dimension": dimension.id, "question": dimension.question, "base": dimension.base or "",
         **dict(zip(PAPERS, scores.dimensions[dimension.id], strict=True))}
        for scores in models for dimension in procedure.dimensions
    ]  # fmt: skip
    return Table("dimensions", columns, rows, "Every dimension", keys=2, printed=False)


def _groups(models: Sequence[FlexModelScores]) -> Table:
    """The scores by kind of user and by end, with how many conversations there were: the mix of users."""
    rows = [
        {"model": scores.model, "group": name, **result} for scores in models for name, result in scores.groups.items()
    ]
    note = "A user who hangs up early costs Coverage what the model never had a chance to do."
    columns = [_MODEL, Column("group", ""), _COUNT, *measure_columns()]
    return Table("groups", columns, rows, "By cooperativeness and end", note, keys=2)


def conversations(procedure: Procedure, judged: Iterable[JudgedConversation]) -> Conversations:
    """Return the conversations, each with the verdicts on its dimensions; it fails where one of them is no."""
    rows = []
    for conversation in judged:
        talk, verdicts = conversation.talk, []
        for item in procedure.dimensions:
            facts = conversation.facts[item.id]
            reason = f"message {facts.turn}: {facts.reason}" if facts.turn else facts.reason
            criterion = Criterion(item.question, item.exclusive or None, item.condition or None)
            verdicts.append(Verdict(criterion, conversation.labels[item.id], reason))
        labels = {verdict.label for verdict in verdicts}
        outcome: Outcome = "no" if "no" in labels else "open" if None in labels else "yes"
        turns = exchanges(talk.messages, [])
        if turns:  # the verdicts stand behind the last turn
            turns = (*turns[:-1], replace(turns[-1], verdicts=tuple(verdicts)))
        name = f"{talk.id} (seed {talk.seed})" if talk.seed else talk.id
        parts = (name, talk.cooperativeness, f"ended by {talk.end}" if talk.end else "")
        rows.append(Conversation(", ".join(filter(None, parts)), turns, outcome, talk.error, who=talk.model))
    return Conversations("Conversations", tuple(rows))


def ranking(
    procedure: Procedure, models: Sequence[FlexModelScores], provenance: Mapping[str, Any], facts: Mapping[str, Any]
) -> Ranking:
    """The models of one instruction, by Coverage: Achievement is n/a where the instruction has no branches.

    Columns of dimensions are the instruction's own: d1 of another one, or before an edit, is another question.
    """
    columns = [Column("model", "Model"), *(Column(name, name) for name, fact in facts.items() if fact)]
    columns += [Column("conversations", "Conversations"), *measure_columns(group="Scores")]
    rows = [
        {"model": scores.model, **facts, "conversations": str(scores.conversations), **scores.total}
        for scores in models
    ]
    for place, title in enumerate(("Coverage", "Achievement")):
        for dimension in procedure.dimensions:
            name = f"{title[0].lower()}:{procedure.id}:{dimension.id}:{digest(dimension.question)[:6]}"
            about = f"{dimension.id}: {dimension.question}"
            columns.append(Column(name, short(dimension.question), "score", about, group=f"{title} by dimension"))
            for row, scores in zip(rows, models, strict=True):
                row[name] = scores.dimensions[dimension.id][place]
    settings = ("procedure_sha256", "judge_models", "judge_level", "prompts", "rules")
    alike = [provenance.get(name) for name in settings]
    table = Table("ranking", columns, rows)
    return Ranking(table, "coverage", alike, title="FlexBench", unit="Coverage in %", noun="base action")


_ASKS = re.compile(r"(?:^|.*?,\s)does the assistant\s+", re.IGNORECASE)  # as our prompts have dimensions asked
_WORDS = 6


def short(question: str) -> str:
    """Return the first words of what a dimension requires, as the head of a column has them."""
    words = _ASKS.sub("", question, count=1).rstrip("?").split()
    cut = " ".join(words[:_WORDS])[:60]
    return f"{cut[:1].upper()}{cut[1:]}{' …' if len(words) > _WORDS else ''}"


def table_sections(folders: Sequence[str]) -> list[Section]:
    """The tables of judged folders, each once. Raises UserError where one holds no judgments."""
    held = {folder: read_judged(folder) for folder in dict.fromkeys(str(Path(scores)) for scores in folders)}
    ids = Counter(procedure.id for procedure, _ in held.values())
    rows: list[dict[str, Any]] = []
    matrices = []
    for folder, (procedure, judged) in held.items():
        name = procedure.id if ids[procedure.id] == 1 else f"{procedure.id} ({folder})"  # files of one name, say
        models = score_models(procedure, judged)
        rows += [{"model": scores.model, "instruction": name, **scores.total} for scores in models]
        names = tuple(dimension.id for dimension in procedure.dimensions)
        for place, measure in enumerate(PAPERS):
            cells = tuple((scores.model, tuple(scores.dimensions[d][place] for d in names)) for scores in models)
            matrices.append(Matrix(f"{MEASURES[measure]} by dimension: {name}", "%", names, cells))
    columns = [Column("model", "model"), Column("instruction", "instruction"), *measure_columns(PAPERS, drawn=True)]
    return [Table("scores", columns, rows, "Models by instructions", keys=2), *matrices]


_TREE_NOTE = (
    "A branch stands below the action that it depends on, with its condition above it. Of branches marked "
    "with the same sign at most one applies."
)
_SCORED = " C: how often it was attempted, A: how often right where it counts, in percent of conversations."


def tree(procedure: Procedure, models: Sequence[FlexModelScores] = ()) -> Tree:
    """Return the drawing for the report; with `models` Coverage and Achievement of each stand at every dimension."""
    groups = dict.fromkeys(dimension.exclusive for dimension in procedure.dimensions if dimension.exclusive)
    signs = {name: f"either {number}" for number, name in enumerate(groups, 1)}

    def nodes(*bases: str | None) -> tuple[TreeNode, ...]:
        return tuple(
            TreeNode(
                dimension.id, dimension.question, dimension.condition, signs.get(dimension.exclusive, ""),
                tuple(score for model in models for score in model.dimensions[dimension.id]), nodes(dimension.id),
            )
            for dimension in procedure.dimensions
            if dimension.base in bases
        )  # fmt: skip

    columns = tuple(f"{model.model}: {part}" for model in models for part in "CA")
    title = "The procedure, branch by branch"
    return Tree(title, nodes(None, UNGATED), columns, _TREE_NOTE + (_SCORED if models else ""))


DIAGRAM = "procedure.mmd"
_ESCAPED = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "})


def mermaid(procedure: Procedure, models: Sequence[FlexModelScores] = ()) -> str:
    """Return the same drawing as a flowchart in Mermaid's text, which GitHub, notebooks and editors show."""
    drawing = tree(procedure, models)
    lines = ["flowchart LR", f'  start(["{(procedure.title or procedure.id).translate(_ESCAPED)}"])']

    def draw(nodes: Sequence[TreeNode], above: str) -> None:
        for node in nodes:
            name, when = f"n{len(lines) - 1}", ", ".join(filter(None, (node.condition, node.sign))).translate(_ESCAPED)
            texts = [f"{node.name}: {node.text}"]
            for column, score in zip(drawing.columns, node.scores, strict=True):
                texts.append(f"{column} {'n/a' if score.value is None else f'{percent(score.value, 0)} %'}")
            label = "<br/>".join(text.translate(_ESCAPED) for text in texts)
            lines.append(f"""  {above} -->{f'|"{when}"|' if when else ""} {name}["{label}"]""")
            draw(node.children, name)

    draw(drawing.roots, "start")
    return "\n".join(lines) + "\n"
