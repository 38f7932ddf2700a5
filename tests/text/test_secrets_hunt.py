"""Secrets planted everywhere, a server that repeats all it is sent, and a search through whatever is left behind.

The server is OpenAI-compatible and says headers, query and body again in every place that an answer has. A prompt names
the way, `way:NAME` with a name of `WAYS`; a judge's prompt is answered by verdicts whose reasons hold it all, and every
third one in a form that nobody can read.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.hub_stub import HubStub
from tests.support.openai_answers import criteria_of, judge_prompt, strings
from tests.support.runs import command, row, write_jsonl
from truebench_hf.text.redaction import MARK

# What an answer may say that looks like a secret and is none of ours.
INNOCENT = "a task-oriented sk-plan: sk-0123456789abcdefghijklmnop"


def _chat(content: str, finish: str = "stop", **more: Any) -> web.Response:
    choice = {"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}
    return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


def _error(status: int, message: str, **more: Any) -> web.Response:
    return web.json_response({"error": {"message": message, **more}}, status=status)


def _headers(said: str) -> web.Response:
    answer = _chat("in the headers")
    answer.headers.update({"X-Echo": said.replace("\n", " ")[:4000], "Retry-After": said.replace("\n", " ")[:200]})
    return answer


WAYS: dict[str, Callable[[str], web.Response]] = {
    "answer": lambda said: _chat(f"{INNOCENT} {said}"),
    "spelt": lambda said: _chat(f"{quote(said)}\n{html.escape(said)}\n{json.dumps(said)}"),
    "reasoning": lambda said: _chat("ok", reasoning_content=said),
    "think": lambda said: _chat(f"<think>{said}</think>ok"),
    "headers": _headers,
    "window": lambda said: _error(400, f"This model's maximum context length is 1 token. {said}"),
    "filter": lambda said: _error(400, said, code="content_filter"),
    "crash": lambda said: _error(500, f"{INNOCENT} {said}"),
    # Cut after 500 characters, in the middle of what must not be shown.
    "late": lambda said: _error(500, "x" * 465 + " ".join(re.findall(r"Authorization': '([^']*)", said))),
    "page": lambda said: web.Response(text=f"<html>{said}</html>", status=502, content_type="text/html"),
    "phrase": lambda said: web.Response(status=500, reason=" ".join(said.split())[:2000]),
    "good": lambda said: _error(200, said),
    "abort": lambda said: web.json_response(
        {"choices": [{"message": {"content": said}, "finish_reason": "error", "error": {"message": said}}]}
    ),
    "raw": lambda said: web.Response(text=said, content_type="application/json"),
    "fatal": lambda said: _error(401, said),
}


class EchoServer(loopback.Server):
    """The server; as a context manager it serves from a background thread. `asked` holds all that came in."""

    def __init__(self) -> None:
        self.asked: list[web.BaseRequest] = []
        self._judged = 0

    def url(self, login: str = "", query: str = "") -> str:
        """The base URL with a login and a query."""
        return f"http://{login}{'@' if login else ''}{loopback.HOST}:{self.port}/v1{'?' if query else ''}{query}"

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answer one request in the way it asks for."""
        body = json.loads(await request.content.read())
        self.asked.append(request)
        said = f"{dict(request.headers)}\n{request.path_qs}\n{request.rel_url.query_string}\n{json.dumps(body)}"
        prompt = judge_prompt(body["messages"])
        if prompt is not None:
            self._judged += 1
            if self._judged % 3 == 0:
                return _chat(f"No verdict: {said}")
            pairs = {f"criteria_{n + 1}": {"reason": said, "verdict": "PASS"} for n in range(len(criteria_of(prompt)))}
            return _chat(json.dumps(pairs).replace("YES", "yes"), reasoning_content=said)
        way = re.findall(r"way:(\w+)", "\n".join(strings(body["messages"])))
        return WAYS[way[-1]](said)


LOGIN = ("planted-user-of-login", "pl@nted/pass:wörd-1")
OTHER_LOGIN = ("eve", "another-planted-word-2")
SECRETS = {
    "api key": "sk-planted-environment-key-0123456789",
    "judge's key": "jk+planted/judges=own-key",
    "rotated key": "jk-planted-rotated-key-of-judge",
    "login": LOGIN[1],
    "user": LOGIN[0],
    "other login": OTHER_LOGIN[1],
    "body key": "planted-in-the-body-4711",
    "query": "planted-code-of-the-query-77",
    "hub token": "hf_plantedHubTokenOf34Characters0123",
}
FORMS = {name: secret.encode() for name, secret in SECRETS.items()} | {
    f"basic of {user}": base64.b64encode(f"{user}:{word}".encode()) for user, word in (LOGIN, OTHER_LOGIN)
}


def login(pair: tuple[str, str]) -> str:
    return ":".join(quote(part, safe="") for part in pair)


