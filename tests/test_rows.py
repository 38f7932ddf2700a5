"""Where rows may stand and what data may be called: every way leads to the same rows, or to one line that helps."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts import data as facts
from truebench_hf.benchmarks.facts.answers import load_labelled as labelled
from truebench_hf.benchmarks.flexbench.procedure import load_procedures, read_decompositions, read_instructions
from truebench_hf.benchmarks.rubric_eval import data as rubrics
from truebench_hf.benchmarks.rubric_eval.data import items, mini_rows
from truebench_hf.benchmarks.rubric_eval.funnel import read_trusted
from truebench_hf.benchmarks.tick.checklists import InstructionOptions, load_records
from truebench_hf.benchmarks.tick.pairs import load_pairs
from truebench_hf.benchmarks.truebench import data as truebench
from truebench_hf.data.answer_files import read_answers
from truebench_hf.data.checklist_rows import load_entries
from truebench_hf.data.row_files import downloaded, one_split, splits
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export
from truebench_hf.loaders.rubric_eval import row as published

ROWS = [{"id": str(n), "prompt": f"Say {n}.", "criteria": ["is short", "is kind"]} for n in range(3)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in the form that the name of the file says, as the usual libraries write it."""
    from datasets import Dataset

    table = Dataset.from_list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    forms = {".jsonl": table.to_json, ".json": table.to_json, ".csv": table.to_csv, ".parquet": table.to_parquet}
    forms[path.suffix](path)
    return path


def ids(data: str | Path) -> list[str]:
    return [instance.id for instance in truebench.load(str(data))]


def rows_of(data: str | Path) -> list[dict[str, Any]]:
    return [dict(record.row) for record in splits(str(data))[""]]


# --- sets by their names --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every built-in set, as `truebench data build` writes them."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("truebench_mini", "rubric_mini", "facts_mini", "checklists_mini", "flexbench"):
        export(name, folder / name)
    return folder


def tick(data: str) -> list[str]:
    options = InstructionOptions(data=data, out="x")
    return [str(record.row.get("messages") or record.row.get("input")) for record in load_records(options)]


READERS: dict[str, tuple[str, Callable[[str], list[Any]]]] = {
    # command: (a set that fits it, what it reads of it)
    "run": ("truebench_mini", truebench.load),
    "metaeval": ("rubric_mini", lambda data: [item.id for item in rubrics.items(rubrics.load(data))]),
    "facts run": ("facts_mini", facts.load),
    "tick": ("checklists_mini", tick),
    "checklist validate": ("checklists_mini", lambda data: [entry.id for entry in load_entries(data)]),
    "pairwise": ("checklists_mini", lambda data: [pair.id for pair in load_pairs(data)[0]]),
    "flex build": ("flexbench", lambda data: [build.instruction for build in read_instructions(data)[0]]),
    "flex decompose": ("flexbench", lambda data: [read_decompositions(data)[0], load_procedures([data])]),
}


