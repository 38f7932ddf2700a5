"""From text to the two scores by the real command line: killed at every stage and started again, it ends the same.

SmolLM2 is the model under test. Builder, simulator and judge are scripts of a server, which holds back its answers from
some request on: so a process is killed in the middle of a stage, not somewhere near it.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT
from truebench_hf.benchmarks.flexbench.procedure import built_in, read_procedure
from truebench_hf.benchmarks.flexbench.users import read_profiles

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAME, CONVERSATIONS = "clinic-reception", 2
TEXT = built_in()[NAME].instruction
OPENING = "Elm Street Eye Clinic, good afternoon. How may I help you?"
SEGMENTS = [line for line in TEXT.splitlines()[3:] if line]
# Question, condition, and the number of the segment (from 0) of each dimension.
DIMENSIONS = [
    ("Does the generated conversation ask for the full name and the date of birth before it offers anything?", "", 0),
    ("Does the generated conversation ask for the reason for the visit?", "", 1),
    ("When the patient reports sudden loss of sight, an injury or flashes of light, does the generated conversation send "
     "them to the emergency room of the clinic at once?", "Sudden loss of sight, an injury or flashes of light", 2),
    ("When it is anything else, does the generated conversation offer both Tuesday 10:20 and Thursday 15:40?",
     "Anything else", 3),
    ("When it is a diabetes check, does the generated conversation say that driving is not allowed for four hours "
     "afterwards?", "A diabetes check", 4),
    ("Does the generated conversation ask whether it is the first visit?", "", 5),
    ("When it is the first visit, does the generated conversation ask the patient to come 20 minutes early?",
     "It is the first visit", 6),
    ("When the patient is known, does the generated conversation ask whether the address or the insurance has changed?",
     "The patient is known", 7),
    ("Does the generated conversation give no diagnosis and no comment on medicines?", "", 8),
    ("Does the generated conversation confirm the day and time and then say goodbye?", "", 9),
]  # fmt: skip
ALL = {"dimensions": [
    {"question": question, "condition": condition, "script": "", "segments": [f"s{number + 1}"]}
    for question, condition, number in DIMENSIONS
]}  # fmt: skip
NOTHING: dict[str, list[Any]] = {"missing": [], "duplicates": [], "invented": [], "unverifiable": []}
GROUPS = {"groups": [
    {"base": "d2", "branches": ["d3", "d4", "d5"], "exclusive": [["d3", "d4"]]},
    {"base": "d6", "branches": ["d7", "d8"], "exclusive": [["d7", "d8"]]},
]}  # fmt: skip
BUILDER = {
    "You take an instruction": {"opening": OPENING, "segments": SEGMENTS}, "You turn the segments": ALL,
    "You verify dimensions": NOTHING, "You settle how fine": ALL, "You make plain": ALL, "You find the branches": GROUPS,
}  # fmt: skip
SIMULATOR = {
    "Somebody is going to play": {"context": "a chat with an eye clinic", "topics": ["appointments"]},
    "You fit the description": {"communication_style": "Brief.", "information_disclosure": "Tells what is asked.",
                                "problem_solving": "Waits.", "catchphrases": ["Is there anything this week?"]},
    "A user talks with": {"end": "no"},
}  # fmt: skip


WRONG, RIGHT, LEFT, NOT = ("yes", "yes", "no"), ("yes", "yes", "yes"), ("yes", "no", None), ("no", None, None)
# d1 to d10: of five base actions three are attempted; of the branches behind them one is right and one left out, and the
# branch behind the skipped d6 does not count.
FACTS = (WRONG, RIGHT, LEFT, NOT, RIGHT, LEFT, RIGHT, NOT, RIGHT, LEFT)
JUDGE = {
    question: dict(zip(("turn", "applies", "attempted", "correct"), (1, *facts), strict=True))
    for (question, _, _), facts in zip(DIMENSIONS, FACTS, strict=True)
}


USERS = {read_profiles()[0].summary: "Why do you ask?", "You play a user": "I see flashes of light since Monday."}


def scripts(server: OpenAIServer) -> None:
    """Answers by what prompts hold; everybody's, since no two hold the same."""
    told = {start: json.dumps(reply) for start, reply in (BUILDER | SIMULATOR).items()} | USERS
    told |= {question: json.dumps({"id": "{id}", **facts}) for question, facts in JUDGE.items()}
    server.add_scripts([{"contains": text, "message": {"content": reply}} for text, reply in told.items()])


