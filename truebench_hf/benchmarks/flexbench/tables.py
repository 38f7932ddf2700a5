"""What the report of judged conversations shows: the two scores, what stands beside them, heat maps, conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import MEASURES, Judged, ModelScores, models_of, read_judged, score_models
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import (
    Cells,
    Conversation,
    Conversations,
    Grid,
    Matrix,
    Outcome,
    Section,
    exchanges,
    points,
    points_between,
)
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.outcome import LONGEST, Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Score, Verdict

TITLE = "FlexEval"
LEAD = (
    "Coverage: of the base actions, the share that the model attempts. Achievement: of the branches that came up while "
    "their base action was attempted, the share it gets right."
)


def sections(
    procedure: Procedure, models: Sequence[ModelScores], judged: Mapping[str, Sequence[Judged]] | None = None
) -> list[Section]:
    """Everything a report shows, in order."""
    shown: list[Section] = [_totals(models)]
    if any(one.differences for one in models):
        shown.append(_differences(models))
    shown += _heat_maps(procedure, models)
    if any(one.unexercised for one in models):
        shown.append(_unexercised(procedure, models))
    if any(one.groups for one in models):
        shown.append(_groups(models, judged or {}))
    return [*shown, _conversations(procedure, judged)] if judged else shown


def told(score: Score, places: int = 1) -> str:
    """A score in percent with its interval; n/a where nothing counts."""
    if score.value is None:
        return "n/a"
    ends = [f"{100 * end:.{places}f}" for end in score.ci95 or ()]
    return f"{100 * score.value:.{places}f}{f' ({ends[0]} to {ends[1]})' if ends else ''}"


def _totals(models: Sequence[ModelScores]) -> Grid:
    header = (
        "model",
        "conversations",
        *(f"{title} %" for title in MEASURES.values()),
        "not judged",
        "conflicts",
        "broken",
    )
    rows: tuple[Cells, ...] = tuple(
        (one.model, one.conversations, *(told(one.total[name]) for name in MEASURES), one.undecided, one.conflicts,
         one.broken) for one in models
    )  # fmt: skip
    paper: tuple[Cells, ...] = tuple(
        (str(row["Model"]), 50, f"{100 * row['Coverage/overall']:.1f}", f"{100 * row['Achievement/overall']:.1f}", "", "", "", "", "")
        for row in paper_rows("flexbench", "flexbench_table2")
    )  # fmt: skip
    note = (
        "95 % intervals by a bootstrap over conversations, none from fewer than ten. n/a: nothing was exercised. "
        '"Where applicable" leaves out steps that a conversation never came to need; "correct when attempted" counts all '
        "dimensions, base actions too (ours; the paper has neither). Conflicts are pairs of branches that exclude each "
        "other and were both found, also when asked again; broken conversations ended with an error. The paper's rows are "
        "of another instruction and judge."
    )
    return Grid("Scores", header, rows, paper, note)


def _differences(models: Sequence[ModelScores]) -> Grid:
    rows = [
        (one.model, MEASURES[name], points(gap), points_between((low, high)), "yes" if low > 0 or high < 0 else "no")
        for one in models for name, (gap, low, high) in one.differences.items()
    ]  # fmt: skip
    note = "Over the conversations that both had with the same user and seed, drawn together."
    header = ("model", "score", "difference (points)", "95 % interval", "told apart")
    return Grid(f"{models[0].model} less each other model", header, tuple(rows), note=note)


def _heat_maps(procedure: Procedure, models: Sequence[ModelScores]) -> list[Section]:
    names = tuple(one.model for one in models)
    found: list[Section] = []
    for place, title in enumerate(("Coverage by dimension", "Achievement by dimension")):
        rows = tuple(
            (f"{one.id} {one.question}", tuple(model.dimensions[one.id][place] for model in models))
            for one in procedure.dimensions
        )
        found.append(Matrix(title, "%", names, rows))
    return found


def _unexercised(procedure: Procedure, models: Sequence[ModelScores]) -> Grid:
    questions = {one.id: one.question for one in procedure.dimensions}
    rows = tuple((one.model, name, questions[name]) for one in models for name in one.unexercised)
    note = "Attempted in no conversation: these say nothing of the model's branches."
    return Grid(
        "Dimensions never exercised", ("model", "dimension", "question"), rows, note=note, printed=False, prose=(2,)
    )


def _groups(models: Sequence[ModelScores], judged: Mapping[str, Sequence[Judged]]) -> Grid:
    """The scores by kind of user and by end, with how many conversations there were: the mix of users."""
    rows = []
    for one in models:
        held = Counter(
            name for found in judged.get(one.model, ())
            for name in (f"cooperativeness: {found.talk.cooperativeness}", f"ended by: {found.talk.end}")
        )  # fmt: skip
        rows += [
            (one.model, name, held[name] or "", *(told(found[measure]) for measure in MEASURES))
            for name, found in one.groups.items()
        ]
    note = "A user who hangs up early costs Coverage what the model never had a chance to do."
    return Grid(
        "By cooperativeness and end", ("model", "", "conversations", *MEASURES.values()), tuple(rows), note=note
    )


def _conversations(procedure: Procedure, judged: Mapping[str, Sequence[Judged]]) -> Conversations:
    rows = [_conversation(procedure, one) for talks in judged.values() for one in talks]
    return Conversations("Conversations", tuple(rows))


def _conversation(procedure: Procedure, one: Judged) -> Conversation:
    """A conversation with the verdicts behind its last turn; it fails where one of them is no."""
    verdicts = [
        Verdict(Criterion(item.question, item.exclusive or None, item.condition or None), one.labels[item.id],
                _reason(one, item.id))
        for item in procedure.dimensions
    ]  # fmt: skip
    labels = {verdict.label for verdict in verdicts}
    outcome: Outcome = "no" if "no" in labels else "open" if None in labels else "yes"
    turns = exchanges(one.talk.messages, [])
    if turns:
        turns = (*turns[:-1], type(turns[-1])(turns[-1].messages, tuple(verdicts), turns[-1].reasoning))
    facts = [one.talk.cooperativeness, f"ended by {one.talk.end}" if one.talk.end else ""]
    name = ", ".join([f"{one.talk.id} (seed {one.talk.seed})" if one.talk.seed else one.talk.id, *filter(None, facts)])
    return Conversation(name, turns, outcome, one.talk.error, who=one.talk.model)


def _reason(one: Judged, name: str) -> str:
    facts = one.facts[name]
    return f"message {facts.turn}: {facts.reason}" if facts.turn else facts.reason


_MOST = LONGEST // 4 - len(MEASURES)  # dimensions on a board: each has two columns, and there may be LONGEST / 2


def board(procedure: Procedure, models: Sequence[ModelScores], made: Mapping[str, Any]) -> Board:
    """The models of one instruction, by Coverage: Achievement is n/a where the instruction has no branches.

    Columns of dimensions are the instruction's own: d1 of another one, or before an edit, is another question.
    """
    columns = [Column(name, title) for name, title in MEASURES.items()]
    shown, called = procedure.dimensions[:_MOST], procedure.title or procedure.id
    names = {one.id: f"{procedure.id}:{one.id}:{digest(one.question)[:6]}" for one in shown}
    for part, title in (("c", "Coverage"), ("a", "Achievement")):
        columns += [Column(f"{part}:{names[one.id]}", one.id, f"{title} by dimension: {called}") for one in shown]
    judged = [
        made.get(name)
        for name in ("procedure_sha256", "knowledge_sha256", "judge_models", "judge_level", "prompts", "rules")
    ]
    setting = digest(canonical(anonymous.settings(judged)))
    rows = []
    for one in models:
        cells = dict(one.total)
        for place, part in enumerate("ca"):
            cells |= {f"{part}:{column}": one.dimensions[name][place] for name, column in names.items()}
        facts = {
            "Instruction": called, "Judge": anonymous.name(str(made.get("judge", ""))),
            "Conversations": str(one.conversations), **rules_fact(made),
        }  # fmt: skip
        rows.append(Row(anonymous.name(one.model), setting, cells, facts))
    return Board("coverage", tuple(columns), tuple(rows), title="FlexEval", unit="Coverage in %")


_BOTH = {"coverage": "Coverage", "achievement": "Achievement"}


def table_sections(folders: Sequence[str]) -> list[Section]:
    """The tables of judged folders, each once. Raises UserError where one holds no judgments."""
    scored: dict[str, tuple[Procedure, Mapping[str, ModelScores]]] = {}
    read = {folder: read_judged(folder) for folder in dict.fromkeys(str(Path(one)) for one in folders)}
    ids = Counter(procedure.id for procedure, _ in read.values())
    for folder, (procedure, judged) in read.items():
        name = procedure.id if ids[procedure.id] == 1 else f"{procedure.id} ({folder})"  # files of one name, say
        scored[name] = procedure, {one.model: one for one in score_models(procedure, models_of(judged))}
    models = list(dict.fromkeys(model for _, found in scored.values() for model in found))
    shown: list[Section] = [_overview(scored, models)]
    for name, title in _BOTH.items():
        rows = tuple(
            (model, tuple(found[model].total[name] if model in found else None for _, found in scored.values()))
            for model in models
        )
        shown.append(Matrix(f"{title} by instruction", "%", tuple(scored), rows))
    for name, (procedure, found) in scored.items():
        for place, title in enumerate(_BOTH.values()):
            dims = tuple(one.id for one in procedure.dimensions)
            cells = tuple((model, tuple(one.dimensions[d][place] for d in dims)) for model, one in found.items())
            shown.append(Matrix(f"{title} by dimension: {name}", "%", dims, cells))
    return shown


def _overview(scored: Mapping[str, tuple[Procedure, Mapping[str, ModelScores]]], models: Sequence[str]) -> Grid:
    header = ("model", *(f"{name} {part}" for name in scored for part in ("C", "A")))
    rows = tuple(
        (model, *(told(found[model].total[name]) if model in found else "" for _, found in scored.values() for name in _BOTH))
        for model in models
    )  # fmt: skip
    return Grid(
        "Models by instructions, in percent", header, rows, note="C: Coverage, A: Achievement, with 95 % intervals."
    )
