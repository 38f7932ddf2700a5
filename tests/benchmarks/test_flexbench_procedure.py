"""Procedures as YAML: read, checked, written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.corpus import each_row
from truebench_hf.benchmarks.flexbench.procedure import (
    Dimension,
    Procedure,
    Segment,
    as_yaml,
    built_in,
    load,
    read_procedure,
)
from truebench_hf.errors import UserError

HOTEL = Procedure(
    "hotel", "Ask about a hotel: 'Needed?'\nIf needed, name the limit.\n",
    (Dimension("d1", "Asks it?", ("s1",)), Dimension("d2", "Names it? 호텔", ("s2",), "needed", "d1", "need", "140 euros"),
     Dimension("d3", "Alone?", base="")),
    (Segment("s1", "Ask about a hotel"), Segment("s2", "If needed, name the limit.")), "Hotels", "EN", "Hello: #1",
)  # fmt: skip


@each_row(__file__, "flexbench_procedure", "wrong")
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    file, text = tmp_path / "procedure.yaml", as_yaml(HOTEL)
    assert old in text
    file.write_text(text.replace(old, new, 1) if old else new, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        read_procedure(file)


def test_a_procedure_is_found_in_its_folder_by_its_file_and_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "procedure.yaml").write_text(as_yaml(HOTEL), encoding="utf-8")
    assert load(str(tmp_path)) == load(str(tmp_path / "procedure.yaml")) == HOTEL
    assert load("travel-desk").structure["td-02"] == "td-01"
    assert (len(built_in()), sum(len(procedure.dimensions) for procedure in built_in().values())) == (9, 72)
    with pytest.raises(UserError, match=r"flex build .*travel-desk"):
        load(str(tmp_path / "no"))


@example("호텔")
@example("0\x85")
@example("x\r\ny")
@example("x  lead\n trail  \n")
@example("x\x85\u2028\t\n")
@example("# no comment\n")
@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_read_back(text: str) -> None:
    procedure = replace(HOTEL, instruction=text, segments=(), dimensions=(Dimension("d1", f"Is {text}?"),))
    with TemporaryDirectory() as place:
        file = Path(place) / "procedure.yaml"
        file.write_bytes(as_yaml(procedure).encode("utf-8"))
        assert read_procedure(file) == procedure


def test_texts_of_several_lines_stand_as_they_are() -> None:
    text = as_yaml(replace(HOTEL, instruction="one 호텔\ntwo: three\n\n- four"))
    assert "instruction: |-\n  one 호텔\n  two: three\n\n  - four\n" in text
