"""What every study tells of itself: what reading cost, who ran its models, and what is unknown of the tokens."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import command_here, held, row, script, write_jsonl
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.models.caller import ReadingCost
from truebench_hf.models.providers import OPEN
from truebench_hf.study import notes
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Usage


def noted(folder: Path, name: str) -> Any:
    return held(folder / "out" / "run.json")[name]


def test_a_run_says_what_reading_cost_and_its_replay_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`a` is read at the second answer, both criteria of `b` never, those of `c` (PASS, FAIL) at once."""
    criteria = {"a": ["is short"], "b": ["is short", "is kind"], "c": ["is short", "is kind"]}
    rows = [row(name, [(f"Say {name}.", texts)]) for name, texts in criteria.items()]
    judge = [
        {"contains": ["cannot be used", "criteria_2"], "reply": "I would rather not."},
        {"contains": "cannot be used", "reply": '{"criteria_1": "PASS"}'},
        {"contains": "Say c.", "verdicts": {"kind": "FAIL"}},
    ]
    arguments = (
        "run", "--data", write_jsonl(tmp_path / "d.jsonl", rows), "--model", script(tmp_path / "m.json", [], {"reply": "So."}),
        "--judge", script(tmp_path / "j.json", judge, {"reply": "Hm."}), "--out", str(tmp_path / "out"), "--rules", "off",
    )  # fmt: skip
    done = command_here(capsys, *arguments)
    before = noted(tmp_path, "reading")
    counts = before["judge"]
    assert {name: counts[name] for name in ("labels", "again", "unread")} == {"labels": 5, "again": 1, "unread": 2}
    # Two of five are yes, and two more would be if all that is unread were.
    assert counts["yes_bounds"] == [0.4, 0.8]
    line = (
        "Reading: of 5 labels 1 came from a later answer, 2 stayed unread; the share of yes is 40.0 to 80.0 %, whatever "
        "those are."
    )
    page = html.unescape((tmp_path / "out" / "report.html").read_text())
    for text, shown in ((line, done.stdout), (line, page), ("How well the judges' answers could be read", page)):
        assert text in shown
    command_here(capsys, *arguments)
    assert (noted(tmp_path, "usage")["now"], noted(tmp_path, "reading")) == ({}, before)


def test_thinking_that_schemas_turn_off_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that reasons as the model under test, where no schema is sent, and not as the judge."""
    data = write_jsonl(tmp_path / "d.jsonl", [row("a", [("Say a.", ["is short"])])])
    with OpenAIServer() as server:
        server.add_scripts([{"contains": "Say a.", "message": {"reasoning_content": "Hm, a."}, "times": 1}])
        command = (
            "run", "--data", data, "--model", "openai:same", "--model-base-url", server.url, "--judge", "openai:same",
            "--judge-base-url", server.url, "--out", str(tmp_path / "out"), "--rules", "off",
        )  # fmt: skip
        done = command_here(capsys, *command)
    assert "openai:same gave reasoning without a JSON schema and none with one" in done.stdout
    assert "--structured off" in done.stdout


@pytest.mark.parametrize(
    ("labels", "offered", "bounds"),
    [
        (["yes", "no", None, None], ["yes", "no"], (0.25, 0.75)),
        (["yes", "unknown"], ["yes", "no", "unknown"], (0.5, 0.5)),
        ([True, None], [True, False], (0.5, 1.0)),
        ([1, 5, None], range(1, 6), None),  # ratings; 1 is no yes
        (["tie"], ["win", "loss", "tie"], None),
    ],
)
def test_bounds_of_yes(labels: list[object], offered: list[object], bounds: tuple[float, float] | None) -> None:
    """A label that is None here was in none of the answers."""
    cost, keys = ReadingCost(), [f"criteria_{number}" for number in range(1, len(labels) + 1)]
    read = {key: label for key, label in zip(keys, labels, strict=True) if label is not None}
    cost.add(SignedAnswer(read), dict.fromkeys(keys, offered))
    assert cost.share_of_yes == bounds
    assert (cost.labels, cost.unread) == (len(labels), labels.count(None))
    failed = ReadingCost()
    failed.add(SignedAnswer({}, failed=True), dict.fromkeys(keys, offered))
    assert failed == ReadingCost(), "what failed was never read"


# Who ran the models


def answered(text: str, provider: str) -> dict[str, Any]:
    """An answer as a router hands it on: the head names the provider."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"model": "tea/small", "system_fingerprint": "fp_1", "choices": [choice]}
    return {"match": {}, "status": 200, "headers": {"x-inference-provider": provider}, "body": body}


def test_a_run_notes_who_answered_and_tells_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": name, "prompt": f"Name {name}.", "criteria": ["is right"]} for name in ("one", "two")]
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    arguments = ["run", "--data", data, "--model", "openai:tea/small", "--judge", judge, "--out", str(tmp_path / "out")]
    with OpenAIServer() as server:
        server.add_faults([answered("A.", "together"), answered("B.", "novita")])
        for _ in range(2):  # the second time nothing is asked
            done = command_here(capsys, *arguments, "--model-base-url", server.url)
            assert done.returncode == 0, done.stderr
            assert "Several providers ran openai:tea/small: novita + together." in " ".join(done.stdout.split())
    counts = {"provider": {"together": 1, "novita": 1}, "model": {"tea/small": 2}, "system_fingerprint": {"fp_1": 2}}
    assert noted(tmp_path, "served") == {"openai:tea/small": counts}