@pytest.mark.parametrize("command", READERS)
def test_a_set_by_its_name_and_as_it_is_built(command: str, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, read = READERS[command]
    monkeypatch.chdir(built.parent)
    monkeypatch.setenv("HOME", str(built.parent))
    wanted = read(name)
    assert wanted
    place = f"{built.name}/{name}/" if command.startswith("flex") else f"~/{built.name}/{name}"
    assert read(place) == wanted, place
    monkeypatch.chdir(built)
    assert read(name) == wanted, "a built folder of that name goes before the name, and holds the same"


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("run", "rubric_mini", "does not fit this command .`truebench metaeval` reads it.; give mini, truebench_mini, truebench, v0"),
        ("metaeval", "rubric_eval", "is built first: run `truebench data build rubric_eval --source FILE --out DIR`, and give DIR; give"),
        ("facts run", "checklists_mini", "does not fit this command .*; give facts_mini, open"),
        ("tick", "rubric_mini", "does not fit this command .*; give checklists_mini, truebench_mini, truebench, a path"),
        ("pairwise", "mini", "mini: does not fit this command .*; give checklists_mini, llmbar:FOLDER"),
        ("tick", "healthbench:x.jsonl", "first: run `truebench data build training --source healthbench:x.jsonl --out DIR`, and give DIR"),
        ("flex build", "facts_mini", "does not fit this command .*; give flexbench, a text file, travel-desk"),
        ("run", "a/" + "x" * 5000, r"x…: no such file; give mini"),
    ],
)  # fmt: skip
def test_a_set_that_does_not_fit(command: str, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        READERS[command][1](name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_other_names_of_the_same() -> None:
    assert truebench.load("mini") == truebench.load("truebench_mini")
    assert len(labelled("facts_mini")) == 36
    assert tick("mini") == tick("truebench_mini")
    assert load_entries("mini", []) == load_entries("truebench_mini", [])
    assert len(tick("truebench_mini")) == len(load_entries("truebench_mini", [])) + 8 == 36, "8 have several turns"


# --- folders and the Hub --------------------------------------------------------------------------------------------


def test_what_save_to_disk_writes(tmp_path: Path) -> None:
    from datasets import ClassLabel, Dataset, DatasetDict

    table = Dataset.from_list(ROWS)
    table.save_to_disk(tmp_path / "one")
    DatasetDict({"train": table.select([0]), "test": table}).save_to_disk(tmp_path / "several")
    assert ids(tmp_path / "one") == ids(tmp_path / "several") == ["0", "1", "2"]
    classes = table.add_column("language", ["en"] * 3).cast_column("language", ClassLabel(names=["de", "en"]))
    classes.save_to_disk(tmp_path / "classes")
    assert {instance.language for instance in truebench.load(str(tmp_path / "classes"))} == {"en"}
    (tmp_path / "one" / "data-00000-of-00001.arrow").write_bytes(b"no arrow")
    with pytest.raises(UserError, match="cannot be read as what save_to_disk writes"):
        ids(tmp_path / "one")


CARD = "---\nconfigs:\n- config_name: x\n  data_files:\n  - split: test\n    path: deep/**/*.jsonl\n---\n# A set\n"


def test_a_checkout_of_the_hub(tmp_path: Path) -> None:
    files = {
        "plain/data/test-00000-of-00001.jsonl": LINES, "plain/README.md": b"# No card", "plain/.gitattributes": b"*.parquet",
        "plain/eval.yaml": b"name: x", "card/deep/down/mine.jsonl": LINES, "card/other.jsonl": b"no JSON",
        "card/README.md": CARD.encode(), "empty/README.md": CARD.encode(),
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert ids(tmp_path / "plain") == ids(tmp_path / "card") == ["0", "1", "2"], "a card goes before names of files"
    with pytest.raises(UserError, match=r"its README\.md does not say where the rows are"):
        ids(tmp_path / "empty")
    two = CARD.replace("---\n#", "- config_name: y\n  data_files: a.jsonl\n---\n#")
    (tmp_path / "card" / "README.md").write_text(two, encoding="utf-8")
    with pytest.raises(UserError, match=r"does not say where the rows are.*available configs: .'x', 'y'"):
        ids(tmp_path / "card")


def test_a_folder_of_splits(tmp_path: Path) -> None:
    write(tmp_path / "test-00000-of-00002.parquet", ROWS[:1])
    write(tmp_path / "test-00001-of-00002.parquet", ROWS[1:])
    write(tmp_path / "train.jsonl", ROWS[:1])
    (tmp_path / "dataset_infos.json").write_text("{}")
    (tmp_path / "dev.jsonl").write_text("")
    by_split = {split: [str(record.row["id"]) for record in rows] for split, rows in splits(str(tmp_path)).items()}
    assert by_split == {"dev": [], "test": ["0", "1", "2"], "train": ["0"]}
    assert [row["split"] for row in rubrics.load(str(tmp_path))] == ["test"] * 3 + ["train"]


def test_files_named_by_languages_are_read_together(tmp_path: Path) -> None:
    for name, row in (("en", {}), ("de", {"language": "gsw"}), ("pt_BR", {"lang": ""})):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"prompt": f"Say {name}.", "criteria": ["is short"], **row}])
    instances = [(instance.language, instance.turns[0].prompt) for instance in truebench.load(str(tmp_path))]
    assert instances == [("gsw", "Say de."), ("en", "Say en."), ("pt_BR", "Say pt_BR.")]
    assert [entry.language for entry in load_entries(str(tmp_path))] == ["gsw", "en", "pt_BR"]
    write_jsonl(tmp_path / "notes.jsonl", [{"prompt": "Say notes.", "criteria": ["is short"]}])
    with pytest.raises(UserError, match="no split test, and more than one other: de, en, notes, pt_BR; give the file"):
        truebench.load(str(tmp_path))


