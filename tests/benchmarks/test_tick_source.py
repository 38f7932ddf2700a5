"""Instructions with their checklists: where they come from, and how they are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script
from truebench_hf.benchmarks.tick.best_of import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.checklists import (
    ChecklistOptions,
    GenerateChecklistOptions,
    GenerateChecklists,
    InstructionOptions,
    ListedChecklist,
    load_items,
    read_checklists,
    to_row,
)
from truebench_hf.benchmarks.tick.pairwise import Pairwise, PairwiseOptions
from truebench_hf.benchmarks.tick.refine import Refine, RefineOptions
from truebench_hf.benchmarks.tick.tick import ScoreChecklists, ScoreOptions, Tick, TickOptions
from truebench_hf.data import instances
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Message, Turn


@dataclass(frozen=True, kw_only=True)
class Both(InstructionOptions, ChecklistOptions):
    out: str = "out"


@dataclass(frozen=True, kw_only=True)
class Apart(Both):
    OWN = False


ROWS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "Say hello.", "criteria": ["Is it a greeting?"]},
    {"id": "b", "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hm?"},
                             {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "안녕\u2028하세요"}]},
    {"id": "c", "turns": [{"prompt": "one"}, {"prompt": "two"}]},
]  # fmt: skip


def file(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_instructions_with_what_is_known_of_their_checklists(tmp_path: Path) -> None:
    data = file(tmp_path / "d.jsonl", ROWS)
    found = load_items(Both(data=data))
    a, b = found.every
    assert a.known is not None
    assert (a.known.source, a.known.criteria) == ("data", (Criterion("Is it a greeting?"),))
    assert b.known is None
    assert [m.content for m in b.instance.history] == ["Hm?", "Yes?"]
    assert b.instance.system == "Be kind."
    assert found.left_out == ("c: 2 turns to be answered",)
    (kept, _) = load_items(Apart(data=data)).every  # apart: no checklist, though the criteria stay with the instruction
    assert kept.known is None
    assert kept.instance.turns[0].criteria == (Criterion("Is it a greeting?"),)


def test_a_folder_is_bound_to_instructions_not_to_checklists(tmp_path: Path) -> None:
    edited = [ROWS[0] | {"criteria": ["Is it short?", "Is it kind?"]}, *ROWS[1:]]
    one, two = (
        load_items(Both(data=file(tmp_path / name, rows))) for name, rows in (("1.jsonl", ROWS), ("2.jsonl", edited))
    )
    assert one.sha256(one.every) == two.sha256(two.every)


def test_a_file_of_checklists_counts_before_the_data(tmp_path: Path) -> None:
    data = file(tmp_path / "d.jsonl", ROWS)
    rows = [{"id": "a", "prompt": "Say hello.", "criteria": ["Is it short?"], "generator": "g", "analysis": "hm"},
            {"id": "b", "prompt": "x", "criteria": []}, {"id": "z", "prompt": "y", "criteria": ["Is it y?"]}]  # fmt: skip
    a, b = load_items(Both(data=data, checklists=file(tmp_path / "c.jsonl", rows))).every
    assert a.known == ListedChecklist(
        Instance("a", "", "", "", (Turn("Say hello.", (Criterion("Is it short?"),)),)), "file", "g", "hm"
    )
    assert b.known is None  # an empty checklist is none, whatever prompt it is of


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "a", "prompt": "Say hello!", "criteria": ["Is it short?"]}, "id a has another prompt"),
        ({"id": "a", "prompt": "Say hello.", "system": "Be rude.", "criteria": ["Is it short?"]}, "id a has another"),
        ({"id": "z", "prompt": "Say hello.", "criteria": ["Is it short?"]}, "for no instruction of the data"),
        ({"id": "a", "prompt": "Say hello.", "criteria": [7]}, "criteria[0]"),
    ],
)
def test_checklists_of_another_instruction_are_refused(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        load_items(Both(data=file(tmp_path / "d.jsonl", ROWS), checklists=file(tmp_path / "c.jsonl", [row])))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either --data or --instruction"),
        ({"data": "d", "instruction": "i"}, "either --data or --instruction"),
    ],
)
def test_options_that_go_wrong(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        Both(**given)
    assert said in str(error.value)


def test_data_without_a_single_instruction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="several turns"):
        load_items(Both(data=file(tmp_path / "d.jsonl", ROWS[2:])))


def test_the_built_in_sample_has_its_checklists() -> None:
    found = load_items(Both(data="checklists_mini")).every
    assert len(found) == 28
    assert all(item.known and len(item.known.criteria) >= 2 for item in found)


def test_a_row_reads_back_as_it_was(tmp_path: Path) -> None:
    history = (Message("system", "Odd."), Message("user", "Hm?"), Message("assistant", ""))
    criteria = (Criterion("¿Es corto?"), Criterion("Is it rude?", "tone", "Is it long?", -2.0))
    whole = Instance("x", "ES", "Chat", "small", (Turn("[1]\u2028?", criteria, "Sí."),), "Be kind.", "A text.", history)
    bare = Instance("y", "", "", "", (Turn("z", ()),))
    kept = [
        ListedChecklist(whole, "generator", "m", "An analysis.", 1, 2),
        ListedChecklist(bare, "generator", "m", problem="cut off"),
    ]
    path = file(tmp_path / "c.jsonl", list(map(to_row, kept)))
    rows = [json.loads(line) for line in Path(path).read_text("utf-8").split("\n") if line]
    assert instances.of_rows([Record("", row) for row in rows], judged=False) == [whole, bare]
    assert read_checklists(path) == {"x": ListedChecklist(whole, "file", "m", "An analysis.", 1, 2)}
    assert rows[1] == {"id": "y", "prompt": "z", "criteria": [], "source": "generator", "generator": "m",
                       "problem": "cut off"}  # fmt: skip


def test_a_checklist_is_written_once_for_all_studies(tmp_path: Path) -> None:
    """By the cache across folders: what one study asked of the writer no other asks again, in whatever role."""
    rows = [{"id": f"i{n}", "prompt": f"Say {n}.", "system": "Be brief.", "context": "A text.", "response_a": "x",
             "response_b": "y", "label": "A"} for n in range(3)]  # fmt: skip
    answer_names = ("response_a", "response_b", "label")
    bare = file(tmp_path / "d.jsonl", [{k: v for k, v in row.items() if k not in answer_names} for row in rows])
    answered = file(tmp_path / "answered.jsonl", [row | {"response": "x"} for row in rows])
    rules = [{"contains": "You prepare", "reply": "Questions:\nIs it a?"}, {"contains": "<criteria", "verdicts": {}}]
    model = script(tmp_path / "model.json", rules, {"reply": "Hello"})
    given: dict[str, Any] = {
        "judge": model,
        "judge_arg": (f"record={tmp_path}/asked",),
        "cache": str(tmp_path / "cache"),
    }
    itself = {"model": model, "model_arg": given["judge_arg"], "cache": given["cache"]}
    studies: dict[str, Any] = {
        "tick": lambda out: Tick(TickOptions(data=bare, **given | itself | {"model": (model,)}, out=out)),
        "generate": lambda out: GenerateChecklists(GenerateChecklistOptions(data=bare, **itself, out=out)),
        "score": lambda out: ScoreChecklists(ScoreOptions(data=answered, **given, generator=model, generator_arg=given["judge_arg"], out=out)),
        "refine": lambda out: Refine(RefineOptions(data=bare, **itself, out=out)),
        "best-of": lambda out: BestOf(BestOfOptions(data=bare, **itself, out=out)),
        "pairwise": lambda out: Pairwise(
            PairwiseOptions(data=file(tmp_path / "p.jsonl", rows), **given | {"judge": (model,)}, protocol=("tick",), out=out)
        ),
    }  # fmt: skip
    written = {}
    for name, study in studies.items():
        study(str(tmp_path / name)).run()
        asked = [texts for texts in (tmp_path / "asked").read_text("utf-8").splitlines() if "You prepare" in texts]
        written[name] = len(asked)
    assert written == dict.fromkeys(studies, 3)
    lists = {name: (tmp_path / name / "checklists.jsonl").read_text("utf-8").count('["Is it a?"]') for name in studies}
    assert lists == dict.fromkeys(studies, 3)
