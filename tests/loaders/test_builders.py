"""Every set as its builder makes it: rows, columns, configurations, and the export that `load_dataset` reads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import RELEASE, needs_release
from tests.support.tables import named
from truebench_hf.benchmarks.rubric_eval.data import COLUMNS, SPLITS, mini_rows
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rubric_rows
from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.errors import UserError
from truebench_hf.loaders import facts
from truebench_hf.loaders.export import Built, export
from truebench_hf.loaders.prepare import corpus

PACKAGE = Path(truebench_hf.__file__).parent / "benchmarks"
# set -> configuration -> (number of rows, the rows as they ship)
FILES = {
    ("truebench_mini", "all"): PACKAGE.parent / "data" / "truebench_mini.jsonl",
    ("facts_mini", "all"): PACKAGE / "facts" / "mini.jsonl",
    ("flexbench", "instructions"): PACKAGE / "flexbench" / "samples" / "instructions.jsonl",
    ("flexbench", "dimensions"): PACKAGE / "flexbench" / "samples" / "dimensions.jsonl",
    ("flexbench", "conversations"): PACKAGE / "flexbench" / "samples" / "conversations.jsonl",
    ("checklists_mini", "all"): PACKAGE.parent / "data" / "checklists_mini.jsonl",
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_importing_the_loaders_is_light() -> None:
    code = (
        "import sys, truebench_hf.loaders, truebench_hf.data.catalogue; print({'torch', 'datasets'} & set(sys.modules))\n"
        "from truebench_hf.loaders import export, prepare; prepare.corpus('truebench'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "False"]


@pytest.mark.parametrize(("name", "config"), list(FILES), ids=lambda value: value)
def test_what_is_built_in_comes_out_unchanged(name: str, config: str) -> None:
    table = truebench_hf.load(name, config, "test")
    labels = {"no": 0, "yes": 1, "unknown": 2}
    expected = lines(FILES[name, config])
    if name == "truebench_mini":
        assert [(row["first_prompt"], row["first_criteria"]) for row in table] == [
            (row["input"][0], "\n".join(f"- {criterion}" for criterion in row["criteria"][0])) for row in expected
        ]
        table = table.remove_columns(["first_prompt", "first_criteria"])
    for row in expected:
        for verdict in row.get("verdicts", []):
            verdict["label"] = labels[verdict["label"]]
    assert table.to_list() == expected


def test_rubric_mini_has_names_for_its_labels() -> None:
    for split in SPLITS:
        table = truebench_hf.load("rubric_mini", split=split)
        assert named(table) == rubric_rows(seed=0, split=split)
    assert tuple(table.column_names) == COLUMNS
    assert table.features["rubric_type"].names == list(RUBRIC_TYPES)
    assert table.features["label"].str2int("yes") == 1


def test_the_pinned_release(built: Callable[[str], Built]) -> None:
    facts = built("truebench").facts
    assert (facts.version, facts.notes) == ("v0.6.1", ())
    assert facts.totals == {"instances": 2485, "turns": 3000, "criteria": 9591}
    assert len(facts.rows) == 1 + 12 + 10
    assert len(facts.languages) == 12
    for kind in (slice(1, 13), slice(13, 23)):  # languages, then categories: each part the whole set once
        assert sum(rows["test"] for rows in list(facts.rows.values())[kind]) == 2485


@needs_release
def test_another_file_under_the_name_of_a_release_is_told_apart(tmp_path: Path) -> None:
    changed = tmp_path / "TRUEBench-v0.6.1.jsonl"
    changed.write_text("".join(RELEASE.read_text(encoding="utf-8").splitlines(keepends=True)[:20]), encoding="utf-8")
    facts = export("truebench", tmp_path / "out", source=str(changed)).facts
    assert "is not the pinned v0.6.1" in facts.notes[0]
    assert tuple(facts.tables[0].rows[0].values()) == ("instances", 20, 2485)
    assert "v0.6.1" not in facts.version
    assert "is not the pinned v0.6.1" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_columns_a_file_has_besides_are_named(tmp_path: Path) -> None:
    source = tmp_path / "new.jsonl"
    rows = [{**row, "difficulty": 1, "index": n} for n, row in enumerate(lines(FILES["truebench_mini", "all"]))]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    notes = export("truebench", tmp_path / "out", source=str(source)).facts.notes
    assert notes[1] == "left out, since they are no columns of TRUEBench: difficulty"


def test_facts_grounding_reads_the_public_layout(tmp_path: Path) -> None:
    source = tmp_path / "examples.csv"
    long = "x" * 300_000  # beyond the limit of Python's csv module
    source.write_text(
        "system_instruction,user_request,context_document,full_prompt\n"
        f'Only the text.,"Summarise, please.","{long}\nline two","all of ""it"""\n'
        'Only the text.,Calculate the total of both.,"d","p"\n',
        encoding="utf-8",
    )
    built = export("facts_grounding", tmp_path / "out", source=str(source))
    table = truebench_hf.load("facts_grounding", split="open", source=str(source))
    assert table[0] == {
        "system_instruction": "Only the text.",
        "user_request": "Summarise, please.",
        "context_document": f"{long}\nline two",
        "full_prompt": 'all of "it"',
    }
    assert built.facts.notes == ("the public set has 860 rows, this file 2",)
    assert len(truebench_hf.load("facts_grounding", split="blind", source=str(source))) == 2
    assert tuple(facts.FEATURES) == tuple(table[0])


