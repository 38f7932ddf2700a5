"""How far judges can be trusted: published RubricEval tables beside what `truebench metaeval` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.space.board import reference, shown
from truebench_hf.space.board.runs import JudgeRun

Table = tuple[list[str], list[list[Any]]]  # headers, rows
_CATEGORIES = ("Constrained", "Compositional", "Multi-turn", "System")
_SCORES = ("Overall", "95 % interval", *_CATEGORIES, "n", "Not judged")
_PAPER = "paper †"
_PARADIGMS = {
    "checklist": "checklist, no reasoning", "checklist-reasoning": "checklist, reasoning",
    "rubric": "rubric, no reasoning", "rubric-reasoning": "rubric, reasoning", "decision": "decision",
}  # fmt: skip
_HERE = "measured"


def overview(measured: Sequence[JudgeRun]) -> Table:
    """Balanced accuracy by instruction category, a line per judge and split (RubricEval Table 2), best first."""
    rows = [
        [judge, _HERE, _data(run), _split(split), _PARADIGMS.get(paradigm, paradigm), *_balanced(found)]
        for run in measured
        for judge, paradigm, scores in _lines(run)
        for split, found in _splits(scores).items()
    ]
    for row in reference.table("rubriceval_table2_main")["rows"]:
        said = [row["Model"], _PAPER, "", row["Split"], "rubric, reasoning"]
        rows.append([*said, *_printed([row[f"{name}/BAcc"] for name in ("Overall", *_CATEGORIES)])])
    return _sorted(["Judge", "Results", "Data", "Split", "Paradigm", *_SCORES], rows)


def paradigms(measured: Sequence[JudgeRun]) -> Table:
    """Balanced accuracy of the four ways to ask (RubricEval Tables 3 and 9), best first."""
    rows = []
    for run in measured:
        for judge, paradigm, scores in _lines(run):
            level, _, reasoning = _PARADIGMS.get(paradigm, paradigm).partition(", ")
            said = {"reasoning": "yes", "no reasoning": "no"}.get(reasoning, "")
            for split, found in _splits(scores).items():
                rows.append([judge, _HERE, _data(run), _split(split), level, said, *_balanced(found)])
    for name, split in (("rubriceval_table3_paradigms", "mixed"), ("rubriceval_table9_paradigms_by_split", "")):
        for row in reference.table(name)["rows"]:
            level = row["Granularity"].removesuffix("-level").lower()
            asked = [_PAPER, "", row.get("Split", split), level, "yes" if row["Reasoning"] else "no"]
            for short, judge in (("Qwen", "Qwen2.5-32B-Instruct"), ("GPT", "GPT-4.1")):
                printed = [row[f"{column}/{short}"] for column in ("Overall", *_CATEGORIES)]
                rows.append([judge, *asked, *_printed(printed)])
    return _sorted(["Judge", "Results", "Data", "Split", "Level", "Reasoning", *_SCORES], rows)


def rubric_types(measured: Sequence[JudgeRun]) -> Table:
    """Accuracy by rubric type: a line per type, a column per judge (RubricEval Table 4)."""
    judges = {"Qwen3": "Qwen3-235B", "gpt-oss": "gpt-oss-120b", "GPT-4o": "GPT-4o", "o3-mini": "o3-mini"}
    lines = [(f"{judge} ({paradigm})", scores) for run in measured for judge, paradigm, scores in _lines(run)]
    headers = [
        "Dimension",
        "Rubric type",
        *(name for name, _ in lines),
        *(f"{name} {_PAPER[-1]}" for name in judges.values()),
    ]
    rows = []
    for row in reference.table("rubriceval_table4_rubric_types")["rows"]:
        kind = row["Rubric Type"] or {"dimension": "all of it", "overall": "all"}[row["Level"]]
        name = key(row["Rubric Type"] or row["Dimension"] or "")
        ours = [_of_type(scores, row["Level"], name) for _, scores in lines]
        rows.append([row["Dimension"] or "All", kind, *ours, *(row[judge] for judge in judges)])
    return headers, rows


def key(name: str) -> str:
    """A printed name of a rubric type or dimension as our scores spell it."""
    return name.lower().replace(" ", "_").replace("-", "_")


def notes() -> list[str]:
    """What a reader of the published figures has to know."""
    return [
        "† published in the RubricEval paper, on its own data; lines marked measured stem from runs on this board.",
        "Balanced accuracy is the mean of the shares of met and of unmet rubrics that the judge recognises; 50 is chance.",
        "Overall is the unweighted mean of the four instruction categories, as in the paper; blank where one is missing.",
        "n counts the labelled rubrics that the judge decided; those it left open are not judged, and left out of the "
        "scores. Intervals of measured lines: 95 %, by resampling whole instructions; the paper gives none.",
        "One cell of the paper's table by rubric type (Qwen3, all) cannot be read with certainty and is left blank.",
    ]


def _lines(run: JudgeRun) -> list[tuple[str, str, Mapping[str, Any]]]:
    """(judge, paradigm, scores) of each line of a meta-evaluation's scores; nothing where their form is unknown."""
    lines = run.scores.get("judges")
    return [
        (shown.name(str(line["judge"])), str(line.get("paradigm", "")), line)
        for line in (lines if isinstance(lines, list) else [])
        if isinstance(line, Mapping) and "judge" in line and isinstance(line.get("by_category"), Mapping)
    ]


def _splits(scores: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """All rows, and the splits of the data where it has any."""
    return {"all": scores} | dict(scores.get("by_split") or {})


def _data(run: JudgeRun) -> str:
    """The name of the rows that a study was over; nothing where it does not say."""
    return shown.data(str(run.info.get("settings", {}).get("data") or ""))


def _split(name: str) -> str:
    return "" if name == "all" else name


def _balanced(split: Mapping[str, Any]) -> list[Any]:
    """What stands under `_SCORES`; overall is the mean of the categories, as in the paper."""
    mean, groups = split.get("category_mean"), split.get("by_category") or {}
    score = mean.get("balanced_accuracy") if isinstance(mean, Mapping) else None
    facts: Mapping[str, Any] = score if isinstance(score, Mapping) else {}
    low, high = facts.get("ci95") or (None, None)
    by_category = [groups.get(name) for name in ("constrained", "compositional", "multi_turn", "system")]
    return [
        _number(mean, "balanced_accuracy"),
        "" if low is None else f"{low:.1f} to {high:.1f}",
        *(_number(cell, "balanced_accuracy") for cell in by_category),
        facts.get("n"),
        facts.get("unscored"),
    ]


def _printed(scores: Sequence[float | None]) -> list[Any]:
    """The paper's overall score and categories under `_SCORES`: it tells no interval and no numbers of rows."""
    return [scores[0], "", *scores[1:], None, None]


def _sorted(headers: list[str], rows: list[list[Any]]) -> Table:
    """Measured lines first, then the paper's; each by overall score, those without one last."""
    place = headers.index("Overall")
    return headers, sorted(rows, key=lambda row: (row[1] != _HERE, row[place] is None, -(row[place] or 0.0)))


def _of_type(scores: Mapping[str, Any], level: str, name: str) -> float | None:
    if level == "overall":
        return _number(scores.get("overall"), "accuracy")
    return _number(
        (scores.get("by_dimension" if level == "dimension" else "by_rubric_type") or {}).get(name), "accuracy"
    )


def _number(cell: Any, measure: str) -> float | None:
    score = cell.get(measure) if isinstance(cell, Mapping) else None
    value = score.get("value") if isinstance(score, Mapping) else None
    return round(float(value), 1) if isinstance(value, int | float) else None
