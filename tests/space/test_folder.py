"""The folder that is pushed to the Hub as a Space."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import venv
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from tests.space.conftest import serving
from truebench_hf.hub.push import stage_space

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "space"


def test_the_header_fits_what_is_installed() -> None:
    header = yaml.safe_load((FOLDER / "README.md").read_text("utf-8").split("---")[1])
    assert header["sdk"] == "gradio"
    assert header["sdk_version"] == metadata.version("gradio")
    assert (FOLDER / header["app_file"]).is_file()
    assert len(header["short_description"]) <= 60  # the Hub refuses longer ones


@pytest.mark.slow
def test_it_starts_from_its_variables_and_tells_nothing_of_the_machine(tmp_path: Path) -> None:
    variables = {"TRUEBENCH_MODEL": f"hf:{tmp_path}/secret/model-9B", "TRUEBENCH_RUNS": str(tmp_path)}
    process = serving([], tmp_path / "log.txt", variables, FOLDER / "app.py")
    with process as url:
        page = urllib.request.urlopen(url).read().decode()
        playground = json.dumps(json.loads(urllib.request.urlopen(f"{url}config").read()))
        libraries = Path(f"/proc/{process.pid}/maps").read_text()
    assert "libtorch" not in libraries, "no model engine is loaded before the playground is used"
    assert "model-9B" in playground
    assert str(tmp_path) not in page + playground


def test_the_requirements_are_those_of_the_library_with_its_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = (FOLDER / "requirements.txt").read_text("utf-8").splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert listed == sorted({*project["dependencies"], *extras["space"], *extras["local"]})


@pytest.mark.slow
def test_the_requirements_install_without_any_other_file_of_the_folder(tmp_path: Path) -> None:
    """As the Hub's builder does it: requirements.txt alone is there, and the rest of the folder comes later."""
    shutil.copy(FOLDER / "requirements.txt", tmp_path)
    # Everything in it is installed here, so that no index is needed; what is on no index would have to be here by name.
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--dry-run", "--no-deps", "-r", "requirements.txt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "truebench" not in done.stdout


@pytest.mark.slow
def test_the_pushed_folder_carries_the_library(tmp_path: Path) -> None:
    stage_space(FOLDER, tmp_path / "app")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    (site,) = environment.glob("lib/python*/site-packages")
    # The installed dependencies behind its own packages; a link to this checkout is not followed from there.
    installed = dict.fromkeys(path for path in sys.path if Path(path).name == "site-packages")
    (site / "dependencies.pth").write_text("\n".join(installed) + "\n")
    probe = "import importlib.util as u; print(u.find_spec('truebench_hf'))"
    code = (
        "import app, truebench_hf\n"
        "from truebench_hf.data.catalogue import entry\n"
        "from truebench_hf.benchmarks.truebench.data import load\n"
        "print(app.from_environment().model, entry('truebench').name, len(load('mini')), truebench_hf.__file__)"
    )
    shown = [
        subprocess.run(
            [environment / "bin" / "python", "-c", program], cwd=cwd, capture_output=True, text=True, timeout=120
        )
        for program, cwd in ((probe, environment), (code, tmp_path / "app"))
    ]
    assert shown[0].stdout.strip() == "None", "the environment has the library of its own: the test would prove nothing"
    assert shown[1].returncode == 0, shown[1].stderr
    package = tmp_path / "app" / "truebench_hf" / "__init__.py"
    assert shown[1].stdout.split() == ["smollm2", "truebench", "36", str(package)]
