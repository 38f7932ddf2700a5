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
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import JudgedConversation, models_of, read_judged
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
Counts = tuple[list[float], list[float], int]  # a top and a bottom per conversation, and how many were not judged


@dataclass(frozen=True)
class FlexModelScores:
    """One model's scores over its conversations; `dimensions` has Coverage and Achievement of each.

    `groups` count and score the conversations of one cooperativeness or end. `unexercised` dimensions were attempted in none, and
    `differences` are of the first model's scores, less this one's.
    """

    model: str
    conversations: int
    total: Mapping[str, Score]
    groups: Mapping[str, Mapping[str, Any]]
    dimensions: Mapping[str, tuple[Score, Score]]
    unexercised: tuple[str, ...]
    undecided: int
    conflicts: int
    broken: int
    differences: Mapping[str, Score] = field(default_factory=dict)


def score_models(procedure: Procedure, judged: Mapping[str, Sequence[JudgedConversation]]) -> list[FlexModelScores]:
    """The scores of every model, the highest Achievement first; where that is alike, or n/a, the highest Coverage.

    Differences are from that first one, over the conversations (by id and seed) that both have.
    """

    def height(scores: FlexModelScores) -> list[float]:
        values = (scores.total[name].value for name in ("achievement", "coverage"))
        return [-1.0 if value is None else value for value in values]

    scored = sorted((_scored(procedure, *each) for each in judged.items()), key=height, reverse=True)
    return [
        replace(scores, differences=_differences(procedure, judged[scored[0].model], judged[scores.model]))
        if place
        else scores
        for place, scores in enumerate(scored)
    ]


def _scored(procedure: Procedure, model: str, talks: Sequence[JudgedConversation]) -> FlexModelScores:
    labels = {name: [conversation.labels[name] for conversation in talks] for name in procedure.structure}
    coverage, achievement = (
        {name: _score(*_counts(procedure, talks, measure, [name])) for name in labels} for measure in PAPERS
    )
    return FlexModelScores(
        model, len(talks), totals(procedure, talks),
        {
            name: {"conversations": len(some), **totals(procedure, some)} for name, some in by_user_and_end(talks).items()
        },
        {name: (coverage[name], achievement[name]) for name in labels},
        tuple(name for name, column in labels.items() if not {"yes", "no"}.intersection(column)),
        sum(column.count(None) for column in labels.values()),
        sum(len(conversation.conflicts) for conversation in talks),
        sum(bool(conversation.talk.error) for conversation in talks),
    )  # fmt: skip


def by_user_and_end(talks: Sequence[JudgedConversation]) -> dict[str, list[JudgedConversation]]:
    """The conversations by cooperativeness of the user, and by who ended them, as far as they say so."""
    named: dict[str, list[JudgedConversation]] = {}
    for kind, attribute in (("cooperativeness", "cooperativeness"), ("ended by", "end")):
        for conversation in talks:
            if value := getattr(conversation.talk, attribute):
                named.setdefault(f"{kind}: {value}", []).append(conversation)
    return named


def totals(procedure: Procedure, talks: Sequence[JudgedConversation]) -> dict[str, Score]:
    """The measures over some conversations, with intervals by a bootstrap over them."""
    return {name: _score(*_counts(procedure, talks, name)) for name in MEASURES}


def _score(top: Sequence[float], bottom: Sequence[float], undecided: int) -> Score:
    total = int(sum(bottom))
    return Score(sum(top) / total if total else None, total, undecided, resampled_ratio(top, bottom))


def _counts(
    procedure: Procedure, talks: Sequence[JudgedConversation], measure: str, names: Iterable[str] | None = None
) -> Counts:
    """What a measure is made of, over some dimensions or else those that the total is over (equations 4 to 7).

    Facts in a conflict stand, and make no verdict: they count for nothing. Ours are coverage over base actions that
    applied, since equation 6 also counts those that a user who hung up never came to; and of all that was attempted the
    share that is right, which shows base actions done wrongly.
    """
    structure = procedure.structure
    if names is None:
        branches = [name for name, base in structure.items() if base is not None]
        bases = list(base_actions(structure))
        names = {"achievement": branches, "correct": list(structure)}.get(measure, bases)
    names, tops, bottoms = list(names), list[float](), list[float]()
    for conversation in talks:
        marks = [_mark(structure, conversation, measure, name) for name in names]
        tops.append(float(sum(right and counts for right, counts in marks)))
        bottoms.append(float(sum(counts for _, counts in marks)))
    return tops, bottoms, sum(conversation.labels[name] is None for conversation in talks for name in names)


def _mark(
    structure: Mapping[str, str | None], conversation: JudgedConversation, measure: str, name: str
) -> tuple[bool, bool]:
    """Whether a dimension of a conversation adds to the top of a measure, and whether it counts at all."""
    facts, label, base = conversation.facts[name], conversation.labels[name], structure[name]
    tried, settled = label in ("yes", "no"), label is not None
    match measure:
        case "coverage":
            return tried, settled
        case "achievement":
            return label == "yes", tried and (not base or conversation.labels[base] in ("yes", "no"))
        case "coverage_applicable":
            return bool(facts.attempted), settled and bool(facts.applies)
        case _:
            return bool(facts.correct), settled and bool(facts.attempted)


def _differences(
    procedure: Procedure, best: Sequence[JudgedConversation], own: Sequence[JudgedConversation]
) -> dict[str, Score]:
    """What the best model's scores are above a model's own, over the conversations that both have."""
    theirs, mine = ({(result.talk.seed, result.talk.id): result for result in side} for side in (best, own))
    shared = [key for key in theirs if key in mine]
    differences = {}
    for name in MEASURES:
        first, second = (_counts(procedure, [side[key] for key in shared], name)[:2] for side in (theirs, mine))
        if shared and (interval := resampled_difference(first, second)):
            gap = sum(first[0]) / sum(first[1]) - sum(second[0]) / sum(second[1])
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


def conversations(procedure: Procedure, judged: Mapping[str, Sequence[JudgedConversation]]) -> Conversations:
    """Return the conversations, each with the verdicts on its dimensions; it fails where one of them is no."""
    rows = []
    for conversation in (conversation for talks in judged.values() for conversation in talks):
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
        models = score_models(procedure, models_of(judged))
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
            shown = "<br/>".join(text.translate(_ESCAPED) for text in texts)
            lines.append(f"""  {above} -->{f'|"{when}"|' if when else ""} {name}["{shown}"]""")
            draw(node.children, name)

    draw(drawing.roots, "start")
    return "\n".join(lines) + "\n"
