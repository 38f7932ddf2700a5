"""`flex score`: facts of an oracle come to the scores of the built-in verdicts; clashes, logs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import write_jsonl
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.conversations import JudgedConversation, Talk, as_row, corpus_folder, read_talks
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml, built_in
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.flexbench.scores import FlexModelScores, score_models
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.metrics.pass_rate import base_actions, flexeval
from truebench_hf.results.folder import Results
from truebench_hf.types import Message

_SAMPLES = files("truebench_hf.benchmarks.flexbench") / "samples" / "conversations.jsonl"
ROWS = [json.loads(line) for line in _SAMPLES.read_text(encoding="utf-8").splitlines()]


def answer(applies: str, attempted: str | None = None, correct: str | None = None) -> str:
    return json.dumps({"turn": 1, "applies": applies, "attempted": attempted, "correct": correct})


YES, NOT, LEFT_OUT = answer("yes", "yes", "yes"), answer("no"), answer("yes", "no")


def oracle(name: str) -> Any:
    """A judge that knows the verdicts of the built-in conversations of one instruction."""
    procedure = built_in()[name]
    bases = base_actions(procedure.structure)
    known = {
        (row["messages"][-1]["content"], verdict["dimension_id"]): (verdict["label"], row["target_dimensions"])
        for row in ROWS for verdict in row["verdicts"]
    }  # fmt: skip

    def judge(messages: Sequence[dict[str, str]]) -> str:
        prompt = messages[0]["content"]
        (dimension,) = [d.id for d in procedure.dimensions if d.question in prompt]
        label, targets = next(truth for (last, d), truth in known.items() if d == dimension and last in prompt)
        if label != "unknown":
            omitted = label == "no" and dimension not in bases and dimension.endswith("18")
            return LEFT_OUT if omitted else answer("yes", "yes", label)
        return LEFT_OUT if dimension in targets and dimension in bases else NOT

    return as_spec(judge)


def scored(folder: Path, **more: Any) -> list[FlexModelScores]:
    return FlexScore(FlexScoreOptions(folder=str(folder), **more)).run().value


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]


def board(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "run.json").read_text())["board"])


@pytest.mark.parametrize("name", sorted({row["instruction_id"] for row in ROWS}))
def test_an_oracles_facts_come_to_the_built_in_verdicts(tmp_path: Path, name: str) -> None:
    rows, out = [row for row in ROWS if row["instruction_id"] == name], tmp_path / "out"
    logs = write_jsonl(tmp_path / "logs.jsonl", [{"id": row["id"], "messages": row["messages"]} for row in rows])
    (scores,) = scored(Path(name), conversations=logs, judge=oracle(name), out=str(out))
    traces = [{verdict["dimension_id"]: verdict["label"] for verdict in row["verdicts"]} for row in rows]
    expected = flexeval(traces, [built_in()[name].structure] * len(traces))
    for measure, share in (("coverage", expected.coverage), ("achievement", expected.achievement)):
        assert scores.total[measure].value == (None if share is None else pytest.approx(share))
    assert (scores.undecided, scores.conflicts) == (0, 0)
    assert [{d: facts["label"] for d, facts in line["dimensions"].items()} for line in lines(out)] == traces
    assert board(out)["rows"][0]["scores"]["coverage"]["value"] == scores.total["coverage"].value


TWO = Procedure(
    "hotel", "Ask for a hotel. Needed: name the limit. Not needed: remind of the form.",
    (Dimension("ask", "Does it ask?"), Dimension("limit", "Does it name the limit?", (), "needed", "ask", "need"),
     Dimension("form", "Does it remind of the form?", (), "not needed", "ask", "need")),
)  # fmt: skip
TALK = [Message("assistant", "Hotel?"), Message("user", "Yes."), Message("assistant", "140 euros.")]


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A benchmark with 2 conversations (or as many as a test names) of each of two models, simulated with one seed."""
    count = getattr(request, "param", 2)
    (tmp_path / "procedure.yaml").write_text(as_yaml(TWO))
    for model in ("model a", "b"):
        place = corpus_folder(tmp_path, 0, model)
        place.mkdir(parents=True)
        talks = [
            Talk(str(n), model, (*TALK, Message("user", f"{model} {n}")), "poor" if n % 2 else "good", "user", "0")
            for n in range(count)
        ]
        write_jsonl(place / "conversations.jsonl", [as_row(talk) for talk in talks])
    return tmp_path


def judge(asked: list[str] | None = None, **answers: Any) -> Any:
    """A judge with one answer per dimension, or a function of the prompt."""

    def reply(messages: Sequence[dict[str, str]]) -> str:
        prompt = messages[0]["content"]
        if asked is not None:
            asked.append(prompt)
        (name,) = [dimension.id for dimension in TWO.dimensions if f">\n{dimension.question}\n<" in prompt]
        return str(answers[name](prompt)) if callable(answers[name]) else str(answers[name])

    return as_spec(reply)


