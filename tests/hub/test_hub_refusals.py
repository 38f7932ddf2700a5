"""What users can put right before or at the Hub: one line, without a token, and nothing is pushed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden.compare import EXPECTED
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import command_here
from truebench_hf.loaders.export import export

PUSH = "data push {mini} --repo-id org/mini"
RESULTS = "publish results {runs}/whole"
AT_THE_HUB: list[tuple[str, dict[str, str], str]] = [
    # the command, the environment, and what is told
    (PUSH, {"HF_TOKEN": ""}, "run `hf auth login` or set HF_TOKEN"),
    (PUSH, {"HF_HUB_OFFLINE": "1"}, "unset it to reach the Hub"),
    (PUSH, {"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hub cannot be reached"),
    ("publish results --check org/nothing", {"HF_ENDPOINT": "http://127.0.0.1:9"}, "org/nothing: the Hub cannot be reached"),
]  # fmt: skip
BEFORE: list[tuple[str, str]] = [
    (RESULTS, "say where to"),
    (f"{RESULTS} --model-repo org/m", "--dataset"),
    (f"{RESULTS} --repo-id org/r --public --private", "--public and --private: say one of the two"),
    (f"{RESULTS} --dataset org/d --model-repo org/m --private", "--private is about the results data set"),
    (f"{RESULTS} --repo-id results", "ORGANISATION/NAME"),
    (f"{RESULTS} --repo-id org/a--b", "--repo-id org/a--b: Cannot have --"),  # the Hub's own rules hold as well
    (f"{RESULTS} --repo-id org/r --dataset org/d --model-repo m", "--model-repo m: write it as"),
    ("publish results {runs}/absent --repo-id org/r", "absent: no such folder; give the --out of a finished run"),
    ("publish results {runs}/judge.json --repo-id org/r", r"judge\.json: is no run folder"),
    ("publish results {runs} --repo-id org/r", "is no run folder"),  # what holds the runs
    (
        f"publish results {EXPECTED / 'metaeval' / 'out'} --model-repo org/good --dataset org/set",
        "into a results data set",
    ),
]


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export("truebench_mini", tmp_path_factory.mktemp("built") / "mini").folder


@pytest.mark.parametrize(("line", "told"), BEFORE)
def test_refused_in_a_line_before_the_hub_is_asked(
    runs: Path, line: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret_token")
    done = command_here(capsys, *line.format(runs=runs).split())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(told, done.stderr)
    assert "very_secret" not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("line", "env", "told"), AT_THE_HUB, ids=[told for *_, told in AT_THE_HUB])
def test_a_hub_that_cannot_be_asked_is_one_line_and_nothing_is_sent(
    hub: HubStub, client: HubClient, mini: Path, line: str, env: dict[str, str], told: str
) -> None:
    done = client.truebench(*line.format(mini=mini).split(), **{"HF_TOKEN": "hf_very_secret_token"} | env)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(told, done.stderr)
    assert "very_secret" not in done.stdout + done.stderr
    assert hub.repos == {}


CHECK = "publish results --check org/results"


@pytest.mark.parametrize(
    ("line", "method", "path", "status", "told"),
    [
        (PUSH, "POST", "/repos/create", 403, "refused with 403: .*use a token that may do so"),
        pytest.param(CHECK, "GET", "org/results", 500, "refused with 500: injected failure 500; try", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_what_the_hub_refuses_is_one_line(
    hub: HubStub, client: HubClient, mini: Path, line: str, method: str, path: str, status: int, told: str
) -> None:
    hub.fail_next(method, path, status, times=20)
    done = client.truebench(*line.format(mini=mini).split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert re.search(told, done.stderr)
