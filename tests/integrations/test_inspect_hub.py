"""`inspect eval hf/ORG/truebench`: inspect's own loader reads the data set and its eval.yaml from a loopback Hub."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT
from truebench_hf.data.catalogue import entry
from truebench_hf.loaders.card import eval_yaml
from truebench_hf.loaders.export import export

pytestmark = pytest.mark.slow
INSPECT = ROOT / ".venv-inspect" / "bin"
LOG = (
    "import json, sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1]); "
    "print(json.dumps([[s.input, s.target, s.metadata, s.scores['model_graded_qa'].value] for s in log.samples]))"
)


def test_inspect_evaluates_the_data_set_by_its_name_on_the_hub(tmp_path: Path) -> None:
    """Only releases get an eval.yaml, and none is here: the built-in set stands in, with the file that a release gets."""
    if not INSPECT.exists():
        pytest.skip("sh tests/integrations/setup.sh")
    built = export("truebench_mini", tmp_path / "built")
    (built.folder / "eval.yaml").write_text(eval_yaml(entry("truebench"), built.facts.rows), encoding="utf-8")
    with HubStub() as hub, OpenAIServer() as server:
        code = f"""
            import huggingface_hub
            where = {{"repo_id": "org/tb", "repo_type": "dataset"}}
            huggingface_hub.create_repo(**where)
            huggingface_hub.upload_folder(**where, folder_path={str(built.folder)!r})
            print(1)
        """
        assert HubClient(hub, tmp_path).value(code) == 1
        # The grader finds all criteria met but where one asks for exactly five lines.
        server.add_scripts(
            [
                {"contains": "exactly five lines", "message": {"content": "GRADE: I"}},
                {"contains": "GRADE", "message": {"content": "GRADE: C"}},
                {"contains": "", "message": {"content": "An answer."}},
            ]
        )
        home = {"HF_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
        done = subprocess.run(
            [str(INSPECT / "inspect"), "eval", "hf/org/tb/ko", "--model", "openai/gpt-4.1-mini", "--display", "none",
             "--log-dir", str(tmp_path / "logs")],
            cwd=tmp_path, env={**os.environ, **hub.env, **home}, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (tmp_path / "logs").glob("*.eval")
    read = subprocess.run([str(INSPECT / "python"), "-c", LOG, str(log)], capture_output=True, text=True, timeout=120)
    samples = json.loads(read.stdout)
    assert len(samples) == built.facts.rows["ko"]["test"]
    assert all(metadata["language"] == "KO" and target.startswith("- ") for _, target, metadata, _ in samples)
    five = sum("exactly five lines" in target for _, target, _, _ in samples)
    assert five
    assert Counter(value for *_, value in samples) == {"I": five, "C": len(samples) - five}
