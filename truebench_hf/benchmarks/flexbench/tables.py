"""The tables of judged conversations, their place on a leaderboard, `truebench flex study table` (paper 001, section 5.4), and a
procedure as a drawing: base actions with their branches, and how often models came there and got it right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import (
    MEASURES,
    FlexModelScores,
    JudgedConversation,
    models_of,
    read_judged,
    score_models,
)
from truebench_hf.hashing import digest
from truebench_hf.metrics.pass_rate import UNGATED
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

_ABOUT = {
    "coverage": "Of the base actions, the share that the model attempts (equation 6).",
    "achievement": "Of the branches that came up while their base action was attempted, the share that is right (equation 7).",
    "coverage_applicable": "Coverage without the steps that a conversation never came to need; ours, the paper has none.",
    "correct": "Of all that was attempted, base actions too, the share that is right; ours, the paper has none.",
}
_PAPERS = {name: _ABOUT[name] for name in ("coverage", "achievement")}
LEAD = "Coverage: are the steps taken? Achievement: are the branches right that came up?"


def measure_columns(names: Mapping[str, str] = _ABOUT, **more: Any) -> list[Column]:
    """Return a column for each measure; on a narrow terminal ours are folded, and the paper's two have their intervals."""
    columns = []
    for name, about in names.items():
        ours = name not in _PAPERS
        parts: tuple[Part, ...] = ("value",) if ours else ("value", "interval")
        columns.append(Column(name, MEASURES[name], "score", about, digits=1, parts=parts, minor=2 * ours, **more))
    return columns


def score_tables(
    procedure: Procedure, models: Sequence[FlexModelScores], judged: Mapping[str, Sequence[JudgedConversation]]
) -> list[Table]:
    """Return all tables of judged conversations that have rows."""
    tables = (_totals(models), _differences(models), _dimensions(procedure, models), _groups(models, judged))
    return [table for table in tables if table.rows]


def _totals(models: Sequence[FlexModelScores]) -> Table:
    """The scores of the models, with the paper's beside them."""
    counts = {
        "undecided": Column("undecided", "not judged", "count", "Verdicts that no answer of the judge settled.", minor=3),
        "conflicts": Column(
            "conflicts", "conflicts", "count", "Pairs of branches that exclude each other and were both found.", minor=5
        ),
        "broken": Column("broken", "broken", "count", "Conversations that ended with an error.", minor=4),
    }  # fmt: skip
    columns = [
        Column("model", "model"), Column("conversations", "conversations", "count", minor=1), *measure_columns()
    ]  # fmt: skip
    rows = [
        {"model": scores.model, **scores.total, **{name: getattr(scores, name) for name in ("conversations", *counts)}}
        for scores in models
    ]
    rows += [
        {
            "model": str(row["Model"]), "conversations": 50, "coverage": Score(row["Coverage/overall"], 0),
            "achievement": Score(row["Achievement/overall"], 0), PUBLISHED: True,
        }
        for row in paper_rows("flexbench", "flexbench_table2")
    ]  # fmt: skip
    note = "95 % intervals by a bootstrap over conversations, from ten on. The paper's rows are of another instruction and judge."
    return Table("scores", [*columns, *counts.values()], rows, "Scores", note)


def _differences(models: Sequence[FlexModelScores]) -> Table:
    about = (
        "The first model less the other, over the conversations that both had with one user and seed, drawn together."
    )
    difference = Column(
        "difference", "difference", "score", about, "points", digits=1, parts=("value", "interval"), drawn=True
    )
    rows = [
        {"first": models[0].model, "model": scores.model, "measure": MEASURES[name], "difference": Score(gap, 0, 0, (low, high)),
         "apart": "yes" if low > 0 or high < 0 else "no"}
        for scores in models for name, (gap, low, high) in scores.differences.items()
    ]  # fmt: skip
    columns = (
        Column("first", "model"), Column("model", "less model"), Column("measure", "score"), difference,
        Column("apart", "told apart"),
    )  # fmt: skip
    return Table("differences", columns, rows, "The first model less each other", keys=3)


