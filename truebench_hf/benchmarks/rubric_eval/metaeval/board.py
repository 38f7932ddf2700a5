"""What leaderboards show of a meta-evaluation: a row per judge, paradigm and split of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval.rewording import Rewording
from truebench_hf.benchmarks.rubric_eval.metaeval.robustness import Robustness
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import PARADIGMS, JudgeScores, MetaEvaluation
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.hashing import canonical, digest
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.outcome import COST, Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Score

KIND = "metaeval"
# Balanced accuracy as the paper has it: the unweighted mean of the four instruction categories.
MAIN = Column("category_mean", "Overall")
BALANCED = "balanced:"  # of a rubric type, where the paper prints plain accuracy
CALLS, TOKENS = "cost:calls", "cost:tokens"
_POOLED = {
    "balanced_accuracy": "Balanced accuracy", "balanced_accuracy_strict": "Strict", "macro_f1": "Macro F1", "accuracy": "Accuracy",
    "tpr": "Met found", "tnr": "Unmet found",
}  # fmt: skip


def titled(name: str) -> str:
    """A category, dimension or rubric type as the paper prints it: `multi_turn` -> `Multi-turn`."""
    return " ".join(word.capitalize() for word in name.replace("multi_turn", "multi-turn").split("_"))


COLUMNS = (
    MAIN,
    *(Column(f"pooled:{name}", title, "All rows pooled") for name, title in _POOLED.items()),
    Column("pass_rate", "Passes", "All rows pooled"),
    *(Column(f"category:{name}", titled(name), "Categories") for name in INSTRUCTION_CATEGORIES),
    *(Column(f"dimension:{name}", titled(name), "Dimensions") for name in DIMENSIONS),
    *(Column(f"type:{name}", titled(name), "Rubric types") for name in RUBRIC_TYPES),
    *(Column(f"{BALANCED}{name}", titled(name), "Balanced accuracy by type") for name in RUBRIC_TYPES),
    Column(CALLS, "Calls per verdict", COST, percent=False),
    Column(TOKENS, "Tokens per verdict", COST, percent=False),
)


def board(study: MetaEvaluation) -> Board:
    """The rows of a study. Judges are ranked together over the same data and split, however they were asked.

    Those with rules beside them are not ranked with those that decide all by themselves.
    """
    marks = {(one.judge, one.paradigm): _mark(one) for one in study.reworded}
    for hostile in study.attacked:
        marks.setdefault((hostile.judge, hostile.paradigm), {}).update(_injected(hostile))
    rows = tuple(
        row
        for scores in study.scores
        for row in _rows(scores, study.provenance, marks.get((scores.judge, scores.paradigm), {}))
    )
    there = {name for row in rows for name in row.scores}
    # Labels of one's own seldom have the paper's four categories: then it is the balanced accuracy of all rows.
    names = {name for scores in study.scores for split in scores.splits.values() for name in split.by_category}
    main = MAIN.name if names and names <= set(INSTRUCTION_CATEGORIES) else "pooled:balanced_accuracy"
    return Board(main, tuple(column for column in COLUMNS if column.name in there), rows)


def paradigm_words(paradigm: str) -> str:
    """`rubric-reasoning` as it reads: `rubric, reasoning`."""
    level, reasoning = PARADIGMS[paradigm]
    return level if level == "decision" else f"{level}, {'reasoning' if reasoning else 'no reasoning'}"


def _mark(found: Rewording) -> dict[str, str]:
    """What is said of a judge whose wording was varied; nothing where that could not be measured."""
    if found.moves is None or found.decides is None:
        return {}
    where = "out of" if found.decides else "within"
    return {"Wording": f"{100 * found.moves:.1f} points between wordings, {where} its interval"}


def _injected(found: Robustness) -> dict[str, str]:
    """What is said of a judge that was attacked; nothing where no trial was decided."""
    attack, neutral = found.overall.by_attack.value, found.overall.by_neutral.value
    if attack is None or neutral is None:
        return {}
    return {
        "Injections": f"turn {100 * attack:.1f} % of its noes to unmet rubrics, a neutral text {100 * neutral:.1f} %"
    }


def _rows(scores: JudgeScores, made: Mapping[str, Any], marks: Mapping[str, str]) -> Iterator[Row]:
    data = anonymous.name(str(made["data"]))
    for split, found in scores.splits.items():
        cells = {MAIN.name: found.mean["balanced_accuracy"]}
        cells |= {f"pooled:{name}": found.pooled[name] for name in _POOLED}
        cells |= {
            f"category:{name}": found.by_category[name]["balanced_accuracy"]
            for name in INSTRUCTION_CATEGORIES
            if name in found.by_category
        }
        if split == "all":
            cells |= _whole(scores)
        setting = digest(canonical([made["data_sha256"], split, made.get("rules", "off")]))
        facts = {"Paradigm": paradigm_words(scores.paradigm), "Data": data if split == "all" else f"{data}, {split}"}
        facts |= {**rules_fact(made), **(marks if split == "all" else {})}
        yield Row(anonymous.name(scores.judge), setting, cells, facts)


def _whole(scores: JudgeScores) -> dict[str, Score]:
    """What is told of all rows alone: pass rate, accuracy by dimension and rubric type (the paper's Table 4), balanced
    accuracy by type, and what a verdict cost."""
    by_group = {"dimension": scores.by_dimension, "type": scores.by_type}
    groups = {f"{what}:{name}": cell["accuracy"] for what, by in by_group.items() for name, cell in by.items()}
    groups |= {f"{BALANCED}{name}": cell["balanced_accuracy"] for name, cell in scores.by_type.items()}
    return {"pass_rate": scores.pass_rate} | groups | _cost(scores)


def _cost(scores: JudgeScores) -> dict[str, Score]:
    """Calls and tokens (read and written) per rubric, decided or not; only what was counted."""
    rubrics = scores.pass_rate.n + scores.pass_rate.unscored
    tokens = 0 if scores.usage.unknown_calls else scores.usage.input_tokens + scores.usage.output_tokens
    spent = {CALLS: scores.usage.calls, TOKENS: tokens}
    return {name: Score(count / rubrics, rubrics) for name, count in spent.items() if count and rubrics}