def flex(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "truebench_hf.cli.main", "flex", *arguments]
    environment = {**os.environ, "OPENAI_API_KEY": "x"}
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )


def finished(*arguments: str) -> None:
    process = flex(*arguments)
    told = process.communicate(timeout=300)[0]
    assert process.returncode == 0, told[-2000:]


def killed(server: OpenAIServer, after: int, *arguments: str) -> None:
    """Kill a command that has had `after` answers of the server, and waits for the next."""
    server.reset()
    scripts(server)
    server.add_faults([{"match": {"nth": after + 1}, "hang": 600}] * 50)
    process, until = flex(*arguments), time.monotonic() + 240
    while server.stats()["total"] <= after:
        assert process.poll() is None, process.communicate()[0][-2000:]
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.5)  # what was answered gets into the ledger
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    server.reset()
    scripts(server)


def answered(ledger: Path) -> int:
    if not ledger.is_file():
        return 0
    database = sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=10)
    try:
        return int(database.execute("SELECT COUNT(*) FROM calls").fetchone()[0])
    except sqlite3.OperationalError:  # its table is not there yet
        return 0
    finally:
        database.close()


def stages(place: Path, server: OpenAIServer, *, disturbed: bool) -> tuple[str, list[Any], Any]:
    """Build, simulate and score; with `disturbed` each is killed first. The YAML, the conversations, the scores."""
    folder = place / "clinic"
    corpus, scores = folder / "corpora" / "0" / "smollm2", folder / "scores"
    (place / "clinic.md").write_text(TEXT, encoding="utf-8")
    build = ("build", str(place / "clinic.md"), "--out", str(folder))
    simulate = (
        "simulate", str(folder), "--model", "smollm2", "--conversations", str(CONVERSATIONS), "--turns", "2",
        "--temperature", "0", "--max-tokens", "32",
    )  # fmt: skip
    # Of simulate: the analysis, five kinds of users, and the first messages of both conversations.
    for command, role, out, after, result in (
        (build, "builder", folder, 3, "procedure.yaml"), (simulate, "simulator", corpus, 8, "conversations.jsonl"),
        (("score", str(folder)), "judge", scores, 9, "scores.json"),
    ):  # fmt: skip
        whole = (*command, f"--{role}", "openai:test", f"--{role}-base-url", server.url)
        if disturbed:
            killed(server, after, *whole)
            assert after <= answered(out / "ledger.sqlite") <= after + CONVERSATIONS, "and what the model said"
            assert not (out / result).exists(), "results are whole or absent"
        asked = server.stats()["total"]
        finished(*whole)
        again = server.stats()["total"] - asked
        assert again == CALLS[role] - (after if disturbed else 0), "no finished call is made twice"
    talks = [json.loads(line) for line in (corpus / "conversations.jsonl").read_text(encoding="utf-8").splitlines()]
    model = json.loads((scores / "scores.json").read_text(encoding="utf-8"))["scores"][0]
    return (folder / "procedure.yaml").read_text(encoding="utf-8"), talks, model


# Six stages; analysis, five kinds of users, in each of two rounds a message and a look whether it is over; ten dimensions.
CALLS = {"builder": 6, "simulator": 6 + 2 * 2 * CONVERSATIONS, "judge": 10 * CONVERSATIONS}


def test_from_text_to_two_scores_killed_at_every_stage(tmp_path: Path) -> None:
    found = {}
    with OpenAIServer() as server:
        scripts(server)
        for name in ("straight", "killed"):
            (tmp_path / name).mkdir()
            found[name] = stages(tmp_path / name, server, disturbed=name == "killed")
    assert found["killed"] == found["straight"]
    text, talks, model = found["killed"]
    print(text, json.dumps([talks[0], model], indent=1))  # shown by pytest -rP
    procedure = read_procedure(tmp_path / "killed" / "clinic" / "procedure.yaml")
    assert [one.base for one in procedure.dimensions] == [None, None, "d2", "d2", "d2", None, "d6", "d6", None, None]
    assert procedure.opening == OPENING
    assert [len(talk["messages"]) for talk in talks] == [5] * CONVERSATIONS
    assert talks[0]["messages"][1] != talks[1]["messages"][1], "two kinds of users"
    total = model
    assert (total["coverage"]["value"], total["coverage"]["n"]) == (0.6, 5 * CONVERSATIONS)
    assert (total["achievement"]["value"], total["achievement"]["n"]) == (0.5, 2 * CONVERSATIONS)
    assert model["undecided"] == 0
