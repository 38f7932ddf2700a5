"""What users can put right before or at the Hub: one line, without a token, and nothing is pushed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from truebench_hf.loaders.export import export

PUSH = "data push {mini} --repo-id org/mini"
RESULTS = "publish results {runs}/whole"
CASES: list[tuple[str, dict[str, str], str]] = [
    # the command, the environment, and what is told
    (PUSH, {"HF_TOKEN": ""}, "run `hf auth login` or set HF_TOKEN"),
    (PUSH, {"HF_HUB_OFFLINE": "1"}, "unset it to reach the Hub"),
    (PUSH, {"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hub cannot be reached"),
    (RESULTS, {}, "say where to"),
    (f"{RESULTS} --model-repo org/m", {}, "--dataset"),
    (f"{RESULTS} --repo-id org/r --public --private", {}, "--public and --private: say one of the two"),
    (f"{RESULTS} --dataset org/d --model-repo org/m --private", {}, "--private is about the results data set"),
    (f"{RESULTS} --repo-id results", {}, "ORGANISATION/NAME"),
    (f"{RESULTS} --repo-id org/a--b", {}, "--repo-id org/a--b: Cannot have --"),  # the Hub's own rules hold as well
    (f"{RESULTS} --repo-id org/r --dataset org/d --model-repo m", {}, "--model-repo m: write it as"),
    (f"{RESULTS} --repo-id org/r --dataset org/d --model-repo org/m --force", {}, "over mini"),
    ("publish results {runs}/absent --repo-id org/r", {}, "absent: no such folder; give the --out of a finished run"),
    ("publish results {runs}/judge.json --repo-id org/r", {}, r"judge\.json: is no run folder"),
    ("publish results {runs} --repo-id org/r", {}, "is no run folder"),  # what holds the runs
    ("publish results --check org/nothing", {"HF_ENDPOINT": "http://127.0.0.1:9"}, "org/nothing: the Hub cannot be reached"),
]  # fmt: skip


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export("truebench_mini", tmp_path_factory.mktemp("built") / "mini").folder


@pytest.mark.parametrize(
    ("line", "env", "told"), CASES, ids=[f"{case[0].partition(' --')[2]}: {case[2]}" for case in CASES]
)
def test_refused_in_a_line_before_anything_is_sent(
    hub: HubStub, client: HubClient, mini: Path, runs: Path, line: str, env: dict[str, str], told: str
) -> None:
    words = [word.format(mini=mini, runs=runs) for word in line.split()]
    done = client.truebench(*words, **{"HF_TOKEN": "hf_very_secret_token"} | env)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(told, done.stderr)
    assert "very_secret" not in done.stdout + done.stderr
    assert hub.repos == {}
    assert hub.requests == [] or "HF_TOKEN" in env, "who has no token is told so by the Hub"


@pytest.mark.parametrize(
    ("line", "method", "path", "status", "told"),
    [
        (PUSH, "POST", "/repos/create", 403, "refused with 403: .*use a token that may do so"),
        (
            "publish results --check org/results",
            "GET",
            "org/results",
            403,
            "refused with 403: .*use a token that may do so",
        ),
        (
            "publish results --check org/results",
            "GET",
            "org/results",
            500,
            "refused with 500: injected failure 500; try",
        ),
    ],
)
def test_what_the_hub_refuses_is_one_line(
    hub: HubStub, client: HubClient, mini: Path, line: str, method: str, path: str, status: int, told: str
) -> None:
    hub.fail_next(method, path, status, times=20)
    done = client.truebench(*line.format(mini=mini).split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert re.search(told, done.stderr)
