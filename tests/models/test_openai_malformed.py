"""A malformed answer fails its own try and no more, whatever is malformed; and no answer may fill the memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.bad_answers import BAD
from tests.support.bad_server import Bad, BadServer, reply
from tests.support.openai_client import FAST, ask_chat, ask_decide, ask_stream, chat, once, open_at
from tests.support.runs import ROOT, command, row, write_jsonl
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.models import openai_model
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.protocol import Completion, Decision


def _once(names: dict[str, Bad]) -> Any:
    """The answer to the first POST that holds a name is the bad one of that name."""
    left = dict(names)

    def choose(number: int, text: str) -> Bad | None:
        name = next((name for name in left if f"<{name}>" in text), None)
        return left.pop(name) if name is not None else None

    return choose


async def _all_of_them(model: OpenAIModel, ask: Any) -> dict[str, Any]:
    found = await asyncio.gather(*(ask(model, f"<{name}>") for name in BAD), return_exceptions=True)
    return dict(zip(BAD, found, strict=True))


@pytest.mark.parametrize(
    ("ask", "options"),
    [(ask_chat, {}), (ask_decide, {"decisions": "systemone"}), (ask_decide, {"decisions": "decisions"})],
)
def test_every_malformed_answer_is_asked_for_again(ask: Any, options: dict[str, Any]) -> None:
    assert len(BAD) > 60

    # More tries than two: a connection that the server has closed may be picked up from the pool now and then.
    patient = replace(FAST, attempts=20)

    with BadServer(_once(BAD)) as server:
        found = once(model := open_at(server.url, patient, timeout=20.0, **options), _all_of_them(model, ask))
    wrong = {name: answer for name, answer in found.items() if not isinstance(answer, Completion | Decision)}
    wrong |= {name: answer for name, answer in found.items() if getattr(answer, "text", "Answer ")[:7] != "Answer "}
    assert wrong == {}
    assert server.posts == 2 * len(BAD), "each twice: the bad answer was none"


@pytest.mark.parametrize(("ask", "words"), [(ask_chat, "gave up after 3 tries: "), (ask_stream, "")])
def test_one_that_never_gets_better_fails_its_call_alone(ask: Any, words: str) -> None:
    async def between_good_ones(model: OpenAIModel) -> dict[str, Any]:
        await ask_chat(model)
        found = await _all_of_them(model, ask)
        assert (await ask_chat(model)).text.startswith("Answer "), "others go on"
        return found

    with BadServer(lambda n, text: next((bad for name, bad in BAD.items() if f"<{name}>" in text), None)) as server:
        found = once(model := open_at(server.url, timeout=20.0), between_good_ones(model))
    assert {name: error for name, error in found.items() if not isinstance(error, RequestFailed)} == {}
    for told in map(str, found.values()):
        assert told.startswith(words)
        assert len(told) < 800
        assert "\n" not in told


@pytest.mark.slow
def test_a_run_ends_well_through_all_of_them(tmp_path: Path) -> None:
    rows = [row(i, [(f"Task {i}: <{name}>", ["It holds."])]) for i, name in enumerate(BAD)]
    rows.append(row("lost", [("Task <POISON>", ["It holds."])]))
    data, once = write_jsonl(tmp_path / "data.jsonl", rows), _once(BAD)
    worst = BAD["JSON nested 1,000 deep"]
    with BadServer(lambda n, text: worst if "<POISON>" in text else once(n, text)) as server:
        urls = ("--model-base-url", server.url, "--judge-base-url", server.url)
        done = command(
            "run", "--data", data, "--model", "openai:m", "--judge", "openai:j", *urls, "--out", str(tmp_path / "out"),
            "--model-arg", "attempts=6", OPENAI_API_KEY="none",
        )  # fmt: skip
    why = "truebench: 1 item could not be scored, so the exit code is 3; --allow-unscored makes it 0\n"
    assert (done.returncode, done.stderr) == (3, why)
    lines = [json.loads(line) for line in (tmp_path / "out" / "judgments.jsonl").read_text().splitlines()]
    assert {line["id"] for line in lines if line["passed"] is None} == {"lost"}
    assert len(lines) == len(BAD) + 1


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> int:
    """A limit of 1 MiB, for speed."""
    monkeypatch.setattr(openai_model, "LARGEST_ANSWER", 2**20)
    return 2**20


@pytest.mark.parametrize("name", ["gzip", "plain", "chunks"])
def test_an_answer_beyond_the_limit_fails_and_says_so(low: int, name: str) -> None:
    body = b'{"choices": [{"message": {"content": "' + b"a" * low + b'"}}]}'
    chunked = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    bad = {
        "gzip": Bad(reply(200, gzip.compress(body), "Content-Encoding: gzip\r\n")),
        "plain": Bad(reply(200, body)),
        "chunks": Bad(chunked.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)),
    }[name]
    with BadServer([bad] * 9) as server, pytest.raises(RequestFailed, match="the answer is larger than 1 MiB"):
        chat(open_at(server.url))
    assert server.posts == 2, "once more, since it may have been an accident, and no more"


def test_a_large_answer_below_the_limit_is_one(low: int) -> None:
    text = "a" * (low - 1000)
    body = gzip.compress(json.dumps({"choices": [{"message": {"content": text}}]}).encode())
    with BadServer([Bad(reply(200, body, "Content-Encoding: gzip\r\n"))]) as server:
        assert chat(open_at(server.url)).text == text


@pytest.mark.parametrize("headers", ["", "Content-Encoding: gzip\r\n"])
def test_of_an_endless_error_the_beginning_is_read(headers: str) -> None:
    body = b'{"error": {"message": "' + b"no " * openai_model.LARGEST_ERROR
    bad = Bad(reply(500, gzip.compress(body, 1) if headers else body, headers))
    with BadServer([bad] * 9) as server, pytest.raises(RequestFailed, match=r"answered 500: .*no no") as failed:
        chat(open_at(server.url))
    assert len(str(failed.value)) < 800
    assert server.posts == 3


_PEAK = """
import sys
from pathlib import Path
from tests.support.openai_client import chat, open_at
from truebench_hf.engine.retry import RequestFailed
try:
    chat(open_at(sys.argv[1]))
except RequestFailed as error:
    print(error)
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def _bomb(mebibytes: int) -> bytes:
    """About a thousandth of what it unpacks to."""
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(b'{"choices": [{"message": {"content": "') + packer.flush(zlib.Z_FULL_FLUSH)
    return head + (packer.compress(b"a" * 2**20) + packer.flush(zlib.Z_FULL_FLUSH)) * mebibytes


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 500])
def test_a_bomb_does_not_fill_the_memory(status: int) -> None:
    """Four megabytes that unpack to four gigabytes; the process itself takes about 100 MB."""
    with BadServer([Bad(reply(status, _bomb(4096), "Content-Encoding: gzip\r\n"))] * 9) as server:
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, server.url], cwd=ROOT, capture_output=True, text=True, timeout=120
        )
    told, peak = done.stdout.splitlines()
    assert ("answered 500" if status == 500 else "the answer is larger than 16 MiB") in told
    assert int(peak.split()[1]) / 1024 < 300, "MiB"
