"""`flex build`: what a hostile builder says is caught by program, within bounds, with stage and reason."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs import command_here, write_jsonl
from tests.support.runs import script as written
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.build import Build, FlexBuild, FlexBuildOptions
from truebench_hf.benchmarks.flexbench.procedure import load
from truebench_hf.errors import UserError
from truebench_hf.study.outcome import Outcome

PROCEDURES = yaml.safe_load(Path(__file__).with_name("flex_procedures.yaml").read_text(encoding="utf-8"))
TEXT = (
    'Opening: "Hello, travel desk."\n\nAsk whether a hotel is needed.\n- Needed: name the limit of 140 euros, open [Profile].\n'
    "- Not needed:  remind of the form.\n"
)
ASK, LIMIT, FORM = (
    "Ask whether a hotel is needed.", "Needed: name the limit of 140 euros, open [Profile].", "Not needed: remind of the form.",
)  # fmt: skip
GOOD: dict[str, Any] = {
    "segments": {"opening": "Hello, travel desk.", "segments": [ASK, LIMIT, FORM]},
    "criteria": {"dimensions": [
        {"question": "Does the generated conversation ask whether a hotel is needed?", "condition": "", "script": "", "segments": ["s1"]},
        {"question": "When a hotel is needed, does it name the limit of 140 euros?", "condition": "A hotel is needed", "segments": ["s2"]},
        {"question": "When no hotel is needed, does it remind of the form?", "condition": "No hotel is needed", "segments": ["s3"]},
    ]},
    "verify": {"missing": [], "duplicates": [], "invented": [], "unverifiable": []},
    "logic": {"groups": [{"base": "d1", "branches": ["d2", "d3"], "exclusive": [["d2", "d3"]]}]},
}  # fmt: skip
GOOD |= dict.fromkeys(("modify", "granularity", "dependencies"), GOOD["criteria"])
# The beginning of the prompt of each stage.
STAGES = {
    "You take an": "segments", "You turn the": "criteria", "You verify": "verify", "You mend": "modify",
    "You settle": "granularity", "You make plain": "dependencies", "You find the": "logic",
}  # fmt: skip


def builder(asked: list[str] | None = None, **said: Any) -> Any:
    """A builder that answers well, but for the stages in `said`: an answer each, or one after the other."""
    left = {stage: list(answers) if isinstance(answers, list) else None for stage, answers in said.items()}

    def reply(messages: Sequence[dict[str, str]]) -> str:
        stage = next(name for start, name in STAGES.items() if messages[0]["content"].startswith(start))
        if asked is not None:
            asked.append(stage)
        queue = left.get(stage)
        found = (queue.pop(0) if len(queue) > 1 else queue[0]) if queue else said.get(stage, GOOD[stage])
        return found if isinstance(found, str) else json.dumps(found)

    return as_spec(reply)


def outcome_of(tmp_path: Path, spec: Any, text: str = TEXT, **more: Any) -> Outcome[list[Build]]:
    (tmp_path / "travel.md").write_text(text, encoding="utf-8")
    options = FlexBuildOptions(instruction=str(tmp_path / "travel.md"), builder=spec, out=str(tmp_path / "out"), **more)
    return FlexBuild(options).run()


def built(tmp_path: Path, spec: Any, **more: Any) -> Build:
    (found,) = outcome_of(tmp_path, spec, **more).value
    return found


def test_a_good_builder_gives_a_procedure_that_people_edit(tmp_path: Path) -> None:
    asked: list[str] = []
    made = built(tmp_path, builder(asked))
    assert asked == ["segments", "criteria", "verify", "granularity", "dependencies", "logic"]
    read = load(str(tmp_path / "out"))
    assert read == made.procedure
    assert (read.opening, read.structure) == ("Hello, travel desk.", {"d1": None, "d2": "d1", "d3": "d1"})
    assert read.dimensions[1].exclusive == read.dimensions[2].exclusive != ""
    assert [one.text for one in read.segments][2] == "Not needed:  remind of the form.", "as the instruction has it"
    assert made.uncovered == pytest.approx(len('Opening:"Hello,traveldesk."--') / len("".join(TEXT.split())))
    stages = json.loads((tmp_path / "out" / "stages.jsonl").read_text())["stages"]
    assert [stage["stage"] for stage in stages] == asked


def test_an_edited_procedure_is_not_overwritten(tmp_path: Path) -> None:
    asked: list[str] = []
    spec = builder(asked)
    built(tmp_path, spec)
    built(tmp_path, spec)
    assert len(asked) == 6, "the ledger has it all"
    file = tmp_path / "out" / "procedure.yaml"
    file.write_text(file.read_text().replace("remind of the form?", "remind of the expense form?"))
    with pytest.raises(UserError, match="was edited since"):
        built(tmp_path, spec)
    file.write_bytes(file.read_text().encode("utf-16"))
    with pytest.raises(UserError, match="was edited since"):
        built(tmp_path, spec)


THREE = GOOD["criteria"]["dimensions"]
NOTHING, ALL = (0, 0), (3, 3)  # dimensions and segments that are kept


@pytest.mark.parametrize(
    ("stage", "answer", "reason", "kept", "why"),
    [
        ("segments", {"segments": [ASK, "Ask for a motel."]}, "'Ask for a motel.'.* is no excerpt", (0, 1), "an excerpt not in the text"),
        ("segments", {"segments": [ASK, "a hotel is needed."]}, "overlaps", (0, 1), "an overlap"),
        ("segments", {"segments": []}, "no segments", NOTHING, "none"),
        ("segments", {"opening": "Hi!", "segments": [ASK]}, "the opening .* does not stand", (0, 1), "an invented opening"),
        ("segments", "I will not.", "no JSON object", NOTHING, "no JSON"),
        ("criteria", {"dimensions": [{"question": "Is a hotel of 200 euros offered?", "segments": ["s2"]}]}, "'200', a number", (0, 3), "an invented number"),
        ("criteria", {"dimensions": [*THREE, THREE[0]]}, "dimension 4 .* asks the same as dimension 1", ALL, "a duplicate"),
        ("criteria", {"dimensions": THREE[:2]}, "segment s3 is asked about by no dimension", ALL, "one is missing"),
        ("criteria", {"dimensions": [*THREE[:2], {"question": "Is it?", "segments": ["s9"]}]}, "cites s9, which is no segment", ALL, "an unknown segment"),
        ("criteria", {"dimensions": [{"question": f"Is {'a' * n} asked?", "segments": ["s1"]} for n in range(1, 32)]}, "31 dimensions for 3 segments; give 30", (0, 3), "one too many"),
        ("criteria", {"dimensions": [{"question": "Is a limit of 14 euros named?", "segments": ["s2"]}]}, "'14', a number", (0, 3), "part of another number"),
        ("verify", {"missing": []}, "no list duplicates", ALL, "half an answer"),
        ("verify", GOOD["verify"] | {"invented": ["d7"]}, "d7 is no dimension", ALL, "an unknown dimension"),
        ("verify", GOOD["verify"] | {"missing": ["the form"]}, "not complete after 2 rounds: missing: the form", ALL, "incomplete for ever"),
        ("verify", GOOD["verify"] | {"missing": [{"segment": "the form"}]}, 'missing: {"segment": "the form"}', ALL, "missing, told in another form"),
        ("verify", GOOD["verify"] | {"duplicates": ["d1", "d2"]}, "d1 and d2 ask the same", ALL, "one pair by itself"),
        ("granularity", {"dimensions": THREE[:1]}, "left as they were: .*s2 is asked about by no dimension", ALL, "a merge that loses a demand"),
        ("dependencies", {"dimensions": THREE[::2]}, "left as they were: .*s2 is asked about by no dimension", ALL, "one is lost"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d9"]}]}, "'d9' is no dimension", ALL, "a branch on an unknown dimension"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"]}, {"base": "d2", "branches": ["d1"]}]}, "group 2: .*in a circle", ALL, "a cycle"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"]}, {"base": "d3", "branches": ["d2"]}]}, "group 2: d2 is a branch of two", ALL, "two bases"),
        ("logic", {"groups": [{"base": ["d1"], "branches": ["d2"]}]}, "base .* is no dimension", ALL, "a base that is a list"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"], "exclusive": [["d2"]]}]}, "two branches at least", ALL, "excludes nothing"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"], "exclusive": [["d2", "d3"]]}]}, "'d3' excludes others and is no branch", ALL, "a stranger"),
    ],
)  # fmt: skip
def test_what_a_hostile_builder_insists_on_is_left_out_named_and_counted(
    tmp_path: Path, stage: str, answer: Any, reason: str, kept: tuple[int, int], why: str
) -> None:
    asked: list[str] = []
    outcome = outcome_of(tmp_path, builder(asked, **{stage: answer}), rounds=2)
    (build,) = outcome.value
    assert outcome.incomplete == 1
    assert asked.count(stage) == 3, "told what is wrong, and asked again twice; or verified once and after two rounds"
    assert any(where == stage and re.search(reason, what) for where, what in build.failures), (why, build.failures)
    assert any(re.search(f"at {stage}: .*{reason}", note) for note in outcome.notes)
    row = json.loads((tmp_path / "out" / "stages.jsonl").read_text())
    assert (row["complete"], stage in [failure["stage"] for failure in row["failures"]]) == (False, True)
    assert (len(build.procedure.dimensions), len(build.procedure.segments)) == (
        kept if stage != "segments" else (len(build.procedure.dimensions), kept[1])
    )
    assert not (tmp_path / "out" / "procedure.yaml").exists()
    draft = tmp_path / "out" / "draft.yaml"
    assert draft.exists() == (kept != NOTHING)
    if kept != NOTHING:
        assert f"# failed at {stage}: " in draft.read_text(encoding="utf-8")


def test_one_group_that_fails_costs_no_other(tmp_path: Path) -> None:
    groups = [{"base": "d1", "branches": ["d2"]}, {"base": "d9", "branches": ["d3"]}]
    build = built(tmp_path, builder(logic={"groups": groups}))
    assert build.procedure.structure == {"d1": None, "d2": "d1", "d3": None}
    assert build.failures == [("logic", "group 2: its base 'd9' is no dimension")]


@pytest.mark.parametrize("case", PROCEDURES, ids=[case["id"] for case in PROCEDURES])
def test_branches_in_branches_exceptions_tables_and_tools_in_four_languages(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    dimensions = [one | {"segments": [f"s{number}" for number in one["segments"]]} for one in case["dimensions"]]
    answers = {
        "segments": {"opening": case["opening"], "segments": case["segments"]}, "logic": {"groups": case["groups"]},
        **{stage: {"dimensions": dimensions} for stage in ("criteria", "modify", "granularity", "dependencies")},
    }  # fmt: skip
    build = built(tmp_path, builder(**answers), text=case["instruction"])
    assert build.failures == []
    assert [one.check for one in build.procedure.dimensions if one.check] == []
    assert {name: base for name, base in build.procedure.structure.items() if base is not None} == case["structure"]
    assert build.procedure.opening == case["opening"]
    assert load(str(tmp_path / "out")) == build.procedure


def test_what_was_wrong_is_told_and_the_temperature_rises(tmp_path: Path) -> None:
    seen: list[Any] = []
    spec = builder(segments=[{"segments": ["Ask for a motel."]}, GOOD["segments"]])
    model = spec.value
    complete = model.complete

    async def noted(request: Any) -> Any:
        seen.append(request)
        return await complete(request)

    model.complete = noted
    assert built(tmp_path, spec).complete
    assert [round(request.sampling.temperature, 1) for request in seen[:3]] == [0.0, 0.2, 0.0]
    assert "is no excerpt of the instruction" in seen[1].messages[-1].content


def test_one_set_of_branches_that_exclude_each_other_may_stand_by_itself(tmp_path: Path) -> None:
    made = built(
        tmp_path, builder(logic={"groups": [{"base": "d1", "branches": ["d2", "d3"], "exclusive": ["d2", "d3"]}]})
    )
    assert made.procedure.dimensions[1].exclusive == made.procedure.dimensions[2].exclusive != ""


def test_dimensions_are_mended_until_they_are_complete(tmp_path: Path) -> None:
    asked: list[str] = []
    lacking = GOOD["verify"] | {"missing": ["the form"]}
    made = built(tmp_path, builder(asked, verify=[lacking, lacking, GOOD["verify"]]))
    assert (made.complete, made.rounds) == (True, 2)
    assert asked[2:7] == ["verify", "modify", "verify", "modify", "verify"]


def test_a_batch_builds_every_instruction_of_a_file(tmp_path: Path) -> None:
    rows = write_jsonl(
        tmp_path / "rows.jsonl", [{"id": "a/1", "instruction": TEXT}, {"id": "b", "instruction": "Nothing here."}]
    )
    outcome = FlexBuild(FlexBuildOptions(instruction=rows, builder=builder(), out=str(tmp_path / "out"))).run()
    assert outcome.incomplete == 1
    assert load(str(tmp_path / "out" / "procedures" / "a-1")).id == "a-1"
    assert "b stopped at segments" in outcome.notes[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b"\xff\xfe", "save it as UTF-8"), (None, "travel-desk")],
    ids=["empty", "bytes", "none"],
)
def test_instructions_that_cannot_be_read(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "one.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=said):
        FlexBuild(FlexBuildOptions(instruction=str(file), builder=builder(), out=str(tmp_path / "out"))).run()


@pytest.mark.parametrize(
    ("question", "script", "cites", "said", "why"),
    [
        ("When a hotel is needed, is the limit of 140 euros named?", "", "s2", "", "all of it stands there"),
        ("Is the limit of 140 euros named?", "", "s1", "'140', a number", "another segment holds it"),
        ("Is it told to open [Settings]?", "", "s2", "[Settings]", "an item in brackets"),
        ("Is it told to open [Profile]?", "", "s2", "", "in the segment"),
        ('Does it say "have a nice trip"?', "", "s1", "a wording", "a wording in quotation marks"),
        ("Does the conversation ask Anna whether a hotel is needed?", "", "s1", "'Anna', a name", "a name"),
        (
            "Does the conversation ask the Hot desk whether a hotel is needed?",
            "",
            "s1",
            "'Hot', a name",
            "a part of a word",
        ),
        ("Does the generated conversation ask? Does it?", "", "s1", "", "a capital that begins a sentence is no name"),
        ("Is the form mentioned?", "remind of the form", "s3", "", "a script to the letter"),
        ("Is the form mentioned?", "remind of the  “form”", "s3", "has a script", "quotation marks that are not there"),
        ("It asks.", "", "s1", "is no question", "a statement"),
    ],
)
def test_a_program_finds_what_a_dimension_invents(
    tmp_path: Path, question: str, script: str, cites: str, said: str, why: str
) -> None:
    first = {"question": question, "script": script, "segments": [cites]}
    build = built(tmp_path, builder(criteria={"dimensions": [first, *THREE]}))
    criteria = next(stage["dimensions"] for stage in build.stages if stage["stage"] == "criteria")
    doubts = [dimension["check"] for dimension in criteria if dimension["check"]]
    found = "; ".join([what for stage, what in build.failures if stage == "criteria"] + doubts)
    assert (said in found) if said else not found, (why, found)


@pytest.mark.parametrize(
    ("question", "script", "check"),
    [
        ("Is the limit of 140 euros named?", "", "says '140', a number that stands in the instruction, but not in the segments"),
        ("Is it told to open [Profile]?", "", "says '[Profile]', an item that stands in the instruction"),
        ('Does it say "remind of the form"?', "", "says 'remind of the form', a wording that stands in the instruction"),
        ("Is a hotel asked for?", "remind of the form", "has a script, a wording that stands in the instruction"),
    ],
)  # fmt: skip
def test_what_other_segments_hold_is_marked_and_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: str, script: str, check: str
) -> None:
    """The builder is told twice and insists; everything has been paid for by then."""
    first, *others = GOOD["criteria"]["dimensions"]
    doubtful = {"dimensions": [first | {"question": question, "script": script}, *others]}
    stages = dict.fromkeys(("criteria", "granularity", "dependencies"), doubtful)
    asked: list[str] = []
    outcome, out = outcome_of(tmp_path, builder(asked, **stages)), tmp_path / "out"
    assert (outcome.incomplete, asked.count("criteria")) == (0, 3)
    assert "Dimensions marked `check:` with the reason, to be looked at: 1 (the first: travel d1)." in outcome.notes
    made = load(str(out))
    assert [bool(one.check) for one in made.dimensions] == [True, False, False]
    assert made.dimensions[0].check.startswith(check)
    assert "  check: " in (out / "procedure.yaml").read_text()
    talks = write_jsonl(tmp_path / "talks.jsonl", [{"id": "1", "messages": [{"role": "user", "content": "Hi"}]}])
    judge = written(tmp_path / "judge.json", [])
    done = command_here(
        capsys, "flex", "score", str(out), "--conversations", talks, "--model-name", "m", "--judge", judge
    )
    assert "Dimensions marked `check:`" in done.stdout, done.stderr


def test_a_builder_that_puts_it_right_is_marked_nowhere(tmp_path: Path) -> None:
    first, *others = GOOD["criteria"]["dimensions"]
    doubtful = {"dimensions": [first | {"question": "Is the limit of 140 euros named?"}, *others]}
    made = built(tmp_path, builder(criteria=[doubtful, GOOD["criteria"]]))
    assert made.complete
    assert not any(one.check for one in made.procedure.dimensions)


@pytest.mark.parametrize(
    "damage",
    [lambda text: f"```json\n{text[:-1]},}}\n```", lambda text: f"Here it is: {text}", lambda text: text.replace('", "', '"\n"')],
    ids=["fence and comma", "words before", "no comma"],
)  # fmt: skip
def test_small_damage_is_repaired(tmp_path: Path, damage: Any) -> None:
    assert built(tmp_path, builder(criteria=damage(json.dumps(GOOD["criteria"])))).complete


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=8) | st.sampled_from(["d1", "s1", ASK]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["segments", "dimensions", "question", "segment", "groups", "base", "branches", "exclusive", "missing",
                         "duplicates", "invented", "unverifiable", "opening", "condition", "script"]), inner, max_size=4,
    ), max_leaves=12,
)  # fmt: skip
_ANSWER = st.dictionaries(st.sampled_from(["segments", "dimensions", "groups", *GOOD["verify"], "opening"]), _JSON)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(GOOD)), _ANSWER | st.text(max_size=60).map("{{{}".format))
def test_no_answer_breaks_a_build(stage: str, answer: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        build = built(Path(folder), builder(**{stage: answer}), rounds=1)
        assert all(segment.text in TEXT for segment in build.procedure.segments)
        if build.procedure.dimensions and build.complete:
            assert load(str(Path(folder) / "out")) == build.procedure
