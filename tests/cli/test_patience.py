"""A server without hope ends every command in one line, and no library says anything before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.bad_server import Bad, BadServer, reply
from tests.support.runs import command, command_here, script

NO_CREDIT = Bad(reply(402, {"error": {"message": "no money left"}}), "open")
AT_MODEL = ("--model", "openai:m", "--model-arg", "base_url=URL")
AT_JUDGE = ("--judge", "openai:j", "--judge-base-url", "URL")


@pytest.mark.parametrize(
    "arguments",
    [
        ("metaeval", "--data", "rubric_mini", *AT_JUDGE, "--paradigms", "decision,rubric"),
        *(
            pytest.param(arguments, marks=pytest.mark.slow)
            for arguments in (
                ("study", "generate", "--data", "mini", *AT_MODEL),
                ("metaeval", "--data", "rubric_mini", *AT_JUDGE, "--paradigms", "checklist"),
                ("study", "calibrate", "--data", "rubric_mini", *AT_JUDGE),
                ("study", "contrast", "--data", "rubric_mini", "--writer", "openai:w", "--writer-base-url", "URL", *AT_JUDGE),
                (
                    "study", "arbitrate", "--data", "rubric_mini", *AT_JUDGE, "--judge", "openai:b", "--meta-judge", "openai:c",
                    "--meta-judge", "openai:d", "--meta-judge-base-url", "URL",
                ),
                ("study", "taxonomy", "--data", "rubric_mini", *AT_MODEL, "--no-tsne"),
            )
        ),
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)  # fmt: skip
def test_every_command_gives_up(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with BadServer(lambda n, text: NO_CREDIT if n >= 8 else None) as server:
        given = [part.replace("URL", server.url) for part in arguments]
        done = command_here(capsys, *given, "--out", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert "no credit: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert server.posts >= 8


@pytest.mark.slow
def test_retries_of_the_hubs_client_are_no_lines_before_ours(tmp_path: Path) -> None:
    """It tries five times within 23 seconds where nobody listens, and would print two lines for each."""
    model = script(tmp_path / "model.json", [])
    done = command(
        "run", "--data", "org/nothing", "--model", model, "--judge", model, "--out", str(tmp_path / "out"),
        HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path / "home"), HF_HUB_OFFLINE="0",
    )  # fmt: skip
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("truebench: --data org/nothing: ")
