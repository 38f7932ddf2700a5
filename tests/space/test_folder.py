"""The folder that is pushed to the Hub as a Space."""

from __future__ import annotations

import json
import urllib.request
from importlib import metadata
from pathlib import Path

import yaml

from tests.space.conftest import serving

FOLDER = Path(__file__).parents[2] / "space"


def test_the_header_fits_what_is_installed() -> None:
    header = yaml.safe_load((FOLDER / "README.md").read_text("utf-8").split("---")[1])
    assert header["sdk"] == "gradio"
    assert header["sdk_version"] == metadata.version("gradio")
    assert (FOLDER / header["app_file"]).is_file()
    assert len(header["short_description"]) <= 60  # the Hub refuses longer ones


def test_it_starts_from_its_variables_and_tells_nothing_of_the_machine(tmp_path: Path) -> None:
    variables = {"TRUEBENCH_MODEL": f"hf:{tmp_path}/secret/model-9B", "TRUEBENCH_RUNS": str(tmp_path)}
    process = serving([], tmp_path / "log.txt", variables, FOLDER / "app.py")
    with process as url:
        page = urllib.request.urlopen(url).read().decode()
        config = json.loads(urllib.request.urlopen(f"{url}config").read())
        libraries = Path(f"/proc/{process.pid}/maps").read_text()
    assert "libtorch" not in libraries, "no model engine is loaded before the playground is used"
    assert "hf:model-9B" in page
    assert str(tmp_path) not in page + json.dumps(config)
