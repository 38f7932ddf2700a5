"""Answers that somebody has already (`responses.yaml`): every form in which they are kept, and which instance each belongs to."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.corpus import cases
from tests.support.runs import ROOT, script, write_jsonl
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


DATA = [instance("1", RIVER), instance("b", HELLO), instance("talk", "First?", "Second?")]


def responses(rows: Any, name: str | None = "m") -> dict[str, list[Response]]:
    """The responses, its samples, of every instance."""
    by_id: dict[str, list[Response]] = {}
    for answered, response in given_responses(DATA, rows, name):
        by_id.setdefault(answered.id, []).append(response)
    assert list(by_id) == ["1", "b", "talk"], "every instance, in its order"
    return by_id


def first(rows: Any, name: str | None = "m", of: str = "1") -> Response:
    return responses(rows, name)[of][0]


@pytest.mark.parametrize("row", cases(__file__, "responses", "one_answer"))
def test_one_answer_in_every_form(row: dict[str, Any]) -> None:
    by_id = responses([row["row"]])
    (response,) = by_id["1"]
    assert (response.answers, response.error, response.model) == (("The Rhine.",), None, "m")
    assert len(response.reasoning) == 1
    assert by_id["b"][0].error == "no response in responses"
    assert by_id["talk"][0].error == "turn 1: no response in responses"


@pytest.mark.parametrize("row", cases(__file__, "responses", "conversations"))
def test_conversations(row: dict[str, Any]) -> None:
    response = first([{"id": "talk", "response": row["answer"], "think": ["hm"] * 2}], of="talk")
    count = len(row["answers"])
    assert (list(response.answers), response.error) == (row["answers"], row["error"])
    assert response.reasoning == (("hm",) * 2 if count == 2 else ("",) * count)
    assert [m.content for m in response.messages if m.role == "user"] == ["First?", "Second?"][:count]


def test_a_list_as_json_is_the_answer_where_there_is_one_turn() -> None:
    assert first([{"id": "1", "response": '["Rhine", "Danube"]'}]).answers == ('["Rhine", "Danube"]',)


@pytest.mark.parametrize("row", cases(__file__, "responses", "refused"))
def test_what_cannot_be_told_is_one_line(row: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        responses(row["rows"])
    assert row["said"] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_prompt_of_two_instances_needs_ids() -> None:
    twins = [DATA[0], instance("2", RIVER)]
    with pytest.raises(UserError, match="its prompt is that of instances 1 and 2; give their ids"):
        given_responses(twins, [{"prompt": RIVER, "response": "a"}], "m")
    pairs = given_responses(twins, [{"id": 2, "prompt": RIVER, "response": "a"}], "m")
    assert [response.answers for _, response in pairs] == [(), ("a",)]


def test_rows_to_no_instance_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": 1, "response": "a"}, {"id": 8, "response": "b"}, {"id": 9, "response": "c"}]
    assert first(rows).answers == ("a",)
    printed = " ".join(capsys.readouterr().err.split())
    assert "2 of 3 responses are to no instance of the data and left out (the first: response 1, id 8)" in printed


@pytest.mark.parametrize("row", cases(__file__, "responses", "samples"))
def test_several_rows_of_an_instance_are_its_samples(row: dict[str, Any]) -> None:
    samples = {id: [[r.sample, list(r.answers)] for r in found] for id, found in responses(row["rows"]).items()}
    assert {name: samples[name] for name in row["wanted"]} == row["wanted"]


def test_whose_answers_they_are(tmp_path: Path) -> None:
    rows = [{"id": 1, "response": "a", "model": "x"}, {"id": 1, "response": "b", "model": "y"}]
    assert first(rows, "y").answers == ("b",)
    assert first(rows[:1], None).model == "x"
    assert first(rows[:1], "mine").model == "mine"
    named = write_jsonl(tmp_path / "org-model_TRUEBench-v0.6.1_eval_result.jsonl", [{"id": 1, "response": "a"}])
    assert first(named, None).model == "org-model"
    with pytest.raises(UserError, match=r"answers\.jsonl: do not tell whose they are; say by --model-name NAME"):
        first(write_jsonl(tmp_path / "answers.jsonl", [{"id": 1, "response": "a"}]), None)


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
    by_id = responses(tmp_path / name)
    assert by_id["1"][0].answers == (PLAIN[0]["response"],)
    assert by_id["talk"][0].answers == ("A", "B")
    assert by_id["b"][0].error == f"no response in {name}", "the file is named, its folder is nobody's business"


@pytest.mark.parametrize("name", ["a.jsonl", "absent.jsonl", "absent.json"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{")
    with pytest.raises(UserError, match=r"cannot be read|line 1: not JSON") as caught:
        responses(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the official data is not at ../shared/data")
def test_an_official_evaluation_file_answers_the_release() -> None:
    file = OFFICIAL / "official_scores" / "mock_TRUEBench-v0.6.1_eval_result.jsonl"
    lines = {str(line["index"]): line for _, line in jsonl.read(file)}
    pairs = given_responses(data.load(str(OFFICIAL / "TRUEBench-v0.6.1.jsonl")), file)
    answered = {item.id: list(response.answers) for item, response in pairs if response.answers}
    assert len(pairs) == 2485
    assert {response.model for _, response in pairs} == {"mock"}
    assert answered == {name: line["response"] for name, line in lines.items()}
    by_prompt = [{"input": line["input"], "response": line["response"]} for line in list(lines.values())[:50]]
    again = given_responses([item for item, _ in pairs], by_prompt, "mock")
    chosen = {item.id: list(response.answers) for item, response in again if item.id in list(lines)[:50]}
    assert chosen == {name: answered[name] for name in chosen}
    assert len(chosen) == 50


# --- logs of inspect ------------------------------------------------------------------------------------------------


def message(role: str, text: str) -> SimpleNamespace:
    return SimpleNamespace(role=role, text=text)


def sample(name: Any, prompt: Any, *messages: str, error: str | None = None, **metadata: str) -> SimpleNamespace:
    """A sample as `read_eval_log` gives it, as far as it is read; answers and questions take turns, `+` adds an answer."""
    before = [message("user", prompt)] if isinstance(prompt, str) else list(prompt)
    more = [message("user" if n % 2 and text[0] != "+" else "assistant", text) for n, text in enumerate(messages)]
    output = SimpleNamespace(choices=list(messages), completion=messages[-1])
    return SimpleNamespace(id=name, input=prompt, messages=before + more, output=output, error=error, metadata=metadata)


def test_a_log_of_inspect() -> None:
    history = [message("system", "Be kind."), *map(message, ("user", "assistant", "user"), ("Hi.", "Hi.", RIVER))]
    samples = [
        sample(3, history, "I look it up.", "+The Rhine."),  # numbered by inspect
        sample(1, HELLO, " ", error="out of memory"),
        sample(2, "First?", "A", "Second?", "B"),
        sample(4, "Hi.", "C", instance_id="EN-7"),  # numbered by our export
    ]
    log = SimpleNamespace(eval=SimpleNamespace(model="openai/m"), samples=samples)
    rows = list(of_log(log, "x.eval"))
    assert [(row.id, row.answers) for row in rows] == [
        ("3", "+The Rhine."), ("1", None), ("2", ("A", "B")), ("EN-7", "C")
    ]  # fmt: skip
    assert {row.model for row in rows} == {"openai/m"}
    assert rows[0].prompts == ("Hi.", RIVER)
    assert rows[1].where == "x.eval, sample 1"


def test_a_log_without_the_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    (tmp_path / "x.json").write_text(json.dumps({"version": 2, "eval": {}, "samples": []}))
    (tmp_path / "x.eval").write_bytes(b"PK")
    for name in ("x.json", "x.eval"):
        with pytest.raises(
            UserError, match=r"a log of inspect needs inspect_ai: pip install 'truebench-hf\[inspect\]'"
        ):
            responses(tmp_path / name)


def test_one_file_with_instances_and_samples_of_their_responses(tmp_path: Path) -> None:
    """Rows as a log holds them: the instance stands beside each of its two responses."""
    rows = [
        {"id": name, "prompt": prompt, "criteria": ["is short"], "response": text}
        for name, prompt in (("1", RIVER), ("b", HELLO))
        for text in ("good", "bad")
    ]
    file = write_jsonl(tmp_path / "log.jsonl", rows)
    rules = [{"contains": "\nbad\n", "verdicts": {"": "FAIL"}}, {"contains": "<criteria", "verdicts": {}}]
    judge = script(tmp_path / "judge.json", rules)
    options = JudgeGivenOptions(
        data=file, responses=file, model_name="m", judge=(judge,), out=str(tmp_path / "out")
    )  # fmt: skip
    report = JudgeAnswers(options).run().value
    assert report.scores["overall"].n == 2, "instances, not samples"
    kept = [row for _, row in jsonl.read(tmp_path / "out" / "judgments.jsonl")]
    assert [(row["id"], row["sample"], row["passed"]) for row in kept] == [
        ("1", 1, True), ("1", 2, False), ("b", 1, True), ("b", 2, False)
    ]  # fmt: skip
    write_jsonl(tmp_path / "log.jsonl", [*rows, rows[0] | {"criteria": ["is long"]}])
    with pytest.raises(UserError, match="id 1 stands twice"):
        JudgeAnswers(options.model_copy(update={"out": str(tmp_path / "other")})).run()
