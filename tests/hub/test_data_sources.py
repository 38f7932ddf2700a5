"""Data that stands on the Hub or the web: every address that people give leads to it, in one process against a stub."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from truebench_hf.data.catalogue import MINI
from truebench_hf.loaders.export import export

CODE = """
import json, sys
from pathlib import Path
from huggingface_hub import HfApi
import truebench_hf
from truebench_hf.benchmarks.truebench import data
from truebench_hf.errors import UserError

folder, url = sys.argv[1:]
HfApi().create_repo("user/set", repo_type="dataset")
HfApi().upload_folder(repo_id="user/set", repo_type="dataset", folder_path=folder)
hub, web = "hf://datasets/user/set", f"{url}/datasets/user/set"
found = {}

def count(name, read):
    try:
        found[name] = read()
    except UserError as error:
        found[name] = str(error)

for name in ("user/set", "user/set@main", hub, f"{hub}/data/all/test.parquet", f"{hub}/data/de", f"{hub}/raw/*.jsonl.gz",
             f"{hub}/data/all/none.parquet", f"{web}/resolve/main/data/all/test.parquet",
             f"{web}/blob/main/raw/rows.jsonl.gz"):
    name_ = name.replace(url, "URL")
    count("run " + name_, lambda: len(data.load(name)))
    count("build " + name_, lambda: len(truebench_hf.load("truebench", split="test", source=name)))
stream = lambda: len(list(truebench_hf.load("truebench", "german", "test", source=f"{hub}/raw/rows.jsonl.gz", streaming=True)))
count("stream", stream)
count("hidden", lambda: len(data.load("user/none")))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_every_address_leads_to_the_rows(client: HubClient, hub: HubStub, tmp_path: Path) -> None:
    export("truebench_mini", tmp_path / "set")
    (tmp_path / "set" / "raw").mkdir()
    (tmp_path / "set" / "raw" / "rows.jsonl.gz").write_bytes(gzip.compress(MINI.read_bytes()))
    done = client.process("-c", CODE, str(tmp_path / "set"), hub.url)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    none = "hf://datasets/user/set/data/all/none.parquet"
    for way in ("run", "build"):
        assert "cannot be had" in found.pop(f"{way} {none}")
        assert found.pop(f"{way} hf://datasets/user/set/data/de") == 3
    assert "cannot be loaded from the Hub" in found.pop("hidden")
    assert found.pop("stream") == 3
    assert found == dict.fromkeys(found, 36)
    assert len(found) == 7 * 2
    built = client.truebench("data", "build", "truebench", "--source", "user/set", "--out", tmp_path / "again")
    assert built.returncode == 0, built.stderr
    assert "36 rows in test" in built.stdout
