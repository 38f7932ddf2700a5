"""A refinement of criteria that goes forward by its own commands, with what people fill in between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.people import Cells, fill, rows_of, write_sheet
from tests.support.runs import Done, command_here, script, write_jsonl
from truebench_hf.api.labels import ask_people, take_labels
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.benchmarks.truebench.refinement import HISTORY
from truebench_hf.study.labelling import LabelInOptions, LabelOutOptions

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


Rules = Sequence[Mapping[str, Any]]
JUDGE: Rules = [
    *({"contains": text, "verdicts": dict.fromkeys(keys, "FAIL")} for text, keys in FAILS.items()),
    {"contains": "<criteria", "verdicts": {}},
]


class Loop:
    """A folder that goes forward by repeating one command with what people filled in."""

    def __init__(
        self, folder: Path, capsys: Capsys, validator: Rules = (), judge: Rules = JUDGE, data: Rules = DATA,
        answers: Sequence[Mapping[str, Any]] = (ONE, OTHER), more: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.folder, self.out, self._capsys = folder, folder / "out", capsys
        self.judged, self.validated = folder / "judge.log", folder / "validator.log"
        given = [
            write_jsonl(folder / f"{n}.jsonl", [{"id": key, "response": text} for key, text in texts.items()])
            for n, texts in enumerate(answers)
        ]
        self.base = [
            "--data", write_jsonl(folder / "data.jsonl", data), *(word for file in given for word in ("--responses", file)), *more,
            "--judge", script(folder / "judge.json", judge), "--judge-arg", f"record={self.judged}",
            "--validator", script(folder / "validator.json", [*validator, {"contains": "", **said("PASS")}]),
            "--validator-arg", f"record={self.validated}", "--out", str(self.out),
        ]  # fmt: skip

    def run(self, *more: str) -> Done:
        return command_here(self._capsys, "study", "refine-criteria", *self.base, *more)

    def labelled(self) -> None:
        """The first run, and what people say of its responses."""
        done = self.run()
        assert done.returncode == 0, done.stderr
        ask(self.out, lambda row: "fail" if row["Response"] in BAD else "pass")

    def take_in(self, *sheets: str) -> Done:
        return command_here(self._capsys, "label", "in", str(self.out), *sheets)

    def result(self) -> dict[str, Any]:
        return refined(self.out)

    def calls(self) -> tuple[int, int]:
        return tuple(len(f.read_text().splitlines()) if f.exists() else 0 for f in (self.judged, self.validated))  # type: ignore[return-value]


def refined(out: Path) -> dict[str, Any]:
    """What scores.json says, by round."""
    tables = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    rounds = [
        row | row["kappa"] | {"kappa": row["kappa"]["value"], "ci95": row["kappa"]["interval"]}
        for row in tables["rounds"]
    ]
    return {
        "rounds": rounds, "clean": not tables.get("open"),
        "open": tables.get("open", []),
    }  # fmt: skip


def ask(out: Path, answer: Callable[[Cells], str], **more: Any) -> list[Path]:
    """Ask one annotator about what a folder holds, and read the answers back; returns the sheets."""
    files = ask_people(LabelOutOptions(folder=str(out), **more)).files
    for file in files:
        if file.suffix == ".csv":
            fill(file, answer)
    take_labels(LabelInOptions(folder=str(out)))
    return list(files)


def criteria(out: Path) -> dict[str, list[str]]:
    """The criteria of all instances as they stand, by id."""
    return {item.id: [c.text for turn in item.turns for c in turn.criteria] for item in load(str(out / "data.jsonl"))}


def history(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / HISTORY).read_text(encoding="utf-8").splitlines()]


Decided = Mapping[
    tuple[str, str], tuple[str, str]
]  # by instance and first word of the matter: what to do, and the text


def answered(sheet: Path, decided: Decided, note: str = "") -> None:
    """Answer the sheet of a work list."""
    table = rows_of(sheet)
    keys = [(row["What"].split("; instance ")[1].split(",")[0], row["What"].split()[0]) for row in table]
    assert set(decided) <= set(keys), keys
    pairs = [decided.get(key, ("", "")) for key in keys]
    write_sheet(
        sheet, [row | {"answer": do, "note": text or note} for row, (do, text) in zip(table, pairs, strict=True)]
    )


def decide(loop: Loop, decided: Decided, who: str = "eva", note: str = "") -> Done:
    """Ask an annotator about the work list, and take the answers in."""
    sheet = next(file for file in ask_people(LabelOutOptions(folder=str(loop.out), annotators=who)).files)
    answered(sheet, decided, note)
    return loop.take_in()