def test_languages_that_no_release_has_yet_get_a_configuration(tmp_path: Path) -> None:
    source = tmp_path / "next.jsonl"
    row = {**lines(FILES["truebench_mini", "all"])[0], "language": "AR", "category": "New Kind"}
    source.write_text(json.dumps(row), encoding="utf-8")
    assert len(truebench_hf.load("truebench", "new_kind", "test", source=str(source))) == 1
    assert list(export("truebench", tmp_path / "out", source=str(source)).facts.rows) == ["all", "ar", "new_kind"]


def test_a_changed_source_is_not_taken_from_the_cache(tmp_path: Path) -> None:
    """The builder used directly, with one cache folder: the contents of the file are part of the cache's name."""
    source, row = tmp_path / "rows.jsonl", lines(FILES["truebench_mini", "all"])[0]
    counts = []
    for language in ("KO", "EN"):
        source.write_text(json.dumps({**row, "language": language}), encoding="utf-8")
        builder = corpus("truebench")(cache_dir=str(tmp_path / "cache"), config_name="ko", source=str(source))
        builder.download_and_prepare()
        counts.append(builder.info.splits["test"].num_examples)
    assert counts == [1, 0]


UNKNOWN = [
    (("rubric_mimi",), "did you mean rubric_mini"),
    (("rubric_mini", "sytem"), "did you mean system"),
    (("rubric_mini", "all", "train"), "unknown split 'train'"),
]


