"""`flex build`: what a hostile builder says is caught by program, within bounds, with stage and reason."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.runs import command_here, write_jsonl
from tests.support.runs import script as written
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.build import Build, BuildOptions, FlexBuild
from truebench_hf.benchmarks.flexbench.derivation import (
    Findings,
    Segments,
    duplicates,
    parsed,
    read_dimensions,
    read_findings,
    read_logic,
    read_segments,
    wrong,
)
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Segment, load
from truebench_hf.errors import UserError
from truebench_hf.models.asking import Problem

TEXT = (
    'Opening: "Hello, travel desk."\n\nAsk whether a hotel is needed.\n- Needed: name the limit of 140 euros, open [Profile].\n'
    "- Not needed:  remind of the form.\n"
)
ASK, LIMIT, FORM = (
    "Ask whether a hotel is needed.", "Needed: name the limit of 140 euros, open [Profile].", "Not needed: remind of the form.",
)  # fmt: skip
SEGMENTS = (Segment("s1", ASK), Segment("s2", LIMIT), Segment("s3", FORM))
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


def built(tmp_path: Path, spec: Any, **more: Any) -> Build:
    (tmp_path / "travel.md").write_text(TEXT, encoding="utf-8")
    options = BuildOptions(instruction=str(tmp_path / "travel.md"), builder=spec, out=str(tmp_path / "out"), **more)
    (found,) = FlexBuild(options).run().value
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


@pytest.mark.parametrize(
    ("stage", "answer", "reason", "why"),
    [
        ("segments", {"segments": [ASK, "Ask for a motel."]}, "'Ask for a motel.'.* is no excerpt", "an excerpt not in the text"),
        ("segments", {"segments": [ASK, "a hotel is needed."]}, "overlaps", "an overlap"),
        ("segments", {"segments": []}, "no segments", "none"),
        ("segments", {"opening": "Hi!", "segments": [ASK]}, "the opening .* does not stand", "an invented opening"),
        ("segments", "I will not.", "no JSON object", "no JSON"),
        ("criteria", {"dimensions": [{"question": "Is a hotel of 200 euros offered?", "segments": ["s2"]}]}, "'200', a number", "an invented number"),
        ("criteria", {"dimensions": [*GOOD["criteria"]["dimensions"], GOOD["criteria"]["dimensions"][0]]}, "d1 and d4 ask the same", "a duplicate"),
        ("criteria", {"dimensions": GOOD["criteria"]["dimensions"][:2]}, "segment s3 is asked about by no dimension", "one is missing"),
        ("criteria", {"dimensions": [{"question": "Is it?", "segments": ["s9"]}]}, "cites s9, which is no segment", "an unknown segment"),
        ("verify", {"missing": []}, "no list duplicates", "half an answer"),
        ("verify", GOOD["verify"] | {"invented": ["d7"]}, "d7 is no dimension", "an unknown dimension"),
        ("verify", GOOD["verify"] | {"missing": ["the form"]}, "not complete after 2 rounds: missing: the form", "incomplete for ever"),
        ("granularity", {"dimensions": GOOD["criteria"]["dimensions"][:1]}, "s2 is asked about by no dimension", "a merge that loses a demand"),
        ("dependencies", {"dimensions": GOOD["criteria"]["dimensions"][::2]}, "s2 is asked about by no dimension", "one is lost"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d9"]}]}, "'d9' is no dimension", "a branch on an unknown dimension"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"]}, {"base": "d2", "branches": ["d1"]}]}, "in a circle", "a cycle"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"]}, {"base": "d3", "branches": ["d2"]}]}, "d2 is a branch of two", "two bases"),
        ("logic", {"groups": [{"base": ["d1"], "branches": ["d2"]}]}, "base .* is no dimension", "a base that is a list"),
        ("criteria", {"dimensions": [{"question": f"Is {'a' * n} asked?", "segments": ["s1"]} for n in range(1, 32)]}, "31 dimensions for 3 segments; give 30", "one too many"),
        ("criteria", {"dimensions": [{"question": "Is a limit of 14 euros named?", "segments": ["s2"]}]}, "'14', a number", "part of another number"),
        ("verify", GOOD["verify"] | {"missing": [{"segment": "the form"}]}, 'missing: {"segment": "the form"}', "missing, told in another form"),
        ("verify", GOOD["verify"] | {"duplicates": ["d1", "d2"]}, "d1 and d2 ask the same", "one pair by itself"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"], "exclusive": [["d2"]]}]}, "two branches at least", "excludes nothing"),
        ("logic", {"groups": [{"base": "d1", "branches": ["d2"], "exclusive": [["d2", "d3"]]}]}, "'d3' excludes others and is no branch", "a stranger"),
    ],
)  # fmt: skip
def test_a_hostile_builder_is_stopped_with_stage_and_reason(
    tmp_path: Path, stage: str, answer: Any, reason: str, why: str
) -> None:
    asked: list[str] = []
    spec = builder(asked, **{stage: answer})
    (tmp_path / "travel.md").write_text(TEXT, encoding="utf-8")
    options = BuildOptions(instruction=str(tmp_path / "travel.md"), builder=spec, out=str(tmp_path / "out"), rounds=2)
    outcome = FlexBuild(options).run()
    (made,) = outcome.value
    assert made.stopped == stage, why
    assert outcome.incomplete == 1
    assert re.search(reason, made.reason), (why, made.reason)
    assert asked.count(stage) == 3, "told what is wrong, and asked again twice; or verified once and after two rounds"
    assert not (tmp_path / "out" / "procedure.yaml").exists()
    assert (tmp_path / "out" / "draft.yaml").exists() == (stage not in ("segments", "criteria"))
    row = json.loads((tmp_path / "out" / "stages.jsonl").read_text())
    assert (row["complete"], row["stopped"]) == (False, stage)


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
    outcome = FlexBuild(BuildOptions(instruction=rows, builder=builder(), out=str(tmp_path / "out"))).run()
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
        FlexBuild(BuildOptions(instruction=str(file), builder=builder(), out=str(tmp_path / "out"))).run()


# --- the readers by themselves ---------------------------------------------------------------------------------------


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
def test_a_program_finds_what_a_dimension_invents(question: str, script: str, cites: str, said: str, why: str) -> None:
    found, doubts = wrong(Dimension("d", question, (cites,), script=script), {one.id: one.text for one in SEGMENTS})
    assert (said in "; ".join(found)) if said else not found, (why, found)
    assert not doubts, "no instruction is given that could hold it"


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
    (tmp_path / "travel.md").write_text(TEXT, encoding="utf-8")
    spec, out = builder(asked, **stages), tmp_path / "out"
    outcome = FlexBuild(BuildOptions(instruction=str(tmp_path / "travel.md"), builder=spec, out=str(out))).run()
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


def test_german_nouns_are_no_names() -> None:
    segments = (
        Segment(
            "s1", "Frage den Kunden, ob die Lieferung schon da ist, und nenne die Nummer der Filiale in der Stadt."
        ),
    )
    dimension = {"question": "Fragt der Assistent, ob die Lieferung da ist?", "segments": ["s1"]}
    assert not isinstance(read_dimensions({"dimensions": [dimension]}, segments), Problem)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"a": [1, 2,],}\n```', {"a": [1, 2]}), ('Here it is: {"a": "b"}', {"a": "b"}), ('{"a": "one"\n"b": 2}', {"a": "one", "b": 2}),
        ("{}", None), ("no", None), ("[1]", None), ("", None),
    ],
)  # fmt: skip
def test_small_damage_is_repaired(text: str, value: Any) -> None:
    found = parsed(text)
    assert (None if isinstance(found, Problem) else found) == value


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=8) | st.sampled_from(["d1", "s1", ASK]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["segments", "dimensions", "question", "segment", "groups", "base", "branches", "exclusive", "missing",
                         "duplicates", "invented", "unverifiable", "opening", "condition", "script"]), inner, max_size=4,
    ), max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["segments", "dimensions", "groups", "missing", "duplicates", "invented", "unverifiable", "opening"]), _JSON))  # fmt: skip
def test_no_object_breaks_a_reader(value: dict[str, Any]) -> None:
    dimensions = (Dimension("d1", "Is it?", ("s1",)), Dimension("d2", "Is that?", ("s1",)))
    found = read_segments(value, TEXT)
    if isinstance(found, Segments):
        assert all(one.text in TEXT for one in found.segments)
    made = read_dimensions(value, SEGMENTS)
    assert isinstance(made, Problem) or not duplicates(made)
    assert isinstance(read_findings(value, dimensions), Problem | Findings)
    logic = read_logic(value, dimensions)
    assert isinstance(logic, Problem) or {one.id for one in logic} == {"d1", "d2"}


@given(st.text(max_size=60))
def test_no_text_breaks_the_repair(text: str) -> None:
    assert isinstance(parsed("{" + text), Problem | dict)
