"""A loopback stub of the Hugging Face Hub for the real huggingface_hub, datasets and evaluate clients.

    with HubStub() as hub:
        subprocess.run([...], env={**os.environ, **hub.env, "HF_HOME": fresh_folder})
        hub.files("dataset", "user/name"), hub.commits(...), hub.pulls(...), hub.requests

`hub.env` also makes the stub the proxy for every other host, and it refuses them all: nothing leaves the machine.
Every file is "regular" (sent inside the commit); there is no LFS and no xet. Errors and headers are those the clients' code
looks at; what they do not look at is left out.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from aiohttp import web

from . import loopback
from .hub_store import Blob, Commit, HubError, Pull, Repo, blob

Json = dict[str, Any]
Repos = dict[tuple[str, str], Repo]  # by (repo_type, repo_id)

PREFIX = {"model": "", "dataset": "datasets/", "space": "spaces/"}
PLURAL = {"models": "model", "datasets": "dataset", "spaces": "space"}
# The words that follow a repository's name under /api: they tell `gpt2/revision/main` from `user/name`.
VERBS = {"revision", "tree", "preupload", "commit", "discussions", "paths-info"}
PAGE = 10  # pull requests of a page
DATE = "2026-01-01T00:00:00.000Z"
AUTHOR = {"name": "tester"}


@dataclass(frozen=True)
class Logged:
    """One request the stub answered; `path` is decoded, `token` says whether an Authorization header came."""

    method: str
    path: str
    query: str
    status: int
    token: bool


class HubStub(loopback.Server):
    """The stub; as a context manager it serves from a background thread. Repository types: model, dataset, space."""

    def __init__(self) -> None:
        self.requests: list[Logged] = []
        self.repos: Repos = {}
        self.card_errors: list[str] = []  # what the validator of cards says of every README.md, and refuses it
        self.card_warnings: list[str] = []  # what it only remarks
        self._failures: list[tuple[str, str, int]] = []

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://{loopback.HOST}:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """Environment for a client's process, to lay over the present one. HF_HOME is for the caller to add."""
        offline = dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE"), "0")
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), self.url) | {
            "no_proxy": "127.0.0.1,localhost"
        }
        return {
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": "stub-token",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",  # otherwise datasets and evaluate ask a fixed outside host
            **offline,
            **proxies,
            **{name.upper(): value for name, value in proxies.items()},
        }

    def repo(self, repo_type: str, repo_id: str) -> Repo:
        """The stored repository (its `private`, `sdk`, `refs`); HubError if there is none."""
        return find(self.repos, repo_type, repo_id)

    def files(self, repo_type: str, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        """Path to contents at a revision."""
        return {path: item.data for path, item in self.repo(repo_type, repo_id).head(revision).files.items()}

    def commits(self, repo_type: str, repo_id: str, revision: str = "main") -> list[str]:
        """Commit messages, oldest first; every repository starts with "initial commit"."""
        return [commit.message for commit in self.repo(repo_type, repo_id).history(revision)]

    def pulls(self, repo_type: str, repo_id: str) -> list[Pull]:
        """Pull requests in order of their numbers."""
        return list(self.repo(repo_type, repo_id).pulls)

    def fail_next(self, method_substring: str, path_substring: str, status: int, times: int = 1) -> None:
        """Answer the next `times` requests whose method and decoded path contain these with `status`, undone.

        The clients repeat some requests by themselves after 408, 429, 500, 502, 503 and 504.
        """
        self._failures += [(method_substring, path_substring, status)] * times

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        raw, _, query = request.raw_path.partition("?")
        path = unquote(raw)
        segments = [unquote(segment) for segment in raw.strip("/").split("/")]
        try:
            if request.method == "CONNECT" or not raw.startswith("/"):
                raise HubError(502 if request.method == "CONNECT" else 404, "the stub is no way to other hosts")
            body = await request.content.read()
            self._fail_if_asked(request.method, path)
            call = Call(request.method, segments, parse_qs(query), request.headers, body)
            response = self._card() if segments == ["api", "validate-yaml"] else answer(self.repos, self.url, call)
        except HubError as error:
            response = reply({"error": str(error)}, error.status)
            response.headers["X-Error-Message"] = str(error)
            if error.code:
                response.headers["X-Error-Code"] = error.code
        self.requests.append(Logged(request.method, path, query, response.status, "Authorization" in request.headers))
        return response

    def _card(self) -> web.Response:
        remarks = {"errors": self.card_errors, "warnings": self.card_warnings}
        listed = {kind: [{"message": text} for text in texts] for kind, texts in remarks.items()}
        return reply(listed, 400 if self.card_errors else 200)

    def _fail_if_asked(self, method: str, path: str) -> None:
        for failure in self._failures:
            if failure[0] in method and failure[1] in path:
                self._failures.remove(failure)
                raise HubError(failure[2], f"injected failure {failure[2]}")


@dataclass(frozen=True)
class Call:
    """A request taken apart; a quoted slash stays inside its segment, as in `refs%2Fpr%2F1`."""

    method: str
    segments: list[str]
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Json:
        value: Json = json.loads(self.body or b"{}")
        return value

    def flag(self, name: str) -> bool:
        return self.query.get(name, ["0"])[0].casefold() in ("1", "true")


def find(repos: Repos, repo_type: str, repo_id: str) -> Repo:
    """The repository of that type and name; HubError if there is none."""
    try:
        return repos[repo_type, repo_id]
    except KeyError:
        raise HubError(404, f"Repository not found: {repo_id}", "RepoNotFound") from None


def reply(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(value).encode(), status=status, content_type="application/json")


def answer(repos: Repos, url: str, call: Call) -> web.Response:
    """Route a request: the Hub's own endpoints, a repository's, or a file."""
    match call.segments:
        case ["api", "repos", "create"]:
            _need_token(call)
            return _create(repos, url, call.json())
        case ["api", ("models" | "datasets" | "spaces") as plural, *rest]:
            size = 1 if len(rest) < 2 or rest[1] in VERBS else 2
            repo, rest = find(repos, PLURAL[plural], "/".join(rest[:size])), rest[size:]
            if call.method in ("POST", "PUT") and rest[:1] != ["paths-info"]:
                _need_token(call)
                return _write(url, repo, rest, call)
            return _read(repo, rest, call)
        case segments:
            return _file(repos, segments, call)


def _need_token(call: Call) -> None:
    if "Authorization" not in call.headers:
        raise HubError(401, "Invalid username or password.")


def _create(repos: Repos, url: str, body: Json) -> web.Response:
    repo_type = body.get("type") or "model"
    repo_id = f"{body['organization']}/{body['name']}"
    answer = {"url": f"{url}/{PREFIX[repo_type]}{repo_id}", "name": repo_id}
    if (repo_type, repo_id) in repos:  # the url is needed here too: exist_ok=True reads it from the 409
        return reply(answer | {"error": "You already created this repo"}, 409)
    private = body.get("visibility") == "private" or bool(body.get("private"))  # hub 2 sends the first, 1.x the second
    repos[repo_type, repo_id] = Repo(repo_type, repo_id, private, body.get("sdk"))
    return reply(answer)


def _read(repo: Repo, rest: Sequence[str], call: Call) -> web.Response:
    """What a repository is asked: info, tree, pull requests."""
    match rest:
        case [] | ["revision", _]:
            return reply(_info(repo, repo.head(rest[1] if rest else "main")))
        case ["tree", revision, *path]:
            return reply(_tree(repo.head(revision), "/".join(path), call.flag("recursive")))
        case ["paths-info", revision]:
            wanted = parse_qs(call.body.decode()).get("paths", [])
            entries = _tree(repo.head(revision), "", recursive=True)
            return reply([entry for entry in entries if entry["path"] in wanted])
        case ["discussions"]:
            start = PAGE * int(call.query.get("p", ["0"])[0])
            pulls = [_discussion(repo, pull) for pull in reversed(repo.pulls)]
            return reply({"discussions": pulls[start : start + PAGE], "count": len(pulls), "start": start})
    raise HubError(404, "no such endpoint")


def _write(url: str, repo: Repo, rest: Sequence[str], call: Call) -> web.Response:
    """What changes a repository: commits, pull requests."""
    match rest:
        case ["preupload", revision]:
            return reply({"files": [_preupload(repo.head(revision), item["path"]) for item in call.json()["files"]]})
        case ["commit", revision]:
            return _commit(url, repo, revision, call)
        case ["discussions", num, "status"]:
            status = repo.pull(num).status = call.json()["status"]
            event = {
                "id": "0",
                "type": "status-change",
                "createdAt": DATE,
                "author": AUTHOR,
                "data": {"status": status},
            }
            return reply({"newStatus": event})
    raise HubError(404, "no such endpoint")


def _preupload(head: Commit, path: str) -> Json:
    """Every file goes inside the commit; the oid of a file already there lets the client leave it out."""
    known = {"oid": head.files[path].oid} if path in head.files else {}
    return {"path": path, "uploadMode": "regular", "shouldIgnore": False, **known}


def _commit(url: str, repo: Repo, revision: str, call: Call) -> web.Response:
    """Apply NDJSON operations to a branch or, with create_pr, to a new pull request; all of them or none."""
    header, *operations = [json.loads(line) for line in call.body.splitlines() if line.strip()]
    head, about = repo.head(revision), header["value"]
    files = dict(head.files)
    for operation in operations:
        _apply(files, operation["key"], operation["value"])
    pull = repo.open_pull(about["summary"]) if call.flag("create_pr") else None
    commit = repo.commit(pull.ref if pull else revision, about["summary"], about.get("description", ""), files)
    home = f"{url}/{PREFIX[repo.repo_type]}{repo.repo_id}"
    extra = {"pullRequestUrl": f"{home}/discussions/{pull.num}"} if pull else {}
    return reply({"success": True, "commitOid": commit.oid, "commitUrl": f"{home}/commit/{commit.oid}", **extra})


def _apply(files: dict[str, Blob], key: str, value: Json) -> None:
    path = value["path"]
    if key == "file":
        files[path] = blob(base64.b64decode(value["content"]))
    elif key == "deletedFile":
        if files.pop(path, None) is None:
            raise HubError(400, f"A file to delete does not exist: {path}")
    else:
        raise HubError(400, f"the stub does not know the operation {key}")


def _info(repo: Repo, head: Commit) -> Json:
    return {
        "id": repo.repo_id,
        "sha": head.oid,
        "private": repo.private,
        "gated": repo.gated,
        "lastModified": DATE,
        "siblings": [{"rfilename": path} for path in sorted(head.files)],
        **({"sdk": repo.sdk} if repo.sdk else {}),
    }


def _tree(head: Commit, folder: str, recursive: bool) -> list[Json]:
    """Entries below `folder`; EntryNotFound when nothing is there, as git knows no empty folder."""
    start = folder.strip("/") + "/" if folder.strip("/") else ""
    entries: dict[str, Json] = {}
    for path, item in sorted(head.files.items()):
        if not path.startswith(start):
            continue
        parts = path[len(start) :].split("/")
        for depth in range(1, len(parts)):
            name = start + "/".join(parts[:depth])
            entries.setdefault(name, {"type": "directory", "path": name, "oid": blob(name.encode()).oid, "size": 0})
        entries[path] = {"type": "file", "path": path, "oid": item.oid, "size": len(item.data)}
    if start and not entries:
        raise HubError(404, f"{folder} does not exist", "EntryNotFound")
    return [entry for name, entry in entries.items() if recursive or "/" not in name[len(start) :]]


def _discussion(repo: Repo, pull: Pull) -> Json:
    return {
        "num": pull.num,
        "title": pull.title,
        "status": pull.status,
        "isPullRequest": True,
        "createdAt": DATE,
        "author": AUTHOR,
        "repo": {"name": repo.repo_id, "type": repo.repo_type},
    }


def _file(repos: Repos, segments: Sequence[str], call: Call) -> web.Response:
    """GET or HEAD /{prefix}ID/resolve/REV/PATH, whole or a byte range."""
    repo_type = PLURAL.get(segments[0], "model")
    parts = list(segments[1:] if segments[0] in PLURAL else segments)
    if "resolve" not in parts[1:3]:
        raise HubError(404, "no such page")
    at = parts.index("resolve", 1)
    repo, rest = find(repos, repo_type, "/".join(parts[:at])), parts[at + 1 :]
    if rest[:1] == ["refs"]:  # evaluate does not quote the revision
        rest = ["/".join(rest[:3]), *rest[3:]]
    if repo.gated and "Authorization" not in call.headers:
        raise HubError(401, f"Access to {repo_type} {repo.repo_id} is restricted.", "GatedRepo")
    head, path = repo.head(rest[0]), "/".join(rest[1:])
    if path not in head.files:
        raise HubError(404, f"Entry not found: {path}", "EntryNotFound")
    item = head.files[path]
    headers = {"ETag": f'"{item.oid}"', "X-Repo-Commit": head.oid, "Accept-Ranges": "bytes"}
    return _ranged(item.data, call.headers.get("Range", ""), headers)


def _ranged(data: bytes, wanted: str, headers: dict[str, str]) -> web.Response:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)
    if match is None or not (match[1] or match[2]):
        return web.Response(body=data, headers=headers)
    last = len(data) - 1
    begin = int(match[1]) if match[1] else max(0, len(data) - int(match[2]))
    end = min(int(match[2]), last) if match[1] and match[2] else last
    if begin > end:
        return web.Response(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
    return web.Response(status=206, body=data[begin : end + 1], headers=headers)
