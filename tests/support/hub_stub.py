"""A loopback stub of the Hugging Face Hub for the real huggingface_hub, datasets and evaluate clients.

    with HubStub() as hub:
        subprocess.run([...], env={**os.environ, **hub.env, "HF_HOME": fresh_folder})
        hub.files("dataset", "user/name"), hub.commits(...), hub.pulls(...), hub.requests

`hub.env` also makes the stub the proxy for every other host, and it refuses them all: nothing leaves the machine.
Every file is "regular" (sent inside the commit); there is no LFS and no xet.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from aiohttp import web

from . import hub_api, loopback
from .hub_store import HubError, Pull, Repo


@dataclass(frozen=True)
class Logged:
    """One request the stub answered; `path` is decoded, `token` says whether an Authorization header came."""

    method: str
    path: str
    query: str
    status: int
    token: bool


@dataclass
class _Failure:
    method: str
    path: str
    status: int
    times: int


class HubStub(loopback.Server):
    """The stub; as a context manager it serves from a background thread. Repository types: model, dataset, space."""

    def __init__(self) -> None:
        self.requests: list[Logged] = []
        self.repos: hub_api.Repos = {}
        self.card_errors: list[str] = []  # what the validator of cards says of every README.md, and refuses it
        self.card_warnings: list[str] = []  # what it only remarks
        self._failures: list[_Failure] = []

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
        return hub_api.find(self.repos, repo_type, repo_id)

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
        self._failures.append(_Failure(method_substring, path_substring, status, times))

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
            call = hub_api.Call(request.method, segments, parse_qs(query), request.headers, body)
            if segments == ["api", "validate-yaml"]:
                response = self._card()
            else:
                response = hub_api.answer(self.repos, self.url, call)
        except HubError as error:
            response = hub_api.reply({"error": str(error)}, error.status)
            response.headers["X-Error-Message"] = str(error)
            if error.code:
                response.headers["X-Error-Code"] = error.code
        self.requests.append(Logged(request.method, path, query, response.status, "Authorization" in request.headers))
        return response

    def _card(self) -> web.Response:
        told = {"errors": self.card_errors, "warnings": self.card_warnings}
        found = {kind: [{"message": text} for text in texts] for kind, texts in told.items()}
        return hub_api.reply(found, 400 if self.card_errors else 200)

    def _fail_if_asked(self, method: str, path: str) -> None:
        for failure in self._failures:
            if failure.times > 0 and failure.method in method and failure.path in path:
                failure.times -= 1
                raise HubError(failure.status, f"injected failure {failure.status}")
