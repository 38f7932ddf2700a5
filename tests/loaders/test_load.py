"""`truebench_hf.load` as people who know `datasets` use it, and the exported folder: whole or absent."""

from __future__ import annotations

import gzip
import http.server
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from truebench_hf.data.catalogue import MINI, RELEASES
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export, manifest
from truebench_hf.loaders.prepare import corpus

LINES = MINI.read_text(encoding="utf-8").splitlines(keepends=True)


def indices(table: Any) -> list[int]:
    return [row["index"] for row in table]


@pytest.mark.parametrize(
    ("split", "wanted"),
    [
        ("test", range(1, 37)), ("test[:10]", range(1, 11)), ("test[-2:]", (35, 36)), ("test[:25%]", range(1, 10)),
        ("test[:1]+test[3:5]", (1, 4, 5)), ("all", range(1, 37)),
    ],
)  # fmt: skip
def test_slices(split: str, wanted: Any) -> None:
    assert indices(truebench_hf.load("mini", split=split)) == list(wanted)


def test_a_slice_of_a_configuration_is_one_of_its_rows() -> None:
    whole = indices(truebench_hf.load("mini", "de", "test"))
    assert len(whole) == 3
    assert indices(truebench_hf.load("mini", "de", "test[:2]")) == whole[:2]
    assert indices(truebench_hf.load("truebench", "multi_turn", "test[1:]", source=MINI)) == indices(
        truebench_hf.load("mini", "multi_turn", "test")
    )[1:]  # fmt: skip


@pytest.mark.parametrize("config", ["de", "DE", "German"])
def test_a_configuration_by_any_of_its_names(config: str) -> None:
    assert {row["language"] for row in truebench_hf.load("mini", config, "test")} == {"DE"}
    assert {row["language"] for row in truebench_hf.load("truebench", config, "test", source=MINI)} == {"DE"}


