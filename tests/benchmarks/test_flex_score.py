"""`flex score`: facts of an oracle come to the scores of the built-in verdicts; clashes, logs, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import write_jsonl
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.conversations import (
    JudgedConversation,
    Talk,
    as_row,
    corpora,
    corpus_folder,
    read_talks,
)
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml, built_in
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.flexbench.scores import FlexModelScores, score_models
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.metrics.pass_rate import base_actions, flexeval
from truebench_hf.results.folder import Results
from truebench_hf.types import Label, Message

ROWS = [
    json.loads(line)
    for line in (files("truebench_hf.benchmarks.flexbench") / "samples" / "conversations.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def answer(applies: str, attempted: str | None, correct: str | None) -> str:
    return json.dumps({"turn": 1, "applies": applies, "attempted": attempted, "correct": correct})


def oracle(name: str) -> Any:
    """A judge that knows the verdicts of the built-in conversations of one instruction."""
    procedure = built_in()[name]
    bases = base_actions(procedure.structure)
    known = {}
    for row in ROWS:
        for verdict in row["verdicts"]:
            known[row["messages"][-1]["content"], verdict["dimension_id"]] = verdict["label"], row["target_dimensions"]

    def judge(messages: Sequence[dict[str, str]]) -> str:
        prompt = messages[0]["content"]
        (one,) = [d for d in procedure.dimensions if d.question in prompt]
        label, targets = next(found for (last, d), found in known.items() if d == one.id and last in prompt)
        if label != "unknown":
            omitted = label == "no" and one.id not in bases and one.id.endswith("18")
            return answer("yes", "no", None) if omitted else answer("yes", "yes", label)
        return answer("yes", "no", None) if one.id in targets and one.id in bases else answer("no", None, None)

    return as_spec(judge)


def scored(folder: Path, **more: Any) -> list[FlexModelScores]:
    return FlexScore(FlexScoreOptions(folder=str(folder), **more)).run().value


@pytest.mark.parametrize("name", sorted({row["instruction_id"] for row in ROWS}))
def test_an_oracles_facts_come_to_the_built_in_verdicts(tmp_path: Path, name: str) -> None:
    rows = [row for row in ROWS if row["instruction_id"] == name]
    logs = write_jsonl(tmp_path / "logs.jsonl", [{"id": row["id"], "messages": row["messages"]} for row in rows])
    (found,) = scored(Path(name), conversations=logs, judge=oracle(name), out=str(tmp_path / "out"))
    traces = [{verdict["dimension_id"]: verdict["label"] for verdict in row["verdicts"]} for row in rows]
    expected = flexeval(traces, [built_in()[name].structure] * len(traces))
    for name, share in (("coverage", expected.coverage), ("achievement", expected.achievement)):
        assert found.total[name].value == (None if share is None else pytest.approx(share))
    assert (found.undecided, found.conflicts) == (0, 0)
    lines = [json.loads(line) for line in (tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()]
    assert [{d: facts["label"] for d, facts in line["dimensions"].items()} for line in lines] == traces
    board = json.loads((tmp_path / "out" / "run.json").read_text())["board"]
    assert board["rows"][0]["scores"]["coverage"]["value"] == found.total["coverage"].value


TWO = Procedure(
    "hotel", "Ask for a hotel. Needed: name the limit. Not needed: remind of the form.",
    (Dimension("ask", "Does it ask?"), Dimension("limit", "Does it name the limit?", (), "needed", "ask", "need"),
     Dimension("form", "Does it remind of the form?", (), "not needed", "ask", "need")),
)  # fmt: skip
TALK = [Message("assistant", "Hotel?"), Message("user", "Yes."), Message("assistant", "140 euros.")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A benchmark with 12 conversations of each of two models, simulated with one seed."""
    (tmp_path / "procedure.yaml").write_text(as_yaml(TWO))
    for model in ("model a", "b"):
        place = corpus_folder(tmp_path, 0, model)
        place.mkdir(parents=True)
        talks = [
            Talk(str(n), model, (*TALK, Message("user", f"{model} {n}")), "poor" if n % 2 else "good", "user", "0")
            for n in range(12)
        ]
        write_jsonl(place / "conversations.jsonl", [as_row(talk) for talk in talks])
    return tmp_path


