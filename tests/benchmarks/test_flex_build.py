"""Procedures as YAML, and `flex build`: what a hostile builder says is caught by program, with stage and reason."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.corpus import each_row, table
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench import derivation
from truebench_hf.benchmarks.flexbench.build import Build, FlexBuild, FlexBuildOptions
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
from truebench_hf.study.outcome import Outcome

PROCEDURES, CASES = table(__file__, "flex_procedures"), table(__file__, "flex_build")
TEXT, GOOD = CASES["text"], CASES["good"]
THREE = GOOD["criteria"]["dimensions"]
# The beginning of the prompt of each stage.
STAGES = {
    "You take an": "segments", "You turn the": "criteria", "You verify": "verify", "You mend": "modify",
    "You settle": "granularity", "You make plain": "dependencies", "You find the": "logic",
}  # fmt: skip


def builder(asked: list[str] | None = None, **answers: Any) -> Any:
    """A builder that answers well, but for the stages in `answers`: an answer each, or one after the other."""
    left = {stage: list(queue) for stage, queue in answers.items() if isinstance(queue, list)}

    def reply(messages: Sequence[dict[str, str]]) -> str:
        stage = next(name for start, name in STAGES.items() if messages[0]["content"].startswith(start))
        if asked is not None:
            asked.append(stage)
        queue = left.get(stage)
        answer = (queue.pop(0) if len(queue) > 1 else queue[0]) if queue else answers.get(stage, GOOD[stage])
        return answer if isinstance(answer, str) else json.dumps(answer)

    return as_spec(reply)


def outcome_of(tmp_path: Path, spec: Any, text: str = TEXT, **more: Any) -> Outcome[list[Build]]:
    (tmp_path / "travel.md").write_text(text, encoding="utf-8")
    options = FlexBuildOptions(instruction=str(tmp_path / "travel.md"), builder=spec, out=str(tmp_path / "out"), **more)
    return FlexBuild(options).run()


def built(tmp_path: Path, spec: Any, **more: Any) -> Build:
    (build,) = outcome_of(tmp_path, spec, **more).value
    return build


def test_a_good_builder_gives_a_procedure_that_people_edit(tmp_path: Path) -> None:
    asked: list[str] = []
    spec, file = builder(asked), tmp_path / "out" / "procedure.yaml"
    build = built(tmp_path, spec)
    stages = ["segments", "criteria", "verify", "granularity", "dependencies", "logic"]
    assert asked == stages
    procedure = load(str(tmp_path / "out"))
    assert procedure == build.procedure
    assert (procedure.opening, procedure.structure) == ("Hello, travel desk.", {"d1": None, "d2": "d1", "d3": "d1"})
    assert procedure.dimensions[1].exclusive == procedure.dimensions[2].exclusive != ""
    assert procedure.segments[2].text == "Not needed:  remind of the form.", "as the instruction has it"
    assert build.uncovered == pytest.approx(len('Opening:"Hello,traveldesk."--') / len("".join(TEXT.split())))
    kept = json.loads((tmp_path / "out" / "stages.jsonl").read_text())["stages"]
    assert [stage["stage"] for stage in kept] == stages
    edited = file.read_text().replace("remind of the form?", "remind of the expense form?")
    for content in (edited.encode(), edited.encode("utf-16")):
        file.write_bytes(content)
        with pytest.raises(UserError, match="was edited since"):
            built(tmp_path, spec)


@pytest.mark.parametrize(("stage", "answer", "reason", "kept"), CASES["insists"], ids=[c[2] for c in CASES["insists"]])
def test_what_a_hostile_builder_insists_on_is_left_out_named_and_counted(
    tmp_path: Path, stage: str, answer: Any, reason: str, kept: list[int]
) -> None:
    if answer == "many":
        answer = {"dimensions": [{"question": f"Is {'a' * n} asked?", "segments": ["s1"]} for n in range(1, 32)]}
    asked: list[str] = []
    outcome = outcome_of(tmp_path, builder(asked, **{stage: answer}), rounds=2)
    (build,) = outcome.value
    assert asked.count(stage) == 3, "told what is wrong, and asked again twice; or verified once and after two rounds"
    assert any(where == stage and re.search(reason, what) for where, what in build.failures), build.failures
    assert any(re.search(f"at {stage}: .*{reason}", note) for note in outcome.notes)
    row = json.loads((tmp_path / "out" / "stages.jsonl").read_text())
    assert (outcome.incomplete, row["complete"]) == (1, False)
    assert stage in [failure["stage"] for failure in row["failures"]]
    assert [len(build.procedure.dimensions), len(build.procedure.segments)] == kept
    assert not (tmp_path / "out" / "procedure.yaml").exists()
    draft = tmp_path / "out" / "draft.yaml"
    assert draft.exists() == (kept[1] > 0)
    assert not draft.exists() or f"# failed at {stage}: " in draft.read_text(encoding="utf-8")


def test_one_group_that_fails_costs_no_other_and_one_set_may_stand_by_itself(tmp_path: Path) -> None:
    groups = [{"base": "d1", "branches": ["d2"]}, {"base": "d9", "branches": ["d3"]}]
    build = built(tmp_path, builder(logic={"groups": groups}))
    assert build.procedure.structure == {"d1": None, "d2": "d1", "d3": None}
    assert build.failures == [("logic", "group 2: its base 'd9' is no dimension")]
    (other := tmp_path / "other").mkdir()
    build = built(
        other, builder(logic={"groups": [{"base": "d1", "branches": ["d2", "d3"], "exclusive": ["d2", "d3"]}]})
    )
    assert build.procedure.dimensions[1].exclusive == build.procedure.dimensions[2].exclusive != ""


@pytest.mark.parametrize("case", PROCEDURES, ids=[case["id"] for case in PROCEDURES])
def test_branches_in_branches_exceptions_tables_and_tools_in_four_languages(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    dimensions = [entry | {"segments": [f"s{number}" for number in entry["segments"]]} for entry in case["dimensions"]]
    answers = {
        "segments": {"opening": case["opening"], "segments": case["segments"]}, "logic": {"groups": case["groups"]},
        **{stage: {"dimensions": dimensions} for stage in ("criteria", "modify", "granularity", "dependencies")},
    }  # fmt: skip
    build = built(tmp_path, builder(**answers), text=case["instruction"])
    assert (build.failures, [entry.check for entry in build.procedure.dimensions if entry.check]) == ([], [])
    assert {name: base for name, base in build.procedure.structure.items() if base is not None} == case["structure"]
    assert build.procedure.opening == case["opening"]
    assert load(str(tmp_path / "out")) == build.procedure


def test_what_was_wrong_is_told_and_the_temperature_rises(tmp_path: Path) -> None:
    requests: list[Any] = []
    spec = builder(segments=[{"segments": ["Ask for a motel."]}, GOOD["segments"]])
    complete = spec.value.complete

    async def noted(request: Any) -> Any:
        requests.append(request)
        return await complete(request)

    spec.value.complete = noted
    assert built(tmp_path, spec).complete
    assert [round(request.sampling.temperature, 1) for request in requests[:3]] == [0.0, 0.2, 0.0]
    assert "is no excerpt of the instruction" in requests[1].messages[-1].content


def test_dimensions_are_mended_until_they_are_complete(tmp_path: Path) -> None:
    asked: list[str] = []
    lacking = GOOD["verify"] | {"missing": ["the form"]}
    build = built(tmp_path, builder(asked, verify=[lacking, lacking, GOOD["verify"]]))
    assert (build.complete, build.rounds) == (True, 2)
    assert asked[2:7] == ["verify", "modify", "verify", "modify", "verify"]


def test_a_batch_builds_every_instruction_of_a_file(tmp_path: Path) -> None:
    instructions = [{"id": "a/1", "instruction": TEXT}, {"id": "b", "instruction": "Nothing here."}]
    rows, out = write_jsonl(tmp_path / "rows.jsonl", instructions), tmp_path / "out"
    outcome = FlexBuild(FlexBuildOptions(instruction=rows, builder=builder(), out=str(out))).run()
    assert outcome.incomplete == 1
    assert load(str(out / "procedures" / "a-1")).id == "a-1"
    assert "b stopped at segments" in outcome.notes[0]
    for content, words in ((b"", "is empty"), (b"\xff\xfe", "save it as UTF-8"), (None, "a text file, travel-desk")):
        file = tmp_path / f"{words[:5]}.md"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(UserError, match=words):
            FlexBuild(FlexBuildOptions(instruction=str(file), builder=builder(), out=str(tmp_path / "none"))).run()


@pytest.mark.parametrize(("question", "wording", "cites", "fault", "why"), CASES["invents"])
def test_a_program_finds_what_a_dimension_invents(
    tmp_path: Path, question: str, wording: str, cites: str, fault: str, why: str
) -> None:
    """What stands in another segment is in doubt: marked, and no failure."""
    first = {"question": question, "script": wording, "segments": [cites]}
    build = built(tmp_path, builder(criteria={"dimensions": [first, *THREE]}))
    criteria = next(stage["dimensions"] for stage in build.stages if stage["stage"] == "criteria")
    doubts = [dimension["check"] for dimension in criteria if dimension["check"]]
    faults = [what for stage, what in build.failures if stage == "criteria"]
    assert fault in "; ".join(faults + doubts) if fault else not faults + doubts, (why, faults, doubts)
    assert bool(doubts) == ("stands in the instruction" in fault)


def test_what_other_segments_hold_is_marked_and_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The builder is told twice and insists; everything has been paid for by then. One that puts it right is unmarked."""
    doubtful = {"dimensions": [THREE[0] | {"question": "Is the limit of 140 euros named?"}, *THREE[1:]]}
    asked: list[str] = []
    spec, out = builder(asked, **dict.fromkeys(("criteria", "granularity", "dependencies"), doubtful)), tmp_path / "out"
    outcome = outcome_of(tmp_path, spec)
    assert (outcome.incomplete, asked.count("criteria")) == (0, 3)
    assert "Dimensions marked `check:` with the reason, to be looked at: 1 (the first: travel d1)." in outcome.notes
    assert [bool(dimension.check) for dimension in load(str(out)).dimensions] == [True, False, False]
    talks = write_jsonl(tmp_path / "talks.jsonl", [{"id": "1", "messages": [{"role": "user", "content": "Hi"}]}])
    done = command_here(
        capsys, "flex", "score", str(out), "--conversations", talks, "--judge", script(tmp_path / "judge.json", [])
    )
    assert "Dimensions marked `check:`" in done.stdout, done.stderr
    (other := tmp_path / "other").mkdir()
    build = built(other, builder(criteria=[doubtful, GOOD["criteria"]]))
    assert (build.complete, any(dimension.check for dimension in build.procedure.dimensions)) == (True, False)