ROUTED = {"provider": "huggingface:together", "model": "q/m:together"}


@pytest.mark.parametrize(
    ("identity", "told", "expected", "reason"),
    [
        (ROUTED, {}, {"openai:q/m:together": "together"}, "pinned, and nothing was told"),
        ({"provider": OPEN, "model": "q/m"}, {}, {"openai:q/m": "not pinned"}, "nobody knows who it was"),
        (
            {"provider": OPEN, "model": "q/m"}, {"provider": {"novita": 2, "together": 1}},
            {"openai:q/m": "novita + together, not pinned"}, "told by the answers",
        ),
        ({"provider": "openai", "model": "gpt"}, {}, {}, "nobody stands between"),
        ({"provider": "openai", "model": "gpt"}, {"provider": {"azure": 1}}, {"openai:gpt": "azure"}, "told, not asked"),
        ({"provider": OPEN, "model": "q/m"}, {"provider": "x"}, {"openai:q/m": "not pinned"}, "not as we write it"),
        ({"provider": OPEN, "model": "q/m"}, ["x"], {"openai:q/m": "not pinned"}, "nor this"),
    ],
)  # fmt: skip
def test_the_providers_of_a_run(identity: dict[str, Any], told: Any, expected: dict[str, str], reason: str) -> None:
    settings = {"model": f"openai:{identity['model']}", "models": {"model": identity}}
    assert notes.providers(settings, {f"openai:{identity['model']}": told}) == expected, reason


def test_who_answered_is_told_of_every_model_behind_a_router() -> None:
    settings = {"models": {"model openai:q/m": {"provider": OPEN, "model": "q/m"}}, "judge_models": ["odd"]}
    (note,) = notes.provider_notes(settings, {})
    assert "pin one as openai:q/m:PROVIDER" in note


# Notes in one wording


@pytest.mark.parametrize(
    ("specs", "told"),
    [
        ([], False),
        (["openai:gpt-4o"], False),
        (["openai:gpt-4o", "smollm2"], True),
        (["hf:HuggingFaceTB/SmolLM2-1.7B-Instruct"], True),  # its sister
        (["hf:HuggingFaceTB/SmolLM3-3B"], False),
    ],
)
def test_weak_judges(specs: list[str], told: bool) -> None:
    assert bool(weak_judges(specs)) == told


# What a server does not tell of its tokens is unknown in every total, and never 0


SPENT = {
    "<0>": None,
    "<1>": {"prompt_tokens": "12", "completion_tokens": -4},
    "<2>": {"prompt_tokens": "7", "completion_tokens": "5"},
    "Task": {"prompt_tokens": 1000, "completion_tokens": 10},
}
# Six calls, of which the first is told nothing of, and the second nothing of what was written.
TOTAL = {
    "input_tokens": 12 + 7 + 3000, "output_tokens": 5 + 30, "reasoning_tokens": 0, "calls": 6, "unknown_calls": 2,
}  # fmt: skip


def test_unknown_tokens_are_unknown_in_every_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that is repeated once, for which nothing is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    data = write_jsonl(tmp_path / "data.jsonl", [row(i, [(f"Task <{i}>", ["It holds."])]) for i in range(6)])
    judge, out = script(tmp_path / "judge.json", [], {"verdicts": {"*": "PASS"}}), tmp_path / "out"
    with OpenAIServer() as server:
        server.add_scripts([{"contains": text, "usage": usage} for text, usage in SPENT.items()])
        command = ["run", "--data", data, "--model", "openai:m", "--judge", judge, "--model-base-url", server.url]
        for _ in range(2):
            done = command_here(capsys, *command, "--out", str(out))
            assert (done.returncode, done.stderr) == (0, "")
        assert server.stats()["total"] == 6
    total = noted(tmp_path, "usage")["total"]
    assert (total["model"], total["judge"]["unknown_calls"]) == (TOTAL, 0)
    assert "6 calls, 3,019 tokens in, 35 out, those of 2 of the calls unknown" in (out / "report.html").read_text()
    unknown = {line["id"]: line["usage"]["model"]["unknown_calls"] for line in held(out / "judgments.jsonl")}
    assert unknown == {"0": 1, "1": 1, "2": 0, "3": 0, "4": 0, "5": 0}, "each response has its own"
    done = command_here(capsys, "study", "score", str(out), "--protocol", "official")
    header, line = done.stdout.splitlines()[-2:]
    cells = dict(zip(header.split(","), line.split(","), strict=True))
    assert cells["inference_total_tokens"] == cells["total_tokens"] == "unknown"
    assert int(cells["judge_total_tokens"]) > 0, "what the judge took is known"


@pytest.mark.parametrize(
    ("usage", "shown", "reason"),
    [
        (Usage(1234, 5, 0, 200), ("200", "1,234", "5"), "all is known"),
        (Usage(1234, 0, 0, 200, 3), ("200", "at least 1,234", "unknown"), "a part is"),
        (Usage(0, 0, 0, 2, 2), ("2", "unknown", "unknown"), "nothing is"),
        (Usage(), ("0", "0", "0"), "nothing was asked"),
    ],
)
def test_a_cell_of_a_table(usage: Usage, shown: tuple[str, str, str], reason: str) -> None:
    assert usage.shown == shown, reason