def judge(**said: Any) -> Any:
    """A judge with one answer per dimension, or a function of the prompt."""

    def reply(messages: Sequence[dict[str, str]]) -> str:
        prompt = messages[0]["content"]
        (name,) = [one.id for one in TWO.dimensions if f">\n{one.question}\n<" in prompt]
        found = said[name]
        return str(found(prompt)) if callable(found) else str(found)

    return as_spec(reply)


YES, NOT, LEFT_OUT, SKIPPED = (
    answer("yes", "yes", "yes"),
    answer("no", None, None),
    answer("yes", "no", None),
    answer("yes", "no", None),
)


def test_models_are_compared_over_the_conversations_they_share(folder: Path) -> None:
    wrong = lambda prompt: answer("yes", "yes", "no" if "model a" in prompt and "model a 11" not in prompt else "yes")  # noqa: E731
    best, other = scored(folder, judge=judge(ask=YES, limit=wrong, form=NOT))
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


def test_a_skipped_base_is_unknown_and_a_left_out_branch_is_no(folder: Path) -> None:
    one, _ = scored(folder, judge=judge(ask=SKIPPED, limit=LEFT_OUT, form=NOT))
    assert (one.total["coverage"].value, one.total["achievement"].value) == (0.0, None), "gated by the skipped base"
    assert one.total["coverage_applicable"].value == 0.0
    one, _ = scored(folder, judge=judge(ask=YES, limit=LEFT_OUT, form=NOT), out=str(folder / "again"))
    assert (one.total["coverage"].value, one.total["achievement"].value) == (1.0, 0.0)


def test_branches_that_exclude_each_other_are_asked_again_and_then_a_conflict(folder: Path) -> None:
    asked: list[str] = []

    def settles(prompt: str) -> str:
        asked.append(prompt)
        return NOT if "exclude one another" in prompt else YES

    one, _ = scored(folder, judge=judge(ask=YES, limit=YES, form=settles))
    assert (one.conflicts, one.undecided) == (0, 0)
    assert 'also: "Does it name the limit?"' in next(prompt for prompt in asked if "exclude" in prompt)
    one, _ = scored(folder, judge=judge(ask=YES, limit=YES, form=YES), out=str(folder / "again"))
    assert (one.conflicts, one.undecided) == (12, 24), "both are left open"
    line = json.loads((folder / "again" / "verdicts.jsonl").read_text().splitlines()[0])
    assert line["conflicts"] == [["limit", "form"]]
    assert one.total["correct"].n == 12, "a conflict makes no verdict anywhere: the questions alone count"
    assert one.total["correct"].unscored == 24
    assert line["dimensions"]["limit"]["reason"].startswith("conflict: form, which excludes it")


def test_after_an_edit_only_what_changed_is_asked_again(folder: Path) -> None:
    asked: list[str] = []

    def reply(messages: Sequence[dict[str, str]]) -> str:
        asked.append(messages[0]["content"])
        return YES if "Does it ask" in asked[-1] else NOT

    spec = as_spec(reply)
    scored(folder, judge=spec)
    before, file = len(asked), folder / "procedure.yaml"
    file.write_text(file.read_text().replace("Does it ask?", "Does it ask for a hotel?"), encoding="utf-8")
    scored(folder, judge=spec)
    assert len(asked) == before + 24
    assert "ask for a hotel?" in (folder / "scores" / "judged.yaml").read_text()


def test_logs_do_not_take_the_place_of_simulated_conversations(folder: Path) -> None:
    spec = judge(ask=YES, limit=YES, form=NOT)
    scored(folder, judge=spec)
    logs = write_jsonl(
        folder / "may.jsonl",
        [{"seed": seed, "id": "1", "messages": [{"role": "user", "content": f"Hi {seed}"}]} for seed in (0, 1)],
    )
    (one,) = scored(folder, judge=spec, conversations=logs)
    assert one.conversations == 2, "of seed 0 and 1, both numbers"
    assert len((folder / "scores" / "verdicts.jsonl").read_text().splitlines()) == 24
    assert [talk.seed for talk in read_talks(Path(logs))] == ["0", "1"]
    assert (folder / "logs" / "may" / "verdicts.jsonl").is_file()