@pytest.mark.parametrize(("arguments", "told"), UNKNOWN, ids=["set", "configuration", "split"])
def test_unknown_names_get_the_nearest(arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(UserError, match=told):
        truebench_hf.load(*arguments)


# Whole responses: what is left out of a row is derived from those beside it.
ROWS = [{**row, "split": "hard" if n % 3 else "easy"} for n, row in enumerate(mini_rows(seed=0)[:420])]
for extra in ROWS:
    del extra["pair_id"], extra["trap"], extra["measurable"]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {"context": None, "reference": None} | {name: value for name, value in row.items() if name != "split"}


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    return write(tmp_path / "rows.jsonl", ROWS)


def test_both_splits_come_back(source: str) -> None:
    splits = truebench_hf.load("rubric_eval", source=source)
    for split in ("easy", "hard"):
        assert named(splits[split]) == [plain(row) for row in ROWS if row["split"] == split]


def test_other_names_for_columns_and_values(tmp_path: Path, source: str) -> None:
    """Types as the paper prints them, answers as booleans, and what can be derived left out."""
    theirs = [
        {
            **{
                name: value
                for name, value in row.items()
                if name not in ("response", "id", "rubric_index", "dimension")
            },
            "answer": row["response"],
            "rubric_type": row["rubric_type"].replace("_", " ").title(),
            "instruction_category": row["instruction_category"].replace("_", "-").title(),
            "label": row["label"] == "yes",
            "level": row["split"].upper(),
            "split": "ignored",
        }
        for row in ROWS
        if row["checklist"].count(row["rubric"]) == 1
    ]
    other = write(tmp_path / "theirs.jsonl", theirs)
    columns = {"response": "answer", "split": "level"}
    assert len(theirs) > 240
    ours = [*truebench_hf.load("rubric_eval", "all", "hard", source=other, columns=columns)]
    every = {row["id"]: row for row in truebench_hf.load("rubric_eval", "all", "hard", source=source)}
    assert [row | {"id": ""} for row in ours] == [every[row["id"]] | {"id": ""} for row in ours]
    with pytest.raises(
        UserError, match=r"line 1: missing field 'response'; the file has instruction_id, .*label_source"
    ):
        truebench_hf.load("rubric_eval", source=other)
    with pytest.raises(UserError, match=r"unknown column 'respons'.*did you mean response"):
        truebench_hf.load("rubric_eval", source=other, columns={"respons": "answer"})


def test_what_arbitration_leaves_out_stays_out(tmp_path: Path) -> None:
    """Rows without a rubric type of ours, an annotator without label, and a split without rows."""
    row = plain(ROWS[0]) | {"rubric_type": None, "dimension": None, "source_label": "their kind"}
    row["annotations"] = [{"annotator": "a", "label": None}]
    row["rationales"] = [{"judge": "a", "rationale": ""}]
    (tmp_path / "labels").mkdir()
    write(tmp_path / "labels" / "easy.jsonl", [row])
    write(tmp_path / "labels" / "hard.jsonl", [])
    built = export("rubric_eval", tmp_path / "out", source=str(tmp_path / "labels"))
    assert built.facts.rows["all"] == {"easy": 1}
    assert built.facts.notes == ("rows without rubric type: 1; `truebench study taxonomy` finds one",)


def test_counts_stand_beside_those_of_the_paper(tmp_path: Path) -> None:
    names = {
        "constrained": "infobench",
        "compositional": "ComplexBench",
        "multi_turn": "Struct-FlowBench",
        "system": "Own",
    }
    rows = [row | {"source_benchmark": names[row["instruction_category"]]} for row in ROWS]
    built = export("rubric_eval", tmp_path / "out", source=write(tmp_path / "rows.jsonl", rows))
    table = built.facts.tables[0]
    assert table.header[:4] == ("category", "source", "instructions", "instructions (paper)")
    assert table.header[4:] == ("easy", "easy (paper)", "hard", "hard (paper)", "total", "total (paper)")
    lines = [tuple(row.values()) for row in table.rows]
    found = {line[:2]: line[2:] for line in lines}

    def ours(category: str) -> list[int]:
        mine = [row for row in rows if row["instruction_category"] == category]
        easy = sum(row["split"] == "easy" for row in mine)
        return [len({row["instruction_id"] for row in mine}), easy, len(mine) - easy, len(mine)]

    # The paper's numbers are those of Table 8: instructions, easy, hard, total.
    assert found["constrained", "InfoBench_hard"][1::2] == (95, 72, 47, 119)
    assert list(found["constrained", "InfoBench_hard"][::2]) == ours("constrained")
    assert list(found["multi_turn", "StructFlowBench"][::2]) == ours("multi_turn")
    assert found["multi_turn", "StructFlowBench"][1::2] == (229, 186, 95, 281)
    assert list(found["system", "own"][::2]) == ours("system")
    assert found["system", "own"][1::2] == (None, None, None, None)
    assert found["system", "SysBench"][::2] == (0, 0, 0, 0)
    assert found["total", None][1::2] == (1989, 2034, 1452, 3486)
    assert found["total", None][-2] == len(rows)
    assert lines[-1][0] == "total"