def _dimensions(procedure: Procedure, models: Sequence[FlexModelScores]) -> Table:
    columns = [
        Column("model", "model"), Column("dimension", "dimension"), Column("question", "question", "prose"),
        Column("base", "depends on"), *measure_columns(_PAPERS),
    ]  # fmt: skip
    rows = [
        {"model": scores.model, "dimension": dimension.id, "question": dimension.question, "base": dimension.base or "",
         "coverage": scores.dimensions[dimension.id][0], "achievement": scores.dimensions[dimension.id][1]}
        for scores in models for dimension in procedure.dimensions
    ]  # fmt: skip
    return Table("dimensions", columns, rows, "Every dimension", keys=2, printed=False)


def _groups(models: Sequence[FlexModelScores], judged: Mapping[str, Sequence[JudgedConversation]]) -> Table:
    """The scores by kind of user and by end, with how many conversations there were: the mix of users."""
    rows = []
    for scores in models:
        held = Counter(
            name for result in judged.get(scores.model, ())
            for name in (f"cooperativeness: {result.talk.cooperativeness}", f"ended by: {result.talk.end}")
        )  # fmt: skip
        rows += [
            {"model": scores.model, "group": name, "conversations": held[name], **result}
            for name, result in scores.groups.items()
        ]
    columns = [
        Column("model", "model"),
        Column("group", ""),
        Column("conversations", "conversations", "count", minor=1),
    ]
    note = "A user who hangs up early costs Coverage what the model never had a chance to do."
    return Table("groups", [*columns, *measure_columns()], rows, "By cooperativeness and end", note, keys=2)


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
    settings = ("procedure_sha256", "knowledge_sha256", "judge_models", "judge_level", "prompts", "rules")
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
        for place, measure in enumerate(_PAPERS):
            cells = tuple((scores.model, tuple(scores.dimensions[d][place] for d in names)) for scores in models)
            matrices.append(Matrix(f"{MEASURES[measure]} by dimension: {name}", "%", names, cells))
    columns = [Column("model", "model"), Column("instruction", "instruction"), *measure_columns(_PAPERS, drawn=True)]
    return [Table("scores", columns, rows, "Models by instructions", keys=2), *matrices]


DIAGRAM = "procedure.mmd"
_LONGEST = 160  # characters of a question in Mermaid
_ESCAPED = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}
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


def mermaid(procedure: Procedure, models: Sequence[FlexModelScores] = ()) -> str:
    """Return the drawing as Mermaid's text, which GitHub, notebooks and editors show."""
    names = {dimension.id: f"n{number}" for number, dimension in enumerate(procedure.dimensions, 1)}
    lines = ["flowchart LR", f'  start(["{_text(procedure.title or procedure.id)}"])']
    for dimension in procedure.dimensions:
        name, scores = names[dimension.id], ""
        for model in models:
            values = ("n/a" if s.value is None else f"{percent(s.value, 0)} %" for s in model.dimensions[dimension.id])
            scores += f"<br/>{_text(model.model)}: C {next(values)}, A {next(values)}"
        lines.append(f'  {name}["{_text(dimension.id)}: {_text(dimension.question)}{scores}"]')
    for dimension in procedure.dimensions:
        base = names[dimension.base] if dimension.base else "start"
        arrow = f'-->|"{_text(dimension.condition)}"|' if dimension.condition else "-->"
        lines.append(f"  {base} {arrow} {names[dimension.id]}")
    exclusive: dict[str, list[str]] = {}
    for dimension in procedure.dimensions:
        if dimension.exclusive:
            exclusive.setdefault(dimension.exclusive, []).append(names[dimension.id])
    lines += [f"  {a} -. or .- {b}" for group in exclusive.values() for a, b in pairwise(group)]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return "".join(_ESCAPED.get(sign, sign) for sign in short.replace("#", "#35;"))
