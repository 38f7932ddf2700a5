"""Studies on a Ray cluster of two machines, simulated by Ray itself: the same scores, whatever dies in the middle."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.study.colours import ColourOptions, Colours
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, command, held, row, script, write_jsonl
from truebench_hf.errors import UserError

KEY = "sk-of-the-loopback-server-1f9b2c"
THINGS, KILLED_AT = 120, 40


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two machines of one processor each, for all tests of this file."""
    from ray.cluster_utils import Cluster

    made = Cluster()
    for _ in range(2):
        made.add_node(num_cpus=1)
    yield made
    made.shutdown()


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write_jsonl(tmp_path / "data.jsonl", [{"thing": f"thing {n}", "colour": "red"} for n in range(THINGS)])


def workers() -> list[int]:
    """The processes that hold a provider, of the cluster of this process."""
    import psutil

    below, pids = psutil.Process().children(recursive=True), list[int]()
    for process in below:
        with suppress(psutil.Error):  # it has just ended
            pids += [process.pid] if "ray::Holder" in " ".join(process.cmdline()) else []
    return pids


def kill_a_worker(server: OpenAIServer, requests: int) -> threading.Thread:
    """Kill one of the workers once the server has seen that many requests, and all that are there are at work."""

    def wait() -> None:
        until = time.monotonic() + 180
        while server.stats()["total"] < requests and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(workers()[0], signal.SIGKILL)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def ledger(out: Path) -> dict[str, Any]:
    """What is in the ledger of a folder, by key."""
    with closing(sqlite3.connect(out / "ledger.sqlite")) as db:
        return {key: rest for key, *rest in db.execute("SELECT key, request, result, role FROM calls")}