class Hunt:
    """Commands with the secrets in their environment and options; what they print is kept for the search."""

    def __init__(self, folder: Path, server: EchoServer, hub: HubStub) -> None:
        self.folder, self.server, self.hub = folder, server, hub
        self.printed: list[tuple[str, str]] = []
        prompts = [
            row(n, [(f"My key is {SECRETS['api key']}. way:{way}", [f"Says {SECRETS['api key']}"])])
            for n, way in enumerate(WAYS)
            if way != "fatal"
        ]
        # The file is the user's own, with the secret in it: it lies beside what is searched.
        self.data = write_jsonl(folder.parent / "data.jsonl", prompts)
        self.fatal = write_jsonl(folder.parent / "fatal.jsonl", [row(0, [("way:fatal", ["c"])])])
        self.env = {
            **hub.env, "HF_TOKEN": SECRETS["hub token"], "HF_HOME": str(folder.parent / "home"),
            "OPENAI_API_KEY": SECRETS["api key"], "JUDGE_KEY": SECRETS["judge's key"],
            "OPENAI_BASE_URL": server.url(login(OTHER_LOGIN)),
        }  # fmt: skip

    def __call__(self, *arguments: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        done = command(*arguments, cwd=self.folder, **self.env | env)
        self.printed += [(f"stdout of {arguments[:2]}", done.stdout), (f"stderr of {arguments[:2]}", done.stderr)]
        assert done.returncode == code, done.stderr + done.stdout
        return done

    def model(self, data: str) -> list[str]:
        """A model behind a login."""
        extra = {"api_key": SECRETS["body key"], "seed": 7}
        url = self.server.url(login(LOGIN))
        return [
            "--data", data, "--model", "openai:m", "--model-base-url", url, "--model-arg", "attempts=1",
            "--model-arg", f"extra_body={json.dumps(extra)}",
        ]  # fmt: skip

    def judge(self, *more: str) -> list[str]:
        """A judge with a key of its own."""
        arguments = (
            "api_key_env=JUDGE_KEY",
            "base_url=" + self.server.url(query="code=" + SECRETS["query"]),
            "attempts=1",
            *more,
        )
        return ["--judge", "openai:j", *(part for text in arguments for part in ("--judge-arg", text))]

    def found(self) -> list[str]:
        """Where a secret stands: in what was printed, in files, in the names of files, in what the Hub was given."""
        places = {where: text.encode() for where, text in self.printed}
        places |= {f"name of {path}": str(path).encode() for path in self.folder.rglob("*")}
        for path in (path for path in self.folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            places[str(path)] = gzip.decompress(content) if path.suffix == ".gz" else content
        places |= {f"hub: {name}": content for name, content in self.hub.files("dataset", "org/results").items()}
        return [
            f"{form} in {place}" for place, content in places.items() for form, raw in FORMS.items() if raw in content
        ]


@pytest.fixture
def hunt(tmp_path: Path) -> Iterator[Hunt]:
    (tmp_path / "work").mkdir()
    with EchoServer() as server, HubStub() as hub:
        yield Hunt(tmp_path / "work", server, hub)


@pytest.mark.slow
def test_no_secret_is_left_anywhere(hunt: Hunt) -> None:
    run = ["run", *hunt.model(hunt.data), *hunt.judge(), "--out", "run", "--votes", "1"]
    hunt(*run, code=3)
    calls = len(hunt.server.asked)
    sent = [request.headers.getall("Authorization") for request in hunt.server.asked]
    both = {f"Basic {base64.b64encode(':'.join(LOGIN).encode()).decode()}", f"Bearer {hunt.env['JUDGE_KEY']}"}
    assert {tuple(headers) for headers in sent} == {(header,) for header in both}, (
        "each request has its own and no other"
    )

    hunt(*run, code=3, JUDGE_KEY=SECRETS["rotated key"])  # goes on: a changed key is no other run
    answered = [way for way in WAYS if way in ("answer", "spelt", "reasoning", "think", "headers")]
    again = [r for r in hunt.server.asked[calls:] if r.headers["Authorization"].startswith("Basic")]
    assert len(again) == len(WAYS) - 1 - len(answered), "only what had failed is asked again"
    hunt(*run, "--model-arg", 'extra_body={"api_key": "other", "seed": 8}', code=2)  # but another body is one

    hunt(
        "study",
        "generate",
        "--data",
        hunt.data,
        "--model",
        "openai:m",
        "--model-arg",
        "attempts=1",
        "--out",
        "staged",
        code=3,
    )
    hunt("judge", *hunt.judge(), "--out", "staged", code=3)
    hunt("metaeval", "--data", "rubric_mini", "--limit", "4", *hunt.judge(), "--paradigms", "checklist-reasoning",
         "--out", "meta")  # fmt: skip
    hunt("run", *hunt.model(hunt.fatal), *hunt.judge(), "--out", "fatal", code=2)
    hunt("run", *hunt.model(hunt.data), *hunt.judge("token=another-word"), "--out", "bad", code=2)
    for protocol in ("default", "official"):
        hunt("study", "score", "run", "--allow-unscored", "--protocol", protocol)
    hunt("label", "out", "run", "--n", "4", "--annotators", "A,B")
    hunt("publish", "results", "run", "--repo-id", "org/results", "--dry-run")
    hunt("publish", "results", "run", "--repo-id", "org/results", "--public")

    assert hunt.found() == []
    assert {path.name for path in (hunt.folder / "run").iterdir()} >= {"ledger.sqlite", "report.html", "sheets"}
    assert hunt.hub.files("dataset", "org/results"), "something was published"
    info = json.loads((hunt.folder / "run" / "run.json").read_text())
    rows = (hunt.folder / "run" / "judgments.jsonl").read_text()
    assert info["secrets_masked"] == rows.count(MARK) > 20
    assert INNOCENT in rows, "an answer keeps what only looks like a secret"
    assert f"500: a task-oriented sk-plan: {MARK} " in rows, "and an error does not"