def test_what_is_not_there_is_said_with_what_can_be_given(tmp_path: Path) -> None:
    for name in ("absent.jsonl", "org/absent.csv", "absent.txt.gz", "a b/c", ""):
        with pytest.raises(UserError, match=r"--it .*: no such file; give mini, a path .JSONL, .* or a Hub id"):
            splits(name, ("mini",), "--it")
    (tmp_path / "samples").mkdir()
    with pytest.raises(UserError, match=r"holds no \.jsonl, .*; give a file, or such a folder"):
        splits(str(tmp_path / "samples"))
    with pytest.raises(
        UserError, match=r"--data http://127\.0\.0\.1:9/a\.jsonl: is an address; save it to a file first"
    ):
        list(one_split("http://127.0.0.1:9/a.jsonl"))
    with pytest.raises(UserError, match=r"--source hf://datasets/a/b/c.jsonl: cannot be had"):
        downloaded(["hf://datasets/a/b/c.jsonl"], "--source")


@pytest.mark.parametrize("option", ["--out", "--model"])
def test_a_text_that_is_too_long_for_a_path_is_no_traceback(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {
        "--data": write_jsonl(tmp_path / "data.jsonl", ROWS[:1]), "--model": script(tmp_path / "model.json", []),
        "--judge": script(tmp_path / "judge.json", []), "--out": str(tmp_path / "out"),
        option: {"--model": "scripted:"}.get(option, "") + "x" * 5000,
    }  # fmt: skip
    done = command_here(capsys, "run", *(word for pair in options.items() for word in pair))
    assert (done.returncode, "Traceback" in done.stderr, "too long" in done.stderr) == (2, False, True), done.stderr


# --- files and streams ----------------------------------------------------------------------------------------------


def test_packed_files(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(LINES))
    (tmp_path / "rows.jsonl.bz2").write_bytes(bz2.compress(LINES))
    (tmp_path / "ROWS.JSONL.XZ").write_bytes(lzma.compress(LINES))
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    table = write(tmp_path / "rows.csv", [{**row, "criteria": "is short\nis kind"} for row in ROWS])
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    for path in sorted(tmp_path.iterdir()):
        assert ids(path) == ["0", "1", "2"], path.name
    (tmp_path / "folder").mkdir()
    (tmp_path / "rows.jsonl.gz").rename(tmp_path / "folder" / "test.jsonl.gz")
    assert ids(tmp_path / "folder") == ["0", "1", "2"]
    for name, content, message in (
        ("torn.jsonl.gz", gzip.compress(LINES)[:-12], "torn.jsonl.gz: cannot be read: "),
        ("plain.jsonl.gz", LINES, "plain.jsonl.gz: cannot be read: Not a gzipped file"),
        ("bad.jsonl.xz", b"no", "bad.jsonl.xz: cannot be read: "),
        ("all.zip", b"PK", r"all.zip: give a file of type \.jsonl, .* packed \(\.gz, \.bz2, \.xz\)"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=message) as caught:
            ids(tmp_path / name)
        assert "\n" not in str(caught.value)


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The path of a pipe through which this content comes, as `<(...)` of a shell is."""
    reading, writing = os.pipe()

    def feed() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=feed)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()


TABLE = b"id,prompt\n1,Greet.\n2,Part.\n"
FORMS = {
    "lines": LINES, "a byte order mark": b"\xef\xbb\xbf" + LINES, "a list": json.dumps(ROWS).encode(), "a table": TABLE,
    "tabs": TABLE.replace(b",", b"\t"), "semicolons": TABLE.replace(b",", b";"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_has_no_ending_is_read_by_what_it_holds(form: str, tmp_path: Path) -> None:
    wanted = (
        [{"id": "1", "prompt": "Greet."}, {"id": "2", "prompt": "Part."}] if FORMS[form].startswith(b"id") else ROWS
    )
    (tmp_path / "rows").write_bytes(FORMS[form])
    assert rows_of(tmp_path / "rows") == wanted
    with piped(FORMS[form]) as path:
        rows = one_split(path)
        assert [dict(record.row) for record in rows] == wanted
        assert [dict(record.row) for record in rows] == wanted, "read again from what came"


def test_answers_of_a_piped_table_that_are_empty_are_none_and_nothing_is_an_error() -> None:
    with piped(b"id,response\n1,\n2,Bye.\n") as path:
        assert [row.answers for row in read_answers(Path(path))] == [None, "Bye."]
    with piped(b"") as path, pytest.raises(UserError, match=f"{path}: holds no records"):
        list(one_split(path))


@pytest.mark.slow
def test_standard_input(tmp_path: Path) -> None:
    rows = [row | {"criteria": ["at most 3 words"]} for row in ROWS]
    command = [
        sys.executable, "-m", "truebench_hf", "run", "--data", "/dev/stdin", "--model", script(tmp_path / "model.json", []),
        "--judge", "none", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    content = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(command, input=content, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out" / "judgments.jsonl").read_text().splitlines()) == 3


# --- labels ---------------------------------------------------------------------------------------------------------

LABELS: dict[str | None, list[Any]] = {
    "yes": ["yes", "Yes", " YES ", True, "True", "true", 1, "1", 1.0, "1.0"],
    "no": ["no", "NO", False, "False", "false", 0, "0", 0.0, "0.0"],
    None: [None, "", " "],
    "refused": ["unknown", "maybe", "y", "pass", "none", "nan", 2, 0.5, -1, float("nan"), ["yes"], {}],
}


@pytest.mark.parametrize(
    ("value", "wanted"), [(value, wanted) for wanted, values in LABELS.items() for value in values]
)
def test_every_reader_of_labels_takes_and_refuses_the_same(tmp_path: Path, value: Any, wanted: str | None) -> None:
    first = mini_rows()[0]
    row = first | {"label": value}
    path = write_jsonl(tmp_path / "rows.jsonl", [row, first | {"id": "other", "label": "no"}])
    readers: list[Callable[[], Any]] = [
        lambda: items([row])[0].rubrics[0].label,
        lambda: (read_trusted(path).get(row["id"]) or (None,))[0],
        lambda: published(Record("here", row))["label"],
    ]
    for read in readers if wanted else readers[:2]:
        if wanted != "refused":
            assert read() == wanted
            continue
        with pytest.raises(
            UserError, match="field 'label' must be yes or no, true or false, 1 or 0, or empty"
        ) as caught:
            read()
        assert "\n" not in str(caught.value)
    if wanted is None:
        with pytest.raises(UserError, match="field 'label' must be yes or no in this set"):
            published(Record("here", row))


def test_an_empty_cell_of_the_only_column_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('response\na\n" "\n')
    assert rows_of(tmp_path / "rows.csv") == [{"response": "a"}, {"response": " "}]


def test_a_named_pipe_is_read_by_its_ending(tmp_path: Path) -> None:
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TABLE))
    writer.start()
    assert [row["prompt"] for row in rows_of(pipe)] == ["Greet.", "Part."]
    writer.join()