def test_real_logs_beside_simulated_ones_show_what_the_simulation_lacks(folder: Path) -> None:
    """Known truth: real users write three messages where simulated ones write two, and speak of a refund."""
    said = "I want a refund for my broken suitcase, who pays?"
    turns = [
        {"role": "user", "content": "Yes."},
        {"role": "user", "content": said},
        {"role": "user", "content": "Bye."},
    ]
    logs = write_jsonl(
        folder / "may.jsonl",
        [{"id": n, "messages": [*turns, {"role": "assistant", "content": "Hm."}]} for n in range(12)],
    )
    spec = judge(ask=YES, limit=YES, form=NOT)
    models = scored(folder, judge=spec, logs=logs, model_name="b")
    assert sorted(one.model for one in models) == ["b", "b (real)", "model a"]
    tables = Results.open(folder / "scores").tables
    rows = {row["measure"]: row for row in tables["simulation"].rows}
    turns_row = rows["turns a conversation"]
    assert [turns_row[side].value for side in ("simulated", "real", "lacking")] == [2.0, 3.0, 1.0]
    assert rows["turns with a question %"]["real"].value == pytest.approx(100 / 3)
    assert rows["topics covered %"]["simulated"].value == 0.0
    assert {row["word"] for row in tables["topics"].rows} == {"want", "refund", "broken", "suitcase", "pays"}
    assert all(row["gap"].ci95[0] > 0 for row in tables["topics"].rows)
    board = json.loads((folder / "scores" / "run.json").read_text())["board"]
    assert [row["name"] for row in board["rows"]] == ["b", "model a"], "people's conversations are no model's rank"
    assert json.loads((folder / "scores" / "verdicts.jsonl").read_text().splitlines()[-1])["real"] is True
    with pytest.raises(UserError, match="--logs stand beside simulated"):
        scored(folder, judge=spec, logs=logs, conversations=logs)


def test_without_branches_models_stand_by_coverage() -> None:
    flat = Procedure("flat", "Ask.", (Dimension("ask", "Does it ask?"),))
    labels: dict[str, Label] = {"skips": "unknown", "asks": "yes"}
    found = [
        JudgedConversation(
            Talk("1", name, tuple(TALK)), {"ask": DimensionFacts(label != "unknown", True, True)}, {"ask": label}
        )
        for name, label in labels.items()
    ]
    assert [one.model for one in score_models(flat, found)] == ["asks", "skips"]


def test_two_instructions_share_no_column_of_a_dimension(folder: Path) -> None:
    names = []
    for name in ("hotel", "trains"):
        (folder / "procedure.yaml").write_text(as_yaml(replace(TWO, id=name)))
        out = folder / name
        scored(folder, judge=judge(ask=YES, limit=YES, form=NOT), out=str(out))
        board = json.loads((out / "run.json").read_text())["board"]
        own = [column for column in board["columns"] if " by dimension" in column["group"]]
        names.append({column["name"] for column in own})
        assert {column["group"] for column in own} == {"Coverage by dimension", "Achievement by dimension"}
    assert [len(some) for some in names] == [6, 6]
    assert not names[0] & names[1]


def test_the_procedure_is_drawn_branch_by_branch_with_its_scores(folder: Path) -> None:
    scored(folder, judge=judge(ask=YES, limit=YES, form=NOT))
    drawing = (folder / "scores" / "procedure.mmd").read_text(encoding="utf-8").splitlines()
    assert drawing[:2] == ["flowchart LR", '  start(["hotel"])']
    limit = (
        'n2["limit: Does it name the limit?<br/>b: C 100 %<br/>b: A 100 %<br/>model a: C 100 %<br/>model a: A 100 %"]'
    )
    assert drawing[3] == f'  n1 -->|"needed, either 1"| {limit}'
    assert [line.split("[")[0] for line in drawing[2::2]] == ["  start --> n1", '  n1 -->|"not needed, either 1"| n3']
    page = (folder / "scores" / "report.html").read_text(encoding="utf-8")
    (tree,) = re.findall(r'<div class="tb-scroll tb-tree".*?</div>\n</section>|tb-tree.*?</ul></div>', page, re.S)[:1]
    assert tree.count("<li>") == 3
    assert tree.count("either 1") == 2
    assert not re.search(r'(?:src|href)="https?:', page), "nothing is fetched"