RIGHT = {"ask": YES, "limit": YES, "form": NOT}


@pytest.mark.parametrize("folder", [12], indirect=True)  # enough for intervals
def test_models_are_compared_over_the_conversations_they_share(folder: Path) -> None:
    wrong = lambda prompt: answer("yes", "yes", "no" if "model a" in prompt and "model a 11" not in prompt else "yes")  # noqa: E731
    best, other = scored(folder, judge=judge(**RIGHT | {"limit": wrong}))
    assert (best.model, best.total["achievement"].value) == ("b", 1.0)
    assert other.total["achievement"].value == pytest.approx(1 / 12)
    assert other.total["correct"].value == pytest.approx(13 / 24), "all asked rightly, one limit right"
    gap = other.differences["achievement"]
    assert gap.value == pytest.approx(11 / 12)
    assert gap.ci95 is not None
    assert 0 < gap.ci95[0] < gap.value <= gap.ci95[1]
    assert best.total["achievement"].ci95 is not None
    assert other.unexercised == ("form",)
    assert list(other.groups) == ["cooperativeness: good", "cooperativeness: poor", "ended by: user"]
    tables = Results.open(folder / "scores").tables
    assert list(tables) == ["scores", "differences", "dimensions", "groups"]
    assert tables["scores"].rows[0]["achievement"] == best.total["achievement"], "read back from the folder"
    assert [row["conversations"] for row in tables["groups"].rows[:2]] == [6, 6]


# What a judge says, and what it comes to: coverage, where applicable, and achievement of the first model; how many
# verdicts are open; conversations in conflict.
ALL_OPEN = {"ask": "", "limit": "?", "form": ""}
FACTS: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("a skipped base is unknown, and gates its branches", {"ask": LEFT_OUT, "limit": LEFT_OUT}, (0.0, 0.0, None, 0, 0)),
    ("a branch that is left out is no", {"limit": LEFT_OUT}, (1.0, 1.0, 0.0, 0, 0)),
    ("a judge that says nothing leaves everything open", ALL_OPEN, (None, None, None, 6, 0)),
    ("branches that exclude each other are asked again", {"form": lambda p: NOT if "exclude one" in p else YES}, (1.0, 1.0, 1.0, 0, 0)),
    ("and then a conflict leaves both open", {"form": YES}, (1.0, 1.0, None, 4, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "expected"), [case[1:] for case in FACTS], ids=[case[0] for case in FACTS])
def test_facts_make_verdicts(folder: Path, answers: dict[str, Any], expected: tuple[Any, ...]) -> None:
    outcome = FlexScore(FlexScoreOptions(folder=str(folder), judge=judge(**RIGHT | answers))).run()
    first = outcome.value[0]
    measures = (first.total[name].value for name in ("coverage", "coverage_applicable", "achievement"))
    assert (*measures, first.undecided, first.conflicts) == expected
    assert outcome.incomplete == sum(model.undecided for model in outcome.value)
    assert [
        note for note in outcome.notes if f"verdicts not judged: {outcome.incomplete}" in note
    ] or not outcome.incomplete


def test_branches_that_exclude_each_other_are_asked_again_and_then_a_conflict(folder: Path) -> None:
    asked: list[str] = []
    first, _ = scored(folder, judge=judge(asked, **RIGHT | {"form": YES}))
    assert any('also: "Does it name the limit?"' in prompt for prompt in asked if "exclude one" in prompt)
    line = lines(folder / "scores")[0]
    assert line["conflicts"] == [["limit", "form"]]
    assert line["dimensions"]["limit"]["reason"].startswith("conflict: form, which excludes it")
    correct = first.total["correct"]
    assert (correct.n, correct.unscored) == (2, 4), "a conflict makes no verdict: the questions alone count"


def test_a_base_action_that_applied_and_cannot_be_told_to_be_attempted_is_open() -> None:
    """Of two conversations the judge settles one: coverage is over that, and the other is no miss."""
    away, open_ = DimensionFacts(False), DimensionFacts(True, None, reason="no probability")
    judged = [
        JudgedConversation(Talk(str(n), "m", tuple(TALK)), {"ask": ask, "limit": away, "form": away},
                           {"ask": label, "limit": "unknown", "form": "unknown"})
        for n, (ask, label) in enumerate(((DimensionFacts(True, True, True), "yes"), (open_, None)))
    ]  # fmt: skip
    (scores,) = score_models(TWO, judged)
    for measure in ("coverage", "coverage_applicable"):
        assert (scores.total[measure].value, scores.total[measure].n) == (1.0, 1), measure