def test_small_damage_is_repaired(tmp_path: Path) -> None:
    text = json.dumps(GOOD["criteria"])
    for damaged in (f"```json\n{text[:-1]},}}\n```", f"Here it is: {text}", text.replace('", "', '"\n"')):
        (place := tmp_path / str(len(damaged))).mkdir()
        assert built(place, builder(criteria=damaged)).complete, damaged


_KEYS = ["segments", "dimensions", "question", "segment", "groups", "base", "branches", "exclusive", *GOOD["verify"]]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=8) | st.sampled_from(["d1", "s1", "Needed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)
_ANSWER = st.dictionaries(st.sampled_from(["segments", "dimensions", "groups", *GOOD["verify"], "opening"]), _JSON)
_SEGMENTS = derivation.read_segments(GOOD["segments"], TEXT).value.segments  # type: ignore[union-attr]
_DIMENSIONS = derivation.read_dimensions(GOOD["criteria"], _SEGMENTS, TEXT).value or ()


@settings(max_examples=60, deadline=None)
@given(_ANSWER)
def test_no_answer_breaks_a_reader(answer: Any) -> None:
    """What it lets through is a procedure that can be read back."""
    segments = derivation.read_segments(answer, TEXT).value
    assert segments is not None
    assert all(segment.text in TEXT for segment in segments.segments)
    derivation.read_findings(answer, _DIMENSIONS)
    for reading in (derivation.read_dimensions(answer, _SEGMENTS, TEXT), derivation.read_logic(answer, _DIMENSIONS)):
        if reading.value:
            assert is_read_back(Procedure("any", TEXT, reading.value, _SEGMENTS))


# Procedures: read, checked, written back


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


def is_read_back(procedure: Procedure) -> bool:
    with TemporaryDirectory() as place:
        file = Path(place) / "procedure.yaml"
        file.write_bytes(as_yaml(procedure).encode("utf-8"))
        return read_procedure(file) == procedure


@settings(max_examples=30, deadline=None)
@example("호텔")
@example("0\x85")
@example("x\r\ny")
@example("x  lead\n trail  \n")
@example("x\x85\u2028\t\n")
@example("# no comment\n")
@given(st.text(min_size=1).filter(str.strip))
def test_any_text_is_read_back(text: str) -> None:
    dimensions = (Dimension("d1", f"Is {text}?"),)
    assert is_read_back(replace(HOTEL, instruction=text, segments=(), dimensions=dimensions))
