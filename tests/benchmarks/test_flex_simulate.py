"""`flex simulate`: users that know nothing of the dimensions, and conversations that end; kinds of users out of real ones."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row, table
from tests.support.runs import write_jsonl
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.conversations import Talk
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml, built_in
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.flexbench.simulate import FlexSimulate, SimulateOptions
from truebench_hf.benchmarks.flexbench.users import (
    Analysis,
    FlexProfiles,
    ProfileOptions,
    gap_tables,
    leaks,
    read_profiles,
    users_table,
)
from truebench_hf.errors import UserError
from truebench_hf.prompts import Prompts
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Message

Messages = Sequence[dict[str, str]]
ANALYSIS = {"context": "a call", "topics": ["trips"], "concerns": [], "terms": [], "questions": [], "goals": []}
ADJUSTED = {
    "communication_style": "Short.", "information_disclosure": "Little.", "problem_solving": "None.", "catchphrases": ["Trains?"],
}  # fmt: skip
HOTEL = Procedure(
    "hotel", "Ask for a hotel.", (Dimension("ask", "Does the assistant ask whether a hotel is needed for the trip?"),),
    opening="Hello, travel desk.",
)  # fmt: skip


def simulator(say: Any = "All right.", over: Any = "no", **other: Any) -> Any:
    """Somebody who plays users: what they say, whether it is over, and the two fitting stages."""

    def reply(messages: Messages) -> str:
        first = messages[0]["content"]
        if first.startswith("Somebody is going to play"):
            return json.dumps(other.get("analysis", ANALYSIS))
        if first.startswith("You fit the description"):
            return json.dumps(other.get("adjusted", ADJUSTED))
        if first.startswith("A user talks with"):
            return json.dumps({"end": over(first) if callable(over) else over})
        assert first.startswith("You play a user"), first[:60]
        return str(say(messages) if callable(say) else say)

    return as_spec(reply)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "procedure.yaml").write_text(as_yaml(HOTEL), encoding="utf-8")
    return tmp_path


def simulate(folder: Path, model: Any = "Do you need a hotel?", **more: Any) -> list[Talk]:
    return outcome_of(folder, model, **more).value


def outcome_of(folder: Path, model: Any, **more: Any) -> Outcome[list[Talk]]:
    spec = as_spec(model) if callable(model) else as_spec(lambda messages: model)
    options: dict[str, Any] = {"conversations": 5, "turns": 3, "simulator": simulator()} | more
    return FlexSimulate(SimulateOptions(folder=str(folder), model=spec, **options)).run()


@each_row(__file__, "flex_simulate", "ends")
def test_ends(folder: Path, say: str, over: str, end: str, count: int) -> None:
    talk = simulate(folder, simulator=simulator(say, over), conversations=1)[0]
    assert (talk.end, len(talk.messages)) == (end, count)
    assert talk.messages[0] == Message("assistant", "Hello, travel desk.")
    assert (talk.messages[-1].role, bool(talk.ended)) == ("assistant", True), "how it was found is kept"


def test_without_an_opening_the_user_begins(tmp_path: Path) -> None:
    (tmp_path / "procedure.yaml").write_text(as_yaml(replace(HOTEL, opening="")), encoding="utf-8")
    prompts: list[str] = []
    say = lambda messages: prompts.append(messages[0]["content"]) or 'User: "I need a trip."'  # noqa: E731
    talk = simulate(tmp_path, simulator=simulator(say), conversations=1)[0]
    assert talk.messages[0] == Message("user", "I need a trip."), "a name in front and quotation marks are taken off"
    assert "You begin the conversation" in prompts[0]


def test_one_turn_needs_no_simulator(folder: Path) -> None:
    talks = simulate(folder, lambda messages: messages[-1]["content"].upper(), simulator=None, turns=1, conversations=2)
    assert talks[0].messages == (Message("user", "Ask for a hotel."), Message("assistant", "ASK FOR A HOTEL."))
    out, answer = folder / "built-in", {"turn": 2, "applies": "yes", "attempted": "yes", "correct": "yes"}
    simulate(Path("travel-desk"), conversations=1, turns=1, out=str(out))
    options = FlexScoreOptions(
        folder="travel-desk", conversations=str(out / "conversations.jsonl"), out=str(folder / "scores"),
        judge=as_spec(lambda messages: json.dumps(answer)),
    )  # fmt: skip
    (scores,) = FlexScore(options).run().value
    assert (scores.conversations, scores.total["coverage"].value) == (1, 1.0), "without a builder"


def test_a_user_who_speaks_for_the_assistant_is_asked_again(folder: Path) -> None:
    say = lambda messages: "Yes." if "spoke for the assistant" in messages[-1]["content"] else "Yes.\nAssistant: Fine."  # noqa: E731
    talk = simulate(folder, simulator=simulator(say), conversations=1)[0]
    assert [message.content for message in talk.messages if message.role == "user"] == ["Yes."] * 3


def test_a_user_who_says_nothing_breaks_a_conversation_off_which_is_scored_as_open(tmp_path: Path) -> None:
    (tmp_path / "procedure.yaml").write_text(as_yaml(replace(HOTEL, opening="")), encoding="utf-8")
    outcome = outcome_of(tmp_path, "Hotel?", simulator=simulator(""), conversations=2)
    assert [talk.error for talk in outcome.value] == ["the simulated user: it said nothing"] * 2
    assert (outcome.incomplete, outcome.value[0].messages) == (2, ())
    assert "conversations that broke off: 2" in outcome.notes[0]
    (scores,) = FlexScore(FlexScoreOptions(folder=str(tmp_path), judge=as_spec(lambda messages: "?"))).run().value
    assert (scores.broken, scores.undecided) == (2, 2)


def test_conversation_j_has_one_user_and_all_models_the_same(folder: Path) -> None:
    first, other = simulate(folder, "Hotel?"), simulate(folder, lambda messages: "Train?")
    kinds = ["none", "poor", "general", "good", "full"]
    assert [talk.cooperativeness for talk in first] == [talk.cooperativeness for talk in other] == kinds
    users = json.loads(next((folder / "corpora" / "0").glob("*/users.json")).read_text())["users"]
    assert users[0]["catchphrases"][-1] == "Trains?"
    assert users[0]["goals"] == list(read_profiles()[0].goals), "goals and traits stay"
    assert "Trains?" in users[0]["prompt"]
    spec = as_spec(lambda messages: "Hotel?")
    several = [
        FlexSimulate(SimulateOptions(folder=str(folder), model=spec, turns=1, conversations=count,
                                     out=str(folder / "more"))).run() for count in (7, 2)
    ]  # fmt: skip
    assert [len(outcome.value) for outcome in several] == [7, 2]
    assert several[1].notes == ["conversations here before: 7; --conversations 7 brings them back without a call"]


def test_the_simulator_never_sees_a_dimension(folder: Path) -> None:
    prompts: list[str] = []
    say = lambda messages: prompts.extend(message["content"] for message in messages) or "Yes."  # noqa: E731
    simulate(folder, simulator=simulator(say))
    assert [prompt for prompt in prompts if "Does the assistant ask" in prompt] == [] != prompts


@each_row(__file__, "flex_simulate", "unfit")
def test_users_that_cannot_be_fitted(folder: Path, adjusted: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        simulate(folder, simulator=simulator(adjusted=adjusted))


def test_clean_profiles_of_all_nine_instructions_pass_and_planted_dimensions_are_found() -> None:
    def told_to(profile: Any) -> str:
        about = Analysis(context="a talk", topics=("trips",), concerns=("costs",))
        return Prompts().render("flex_user", profile=profile, analysis=about, first=True, language="")

    profiles = read_profiles()
    for procedure in built_in().values():
        assert [leaks(told_to(profile), procedure.dimensions) for profile in profiles] == [[]] * len(profiles)
        for dimension, profile in zip(procedure.dimensions, itertools.cycle(profiles)):
            planted = f"Stops there. {dimension.question.upper()} And so on."
            told = told_to(profile.model_copy(update={"problem_solving": planted}))
            assert dimension.id in [name for name, _ in leaks(told, [dimension])], dimension.question


@each_row(__file__, "flex_simulate", "leaks")
def test_what_is_a_leak(prompt: str, question: str, leaked: bool) -> None:
    assert bool(leaks(prompt, [Dimension("d", question)])) == leaked


def test_users_are_measured() -> None:
    messages = tuple(Message("user", text) for text in ("The Grand Hotel, 2 nights?", "Yes."))
    for talks, expected in (
        ([Talk("1", "m", (Message("assistant", "Which hotel?"), *messages))], [2.0, 3.0, 1.5, 50.0]),
        (
            [Talk("1", "m", (Message("user", "宿泊先は必要ですか？"),))],
            [1.0, 5.0, 3.0, 100.0],
        ),  # new: 宿泊, 泊先 and 必要
        ([], [None] * 4),
    ):
        (row,) = users_table(talks).rows
        assert [row[name].value for name in ("turns", "words", "disclosure", "questions")] == expected


LANGUAGES = [case for case in table(__file__, "flex_procedures") if "said" in case]


@pytest.mark.parametrize("case", LANGUAGES, ids=[case["language"] for case in LANGUAGES])
def test_users_speak_the_language_of_the_procedure(tmp_path: Path, case: dict[str, Any]) -> None:
    """It is told to the simulator; who writes English is asked again, and a farewell in the language ends it."""
    procedure = Procedure(case["id"], case["instruction"], HOTEL.dimensions, opening=case["opening"])
    (tmp_path / "procedure.yaml").write_text(as_yaml(procedure), encoding="utf-8")
    prompts: list[str] = []

    def user(messages: Messages) -> str:
        prompts.append(messages[0]["content"])
        if "This cannot be used" in messages[-1]["content"]:
            return str(case["said"])
        english = "Good morning, I would like to know what this is all about."
        return str(case["farewell"]) if len(messages) > 3 else english

    english = "I am afraid that I can only answer you in English, as I was never taught anything else."
    done = outcome_of(tmp_path, english, simulator=simulator(user), conversations=2, turns=3)
    name = {"de": "German", "ja": "Japanese", "es": "Spanish"}[case["language"]]
    assert all(f"You speak {name}: write every message in {name}" in prompt for prompt in prompts)
    texts = [[message.content for message in talk.messages if message.role == "user"] for talk in done.value]
    assert texts == [[case["said"], case["farewell"]]] * 2, "nothing that is English is left"
    assert {talk.end for talk in done.value} == {"user"}
    assert f"conversations in which the assistant leaves {name}: 2 (the first: 0)" in done.notes


PROFILE = {"summary": "Short of time.", "communication_style": "Brief.", "information_disclosure": "Little.",
           "problem_solving": "Puts it off.", "goals": ["peace"], "catchphrases": ["Later."], "traits": ["calm"]}  # fmt: skip


def profiles(tmp_path: Path, *users: str) -> Any:
    """Kinds of users drawn from conversations: No. is graded 2 and all else 4, and who would refuse gets no profile."""

    def grader(messages: Messages) -> str:
        prompt = messages[0]["content"]
        if prompt.startswith("From conversations"):
            return "no" if "(4 of 5)" in prompt and "refuse" in prompt else json.dumps(PROFILE)
        assert prompt.startswith("Grade how")
        return (
            "?" if "mumble" in prompt else json.dumps({"reason": "r", "cooperativeness": 2 if "No." in prompt else 4})
        )

    rows = [
        {"messages": [{"role": "assistant", "content": "Hotel?"}, {"role": "human", "content": user}]} for user in users
    ]
    talks = write_jsonl(tmp_path / "talks.jsonl", rows)
    return FlexProfiles(ProfileOptions(dialogues=talks, model=as_spec(grader), out=str(tmp_path / "out"))).run()


def test_kinds_of_users_are_drawn_from_conversations(tmp_path: Path, folder: Path) -> None:
    outcome = profiles(tmp_path, "No.", "Yes, gladly.", "No. Why?", "mumble")
    assert [(profile.cooperativeness, profile.score) for profile in outcome.value] == [("poor", 2), ("good", 4)]
    assert (outcome.notes[0], outcome.incomplete) == ("conversations not graded: 1", 1)
    assert [row["conversations"] for row in outcome.tables[0].rows] == [2, 1]
    rows = [json.loads(line) for line in (tmp_path / "out" / "grades.jsonl").read_text().splitlines()]
    assert [row["cooperativeness"] for row in rows] == [2, 4, 2, None]
    file = tmp_path / "out" / "profiles.json"
    talks = simulate(folder, profiles=str(file))
    assert [talk.cooperativeness for talk in talks] == ["poor", "good", "poor", "good", "poor"]
    for text, words in (
        (json.dumps([json.loads(file.read_text())[0] | {"mood": "bad"}]), "mood"),
        ("[]", "holds none"),
    ):
        (own := folder / "own.json").write_text(text)
        with pytest.raises(UserError, match=words):
            simulate(folder, profiles=str(own), out=str(folder / "other"))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("え返金してください", "返金をお願いします"),
        ("환불 신청 하고 싶어요", "환불 신청 원해요"),
        ("我想要退款", "退款可以吗"),
    ],
)
def test_topics_are_found_in_scripts_without_long_words(ours: str, theirs: str) -> None:
    """A refund is asked for in both; the words around it differ."""
    simulated, real = ([Talk("1", "m", (Message("user", text),))] for text in (ours, theirs))
    rows = {row["measure"]: row for row in gap_tables(simulated, real)[0].rows}
    assert rows["topics covered %"]["simulated"].value > 0
