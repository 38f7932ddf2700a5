"""Answers that somebody has already: every form in which they are kept, and which instance each belongs to."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.runs import ROOT, row, script, write_jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.benchmarks.truebench.run import JudgeAnswers
from truebench_hf.data import jsonl
from truebench_hf.data.answer_files import given_responses, of_log
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Response, Turn

OFFICIAL = ROOT.parent / "shared" / "data" / "truebench"
RIVER, HELLO = "Name a river in   Europe.", "Say hello."


def instance(name: str, *prompts: str) -> Instance:
    return Instance(name, "EN", "Editing", "t", tuple(Turn(prompt, (Criterion("c"),)) for prompt in prompts))


ONE, TWO, TALK = instance("1", RIVER), instance("b", HELLO), instance("talk", "First?", "Second?")
DATA = [ONE, TWO, TALK]


def given(rows: Any, name: str | None = "m") -> dict[str, Response]:
    found = given_responses(DATA, rows, name)
    assert [instance for instance, _ in found] == DATA, "every instance, in its order"
    return {instance.id: response for instance, response in found}


# --- the forms ------------------------------------------------------------------------------------------------------

RENDERED = f"<|user|>\n{RIVER}<|assistant|>"
LM_EVAL = {
    "doc_id": 0, "doc": {"key": 1, "prompt": RIVER, "language": "EN"}, "target": "",
    "arguments": {"gen_args_0": {"arg_0": RENDERED, "arg_1": {"until": []}}},
    "resps": [["The Rhine."]], "filtered_resps": ["Rhine"], "filter": "none",
}  # fmt: skip
LIGHTEVAL = {
    "__doc__": {"id": "0", "query": RIVER, "choices": [""], "gold_index": 0, "specific": None},
    "__model_response__": {
        "text": ["<think>Hm.</think>The Rhine."], "text_post_processed": ["The Rhine."], "reasonings": ["Hm."],
    },
    "__metric__": {"exact_match": 1.0},
}  # fmt: skip
CHAT = [
    {"role": "system", "content": "Be kind."}, {"role": "user", "content": RIVER},
    {"role": "assistant", "content": "The Rhine."},
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"id": 1, "response": "The Rhine."}, "a plain row; the number 1 is the text 1"),
        ({"id": "1", "output": "The Rhine.", "answer": "The Danube."}, "a reference may stand beside the output"),
        ({"index": 1, "completion": ["The Rhine."]}, "a list with the one turn"),
        ({"instance_id": "1", "answer": "The Rhine."}, "another name"),
        ({"prompt": RIVER, "response": "The Rhine."}, "by its prompt"),
        ({"id": "other", "prompt": "Name a river in Europe.\n", "response": "The Rhine."}, "white space aside"),
        ({"id": 2, "prompt": RIVER, "response": "The Rhine."}, "numbered by another tool"),
        ({"id": 1, "instruction": "Name a river", "input": "in Europe.", "output": "The Rhine."}, "a prompt in parts"),
        ({"id": 1, "messages": CHAT}, "a conversation"),
        ({"id": 1, "response": CHAT[-1]}, "a message"),
        ({"id": 1, "response": [CHAT[-1]]}, "messages without the prompt"),
        (row(1, [(RIVER, ["c"])], response=["The Rhine."], think=[""], judge_parsed=[]), "an official row"),
        (LM_EVAL, "a sample of lm-eval, whole and not as its filter left it"),
        (LM_EVAL | {"doc": {"text": RIVER}}, "its prompt under any name"),
        (LM_EVAL | {"doc": {}, "arguments": [[json.dumps(CHAT[:2]), {}]]}, "its prompt in a chat written as JSON"),
        ({"doc": {"key": "1"}, "filtered_resps": [["The Rhine."]]}, "no more than an id and what was filtered"),
        (LIGHTEVAL, "details of lighteval, without the thinking"),
        (LIGHTEVAL | {"__doc__": {"id": "7", "query": "?", "specific": {"prompt": RIVER}}}, "what the task kept"),
    ],
)
def test_one_answer_in_every_form(line: dict[str, Any], reason: str) -> None:
    found = given([line])
    assert found["1"].answers == ("The Rhine.",), reason
    assert (found["1"].error, found["1"].model, len(found["1"].reasoning)) == (None, "m", 1)
    assert found["b"].error == "no response in responses"
    assert found["talk"].error == "turn 1: no response in responses"


@pytest.mark.parametrize(
    ("answer", "answers", "error", "reason"),
    [
        (["A", "B"], ("A", "B"), None, "a text per turn"),
        (["A", ""], ("A", ""), None, "an empty answer is one"),
        ('["A", "B"]', ("A", "B"), None, "a list in a cell of a table"),
        (["A"], ("A",), "turn 2: no response in responses", "one is missing"),
        (["A", None], ("A",), "turn 2: no response in responses", "one failed"),
        ([None, "B"], (), "turn 1: no response in responses", "what follows a failed turn stands on nothing"),
        (None, (), "turn 1: no response in responses", "all failed"),
        ([], (), "turn 1: no response in responses", "nothing"),
        (
            [{"role": "user", "content": "First?"}, {"role": "assistant", "content": "look up"},
             {"role": "assistant", "content": "A"}, {"role": "user", "content": "Second?"}],
            ("A",), "turn 2: no response in responses", "the last thing said in a turn is its answer",
        ),
    ],
)  # fmt: skip
def test_conversations(answer: Any, answers: tuple[str, ...], error: str | None, reason: str) -> None:
    found = given([{"id": "talk", "response": answer, "think": ["hm"] * 2}])["talk"]
    assert (found.answers, found.error) == (answers, error), reason
    assert found.reasoning == (("hm",) * 2 if len(answers) == 2 else ("",) * len(answers))
    assert [m.content for m in found.messages if m.role == "user"] == ["First?", "Second?"][: len(answers)]


def test_a_list_as_json_is_the_answer_where_there_is_one_turn() -> None:
    assert given([{"id": "1", "response": '["Rhine", "Danube"]'}])["1"].answers == ('["Rhine", "Danube"]',)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"id": 1}], "response 0: missing field 'response' (or responses, output"),
        ([{"id": 1, "response": 3}], "response 0: field 'response' must be a text, a list of texts"),
        ([{"id": 1, "response": ["a", 3]}], "field 'response' must be a text, a list of texts"),
        ([{"id": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]}], "'messages' must be a text, a list"),
        ([[1]], "responses: 1 for 3 instances; give one for each"),
        ([[1], {"id": 1, "response": "a"}], "response 0: not an object"),
        ([{"id": 1, "response": ["a", "b"]}], "response 0: holds 2 answers, and instance 1 has 1 turns"),
        ([{"id": "talk", "response": "a"}], "holds one text, and instance talk has 2 turns; give a list, a text per turn"),
        ([{"id": 1, "response": "a", "prompt": "Another one?"}], "has the id of instance 1, and another prompt"),
        ([{"id": 9, "response": "a"}], "responses: none of its 1 responses is to an instance of the data (the first: resp"),
        ([], "none of its 0 responses"),
        ([LM_EVAL | {"resps": [[[-1.5, False]], [[-2.0, True]]]}], "field 'resps' holds likelihoods, no answer"),
        ([LM_EVAL | {"resps": [["a", "b"]]}], "field 'resps' holds 2 answers; give a file with one to each prompt"),
        ([{"id": 1, "response": "a", "model": "x"}, {"id": "b", "response": "a", "model": "y"}], "are of x, y; say by"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_one_line(rows: list[Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        given(rows)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_prompt_of_two_instances_needs_ids() -> None:
    twins = [ONE, instance("2", RIVER)]
    with pytest.raises(UserError, match="its prompt is that of instances 1 and 2; give their ids"):
        given_responses(twins, [{"prompt": RIVER, "response": "a"}], "m")
    found = given_responses(twins, [{"id": 2, "prompt": RIVER, "response": "a"}], "m")
    assert [response.answers for _, response in found] == [(), ("a",)]


def test_rows_to_no_instance_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": 1, "response": "a"}, {"id": 8, "response": "b"}, {"id": 9, "response": "c"}]
    assert given(rows)["1"].answers == ("a",)
    said = " ".join(capsys.readouterr().err.split())
    assert "2 of 3 responses are to no instance of the data and left out (the first: response 1, id 8)" in said


def test_a_filter_of_lm_eval_has_a_row_of_its_own() -> None:
    again = LM_EVAL | {"filter": "strict", "filtered_resps": ["[invalid]"]}
    assert given([LM_EVAL, again])["1"].answers == ("The Rhine.",)
    other = [row | {"resps": [["The Elbe."]]} for row in (LM_EVAL, again)]
    assert samples([LM_EVAL, again, *other])["1"] == [(1, ("The Rhine.",)), (2, ("The Elbe.",))]


def samples(rows: list[Any]) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """(number, answers) of every response, by instance."""
    found: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for one, response in given_responses(DATA, rows, "m"):
        found.setdefault(one.id, []).append((response.sample, response.answers))
    return found


def said(name: object, *texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": name, "response": text, **more} for text in texts]


@pytest.mark.parametrize(
    ("rows", "first", "second", "why"),
    [
        ([*said(1, "a"), *said("1", "b")], [(1, ("a",)), (2, ("b",))], [(1, ())], "two rows, two samples"),
        ([*said(1, "b"), *said("b", "x"), *said(1, "a")], [(1, ("b",)), (2, ("a",))], [(1, ("x",))], "as they come"),
        (said(1, "a", "b", "a"), [(1, ("a",)), (2, ("b",)), (3, ("a",))], [(1, ())], "a share of them counts: none is dropped"),
        ([*said(1, "a", "b"), *said("b", "x", "x")], [(1, ("a",)), (2, ("b",))], [(1, ("x",)), (2, ("x",))], "so do those that are alike"),
        ([*said(1, "a", "a"), *said("b", "x")], [(1, ("a",))], [(1, ("x",))], "a row that stands twice, in a file of one sample each"),
        ([*said(1, "a", sample=1), *said(1, "a", sample=2)], [(1, ("a",)), (2, ("a",))], [(1, ())], "the file numbers them"),
        ([{"id": 1, "response": None}, *said(1, "a")], [(1, ()), (2, ("a",))], [(1, ())], "one that failed is one of them"),
    ],
)  # fmt: skip
def test_several_rows_of_an_instance_are_its_samples(rows: list[Any], first: Any, second: Any, why: str) -> None:
    found = samples(rows)
    assert (found["1"], found["b"]) == (first, second), why


def test_samples_of_a_conversation() -> None:
    rows = [{"id": "talk", "response": [text, "then"]} for text in ("a", "b")]
    assert samples(rows)["talk"] == [(1, ("a", "then")), (2, ("b", "then"))]


# --- whose they are -------------------------------------------------------------------------------------------------


def test_whose_answers_they_are(tmp_path: Path) -> None:
    rows = [{"id": 1, "response": "a", "model": "x"}, {"id": 1, "response": "b", "model": "y"}]
    assert given(rows, "y")["1"].answers == ("b",)
    assert given(rows[:1], None)["1"].model == "x"
    assert given(rows[:1], "mine")["1"].model == "mine"
    named = write_jsonl(tmp_path / "org-model_TRUEBench-v0.6.1_eval_result.jsonl", [{"id": 1, "response": "a"}])
    assert given(named, None)["1"].model == "org-model"
    with pytest.raises(UserError, match=r"answers\.jsonl: do not tell whose they are; say by --model-name NAME"):
        given(write_jsonl(tmp_path / "answers.jsonl", [{"id": 1, "response": "a"}]), None)


# --- files ----------------------------------------------------------------------------------------------------------

PLAIN = [{"id": "1", "response": 'The "Rhine",\nor\u2028so 🏞'}, {"id": "talk", "response": ["A", "B"]}]


def as_csv(path: Path) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "response"])
        lines.writerows([[r["id"], t if isinstance(t := r["response"], str) else json.dumps(t)] for r in PLAIN])
        lines.writerow(["b", ""])  # no answer, as far as a table can tell


def as_parquet(path: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    rows = [r | {"response": t if isinstance(t := r["response"], list) else [t]} for r in PLAIN]
    pq.write_table(pa.Table.from_pylist(rows), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.jsonl", lambda path: write_jsonl(path, PLAIN)),
        ("a.json", lambda path: path.write_text(json.dumps(PLAIN))),
        ("a.csv", as_csv),
        ("a.parquet", as_parquet),
    ],
)
def test_files_of_rows(tmp_path: Path, name: str, write: Callable[[Path], Any]) -> None:
    write(tmp_path / name)
    found = given(tmp_path / name)
    assert found["1"].answers == (PLAIN[0]["response"],)
    assert found["talk"].answers == ("A", "B")
    assert found["b"].error == f"no response in {name}", "the file is named, its folder is nobody's business"


def test_details_of_lighteval_in_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([LIGHTEVAL]), tmp_path / "details_custom|t|0_now.parquet")
    found = given(str(tmp_path / "details_custom|t|0_now.parquet"))["1"]
    assert (found.answers, found.reasoning) == (("The Rhine.",), ("Hm.",))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"{", "line 1: not JSON"),
        ("absent.jsonl", None, "cannot be read"),
        ("absent.json", None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said) as caught:
        given(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the official data is not at ../shared/data")
def test_an_official_evaluation_file_answers_the_release() -> None:
    file = OFFICIAL / "official_scores" / "mock_TRUEBench-v0.6.1_eval_result.jsonl"
    lines = {str(line["index"]): line for line in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    found = given_responses(data.load(str(OFFICIAL / "TRUEBench-v0.6.1.jsonl")), file)
    answered = {instance.id: response for instance, response in found if response.answers}
    assert (len(found), set(answered)) == (2485, set(lines))
    assert {response.model for _, response in found} == {"mock"}
    assert {name: list(response.answers) for name, response in answered.items()} == {
        name: line["response"] for name, line in lines.items()
    }
    by_prompt = [{"input": line["input"], "response": line["response"]} for line in list(lines.values())[:50]]
    again = given_responses([instance for instance, _ in found], by_prompt, "mock")
    assert [r.answers for i, r in again if i.id in list(lines)[:50]] == [
        answered[i.id].answers for i, _ in found if i.id in list(lines)[:50]
    ]


# --- logs of inspect ------------------------------------------------------------------------------------------------


def message(role: str, text: str) -> SimpleNamespace:
    return SimpleNamespace(role=role, text=text)


def sample(name: Any, asked: Any, *said: tuple[str, str], error: str | None = None, **metadata: str) -> SimpleNamespace:
    """A sample as `read_eval_log` gives it, as far as it is read."""
    before = [message("user", asked)] if isinstance(asked, str) else list(asked)
    last = next((text for role, text in reversed(said) if role == "assistant"), "")
    output = SimpleNamespace(choices=[last] if said else [], completion=last)
    messages = [*before, *(message(role, text) for role, text in said)]
    return SimpleNamespace(id=name, input=asked, messages=messages, output=output, error=error, metadata=metadata)


def test_a_log_of_inspect() -> None:
    history = [
        message("system", "Be kind."),
        message("user", "Hi."),
        message("assistant", "Hi."),
        message("user", RIVER),
    ]
    log = SimpleNamespace(
        eval=SimpleNamespace(model="openai/m"),
        samples=[
            sample(3, history, ("assistant", "I look it up."), ("assistant", "The Rhine.")),  # numbered by inspect
            sample(1, HELLO, ("assistant", ""), error="out of memory"),
            sample(2, "First?", ("assistant", "A"), ("user", "Second?"), ("assistant", "B")),
            sample(4, "Hi.", ("assistant", "C"), instance_id="EN-7"),  # numbered by our export
        ],
    )
    found = list(of_log(log, "x.eval"))
    assert [(row.id, row.answers, row.model) for row in found] == [
        ("3", "The Rhine.", "openai/m"), ("1", None, "openai/m"), ("2", ("A", "B"), "openai/m"),
        ("EN-7", "C", "openai/m"),
    ]  # fmt: skip
    assert found[0].prompts == ("Hi.", RIVER)
    assert found[1].where == "x.eval, sample 1"


def test_a_log_without_the_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    (tmp_path / "x.json").write_text(json.dumps({"version": 2, "eval": {}, "samples": []}))
    (tmp_path / "x.eval").write_bytes(b"PK")
    for name in ("x.json", "x.eval"):
        with pytest.raises(
            UserError, match=r"a log of inspect needs inspect_ai: pip install 'truebench-hf\[inspect\]'"
        ):
            given(tmp_path / name)


def test_a_real_log_of_inspect(tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    output = ModelOutput.from_content("mockllm/model", "The Rhine.")
    output.usage = ModelUsage()
    task = inspect_ai.Task(dataset=MemoryDataset([Sample(input=RIVER)]), solver=[generate()])
    model = get_model("mockllm/model", custom_outputs=[output])
    for kind in ("eval", "json"):
        (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), log_format=kind, display="none")
        found = given(Path(log.location), None)["1"]
        assert (found.answers, found.model) == (("The Rhine.",), "mockllm/model")
        model = get_model("mockllm/model", custom_outputs=[output])


def test_one_file_with_instances_and_samples_of_their_responses(tmp_path: Path) -> None:
    """Rows as a log holds them: the instance stands beside each of its two responses."""
    rows = [
        {"id": name, "prompt": prompt, "criteria": ["is short"], "response": text}
        for name, prompt in (("1", RIVER), ("b", HELLO))
        for text in ("good", "bad")
    ]
    file = write_jsonl(tmp_path / "log.jsonl", rows)
    rules = [{"contains": "\nbad\n", "verdicts": {"": "FAIL"}}, {"contains": "<criteria", "verdicts": {}}]
    options = JudgeGivenOptions(
        data=file,
        responses=file,
        model_name="m",
        judge=(script(tmp_path / "judge.json", rules),),
        out=str(tmp_path / "out"),
    )
    report = JudgeAnswers(options).run().value
    assert report.scores["overall"].n == 2, "instances, not samples"
    kept = [row for _, row in jsonl.read(tmp_path / "out" / "judgments.jsonl")]
    assert [(row["id"], row["sample"], row["passed"]) for row in kept] == [
        ("1", 1, True), ("1", 2, False), ("b", 1, True), ("b", 2, False)
    ]  # fmt: skip
    write_jsonl(tmp_path / "log.jsonl", [*rows, rows[0] | {"criteria": ["is long"]}])
    with pytest.raises(UserError, match="id 1 stands twice"):
        JudgeAnswers(replace(options, out=str(tmp_path / "other"))).run()