def test_tables_of_a_finished_folder_are_read_back(folder: Path) -> None:
    wrong = lambda prompt: answer("yes", "yes", "no" if "model a" in prompt and "model a 11" not in prompt else "yes")  # noqa: E731
    best, _ = scored(folder, judge=judge(ask=YES, limit=wrong, form=NOT))
    tables = Results.open(folder / "scores").tables
    assert list(tables) == ["scores", "differences", "dimensions", "groups"]
    assert tables["scores"].rows[0]["achievement"] == best.total["achievement"]
    assert [row["conversations"] for row in tables["groups"].rows[:2]] == [6, 6]


def test_a_judge_that_says_nothing_leaves_everything_open(folder: Path) -> None:
    outcome = FlexScore(FlexScoreOptions(folder=str(folder), judge=judge(ask="", limit="?", form=""))).run()
    one = outcome.value[0]
    assert (one.total["coverage"].value, one.total["coverage"].unscored) == (None, 12)
    assert outcome.incomplete == 72
    assert "verdicts not judged: 72" in outcome.notes[0]


def test_a_model_joins_later_and_nothing_is_asked_twice(folder: Path) -> None:
    asked: list[str] = []

    def noted(prompt: str) -> str:
        asked.append(prompt)
        return YES

    spec = judge(ask=noted, limit=noted, form=NOT)
    scored(folder, judge=spec)
    before = len(asked)
    place = corpus_folder(folder, 1, "c")
    place.mkdir(parents=True)
    write_jsonl(place / "conversations.jsonl", [as_row(Talk("0", "c", tuple(TALK), seed="1"))])
    assert len(scored(folder, judge=spec)) == 3
    assert len(asked) == before + 2


@pytest.mark.parametrize(
    ("row", "talk"),
    [
        ({"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]}, ("user", "assistant")),
        ({"messages": [{"role": "system", "content": "x"}, {"role": "Agent", "content": "Hi"}]}, ("assistant",)),
        ({"dialogue": [{"role": "customer", "content": "Hi"}]}, ("user",)),
        ({"messages": [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "find", "arguments": "{}"}}]},
                       {"role": "tool", "content": "order 5"}]}, ("assistant", "assistant")),
    ],
)  # fmt: skip
def test_logs_of_other_forms(tmp_path: Path, row: dict[str, Any], talk: tuple[str, ...]) -> None:
    (found,) = read_talks(Path(write_jsonl(tmp_path / "logs.jsonl", [row])), "mine")
    assert (found.model, found.id, tuple(message.role for message in found.messages)) == ("mine", "1", talk)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"messages": [{"role": "narrator", "content": "Hi"}]}], "'narrator', which is none of system, user"),
        ([{"messages": []}], "must be a list that is not empty"),
        ([{"id": "a", "messages": [{"role": "user", "content": "Hi"}]}] * 2, "conversation a of mine stands twice"),
    ],
)
def test_logs_that_cannot_be_used(tmp_path: Path, rows: list[Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_talks(Path(write_jsonl(tmp_path / "logs.jsonl", rows)), "mine")


def test_what_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="flex build"):
        scored(tmp_path, judge=judge())
    (tmp_path / "procedure.yaml").write_text(as_yaml(TWO))
    with pytest.raises(UserError, match="flex simulate"):
        scored(tmp_path, judge=judge())
    with pytest.raises(UserError, match=r"travel-desk: no such folder.* name --out"):
        FlexScoreOptions(folder="travel-desk", judge="smollm2")
    with pytest.raises(UserError, match="flex simulate"):
        corpora(tmp_path)
    assert corpus_folder(tmp_path, 0, "a/b") != corpus_folder(tmp_path, 0, "a-b")


def test_a_judge_is_told_what_was_measured_of_each_message(folder: Path) -> None:
    text = (folder / "procedure.yaml").read_text()
    (folder / "procedure.yaml").write_text(text.replace(TWO.dimensions[0].question, "Is the response at most 3 words?"))
    seen: list[str] = []

    def reply(messages: Sequence[dict[str, str]]) -> str:
        seen.append(messages[0]["content"])
        return YES

    scored(folder, judge=as_spec(reply), rules="evidence")
    told = [("at most 3 words" in text, "What a program measured" in text) for text in seen]
    assert set(told) == {(True, True), (False, False)}
    number = next(n for n, message in enumerate(TALK, 1) if message.role == "assistant")
    assert all(f"[{number}] " in text for text in seen if "What a program measured" in text)
    with pytest.raises(UserError, match=r"--rules decide: is not for this command; off or evidence"):
        scored(folder, judge=as_spec(reply), rules="decide")