def files_with(text: str, folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_worker_dies_in_the_middle_and_nothing_is_lost(
    cluster: Any, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(delay=0.1) as server:
        server.add_scripts([{"contains": f"thing {n} ", "message": {"content": "blue"}} for n in range(0, THINGS, 3)])
        server.add_scripts([{"contains": "Which colour", "message": {"content": "red"}}])

        def run(out: Path, **more: Any) -> Any:
            options = ColourOptions(
                data=data, model="openai:test", model_base_url=server.url, model_concurrency=8, out=str(out), **more
            )
            return Colours(options).run()

        plain = run(tmp_path / "plain")
        before = server.stats()["total"]
        killer = kill_a_worker(server, before + KILLED_AT)
        found = run(tmp_path / "ray", engine="ray", ray_address=cluster.address)
        killer.join()
        asked = server.stats()["total"] - before
        assert found.value == plain.value
        assert (tmp_path / "ray" / "answers.jsonl").read_bytes() == (tmp_path / "plain" / "answers.jsonl").read_bytes()
        scores, plain_scores = (held(tmp_path / name / "scores.json") for name in ("ray", "plain"))
        assert scores["scores"] == plain_scores["scores"]
        assert ledger(tmp_path / "ray") == ledger(tmp_path / "plain"), "the same calls under the same keys"
        info = held(tmp_path / "ray" / "run.json")
        lost = info["calls_lost"]
        assert 0 < lost <= 2 * 8
        assert 0 <= asked - THINGS <= lost
        assert info["served"] == held(tmp_path / "plain" / "run.json")["served"], "by whom, and how many"
        told = f"Calls lost with workers of Ray, and repeated: {lost}."
        assert (scores["notes"], plain_scores["notes"]) == ([told], [])
        assert told in found.notes
        assert told in (tmp_path / "ray" / "report.html").read_text()
        # The limit holds for all workers together; the server may not have heard yet that one is gone.
        assert server.stats()["max_in_flight"] <= 8 + 4

        # The other engine goes on where this one was, and the other way round.
        again = run(tmp_path / "ray")
        assert told in again.notes
        run(tmp_path / "plain", engine="ray", ray_address=cluster.address)
        assert server.stats()["total"] == before + asked
        assert not ray.is_initialized()
    assert files_with(KEY, tmp_path) == []
    logs = Path(cluster.head_node.get_session_dir_path()) / "logs"
    assert files_with("Holder", logs)
    assert files_with(KEY, logs) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_that_is_killed_goes_on(cluster: Any, tmp_path: Path) -> None:
    """The driver dies by SIGKILL in the middle of a round; the same command, and the other engine, finish the run."""
    rows = [row(n, [(f"Task {n}.", [f"{n}.{c} holds" for c in range(2)])]) for n in range(60)]
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    with OpenAIServer(delay=0.2) as server:

        def arguments(out: str, *more: str) -> list[str]:
            given = ["run", "--data", data, "--out", str(tmp_path / out), *more]
            for role in ("model", "judge"):
                given += [f"--{role}", f"openai:test-{role}", f"--{role}-base-url", server.url]
            return given

        ray = ("--engine", "ray", "--ray-address", cluster.address)
        assert command(*arguments("plain"), OPENAI_API_KEY=KEY).returncode == 0
        server.reset()
        process = subprocess.Popen(
            [sys.executable, "-m", "truebench_hf", *arguments("killed", *ray)],
            cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": KEY}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + 180
        while server.stats()["total"] <= 60:  # a verdict is asked for: some answers are kept
            assert process.poll() is None, "it was over before its time"
            assert time.monotonic() < until
            time.sleep(0.02)
        process.kill()
        assert process.wait(timeout=10) == -signal.SIGKILL
        kept, before = len(ledger(tmp_path / "killed")), server.stats()["total"]
        assert 0 < kept < 120
        assert not (tmp_path / "killed" / "scores.json").exists()

        done = command(*arguments("killed", *ray), OPENAI_API_KEY=KEY)
        assert done.returncode == 0, done.stderr
        assert ledger(tmp_path / "killed") == ledger(tmp_path / "plain")
        missing = 120 - kept
        assert missing <= server.stats()["total"] - before <= missing + 16, "what is kept is not asked again"
        for name in ("judgments.jsonl", "scores_category.csv"):
            assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
        asked = server.stats()["total"]
        done = command(*arguments("killed"), OPENAI_API_KEY=KEY)
        assert (done.returncode, server.stats()["total"]) == (0, asked), done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_cluster_of_its_own_lasts_from_answers_to_verdicts(tmp_path: Path) -> None:
    """Linux ends what a thread started with that thread, and every round has a thread of its own."""
    write_jsonl(tmp_path / "data.jsonl", [row(1, [("Task 1.", ["It holds"])])])
    model = script(tmp_path / "script.json", [{"contains": "<criteria", "verdicts": {}}], {"reply": "Blue."})
    given = ["--data", str(tmp_path / "data.jsonl"), "--model", model, "--judge", model, "--engine", "ray"]
    done = command("run", *given, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert len(ledger(tmp_path / "out")) == 2, "an answer and its verdicts"


def opened(data: str, out: Path, model: str, **more: Any) -> None:
    Colours(ColourOptions(data=data, model=model, out=str(out), **more)).run()


def test_what_is_wrong_with_the_options_is_said_at_once(data: str, tmp_path: Path) -> None:
    model = script(tmp_path / "m.json", [])
    with pytest.raises(UserError, match="unknown --engine 'rai'"):
        opened(data, tmp_path / "out", model, engine="rai")
    with pytest.raises(UserError, match="--ray-address only goes with --engine ray"):
        opened(data, tmp_path / "out", model, ray_address="127.0.0.1:6379")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_an_estimate_and_a_finished_run_need_no_cluster(data: str, tmp_path: Path) -> None:
    model = script(tmp_path / "m.json", [])
    gone = {"engine": "ray", "ray_address": "127.0.0.1:1"}
    opened(data, tmp_path / "out", model, estimate=True, **gone)
    assert not (tmp_path / "out").exists()
    opened(data, tmp_path / "out", model)
    answers = ledger(tmp_path / "out")
    opened(data, tmp_path / "out", model, **gone)
    assert ledger(tmp_path / "out") == answers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1:1", "Connection refused"),
        ("nobody.invalid:6379", "no cluster at nobody.invalid:6379"),
        ("127.0.0.1", "write it as HOST:PORT"),
        ("ray://127.0.0.1:10001", "write it as HOST:PORT"),
        ("127.0.0.1:99999", "no cluster at"),
    ],
)
def test_an_address_where_nobody_answers_is_one_line(data: str, tmp_path: Path, address: str, why: str) -> None:
    began = time.monotonic()
    with pytest.raises(UserError, match=why) as told:
        opened(data, tmp_path / "out", script(tmp_path / "m.json", []), engine="ray", ray_address=address)
    assert "\n" not in str(told.value)
    assert time.monotonic() - began < 60, "Ray itself would take two minutes"
    opened(data, tmp_path / "out", script(tmp_path / "m.json", []))  # nothing bars the way


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_error_that_a_user_can_mend_comes_back_from_a_worker(cluster: Any, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [row(n, [(f"Task {n}.", ["holds"])]) for n in range(40)])
    nobody = script(tmp_path / "m.json", []), "openai:gone"
    done = command(
        "run", "--data", data, "--model", nobody[1], "--model-base-url", "http://127.0.0.1:1/v1", "--judge", nobody[0],
        "--out", str(tmp_path / "out"), "--engine", "ray", "--ray-address", cluster.address, OPENAI_API_KEY=KEY,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "openai:gone: cannot be reached" in done.stderr.splitlines()[-1]
