"""Where instructions, checklists and responses come from: data, files, logs and generators, and how they are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row, options_of
from tests.support.runs import command_here, script, write_jsonl
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
from truebench_hf.data import instances, jsonl
from truebench_hf.data.checklist_rows import MINI
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Message, Score, Turn


def kept(folder: Path, name: str) -> list[Any]:
    return [row for _, row in jsonl.read(folder / "out" / name)]


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


# `study checklist generate`

MANY = "\n".join(f"Is it {n}?" for n in range(10))


@pytest.fixture
def writer(tmp_path: Path) -> str:
    write_jsonl(
        tmp_path / "data.jsonl",
        [
            {"id": "few", "prompt": "Say alfa.", "criteria": ["Is it secret?"], "reference": "secret"},
            {"id": "many", "prompt": "Say bravo."},
            {"id": "none", "prompt": "Say charlie."},
            {"id": "talk", "turns": ["One?", "Two?"]},
        ],
    )
    rules = [
        {"contains": "Say alfa", "reply": "Analysis: 하나.\nQuestions:\n짧은가?\n짧은가 ?\nThat is all."},
        {"contains": "Say bravo", "reply": f"Analysis: long.\nQuestions:\n{MANY}"},
    ]
    return script(tmp_path / "writer.json", rules, {"reply": "I would rather not."})


def generate(folder: Path, spec: str, **more: Any) -> Any:
    options = {"data": str(folder / "data.jsonl"), "model": spec, "out": str(folder / "out")} | more
    return GenerateChecklists(GenerateChecklistOptions(**options)).run()


def test_what_is_kept_and_counted_of_a_generator(tmp_path: Path, writer: str) -> None:
    outcome = generate(tmp_path, writer, model_arg=(f"record={tmp_path / 'asked'}",))
    few, many, none = kept(tmp_path, "checklists.jsonl")
    assert few == {"id": "few", "prompt": "Say alfa.", "reference": "secret", "criteria": ["짧은가?"], "source": "generator",
                   "generator": writer, "analysis": "Analysis: 하나.", "duplicates": 1, "others": 1}  # fmt: skip
    assert len(many["criteria"]) == 10, "none is cut"
    assert (none["criteria"], none["problem"]) == ([], "it has no line `Questions:`")
    held = json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))
    counts = {"instructions": 2, "checklists": 2, "mean": 5.5, "outside_usual": 1.0, "duplicates": 1, "others": 1}
    assert held["checklists"] == [{"source": name, **counts} for name in ("all", "written by the generator")]
    assert [(row["questions"], row["checklists"]) for row in held["lengths"]] == [(1, 1), (10, 1)]
    assert held["without_checklist"] == [{"id": "none", "reason": "it has no line `Questions:`"}]
    assert outcome.incomplete == 1
    asked = ["".join(texts) for _, texts in jsonl.read(tmp_path / "asked")]
    assert len(asked) == 2 + 3, "what holds no question is asked again, twice"
    assert not any("secret" in text for text in asked), "neither given criteria nor a reference are shown"
    other = script(tmp_path / "other.json", [], {"reply": "Questions:\nIs it c?"})
    more = generate(tmp_path, other, checklists=str(tmp_path / "out" / "checklists.jsonl"), out=str(tmp_path / "two"))
    assert [(row.get("generator"), row["source"]) for row in more.value] == [
        (writer, "file"), (writer, "file"), (other, "generator")
    ], "another model writes what a file lacks"  # fmt: skip
    assert more.incomplete == 0


# `study checklist score`

ALFA = {"id": "a", "prompt": "Say alfa.", "criteria": ["Is it a?", "Is it b?"]}
BRAVO = {"id": "b", "prompt": "Say bravo.", "criteria": ["Is it c?"]}
SAY = [{"role": "user", "content": "Say it."}]
HALF = {"role": "assistant", "content": "half"}


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


def test_two_responses_of_one_model_are_samples(tmp_path: Path, judge: str) -> None:
    rows = [ALFA | {"response": text} for text in ("half", "good")] + [BRAVO | {"response": "good"}] * 2
    outcome = score(tmp_path, judge, rows)
    assert outcome.value.scores["pass_rate"]["data"].n == 2, "instructions, not samples"
    assert [(row["id"], row["sample"], row["passed"]) for row in kept(tmp_path, "verdicts.jsonl")] == [
        ("a", 1, False), ("a", 2, True), ("b", 1, True), ("b", 2, True)
    ]  # fmt: skip


def test_a_folder_belongs_to_its_responses_and_ranks_them_with_models_that_were_asked(
    tmp_path: Path, judge: str
) -> None:
    given = score(tmp_path, judge, [ALFA | {"response": "half", "model": "m"}])
    model = script(tmp_path / "model.json", [], {"reply": "half"})
    bare = TickOptions(
        data=write_jsonl(tmp_path / "bare.jsonl", [ALFA]), model=(model,), judge=judge, out=str(tmp_path / "asked")
    )
    (asked,), (scored,) = Tick(bare).run().ranking.board().rows, given.ranking.board().rows
    assert (asked.setting, asked.scores) == (scored.setting, scored.scores)
    with pytest.raises(UserError, match="other options"):
        score(tmp_path, judge, [ALFA | {"response": "good", "model": "m"}])
    data, out = str(tmp_path / "data.jsonl"), str(tmp_path / "out")
    with pytest.raises(UserError, match="other options"):
        Tick(TickOptions(data=data, model=(judge,), judge=judge, out=out)).run()


@pytest.mark.parametrize("words", [("tick",), ("study", "checklist", "score")])
def test_logs_are_judged_by_checklists_written_once_for_each_instruction(
    words: tuple[str, ...], tmp_path: Path, judge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two answers to one question are its samples: one checklist is for both; rows without an answer are left out."""
    writer = script(tmp_path / "writer.json", [], {"reply": "Questions:\nIs it a?\nIs it b?"})
    said = [{"role": "user", "content": "Say alfa."}]
    rows: list[Any] = [
        {"messages": [*said, {"role": "assistant", "content": text}], "model": "m"} for text in ("half", "good")
    ]
    rows += [{"input": "Say bravo.", "output": "good", "model": "m"}, {"messages": said}]
    log, out = write_jsonl(tmp_path / "log.jsonl", rows), str(tmp_path / "out")
    done = command_here(capsys, *words, "--logs", log, "--judge", judge, "--generator", writer, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "3 of 4 rows are conversations with an answer" in " ".join(done.stderr.split())
    verdicts = [(row["model"], row["sample"], row["passed"]) for row in kept(tmp_path, "verdicts.jsonl")]
    assert verdicts == [("m", 1, False), ("m", 2, True), ("m", 1, True)]
    assert len(kept(tmp_path, "checklists.jsonl")) == 2
    again = ScoreOptions(logs=log, judge=judge, checklists=f"{out}/checklists.jsonl", out=str(tmp_path / "again"))
    assert ScoreChecklists(again).run().value.scores["pass_rate"] == {"m": Score(0.875, 2)}
    with_criteria = [{"messages": [*SAY, HALF], "criteria": ["Is it b?", "Is it c?"], "model": "m"}]
    logged = ScoreOptions(logs=write_jsonl(tmp_path / "own.jsonl", with_criteria), judge=judge, out=f"{out}2")
    assert ScoreChecklists(logged).run().value.scores["pass_rate"] == {"m": Score(0.5, 1)}


@pytest.mark.parametrize(
    ("instruction", "code", "shown"), [("Say alfa.", 0, "짧은가?"), ("Say no.", 3, "it has no line `Questions:`")]
)
def test_one_instruction_has_its_questions_printed(
    tmp_path: Path, writer: str, instruction: str, code: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--instruction", instruction, "--generator", writer, "--out", str(tmp_path / "o"))
    done = command_here(capsys, "study", "checklist", "generate", *words)
    assert (done.returncode, shown in done.stdout) == (code, True), done.stderr
