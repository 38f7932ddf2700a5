"""What libraries print of their own troubles does not stand before the command's one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs import command, script


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


@pytest.mark.slow
def test_ray_says_nothing_before_us(tmp_path: Path) -> None:
    """12 s. Its log level was told in a line of its own, and so was whatever an address refused."""
    model = script(tmp_path / "model.json", [], {"reply": "Blue."})
    (tmp_path / "mine.jsonl").write_text('{"prompt": "Name a colour.", "criteria": ["has one word"]}\n')
    run = ("run", "--data", str(tmp_path / "mine.jsonl"), "--model", model, "--judge", "none", "--engine", "ray")
    done = command(*run, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "logging.cc" not in done.stderr
    refused = command(*run, "--ray-address", "127.0.0.1:9", "--out", str(tmp_path / "other"))
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert line.startswith("truebench: ")
