"""The life of a study, lived by a benchmark of thirty lines: see `colours.py`."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.study.colours import ColourOptions, Colours, Row
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, held, script, write_jsonl
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.space.board.store import BoardStore
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Message

THINGS = {"snow": "white", "grass": "green", "coal": "black", "milk": "white"}
ANSWERS = [{"contains": thing, "reply": f"It is {colour}."} for thing, colour in THINGS.items()]
ANSWERS[1] = {"contains": "grass", "reply": "Blue, I think."}


def rows(count: int) -> list[Row]:
    return [{"thing": f"thing {number}", "colour": "red"} for number in range(count)]


class Bench:
    """Data, a scripted model that notes what it is asked, and studies on them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.record = folder, folder / "out", folder / "record.jsonl"
        self.data = write_jsonl(folder / "data.jsonl", [{"thing": t, "colour": c} for t, c in THINGS.items()])
        self.model = script(folder / "model.json", ANSWERS)

    def options(self, **more: Any) -> ColourOptions:
        given = {"data": self.data, "model": self.model, "out": str(self.out), "model_arg": (f"record={self.record}",)}
        return ColourOptions(**given | more)

    def run(self, study: type[Colours] = Colours, **more: Any) -> Outcome[float | None]:
        return study(self.options(**more)).run()

    def asked(self) -> list[str]:
        return [texts[0] for texts in held(self.record)] if self.record.exists() else []

    def info(self) -> dict[str, Any]:
        return dict(held(self.out / "run.json"))

    def answers(self) -> list[Row]:
        return list(held(self.out / "answers.jsonl"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_what_its_folder_holds_and_notes(bench: Bench) -> None:
    assert bench.run(seed=7).value == 0.75
    assert [(row["thing"], row["right"]) for row in bench.answers()] == [(t, t != "grass") for t in THINGS]
    (record,) = held(bench.out / "scores.json")["scores"]
    assert (record["right"]["value"], record["right"]["n"]) == (0.75, 4)
    page = (bench.out / "report.html").read_text()
    assert [text in page for text in ("Colours known", "75.00", "data.jsonl", "truebench-hf")] == [True] * 4
    files = {"run.json", "ledger.sqlite", "scores.json", "tables", "answers.jsonl", "report.html"}
    assert {path.name for path in bench.out.iterdir()} == files
    info = bench.info()
    assert (info["kind"], info["format"], bool(info["sessions"][0]["finished"])) == ("colours", 1, True)
    assert {role: used["calls"] for role, used in info["usage"]["total"].items()} == {"model": 4}
    settings = info["settings"]
    assert (settings["items"], settings["limit"], settings["seed"]) == (4, None, 7)
    assert settings["data_sha256"] == settings["selection_sha256"]
    assert settings["models"]["model"]["provider"] == "scripted"
    assert settings["model_arg"] == [f"record={bench.record}"]
    assert "model_concurrency" not in settings, "an option that is as usual says nothing"
    assert settings["max_tokens"] == 16, "but one that binds is noted"


def test_the_second_time_nobody_is_asked(bench: Bench) -> None:
    """Nor where a power cut left results half written: they are written anew."""
    bench.run()
    files = {name: (bench.out / name).read_bytes() for name in ("answers.jsonl", "scores.json")}
    for cut in ((), (*files, "report.html")):
        for name in cut:
            whole = (bench.out / name).read_bytes()
            (bench.out / name).write_bytes(whole[: len(whole) // 2])
            (bench.out / f"{name}.part").write_bytes(whole[:9])
        assert bench.run().value == 0.75
        assert {name: (bench.out / name).read_bytes() for name in files} == files
        assert "75.00" in (bench.out / "report.html").read_text()
        assert list(bench.out.glob("*.part")) == []
        assert bench.info()["usage"] == {"now": {}, "total": bench.info()["usage"]["total"]}
    assert len(bench.asked()) == 4


def test_a_larger_sample_asks_for_what_it_has_more(bench: Bench) -> None:
    bench.run(limit=2)
    assert len(bench.answers()) == len(bench.asked()) == 2
    few, selection = bench.answers(), bench.info()["settings"]["selection_sha256"]
    bench.run()
    assert len(bench.asked()) == 4
    assert [row for row in bench.answers() if row in few] == few
    assert bench.info()["settings"]["selection_sha256"] == selection
    write_jsonl(Path(bench.data), rows(2))
    with pytest.raises(UserError, match="selection_sha256"):
        bench.run()


def test_results_keep_the_order_of_the_data_though_the_largest_is_begun_first(bench: Bench) -> None:
    bench.data, begun = write_jsonl(bench.folder / "many.jsonl", rows(30)), list[str]()

    class Uneven(Colours):
        def items(self) -> Any:
            found = super().items()
            return type(found)(found.every, found.name, found.content, size=lambda row: int(row["thing"].split()[1]))

        async def work(self, row: Row) -> Row:
            begun.append(row["thing"])
            await asyncio.sleep(0.001 * (int(row["thing"].split()[1]) % 5))
            return await super().work(row)

    bench.run(Uneven)
    names = [row["thing"] for row in rows(30)]
    assert [row["thing"] for row in bench.answers()] == names
    assert begun == names[::-1]


@pytest.mark.parametrize("concurrency", [3, 40])
def test_enough_items_are_in_work_to_keep_a_model_busy(
    bench: Bench, concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the benchmark asks for its model no sooner than in its work."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    bench.data = write_jsonl(bench.folder / "many.jsonl", rows(60))
    with OpenAIServer(delay=0.05) as server:
        address = (f"base_url={server.url}",)
        bench.run(model="openai:m", model_arg=address, model_concurrency=concurrency)
        assert server.stats()["max_in_flight"] == concurrency


def test_all_parts_of_a_role_share_its_limit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    bench.data = write_jsonl(bench.folder / "many.jsonl", rows(12))

    class Parts(Colours):
        async def work(self, row: Row) -> Row:
            async def ask(part: str) -> None:
                request = ChatRequest((Message("user", f"{part} {row['thing']}"),))
                await self.caller("model", part=part).complete(request)

            await asyncio.gather(*map(ask, ("first", "second", "third")))
            return row | {"answer": "", "right": False}

    with OpenAIServer(delay=0.02) as server:
        bench.run(Parts, model="openai:m", model_arg=(f"base_url={server.url}",), model_concurrency=4)
        assert (server.stats()["total"], server.stats()["max_in_flight"]) == (36, 4)
    spent = bench.info()["usage"]["total"]
    assert {part: spent[part]["calls"] for part in spent} == {"first": 12, "second": 12, "third": 12}


def test_a_file_that_is_not_declared_is_a_mistake_of_the_benchmark(bench: Bench) -> None:
    class Careless(Colours):
        files = ()

    with pytest.raises(AssertionError, match=r"Careless\.files lacks \{'answers\.jsonl'\}"):
        bench.run(Careless)
    assert not (bench.out / "scores.json").exists()


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_asks_only_for_the_rest(bench: Bench) -> None:
    count, at_a_time = 40, 4
    bench.data = write_jsonl(bench.folder / "many.jsonl", rows(count))
    with OpenAIServer(delay=0.05) as server:
        address = ["--model-base-url", server.url, "--model-concurrency", str(at_a_time)]
        command = [sys.executable, "-m", "tests.study.colours", "--data", bench.data, "--out", str(bench.out)]

        def start() -> subprocess.Popen[str]:
            return subprocess.Popen(
                [*command, "--model", "openai:m", *address], cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": "x"},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip

        process, until = start(), time.monotonic() + 60
        while server.stats()["total"] < 12:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (bench.out / "scores.json").exists()
        again = start()
        said = again.communicate(timeout=60)
        assert again.returncode == 0, said
        assert count <= server.stats()["total"] <= count + at_a_time, "only what was in flight is asked for again"
    assert [row["thing"] for row in bench.answers()] == [row["thing"] for row in rows(count)]
    with sqlite3.connect(bench.out / "ledger.sqlite") as ledger:
        assert ledger.execute("SELECT COUNT(*) FROM calls").fetchone() == (count,)
    ledger.close()
    assert [bool(session["finished"]) for session in bench.info()["sessions"]] == [False, True]


class Dies(Colours):
    """Ends without results."""

    def score(self, done: Any) -> Any:
        raise ZeroDivisionError


def test_a_session_that_died_is_gone_on_with_and_is_on_no_board_until_it_is_finished(bench: Bench) -> None:
    bench.run(limit=2)
    for name in ("answers.jsonl", "scores.json", "report.html"):
        (bench.out / name).unlink()
    with pytest.raises(ZeroDivisionError):
        bench.run(Dies)
    assert "colours" not in [kind.name for kind in BoardStore([bench.out]).snapshot.kinds]
    assert {path.name for path in bench.out.iterdir()} == {"run.json", "ledger.sqlite", "tables"}
    bench.run()
    assert len(bench.asked()) == 4
    assert [bool(session["finished"]) for session in bench.info()["sessions"]] == [True, False, True]
    snapshot = BoardStore([bench.out]).snapshot
    assert [entry.overall.n for entry in snapshot.entries if entry.kind == "colours"] == [4]


def test_it_runs_where_an_event_loop_runs_already(bench: Bench) -> None:
    async def notebook() -> float | None:
        return bench.run().value

    assert asyncio.run(notebook()) == 0.75
