"""Ctrl-C while a call runs in a notebook, where an event loop runs already: one line, and a folder that goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, row, script, write_jsonl

# The loop of a notebook leaves SIGINT alone; that of asyncio.run would not.
_NOTEBOOK = """
import asyncio, os, signal, sys, threading, time
import truebench_hf

data, judge, url, out, *again = sys.argv[1:]
options = dict(data=data, judge=judge, model="openai:any", model_base_url=url, out=out, model_concurrency=1)

def interrupt():
    for _ in range(600):
        if server_calls() >= 3:
            break
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

def server_calls():
    import json, urllib.request
    return json.load(urllib.request.urlopen(url.removesuffix("/v1") + "/stats"))["total"]

async def cell():
    if again:
        return truebench_hf.run(**options)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        truebench_hf.run(**options)
    except KeyboardInterrupt as stopped:
        print(*stopped._render_traceback_(), sep="\\n")

report = asyncio.new_event_loop().run_until_complete(cell())
if report:
    print(report.scores["overall"].n)
"""


@pytest.mark.slow  # two processes that load everything
def test_an_interrupt_in_a_notebook_ends_in_a_line_and_the_call_goes_on(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [row(n, [(f"Say {n}.", ["says it"])]) for n in range(6)])
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    with OpenAIServer(delay=0.4) as server:
        command = [sys.executable, "-c", _NOTEBOOK, data, judge, server.url, str(tmp_path / "out")]
        stopped = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        asked = server.stats()["total"]
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert stopped.stdout.splitlines() == [
            "truebench: stopped; the same call goes on where it was, if it names a folder (out=...)"
        ]
        assert 3 <= asked < 6
        assert not (tmp_path / "out" / "scores.json").exists()
        again = subprocess.run([*command, "again"], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert (again.returncode, again.stdout) == (0, "6\n"), again.stderr
        assert server.stats()["total"] <= 7, "but for the call that was under way nothing is asked twice"
