"""Where instructions, checklists and responses come from: data, files, logs and generators, and how they are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row, options_of
from tests.support.runs import script, write_jsonl
from tests.support.scenarios import Scenario, scenarios
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
from truebench_hf.data.checklist_rows import MINI
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Message, Score, Turn

# Instructions with what is known of their checklists


class Both(InstructionOptions, ChecklistOptions):
    out: str = "out"


class Apart(Both):
    OWN = False


HELLO: dict[str, Any] = {"id": "a", "prompt": "Say hello.", "criteria": ["Is it a greeting?"]}
TALK: dict[str, Any] = {"id": "b", "messages": [
    {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hm?"},
    {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "안녕\u2028하세요"},
]}  # fmt: skip
TURNS: dict[str, Any] = {"id": "c", "turns": [{"prompt": "one"}, {"prompt": "two"}]}


def test_instructions_with_what_is_known_of_their_checklists(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", [HELLO, TALK, TURNS])
    items = load_items(Both(data=data))
    a, b = items.every
    assert (a.known.source, a.known.criteria) == ("data", (Criterion("Is it a greeting?"),))
    assert (b.known, b.instance.system) == (None, "Be kind.")
    assert [message.content for message in b.instance.history] == ["Hm?", "Yes?"]
    assert items.left_out == ("c: 2 turns to be answered",)
    (apart, _) = load_items(Apart(data=data)).every
    assert (apart.known, apart.instance.turns[0].criteria) == (None, (Criterion("Is it a greeting?"),))
    edited = write_jsonl(tmp_path / "2.jsonl", [HELLO | {"criteria": ["Is it short?", "Is it kind?"]}, TALK, TURNS])
    other = load_items(Both(data=edited))
    assert items.sha256(items.every) == other.sha256(other.every), "a folder is bound to instructions, not checklists"
    lists = [HELLO | {"criteria": ["Is it short?"], "generator": "g", "analysis": "hm"},
             {"id": "b", "prompt": "x", "criteria": []}, {"id": "z", "prompt": "y", "criteria": ["Is it y?"]}]  # fmt: skip
    a, b = load_items(Both(data=data, checklists=write_jsonl(tmp_path / "c.jsonl", lists))).every
    instance = Instance("a", "", "", "", (Turn("Say hello.", (Criterion("Is it short?"),)),))
    assert a.known == ListedChecklist(instance, "file", "g", "hm"), "a file counts before the data"
    assert b.known is None, "an empty checklist is none, whatever prompt it is of"
    mini = load_items(Both(data=MINI)).every
    assert len(mini) == 28
    assert all(len(item.known.criteria) >= 2 for item in mini)


@each_row(__file__, "tick_sources", "apart")
def test_instructions_and_checklists_that_do_not_go_together(
    tmp_path: Path, rows: Any, lists: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        load_items(Both(data=rows and write_jsonl(tmp_path / "d.jsonl", rows),
                        checklists=lists and write_jsonl(tmp_path / "c.jsonl", lists)))  # fmt: skip


def test_a_row_reads_back_as_it_was(tmp_path: Path) -> None:
    history = (Message("system", "Odd."), Message("user", "Hm?"), Message("assistant", ""))
    criteria = (Criterion("¿Es corto?"), Criterion("Is it rude?", "tone", "Is it long?", -2.0))
    rich = Instance("x", "ES", "Chat", "small", (Turn("[1]\u2028?", criteria, "Sí."),), "Be kind.", "A text.", history)
    bare = Instance("y", "", "", "", (Turn("z", ()),))
    lists = [ListedChecklist(rich, "generator", "m", "An analysis.", 1, 2),
             ListedChecklist(bare, "generator", "m", problem="cut off")]  # fmt: skip
    rows = [json.loads(json.dumps(to_row(entry))) for entry in lists]
    assert instances.of_rows([Record("", row) for row in rows], judged=False) == [rich, bare]
    found = read_checklists(write_jsonl(tmp_path / "c.jsonl", rows))
    assert found == {"x": ListedChecklist(rich, "file", "m", "An analysis.", 1, 2)}
    assert rows[1] == {"id": "y", "prompt": "z", "criteria": [], "source": "generator", "generator": "m",
                       "problem": "cut off"}  # fmt: skip


def test_a_checklist_is_written_once_for_all_studies(tmp_path: Path) -> None:
    """By the cache across folders: what one study asked of the writer no other asks again, in whatever role."""
    bare = [{"id": f"i{n}", "prompt": f"Say {n}.", "system": "Be brief.", "context": "A text."} for n in range(3)]
    pairs = [row | {"response_a": "x", "response_b": "y", "label": "A"} for row in bare]
    answered = write_jsonl(tmp_path / "answered.jsonl", [row | {"response": "x"} for row in pairs])
    plain, paired = write_jsonl(tmp_path / "d.jsonl", bare), write_jsonl(tmp_path / "p.jsonl", pairs)
    rules = [{"contains": "You prepare", "reply": "Questions:\nIs it a?"}, {"contains": "<criteria", "verdicts": {}}]
    model = script(tmp_path / "model.json", rules, {"reply": "Hello"})
    record = (f"record={tmp_path}/asked",)
    given: dict[str, Any] = {"judge": model, "judge_arg": record, "cache": str(tmp_path / "cache")}
    itself: dict[str, Any] = {"data": plain, "model": model, "model_arg": record, "cache": given["cache"]}
    studies: dict[str, Any] = {
        "tick": (Tick, TickOptions, given | itself | {"model": (model,)}),
        "generate": (GenerateChecklists, GenerateChecklistOptions, itself),
        "score": (ScoreChecklists, ScoreOptions, given | {"data": answered, "generator": model, "generator_arg": record}),
        "refine": (Refine, RefineOptions, itself),
        "best-of": (BestOf, BestOfOptions, itself),
        "pairwise": (Pairwise, PairwiseOptions, given | {"data": paired, "judge": (model,), "protocol": ("tick",)}),
    }  # fmt: skip
    for name, (study, options, values) in studies.items():
        study(options(**values, out=str(tmp_path / name))).run()
        written = [texts for texts in (tmp_path / "asked").read_text("utf-8").splitlines() if "You prepare" in texts]
        assert len(written) == 3, name
        assert (tmp_path / name / "checklists.jsonl").read_text("utf-8").count('["Is it a?"]') == 3, name


@scenarios(__file__, "tick_sources")
def test_commands(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


# `study checklist score`


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """Answers NO to b where the response is `half`, and to all where it is `bad`."""
    rules = [
        {"contains": ["\nhalf\n", "1. Is it b?"], "verdicts": {"": "FAIL"}},
        {"contains": "\nbad\n", "verdicts": {"": "FAIL"}},
    ]
    return script(tmp_path / "judge.json", [*rules, {"contains": "<criteria", "verdicts": {}}])


def score(folder: Path, judge: str, rows: list[dict[str, Any]], **more: Any) -> Any:
    data = write_jsonl(folder / "data.jsonl", rows)
    return ScoreChecklists(ScoreOptions(data=data, judge=judge, out=str(folder / "out"), **more)).run()


@each_row(__file__, "tick_sources", "responses")
def test_whose_responses_are_found_where(
    tmp_path: Path, judge: str, rows: Any, more: Any, rates: dict[str, Any], unscored: Any
) -> None:
    more = options_of(more or {})
    files = {f"{name}.jsonl": content for name, content in more.get("responses", {}).items()}
    options = more | ({"responses": tuple(write_jsonl(tmp_path / n, c) for n, c in files.items())} if files else {})
    if "checklists" in more:
        options["checklists"] = write_jsonl(tmp_path / "lists.jsonl", more["checklists"])
    outcome = score(tmp_path, judge, rows, **options)
    expected = {model: Score(*figures) for model, figures in rates.items()}
    assert (outcome.value.scores["pass_rate"], outcome.value.unscored) == (expected, unscored or {})
