"""Procedures as YAML: read, checked, written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truebench_hf.benchmarks.flexbench.procedure import (
    Dimension,
    Procedure,
    Segment,
    as_yaml,
    built_in,
    load,
    read_procedure,
)  # fmt: skip
from truebench_hf.errors import UserError

WHOLE = Procedure(
    "hotel", "Ask about a hotel: 'Needed?'\nIf needed, name the limit.\n",
    (Dimension("d1", "Asks it?", ("s1",)), Dimension("d2", "Names it? 호텔", ("s2",), "needed", "d1", "need", "140 euros"),
     Dimension("d3", "Alone?", base="")),
    (Segment("s1", "Ask about a hotel"), Segment("s2", "If needed, name the limit.")), "Hotels", "EN", "Hello: #1",
)  # fmt: skip


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "procedure.yaml"
    file.write_text(as_yaml(WHOLE), encoding="utf-8")
    assert read_procedure(file) == WHOLE
    assert "호텔" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("id: hotel\n", "", "missing field 'id'; the file has title"),
        ("question: Asks it?", "query: Asks it?", r"field 'dimensions\[0\].question' is needed"),
        ("text: Ask about a hotel", "text: Ask about a motel", "segment s1: is no excerpt"),
        ("base: d1", "base: d9", "d2: depends on d9, which is not there"),
        ("base: d1", "base: d2", "d2: depend on each other in a circle"),
        ("id: d2", "id: d1", "dimension d1: stands twice"),
        ("- s2", "- s7", "d2: cites segment s7"),
        ("id: hotel", "id: [", "cannot be read"),
        ("id: hotel", "id: 7", "field 'id' must be a text"),
        ("id: hotel", "id: ' '", "field 'id' must be a text that is not blank"),
        ("id: hotel\n", "- hotel\n- ", "cannot be read"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    file, text = tmp_path / "procedure.yaml", as_yaml(WHOLE)
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_procedure(file)


def test_the_built_in_procedures_keep_their_groups() -> None:
    made = built_in()
    assert len(made) == 9
    assert sum(len(one.dimensions) for one in made.values()) == 72
    assert made["travel-desk"].structure["td-02"] == "td-01"


def test_a_procedure_is_found_in_its_folder_by_its_file_and_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "procedure.yaml").write_text(as_yaml(WHOLE), encoding="utf-8")
    assert load(str(tmp_path)) == load(str(tmp_path / "procedure.yaml")) == WHOLE
    assert load("travel-desk").id == "travel-desk"
    with pytest.raises(UserError, match=r"flex build .*travel-desk"):
        load(str(tmp_path / "no"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "must be an object"), ("- a", "must be an object"), ("[" * 3000, "cannot be read")],
)
def test_files_that_hold_something_else(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "procedure.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_procedure(file)


@pytest.mark.parametrize(
    "text",
    ["one\ntwo: three\n\n- four", "a\r\nb", "  lead\n trail  \n", "\x85\u2028\t\n", "\n\n", "emoji \U0001f600\n\x1b", "# no comment\n"],
)  # fmt: skip
def test_texts_of_several_lines_are_read_back_and_plain_ones_stand_as_they_are(tmp_path: Path, text: str) -> None:
    whole = replace(WHOLE, instruction=f"x{text}", segments=(), dimensions=(Dimension("d1", f"Is {text}?"),))
    file = tmp_path / "procedure.yaml"
    file.write_text(as_yaml(whole), encoding="utf-8")
    assert read_procedure(file) == whole
    if text.startswith("one"):
        assert "instruction: |-\n  xone\n  two: three\n\n  - four\n" in as_yaml(whole)


@example("0\x85")
@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_read_back(text: str) -> None:
    whole = replace(WHOLE, instruction=text, segments=(), dimensions=(Dimension("d1", f"Is {text}?"),))
    with TemporaryDirectory() as place:
        file = Path(place) / "procedure.yaml"
        file.write_bytes(as_yaml(whole).encode("utf-8"))
        assert read_procedure(file) == whole
