"""`truebench refine-criteria`: the whole loop through the real command, what it refuses, and what it never loses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import Done, command_here, script, write_jsonl
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.benchmarks.truebench.refinement import history

Cells = Mapping[str, str]
Capsys = pytest.CaptureFixture[str]
EMPTY: dict[str, Any] = {"errors": [], "excessive": [], "missing": [], "composite": []}
# One criterion is unclear, one is missing, one too strict; of the rest judge and people say the same.
DATA = [
    {"id": "greet", "prompt": "Greet the customer.", "criteria": ["It greets nicely."]},
    {"id": "lines", "prompt": "Write three lines.", "criteria": ["It is about rain."]},
    {"id": "colour", "prompt": "Name a colour.", "criteria": ["It names a colour.", "It is in capitals."]},
    *({"id": f"sum {n}", "prompt": f"What is {n} + {n}?", "criteria": ["It is right."]} for n in range(9)),
]
FAILS = {
    "Hey you.": ["polite"], "One line.": ["three lines"], "blue": ["capitals"], "dog": ["colour", "capitals"],
    "no idea": ["right"],
}  # fmt: skip
ONE = {"greet": "Hey you.", "lines": "One line.", "colour": "blue"} | {f"sum {n}": "no idea" for n in range(9)}
OTHER = {"greet": "Dear customer.", "lines": "1\n2\n3", "colour": "dog"} | {f"sum {n}": f"{2 * n}" for n in range(9)}
BAD = {"Hey you.", "One line.", "dog", "no idea"}  # to people


def said(verdict: str, **lists: Any) -> dict[str, str]:
    return {"reply": f"Looked.\n```json\n{json.dumps(EMPTY | lists | {'verdict': verdict})}\n```"}


def judge_rules() -> list[dict[str, Any]]:
    own = [{"contains": text, "verdicts": dict.fromkeys(keys, "FAIL")} for text, keys in FAILS.items()]
    return [*own, {"contains": "<criteria", "verdicts": {}}]


class Loop:
    """A folder that goes forward by repeating one command with what people filled in."""

    def __init__(self, folder: Path, capsys: Capsys, validator: Sequence[Mapping[str, Any]] = ()) -> None:
        self.folder, self.out, self._capsys = folder, folder / "out", capsys
        self.judged, self.validated = folder / "judge.log", folder / "validator.log"
        data = write_jsonl(folder / "data.jsonl", DATA)
        files = [
            write_jsonl(folder / f"{name}.jsonl", [{"id": key, "response": text} for key, text in of.items()])
            for name, of in (("one", ONE), ("other", OTHER))
        ]
        self.base = [
            "--data", data, "--responses", files[0], "--responses", files[1],
            "--judge", script(folder / "judge.json", judge_rules()), "--judge-arg", f"record={self.judged}",
            "--validator", script(folder / "validator.json", [*validator, {"contains": "", **said("PASS")}]),
            "--validator-arg", f"record={self.validated}", "--out", str(self.out),
        ]  # fmt: skip
        self.worklist = self.out / "worklist.csv"

    def run(self, *more: str) -> Done:
        return command_here(self._capsys, "refine-criteria", *self.base, *more)

    def labelled(self) -> list[str]:
        """The first run, its sheets filled in, and the option that gives them back."""
        done = self.run()
        assert done.returncode == 0, done.stderr
        fill_sheet(self.out / "sheets" / "first.csv", lambda row: "fail" if row["Response"] in BAD else "pass")
        return ["--human", str(self.out / "sheets")]

    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "refinement.json").read_text(encoding="utf-8"))
        return found

    def calls(self) -> tuple[int, int]:
        return tuple(len(f.read_text().splitlines()) if f.exists() else 0 for f in (self.judged, self.validated))  # type: ignore[return-value]


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def write(path: Path, found: Sequence[Cells], encoding: str = "utf-8-sig", delimiter: str = ",") -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in found for name in row)), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(found)
    path.write_bytes(text.getvalue().encode(encoding))


def fill_sheet(path: Path, answer: Callable[[Cells], str]) -> None:
    write(path, [row | {"answer": answer(row)} for row in rows(path)])


def fill(path: Path, said: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
    """Fill in the rows of a work list by instance and the first word of what they are about."""
    found = rows(path)
    keys = [(row["instance"], row["what"].split()[0]) for row in found]
    assert set(said) <= set(keys), keys
    write(path, [row | dict(said.get(key, {})) for key, row in zip(keys, found, strict=True)])


FIRST = {
    ("greet", "people"): {"kind": "unclear", "criterion": "1", "new text": "It is polite.", "why": "Nicely?", "who": "eva"},
    ("lines", "people"): {"kind": "missing", "new text": "It has three lines."},
    ("colour", "people"): {"kind": "Too Strict", "criterion": "2.0", "new text": "remove"},
}  # fmt: skip


def test_the_loop_ends_where_judge_and_people_agree_and_the_validator_finds_nothing(
    tmp_path: Path, capsys: Capsys
) -> None:
    loop = Loop(tmp_path, capsys)
    human = loop.labelled()
    assert loop.calls() == (24, 0), "every response once, and nothing to validate yet"
    done = loop.run(*human)
    assert done.returncode == 0, done.stderr
    # 24 responses: people pass 12, the judge passes 13 of them; 21 alike. By chance 1/2: (21/24 - 1/2) / (1/2) = 0.75.
    before = loop.result()["rounds"][0]
    assert (before["n"], before["kappa"], before["band"]) == (24, pytest.approx(0.75), "substantial")
    assert before["ci95"][0] < 0.75 < before["ci95"][1]
    assert (before["people_fail_judge_passes"], before["people_pass_judge_fails"]) == (2, 1)
    assert [(row["instance"], row["choices"]) for row in rows(loop.worklist)] == [
        ("greet", "unclear | missing | prompt | keep"),
        ("lines", "unclear | missing | prompt | keep"),
        ("colour", "too strict | prompt | keep"),
    ]
    assert "2. It is in capitals. [no]" in rows(loop.worklist)[2]["criteria"]
    fill(loop.worklist, FIRST)
    taken = [*human, "--revisions", str(loop.worklist)]
    done = loop.run(*taken)
    assert done.returncode == 0, done.stderr
    result = loop.result()
    after = result["rounds"][1]
    assert (after["kappa"], after["band"], after["n"]) == (1.0, "almost perfect", 24)
    assert after["changes"] == {"revised": 1, "removed": 1, "added": 1, "prompts": 0, "kept": 0}
    assert (after["validated"], after["validated_clean"], result["clean"], result["open"]) == (3, 3, True, {})
    assert loop.calls() == (24 + 6, 3), "only what changed is judged again, and validated"
    assert rows(loop.worklist) == []
    assert "Nothing is open" in done.stdout
    assert "after round 1" in done.stdout
    # Every version, of changed criteria and others.
    lines = [json.loads(line) for line in (loop.out / history.FILE).read_text(encoding="utf-8").splitlines()]
    told = {one: [(v["version"], v["text"], v["change"], v["round"]) for v in lines if v["id"] == one] for one in (
        "greet#1", "lines#2", "colour#2", "sum 3#1", "greet#prompt 1")}  # fmt: skip
    assert told == {
        "greet#1": [(1, "It greets nicely.", "original", 0), (2, "It is polite.", "revised", 1)],
        "lines#2": [(1, "It has three lines.", "added", 1)],
        "colour#2": [(1, "It is in capitals.", "original", 0), (2, None, "removed", 1)],
        "sum 3#1": [(1, "It is right.", "original", 0)],
        "greet#prompt 1": [(1, "Greet the customer.", "original", 0)],
    }
    assert [(v["why"], v["who"], v["kind"]) for v in lines if v["round"]][0] == ("Nicely?", "eva", "unclear")
    # What `truebench run` takes back.
    refined = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(loop.out / "data.jsonl"))}
    assert list(refined) == [row["id"] for row in DATA]
    assert refined["greet"] == ["It is polite."]
    assert refined["lines"] == ["It is about rain.", "It has three lines."]
    assert refined["colour"] == ["It names a colour."]
    # The same command again changes and asks nothing.
    kept = {file.name: file.read_bytes() for file in loop.out.iterdir() if file.suffix in (".jsonl", ".csv")}
    again = loop.run(*taken)
    assert again.returncode == 0, again.stderr
    assert loop.calls() == (30, 3)
    assert kept == {name: (loop.out / name).read_bytes() for name in kept}


LONG = {"criterion": 2, "why": "Three is the number.", "instead": ["It has exactly three lines."]}
GONE = {"criterion": 1, "why": "Nobody asks for rain.", "instead": []}


def test_a_second_round_mends_what_the_validator_finds(tmp_path: Path, capsys: Capsys) -> None:
    validator = [
        {"contains": ["It is about rain.", "It has three lines."], **said("FAIL", errors=[LONG], excessive=[GONE])},
        {"contains": "It is polite.", **said("FAIL", missing=[{"turn": 1, "why": "Whom?", "add": "It names the customer."}])},
    ]  # fmt: skip
    loop = Loop(tmp_path, capsys, validator)
    human = loop.labelled()
    assert loop.run(*human).returncode == 0
    fill(loop.worklist, FIRST)
    taken = [*human, "--revisions", str(loop.worklist)]
    assert loop.run(*taken).returncode == 0
    first = loop.result()
    assert (first["clean"], first["rounds"][1]["kappa"]) == (False, 1.0)
    assert (first["rounds"][1]["validated_clean"], first["rounds"][1]["findings"]) == (1, {"E1": 1, "E2": 1, "E3": 1})
    assert [(row["instance"], row["criterion"], row["proposal"], row["choices"]) for row in rows(loop.worklist)] == [
        ("greet", "", "It names the customer.", "accept | missing | prompt | keep"),
        ("lines", "2", "It has exactly three lines.", "accept | error | prompt | keep"),
        ("lines", "1", "remove", "accept | too strict | prompt | keep"),
    ]
    found = rows(loop.worklist)
    write(loop.worklist, [
        found[0] | {"kind": "keep", "why": "There is one customer."},
        found[1] | {"kind": "accept"},
        found[2] | {"kind": "accept"},
    ])  # fmt: skip
    assert loop.run(*taken).returncode == 0
    second = loop.result()
    assert second["clean"], second
    assert [one["kappa"] for one in second["rounds"]] == [pytest.approx(0.75), 1.0, 1.0]
    assert second["rounds"][2]["changes"] == {"revised": 1, "removed": 1, "added": 0, "prompts": 0, "kept": 1}
    refined = {one.id: [c.text for c in one.turns[0].criteria] for one in load(str(loop.out / "data.jsonl"))}
    assert refined["lines"] == ["It has exactly three lines."]
    assert refined["greet"] == ["It is polite."]
    assert sorted(file.name for file in (loop.out / "rounds").iterdir()) == ["1.jsonl", "2.jsonl"]
