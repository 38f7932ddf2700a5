"""From text to the two scores by the commands, and again: nothing that was answered is asked twice.

What a kill leaves is tested for all studies at once (tests/study).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.runs import command_here, script

(CASE, *_) = yaml.safe_load(Path(__file__).with_name("flex_procedures.yaml").read_text(encoding="utf-8"))
DIMENSIONS = [entry | {"segments": [f"s{number}" for number in entry["segments"]]} for entry in CASE["dimensions"]]
COMPLETE: dict[str, list[Any]] = {"missing": [], "duplicates": [], "invented": [], "unverifiable": []}
ALL = {"dimensions": DIMENSIONS}
BUILDER = {
    "You take an instruction": {"opening": CASE["opening"], "segments": CASE["segments"]},
    "You turn the segments": ALL, "You verify dimensions": COMPLETE, "You settle how fine": ALL, "You make plain": ALL,
    "You find the branches": {"groups": CASE["groups"]},
}  # fmt: skip
SIMULATOR = {
    "Somebody is going to play": {"context": "a call of a parcel shop", "topics": ["returns"]},
    "You fit the description": {"communication_style": "Brief.", "information_disclosure": "Tells what is asked.",
                                "problem_solving": "Waits.", "catchphrases": ["Is there anything this week?"]},
    "A user talks with": {"end": "no"},
}  # fmt: skip
WRONG, RIGHT, LEFT, NOT = ("yes", "yes", "no"), ("yes", "yes", "yes"), ("yes", "no", None), ("no", None, None)
# d1 to d8: of the base actions d1, d2, d3 and d8 three are attempted; of the branches d2 and d5 are right and d6 is left
# out; d7 does not apply, and the branch of the skipped d3, which is d4, does not count.
FACTS = (WRONG, RIGHT, LEFT, LEFT, RIGHT, LEFT, NOT, RIGHT)
JUDGE = {
    entry["question"]: dict(zip(("turn", "applies", "attempted", "correct"), (1, *facts), strict=True))
    for entry, facts in zip(DIMENSIONS, FACTS, strict=True)
}


def spec(path: Path, answers: dict[str, Any], **texts: list[str]) -> str:
    """A model that answers by what its prompts hold: in JSON, or with one text after the other."""
    rules = [{"contains": start, "reply": json.dumps(answer)} for start, answer in answers.items()]
    return script(path, [*rules, *({"contains": start, "reply": replies} for start, replies in texts.items())])


def test_from_text_to_two_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, text = tmp_path / "shop", tmp_path / "returns.md"
    text.write_text(CASE["instruction"], encoding="utf-8")
    users = {CASE["opening"]: ["Why do you ask?", "It came damaged."], "Which order?": ["Number 5.", "None."]}
    roles = {
        "builder": spec(tmp_path / "builder.json", BUILDER), "judge": spec(tmp_path / "judge.json", JUDGE),
        "simulator": spec(tmp_path / "simulator.json", SIMULATOR, **users),
    }  # fmt: skip
    model = ("--model", script(tmp_path / "model.json", [], {"reply": "Which order?"}))
    steps = (
        ("builder", "build", str(text), "--out", str(folder)),
        ("simulator", "simulate", str(folder), *model, "--conversations", "2", "--turns", "2"),
        ("judge", "score", str(folder)),
    )
    # Six stages; analysis, five kinds of users, in each of two rounds a message and whether it is over; eight dimensions.
    for (role, *arguments), calls in zip(steps, (6, 6 + 2 * 2 * 2, 8 * 2), strict=True):
        record = tmp_path / f"{role}.record"
        command = ("flex", *arguments, f"--{role}", roles[role], f"--{role}-arg", f"record={record}")
        for _ in range(2):
            done = command_here(capsys, *command)
            assert done.returncode == 0, done.stderr
            assert len(record.read_text().splitlines()) == calls, "the same command again asks nothing"
    procedure = yaml.safe_load((folder / "procedure.yaml").read_text(encoding="utf-8"))
    assert {entry["id"]: entry["base"] for entry in procedure["dimensions"] if "base" in entry} == CASE["structure"]
    assert procedure["opening"] == CASE["opening"]
    (corpus,) = folder.glob("corpora/0/*/conversations.jsonl")
    talks = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    assert [len(talk["messages"]) for talk in talks] == [5, 5]
    assert talks[0]["messages"][1] != talks[1]["messages"][1], "two kinds of users"
    scores = json.loads((folder / "scores" / "scores.json").read_text(encoding="utf-8"))["scores"][0]
    assert (scores["coverage"]["value"], scores["coverage"]["n"]) == (0.75, 4 * 2)
    assert (scores["achievement"]["value"], scores["achievement"]["n"]) == (pytest.approx(2 / 3), 3 * 2)
    assert scores["undecided"] == 0