def test_other_names_of_configurations() -> None:
    assert len(truebench_hf.load("mini", "Multi-Turn", "test")) == len(truebench_hf.load("mini", "multi turn", "test"))
    assert len(truebench_hf.load("mini", "default", "test")) == 36
    assert truebench_hf.load("rubric_mini", "Multi-turn", "easy")[0]["instruction_category"] == "multi_turn"
    assert len([code for code in corpus("truebench").OTHER.values() if len(code) == 2]) == 12


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"config": "germany"}, "unknown configuration 'germany': choose from all, ko"),
        ({"split": "tset"}, "unknown split 'tset': did you mean test"),
        ({"split": "train[:10]"}, "unknown split 'train'"),
        ({"split": "test[:x]"}, r"split 'test\[:x\]': .*write it as test\[:10\]"),
        ({"split": "test[:10]", "streaming": True}, "a stream has no slices; give the split, and .take.10."),
        ({"split": "train", "streaming": True}, "unknown split 'train'"),
        ({"source": MINI}, "truebench_mini is built in and takes no source="),
        ({"columns": {"index": "id"}}, "truebench_mini is built in and takes no column"),
    ],
)
def test_what_does_not_go_is_one_line(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        truebench_hf.load("mini", **given)
    assert "\n" not in str(caught.value)


def test_a_stream(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = tmp_path / "rows.jsonl.gz"
    source.write_bytes(gzip.compress("".join([*LINES, "no JSON\n"]).encode()))
    stream = truebench_hf.load("truebench", split="test", source=source, streaming=True)
    assert type(stream).__name__ == "IterableDataset"
    assert indices(stream.take(2)) == [1, 2]
    assert caplog.messages == [], "not yet known"
    with caplog.at_level(logging.WARNING):
        assert list(stream) == truebench_hf.load("mini", split="test").to_list()
    assert "1 of 37 rows cannot be used and are left out" in caplog.messages[0]
    assert len(list(truebench_hf.load("truebench", "german", "test", source=source, streaming=True))) == 3
    splits = truebench_hf.load("rubric_mini", streaming=True)
    assert next(iter(splits["hard"]))["rubric_index"] == 0


def test_columns_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(
        json.dumps({"question": "Say a.", "checks": ["is a"], "prompt": "x"}), encoding="utf-8"
    )
    columns = {"prompt": "question", "criteria": "checks"}
    (row,) = truebench_hf.load("truebench", split="test", source=tmp_path / "own.jsonl", columns=columns)
    assert (row["input"], row["criteria"]) == (["Say a."], [["is a"]])
    with pytest.raises(UserError, match="unknown column 'promt': did you mean prompt"):
        truebench_hf.load("truebench", source=tmp_path / "own.jsonl", columns={"promt": "question"})


def test_a_build_is_the_same_each_time(tmp_path: Path) -> None:
    folders = [export("facts_mini", tmp_path / name).folder for name in ("a", "b")]
    assert _contents(folders[0]) == _contents(folders[1])


def test_an_earlier_build_is_replaced_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    export("truebench_mini", out)
    export("facts_mini", out)
    assert manifest(out)["name"] == "facts_mini"
    assert [path.name for path in (out / "data").iterdir()] == ["all"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_build_outlives_a_failure(tmp_path: Path) -> None:
    out, bad = tmp_path / "out", tmp_path / "bad.jsonl"
    export("facts_mini", out)
    before = _contents(out)
    bad.write_text("{}\n")
    with pytest.raises(UserError, match="line 1"):
        export("truebench", out, source=str(bad))
    assert _contents(out) == before


def test_what_is_no_build_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(UserError, match="holds something else"):
        export("facts_mini", tmp_path / "mine")
    with pytest.raises(UserError, match="is a file"):
        export("facts_mini", tmp_path / "mine" / "notes.txt")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep me"


def test_the_manifest_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    export("truebench", tmp_path / "out", source=str(MINI))
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir() if path.is_file())
    assert str(MINI.parent) not in text
    assert str(tmp_path) not in text


@pytest.fixture
def served(tmp_path: Path) -> str:
    """The URL of a folder with the sample in it, served on this machine."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "sample.jsonl").write_bytes(MINI.read_bytes())

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path / "www"))  # type: ignore[arg-type]

        def log_message(self, format: str, *arguments: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_url_is_fetched(tmp_path: Path, served: str) -> None:
    built = export("truebench", tmp_path / "out", source=f"{served}/sample.jsonl")
    assert built.facts.rows["all"] == {"test": 36}
    with pytest.raises(UserError, match=r"absent.jsonl: cannot be had: "):
        export("truebench", tmp_path / "other", source=f"{served}/absent.jsonl")


def test_the_url_of_a_release_is_checked(tmp_path: Path, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release's own address, here one that serves something else, must give the pinned contents."""
    from dataclasses import replace

    url = f"{served}/sample.jsonl"
    monkeypatch.setitem(RELEASES, "v0.6.1", replace(RELEASES["v0.6.1"], url=url))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for source in (url, "v0.6.1", None):
        with pytest.raises(UserError, match="does not have the pinned SHA-256"):
            export("truebench", tmp_path / "out", source=source)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


MOST = 150  # megabytes above what the imports take
_CHILD = """
import sys
from pathlib import Path
from truebench_hf.loaders import export
from truebench_hf.loaders.prepare import corpus
def held(what):
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(what)).split()[1]) / 1024
name, source, out = sys.argv[1:]
corpus(name)
import pyarrow.parquet, datasets.arrow_writer, huggingface_hub.repocard
before = held("VmRSS")
built = export.export(name, Path(out), source=source)
print(before, held("VmHWM"), sum(built.facts.rows[corpus(name).PREPARED[0]].values()))
"""


def row(name: str, number: int) -> dict[str, Any]:
    """A row of some kilobytes with ids of its own."""
    text = f"{number} " + "many words of a request that is long " * 40
    if name == "truebench":
        languages, kinds = ("KO", "EN", "DE"), ("Editing", "Reasoning", "Safety")
        kind = {"language": languages[number % 3], "category": kinds[number % 2], "sub_category": f"s{number % 7}"}
        return {"index": number, **kind, "turns": 1, "criteria": [["is short", "is kind"]], "input": [text]}
    columns = ("system_instruction", "user_request", "context_document", "full_prompt")
    return dict.fromkeys(columns, "Only the text.") | {"context_document": text * 60}  # a document of 90 kB


def measured(name: str, megabytes: int, folder: Path) -> float:
    """The megabytes that a build of so many takes at most above its imports."""
    source = folder / "rows.jsonl"
    rows = 0
    with source.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes << 20:
            file.write(json.dumps(row(name, rows)) + "\n")
            rows += 1
    told = [sys.executable, "-c", _CHILD, name, str(source), str(folder / "out")]
    before, peak, built = map(float, subprocess.run(told, capture_output=True, text=True, check=True).stdout.split())
    assert built == rows
    return peak - before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truebench", "facts_grounding"])
def test_a_build_holds_a_few_rows_at_a_time(tmp_path: Path, name: str) -> None:
    assert measured(name, 40, tmp_path) < MOST
