"""Where data may stand, and what it may be called: every way leads to the same rows, or to one line that helps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.facts import data as facts
from truebench_hf.benchmarks.facts.answers import load_labelled as labelled
from truebench_hf.benchmarks.flexbench.procedure import load_procedures, read_decompositions, read_instructions
from truebench_hf.benchmarks.rubric_eval import data as rubrics
from truebench_hf.benchmarks.tick.checklists import InstructionOptions, load_records
from truebench_hf.benchmarks.tick.pairs import load_pairs
from truebench_hf.benchmarks.truebench import data as truebench
from truebench_hf.data.checklist_rows import load_entries
from truebench_hf.data.row_files import downloaded, one_split, splits
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every built-in set, as `truebench data build` writes them."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("truebench_mini", "rubric_mini", "facts_mini", "checklists_mini", "flexbench"):
        export(name, folder / name)
    return folder


def asked(data: str) -> list[str]:
    options = InstructionOptions(data=data, out="x")
    return [str(record.row.get("messages") or record.row.get("input")) for record in load_records(options)]


READERS: dict[str, tuple[str, Callable[[str], list[Any]]]] = {
    # command: (a set that fits it, what it reads of it)
    "run": ("truebench_mini", truebench.load),
    "metaeval": ("rubric_mini", lambda data: [item.id for item in rubrics.items(rubrics.load(data))]),
    "facts run": ("facts_mini", facts.load),
    "tick": ("checklists_mini", asked),
    "checklist validate": ("checklists_mini", lambda data: [entry.id for entry in load_entries(data)]),
    "pairwise": ("checklists_mini", lambda data: [pair.id for pair in load_pairs(data)[0]]),
    "flex build": ("flexbench", lambda data: [one.instruction for one in read_instructions(data)[0]]),
    "flex decompose": ("flexbench", lambda data: [read_decompositions(data)[0], load_procedures([data])]),
}


@pytest.mark.parametrize("command", READERS)
def test_a_set_by_its_name_and_as_it_is_built(command: str, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, read = READERS[command]
    monkeypatch.chdir(built.parent)
    monkeypatch.setenv("HOME", str(built.parent))
    wanted = read(name)
    assert wanted
    for given in (f"./{built.name}/{name}", f"{built.name}/{name}/", str(built / name)):
        assert read(given) == wanted, given
    if not command.startswith("flex"):
        assert read(f"~/{built.name}/{name}") == wanted
    monkeypatch.chdir(built)
    assert read(name) == wanted, "a built folder of that name goes before the name, and holds the same"


@pytest.mark.parametrize(
    ("command", "name", "told"),
    [
        (
            "run", "rubric_mini",
            "rubric_mini: does not fit this command .`truebench metaeval` reads it.; give mini, truebench_mini, truebench, v0",
        ),
        ("run", "facts_mini", "does not fit this command .`truebench facts run` reads it.; give mini"),
        ("metaeval", "truebench_mini", "does not fit this command .`truebench run` reads it.; give rubric_mini, a path"),
        (
            "metaeval", "rubric_eval",
            "is built first: run `truebench data build rubric_eval --source FILE --out DIR`, and give DIR; give",
        ),
        ("facts run", "checklists_mini", "does not fit this command .*; give facts_mini, open"),
        ("tick", "rubric_mini", "does not fit this command .*; give checklists_mini, truebench_mini, truebench, a path"),
        ("tick", "flexbench", "does not fit this command; give checklists_mini"),
        ("checklist validate", "facts_mini", "give checklists_mini, truebench_mini"),
        ("pairwise", "mini", "mini: does not fit this command .*; give checklists_mini, llmbar:FOLDER"),
        ("flex decompose", "facts_mini", "does not fit this command .*; give flexbench"),
        (
            "tick", "healthbench:x.jsonl",
            "built first: run `truebench data build training --source healthbench:x.jsonl --out DIR`, and give DIR; give",
        ),
        ("flex build", "facts_mini", "does not fit this command .*; give flexbench, a text file, travel-desk"),
    ],
)  # fmt: skip
def test_a_set_that_does_not_fit(command: str, name: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        READERS[command][1](name)
    assert "\n" not in str(caught.value)


def test_other_names_of_the_same() -> None:
    assert truebench.load("mini") == truebench.load("truebench_mini")
    assert len(labelled("facts_mini")) == 36
    assert asked("mini") == asked("truebench_mini")
    assert load_entries("mini", []) == load_entries("truebench_mini", [])
    assert len(asked("truebench_mini")) == len(load_entries("truebench_mini", [])) + 8 == 36, "8 have several turns"


ROWS = [{"id": str(n), "prompt": f"Say {n}.", "criteria": ["is short", "is kind"]} for n in range(3)]
IDS = ["0", "1", "2"]


def as_jsonl(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def ids(data: str | Path) -> list[str]:
    return [instance.id for instance in truebench.load(str(data))]


def test_what_save_to_disk_writes(tmp_path: Path) -> None:
    from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

    table = Dataset.from_list(ROWS)
    table.save_to_disk(tmp_path / "one")
    DatasetDict({"train": table.select([0]), "test": table}).save_to_disk(tmp_path / "several")
    assert ids(tmp_path / "one") == ids(tmp_path / "several") == IDS
    labelled = Features({"id": Value("string"), "prompt": Value("string"), "criteria": List(Value("string")),
                         "language": ClassLabel(names=["de", "en"])})  # fmt: skip
    Dataset.from_list([{**row, "language": 1} for row in ROWS], features=labelled).save_to_disk(tmp_path / "classes")
    assert {instance.language for instance in truebench.load(str(tmp_path / "classes"))} == {"en"}
    (tmp_path / "one" / "data-00000-of-00001.arrow").write_bytes(b"no arrow")
    with pytest.raises(UserError, match="cannot be read as what save_to_disk writes"):
        ids(tmp_path / "one")


CARD = "---\nconfigs:\n- config_name: {name}\n  data_files:\n{files}---\n# A set\n"


def test_a_checkout_of_the_hub(tmp_path: Path) -> None:
    plain, told, other = tmp_path / "plain", tmp_path / "told", tmp_path / "other"
    as_jsonl(plain / "data" / "test-00000-of-00001.jsonl")
    (plain / "README.md").write_text("# No card", encoding="utf-8")
    (plain / ".gitattributes").write_text("*.parquet filter=lfs", encoding="utf-8")
    (plain / "eval.yaml").write_text("name: x", encoding="utf-8")
    assert ids(plain) == IDS
    as_jsonl(told / "deep" / "down" / "mine.jsonl")
    (told / "other.jsonl").write_text("no JSON", encoding="utf-8")
    files = "  - split: test\n    path: deep/**/*.jsonl\n"
    (told / "README.md").write_text(CARD.format(name="x", files=files), encoding="utf-8")
    assert ids(told) == IDS, "what the card says goes before names of files"
    other.mkdir()
    (other / "README.md").write_text(CARD.format(name="x", files=files), encoding="utf-8")
    with pytest.raises(UserError, match=r"its README\.md does not say where the rows are"):
        ids(other)
    two = CARD.format(name="x", files=files).replace("---\n#", "- config_name: y\n  data_files: a.jsonl\n---\n#")
    (told / "README.md").write_text(two, encoding="utf-8")
    with pytest.raises(UserError, match=r"does not say where the rows are.*available configs: .'x', 'y'"):
        ids(told)


def test_packed_files(tmp_path: Path) -> None:
    import bz2
    import lzma

    from datasets import Dataset

    whole = as_jsonl(tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(whole))
    (tmp_path / "rows.jsonl.bz2").write_bytes(bz2.compress(whole))
    (tmp_path / "ROWS.JSONL.XZ").write_bytes(lzma.compress(whole))
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    table = Dataset.from_list([{**row, "criteria": "is short\nis kind"} for row in ROWS])
    table.to_csv(tmp_path / "rows.csv")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    table.to_parquet(tmp_path / "rows.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert ids(path) == IDS, path.name
    (tmp_path / "folder").mkdir()
    (tmp_path / "rows.jsonl.gz").rename(tmp_path / "folder" / "test.jsonl.gz")
    assert ids(tmp_path / "folder") == IDS
    for name, content, told in (
        ("torn.jsonl.gz", gzip.compress(whole)[:-12], "torn.jsonl.gz: cannot be read: "),
        ("plain.jsonl.gz", whole, "plain.jsonl.gz: cannot be read: Not a gzipped file"),
        ("bad.jsonl.xz", b"no", "bad.jsonl.xz: cannot be read: "),
        ("all.zip", b"PK", r"all.zip: give a file of type \.jsonl, .* packed \(\.gz, \.bz2, \.xz\)"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=told) as caught:
            ids(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_rows_can_be_read_again(tmp_path: Path) -> None:
    found = splits(str(as_jsonl(tmp_path / "rows.jsonl")))[""]
    assert [record.row for record in found] == [record.row for record in found] == ROWS


def test_the_address_of_nothing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        UserError, match=r"--data http://127\.0\.0\.1:9/a\.jsonl: is an address; save it to a file first"
    ) as caught:
        list(one_split("http://127.0.0.1:9/a.jsonl"))
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match=r"--source hf://datasets/a/b/c.jsonl: cannot be had"):
        downloaded(["hf://datasets/a/b/c.jsonl"], "--source")


def test_files_named_by_languages_are_read_together(tmp_path: Path) -> None:
    for name, row in (("en", {}), ("de", {"language": "gsw"}), ("pt_BR", {"lang": ""})):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"prompt": f"Say {name}.", "criteria": ["is short"], **row}])
    found = truebench.load(str(tmp_path))
    assert [(one.language, one.turns[0].prompt) for one in found] == [
        ("gsw", "Say de."), ("en", "Say en."), ("pt_BR", "Say pt_BR."),
    ]  # fmt: skip
    assert [one.language for one in load_entries(str(tmp_path))] == ["gsw", "en", "pt_BR"]
    write_jsonl(tmp_path / "notes.jsonl", [{"prompt": "Say notes.", "criteria": ["is short"]}])
    with pytest.raises(
        UserError, match="has no split test, and more than one other: de, en, notes, pt_BR; give the file"
    ):
        truebench.load(str(tmp_path))
