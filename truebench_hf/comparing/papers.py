"""What the papers published, as boards of the same shape as those of runs, and what a reader of them has to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from truebench_hf.benchmarks.facts import rank as facts_paper
from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.rubric_eval import scores as judges
from truebench_hf.benchmarks.rubric_eval.comparisons import published_rows
from truebench_hf.benchmarks.truebench import results as truebench
from truebench_hf.comparing.runs import BoardRun, lines
from truebench_hf.metrics.intervals import wilson
from truebench_hf.report.table import paper_rows, paper_table
from truebench_hf.study.ranking import Board, BoardColumn, BoardRow
from truebench_hf.types import Score

JUDGES = judges.KIND
_TABLE_4 = {"Qwen3": "Qwen3-235B", "gpt-oss": "gpt-oss-120b", "GPT-4o": "GPT-4o", "o3-mini": "o3-mini"}


@dataclass(frozen=True)
class Paper:
    """How boards of a kind are called, what their figures are and are counted in, notes for readers, and the paper's results.

    `judges` are those of the paper, by names that show their families.
    """

    title: str
    unit: str
    noun: str
    notes: tuple[str, ...]
    published: Callable[[], BoardRun]
    judges: tuple[str, ...] = ()


@cache
def _truebench() -> BoardRun:
    """Tables 5 and 6 of TRUEBench, with Wilson intervals for the paper's numbers of instances (Table 4)."""
    printed = {
        "category": paper_table("truebench", "truebench_table5"),
        "language": paper_table("truebench", "truebench_table6"),
    }
    groups = {"category": "Categories", "language": "Languages"}
    named = [(what, name) for what, tables in printed.items() for name in tables["columns"][2:]]
    counted = paper_rows("truebench", "truebench_table4")
    counts = {row["Category"]: row["Total Count"] for row in counted} | counted[-1]
    by_model = [{row["Model"]: row for row in tables["rows"]} for tables in printed.values()]
    rows = []
    for model, known in truebench.published_models().items():
        of_model = by_model[0][model] | by_model[1][model]
        scores = {f"{what}:{name}": _share(of_model[name], counts[name]) for what, name in named}
        scores[truebench.MAIN.name] = _share(of_model["Overall"], counts["Total"])
        facts = {"Judge": "as in the paper", "Data": "TRUEBench paper, 1,329 instances"}
        facts |= truebench.facts(known["size_b"], known["open"], known["licence"])
        rows.append(BoardRow(model, "", scores, facts))
    columns = (truebench.MAIN, *(BoardColumn(f"{what}:{name}", name, groups[what]) for what, name in named))
    run = _run(truebench.KIND, columns, rows)
    wrong = {(model, f"{what}:{name}") for what, tables in printed.items() for model, name in tables["misprints"]}
    marked = [replace(e, misprints=frozenset(name for model, name in wrong if model == e.name)) for e in run.entries]
    return replace(run, entries=tuple(marked))


def _share(value: float, n: int) -> Score:
    return Score(value / 100, n, 0, wilson(round(value * n / 100), n))


@cache
def _judges() -> BoardRun:
    """RubricEval's Tables 2 (judges), 3 and 9 (ways of asking) and 4 (rubric types): no intervals, no numbers of rows."""
    rows: dict[tuple[str, ...], BoardRow] = {}
    scores: dict[tuple[str, ...], dict[str, Score]] = {}
    for record in published_rows():
        key = judge, paradigm, split = record["judge"], record["paradigm"], record["split"]
        name, _, number = judge.rstrip(")").partition(" (Table ")
        facts = {"Paradigm": judges.paradigm_words(paradigm)} if number else {}
        facts |= {"Data": f"RubricEval paper, Table {number or 4}" + (f", {split}" if split != "all" else "")}
        setting = f"{number} {split.capitalize() if split != 'all' else ''}" if number else "4"
        scores.setdefault(key, {}).update({c: s or Score(None, 0) for c, s in judges.board_scores(record).items()})
        rows[key] = BoardRow(name if number else _TABLE_4[name], setting, scores[key], facts)
    return _run(judges.KIND, judges.COLUMNS, list(rows.values()))


def _run(kind: str, columns: Sequence[BoardColumn], rows: Sequence[BoardRow]) -> BoardRun:
    """Published results as a run; the first column is the main one."""
    return lines(kind, Board(columns[0].name, tuple(columns), tuple(rows)), "paper", [""] * len(rows))


@cache
def _facts() -> BoardRun:
    """Tables 5 and 6 of FACTS Grounding, with the half-widths that they print."""
    tables = {"final": facts_paper.AFTER, "unadjusted": facts_paper.BEFORE}
    printed = {name: {row["Response Model"]: row for row in paper_rows("facts", n)} for name, n in tables.items()}
    parts = [(split, judge) for split in facts_paper.SPLITS for judge in facts_paper.JUDGES]
    rows = []
    for model, final in printed["final"].items():
        scores = {
            name: _printed(by_model[model], "Average", sum(facts_paper.SPLITS.values()))
            for name, by_model in printed.items()
        }
        scores |= {
            f"paper:{split}:{judge}": _printed(final, f"{split}/{judge}", facts_paper.SPLITS[split])
            for split, judge in parts
        }
        facts_of_all = {"Judge": "three judges of the paper", "Data": "FACTS Grounding paper, 1,719 prompts"}
        rows.append(BoardRow(model, "", scores, facts_of_all | {"Baseline": "not told in the paper"}))
    more = (
        BoardColumn(f"paper:{split}:{judge}", f"{judge}, {split.lower()}", "The paper's judges, final")
        for split, judge in parts
    )
    return _run(FACTS, (BoardColumn("final", "Final"), BoardColumn("unadjusted", "Unadjusted"), *more), rows)


def _printed(row: Mapping[str, Any], column: str, n: int) -> Score:
    value, half = row[column], row[f"{column}/ci95"]
    return Score(value / 100, n, 0, ((value - half) / 100, (value + half) / 100))


def _papers() -> dict[str, Paper]:
    published: dict[str, tuple[Callable[[], BoardRun], tuple[str, ...]]] = {
        truebench.KIND: (
            _truebench,
            ("o3",),
        ),  # section 4, footnote 4, which leaves it out of the models, but no family
        judges.KIND: (_judges, ()),
        FACTS: (_facts, facts_paper.JUDGES),
    }
    texts = yaml.safe_load(Path(__file__).with_name("papers.yaml").read_text(encoding="utf-8"))
    oddities = (note for number in (5, 6) for note in paper_table("truebench", f"truebench_table{number}")["notes"])
    texts[truebench.KIND]["notes"].append(f"(!) Known oddities of the published figures: {' '.join(oddities)}")
    return {
        kind: Paper(text["title"], text["unit"], text["noun"], tuple(text["notes"]), *published[kind])
        for kind, text in texts.items()
    }


PAPERS = _papers()