def test_only_what_is_new_is_asked(folder: Path) -> None:
    asked: list[str] = []
    spec = as_spec(
        lambda messages: asked.append(messages[0]["content"]) or (YES if "Does it ask" in asked[-1] else NOT)
    )
    scored(folder, judge=spec)
    before, file = len(asked), folder / "procedure.yaml"
    file.write_text(file.read_text().replace("Does it ask?", "Does it ask for a hotel?"), encoding="utf-8")
    scored(folder, judge=spec)
    assert len(asked) == before + 4, "after an edit what changed"
    assert "ask for a hotel?" in (folder / "scores" / "judged.yaml").read_text()
    place = corpus_folder(folder, 1, "c")
    place.mkdir(parents=True)
    write_jsonl(place / "conversations.jsonl", [as_row(Talk("0", "c", tuple(TALK), seed="1"))])
    assert len(scored(folder, judge=spec)) == 3
    assert len(asked) == before + 4 + 3, "a model joins later"


@pytest.mark.parametrize("folder", [12], indirect=True)  # enough for intervals
def test_real_logs_beside_simulated_ones_show_what_the_simulation_lacks(folder: Path) -> None:
    """Known truth: real users write three messages where simulated ones write two, and speak of a refund."""
    texts = ("Yes.", "I want a refund for my broken suitcase, who pays?", "Bye.")
    turns = [*({"role": "user", "content": text} for text in texts), {"role": "assistant", "content": "Hm."}]
    logs = write_jsonl(folder / "may.jsonl", [{"id": n, "messages": turns} for n in range(12)])
    spec, out = judge(**RIGHT), folder / "scores"
    models = scored(folder, judge=spec, logs=logs, model_name="b")
    assert sorted(scores.model for scores in models) == ["b", "b (real)", "model a"]
    tables = Results.open(out).tables
    rows = {row["measure"]: row for row in tables["simulation"].rows}
    turns_row = rows["turns a conversation"]
    assert [turns_row[side].value for side in ("simulated", "real", "lacking")] == [2.0, 3.0, 1.0]
    assert rows["turns with a question %"]["real"].value == pytest.approx(100 / 3)
    assert rows["topics covered %"]["simulated"].value == 0.0
    assert {row["word"] for row in tables["topics"].rows} == {"want", "refund", "broken", "suitcase", "pays"}
    assert all(row["gap"].ci95[0] > 0 for row in tables["topics"].rows)
    assert [row["name"] for row in board(out)["rows"]] == ["b", "model a"], "people's conversations are no model's rank"
    assert lines(out)[-1]["real"] is True
    (scores,) = scored(folder, judge=spec, conversations=logs)
    assert (scores.conversations, len(lines(out))) == (12, 36), "in a place of their own"
    assert (folder / "logs" / "may" / "verdicts.jsonl").is_file()


@each_row(__file__, "flex_score", "forms")
def test_logs_of_other_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], messages: list[list[str]]
) -> None:
    (talk,) = read_talks(Path(write_jsonl(tmp_path / "logs.jsonl", [row])), "mine")
    assert (talk.model, talk.id, talk.seed) == ("mine", "1", "0" if "seed" in row else "")
    assert [[message.role, message.content] for message in talk.messages] == messages
    assert ("left out, as no text: 1 images" in capsys.readouterr().err) == ("image_url" in str(row))


def test_headers_in_capitals_folders_and_rows_without_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    (tmp_path / "logs").mkdir()
    for name, messages in (("a", said), ("b", []), ("c", said)):
        write_jsonl(tmp_path / "logs" / f"{name}.jsonl", [{"ID": name, "Messages": messages}])
    talks = read_talks(tmp_path / "logs", "mine")
    assert [(talk.id, len(talk.messages)) for talk in talks] == [("a", 2), ("c", 2)]
    assert "left out, as no text: 1 rows without a message" in capsys.readouterr().err


@each_row(__file__, "flex_score", "unusable")
def test_logs_that_cannot_be_used(tmp_path: Path, rows: list[Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_talks(Path(write_jsonl(tmp_path / "logs.jsonl", rows)), "mine")


def test_what_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="flex build"):
        scored(tmp_path, judge=judge())
    (tmp_path / "procedure.yaml").write_text(as_yaml(TWO))
    with pytest.raises(UserError, match="flex simulate"):
        scored(tmp_path, judge=judge())
    assert corpus_folder(tmp_path, 0, "a/b") != corpus_folder(tmp_path, 0, "a-b")


def test_a_judge_is_told_what_was_measured_of_each_message(folder: Path) -> None:
    text = (folder / "procedure.yaml").read_text()
    (folder / "procedure.yaml").write_text(text.replace(TWO.dimensions[0].question, "Is the response at most 3 words?"))
    asked: list[str] = []
    scored(folder, judge=as_spec(lambda messages: asked.append(messages[0]["content"]) or YES), rules="evidence")
    about = {("at most 3 words" in prompt, "What a program measured" in prompt, "[1] " in prompt) for prompt in asked}
    assert about == {(True, True, True), (False, False, False)}, "of the first message, which is the assistant's"
