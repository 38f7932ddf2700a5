"""What a server does not tell of its tokens is unknown in every total, and never 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import command, row, script, write_jsonl
from truebench_hf.types import Usage

_SPENT = {
    "<0>": None,
    "<1>": {"prompt_tokens": "12", "completion_tokens": -4},
    "<2>": {"prompt_tokens": "7", "completion_tokens": "5"},
    "Task": {"prompt_tokens": 1000, "completion_tokens": 10},
}
# Six calls, of which the first is told nothing of, and the second nothing of what was written.
_TOTAL = {
    "input_tokens": 12 + 7 + 3000, "output_tokens": 5 + 30, "reasoning_tokens": 0, "calls": 6, "unknown_calls": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose model sat behind such a server, repeated once, for which nothing is asked."""
    folder = tmp_path_factory.mktemp("unknown")
    data = write_jsonl(folder / "data.jsonl", [row(i, [(f"Task <{i}>", ["It holds."])]) for i in range(6)])
    judge = script(folder / "judge.json", [], {"verdicts": {"*": "PASS"}})
    with OpenAIServer() as server:
        server.add_scripts([{"contains": text, "usage": usage} for text, usage in _SPENT.items()])
        for _ in range(2):
            done = command(
                "run", "--data", data, "--model", "openai:m", "--judge", judge, "--model-base-url", server.url,
                "--out", str(folder / "out"), OPENAI_API_KEY="none",
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, "")
        assert server.stats()["total"] == 6
    return folder / "out"


def held(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_totals_of_a_run_count_the_calls_that_are_not_in_them(out: Path) -> None:
    assert held(out / "run.json")["usage"]["total"]["model"] == _TOTAL
    assert held(out / "run.json")["usage"]["total"]["judge"]["unknown_calls"] == 0
    told = "6 calls, 3,019 tokens in, 35 out, those of 2 of the calls unknown"
    assert told in (out / "report.html").read_text(encoding="utf-8")


def test_each_response_has_its_own(out: Path) -> None:
    rows = [json.loads(line) for line in (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["usage"]["model"]["unknown_calls"] for row in rows} == {
        "0": 1, "1": 1, "2": 0, "3": 0, "4": 0, "5": 0,
    }  # fmt: skip


def test_no_export_tells_a_part_as_the_whole(out: Path, tmp_path: Path) -> None:
    done = command("study", "export", str(out), "--to", "every-eval-ever", "--out", str(tmp_path / "eee"))
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "eee").rglob("*.jsonl")
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    spent = {record["sample_id"]: (record.get("token_usage") or {}).get("total_tokens") for record in records}
    assert spent == {"0": None, "1": None, "2": 12, "3": 1010, "4": 1010, "5": 1010}


def test_the_official_table_of_tokens_says_unknown(out: Path) -> None:
    done = command("study", "score", str(out), "--protocol", "official")
    assert done.returncode == 0, done.stderr
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
