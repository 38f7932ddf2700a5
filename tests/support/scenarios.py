"""Scenarios that stand as text: input files, commands, and what is then printed, written and asked.

`NAME.yaml` beside a test has `cases`, with `name`, `files`, `like` and steps of people as `tests/golden/texts.py` describes
them; `golden: NAME` takes the inputs of a golden case. Further steps here:

- `{run: COMMAND, code: 2, says: [TEXT], hides: [TEXT]}`: what is printed (blanks folded) has these texts; a plain
  COMMAND has to end with 0.
- `{see: FILE, PATH: VALUE, has: [TEXT], lacks: [TEXT]}`: what a file holds. A number may stand as a fraction, "2/3".
- `{finish: MODEL, in: FOLDER, right: N, wrong: N, open: N, OPTION: VALUE}`: a finished run in FOLDER/runs/MODEL over instances
  with these outcomes, in their order.
- `{calls: FOLDER, ROLE: N}`: how many calls a ledger holds by role; of a role with a spec, by its last word.
- `{absent: FILE}`, `{remove: FILE}`, `{move: FILE, to: FILE}`, `{append: FILE, text: TEXT}`, `{settle: FILE, NAME: VALUE}` of a
  JSON file, `{copy: FILE, to: FILE, lines: [0, 1]}` these lines or all of them; `onto` adds them.

A PATH goes down by names and marks, `judges[judge=mean].final.value`: `[0]` and `[name=value]` choose a row, `[*]` takes all
rows, `<a.b>` is a name with dots, `(a,b)` several values, `#` how many there are.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.golden.case import alike_everywhere, run_command
from tests.golden.cases import case_named
from tests.golden.texts import read_step, write_files
from tests.support.corpus import table
from tests.support.finished import finished, numbered
from tests.support.runs import calls_by_role, held
from tests.support.worked import check

_MARK = re.compile(r"\[(?P<rows>[^\]]*)\]|<(?P<name>[^>]*)>|\((?P<several>[^)]*)\)|(?P<key>[^.\[\]<>()]+)")
_TEXTS = ("see", "has", "lacks", "times")


def at(value: Any, path: str) -> Any:
    """What stands at a path in a JSON value."""
    if not (mark := _MARK.match(path)):
        return value
    rest = path[mark.end() :].removeprefix(".")
    if (several := mark["several"]) is not None:
        return [at(value, name) for name in several.split(",")]
    if (rows := mark["rows"]) is None:
        key = mark["name"] or mark["key"]
        return len(value) if key == "#" else at(value[key], rest)
    if rows == "*":
        return [at(row, rest) for row in value]
    if rows.isdigit():
        return at(value[int(rows)], rest)
    wanted = [pair.partition("=")[::2] for pair in rows.split(",")]
    found = [row for row in value if all(str(row.get(name)) == text for name, text in wanted)]
    assert len(found) == 1, (path, found)
    return at(found[0], rest)


def numbers(expected: Any, result: Any) -> Any:
    """The expected value with numbers in place of fractions, wherever the result has numbers."""
    if isinstance(expected, str) and isinstance(result, int | float) and not isinstance(result, bool):
        return float(Fraction(expected))
    if isinstance(expected, list) and isinstance(result, list) and len(expected) == len(result):
        return [numbers(*pair) for pair in zip(expected, result, strict=True)]
    if isinstance(expected, Mapping) and isinstance(result, Mapping):
        return {name: numbers(value, result.get(name)) for name, value in expected.items()}
    return expected


def see(step: Mapping[str, Any]) -> None:
    """Look into a file."""
    file = Path(step["see"])
    text = file.read_text(encoding="utf-8")
    for words, stands in (("has", True), ("lacks", False)):
        assert [word for word in step.get(words, ()) if (word in text) != stands] == [], (file, words)
    for word, times in step.get("times", {}).items():
        assert text.count(word) == times, (file, word)
    for path, expected in step.items():
        if path not in _TEXTS:
            result = at(held(file), path)
            check(result, numbers(expected, result), f"{file}: {path} is {result!r}")


def run(step: Mapping[str, Any]) -> None:
    """Run a command; hold its exit code and what it prints."""
    printed = run_command(step["run"])
    first, _, rest = printed.partition("\n")
    assert first.endswith(f"exit code {step.get('code', 0)}"), printed
    if step.get("code") == 2 and "--- on stderr" in rest:
        assert len(rest.partition("--- on stderr\n")[2].strip().splitlines()) == 1, "one line says what is wrong"
    folded = " ".join(re.sub(r"[\u2500-\u257f]", " ", rest).split())
    for words, stands in (("says", True), ("hides", False)):
        texts = step.get(words, ())
        assert [text for text in texts if (text in folded) != stands] == [], (words, folded)


def calls(step: Mapping[str, Any]) -> None:
    """Hold how many calls were made."""
    made = {role.rpartition(".json ")[2]: count for role, count in calls_by_role(Path(step["calls"])).items()}
    assert made == {role: count for role, count in step.items() if role != "calls"}, made


def finish(step: Mapping[str, Any]) -> None:
    """Make a finished run."""
    words = {"right": True, "wrong": False, "open": None}
    outcomes = [words[word] for word, count in step.items() if word in words for _ in range(count)]
    more = {name: value for name, value in step.items() if name not in (*words, "finish", "in")}
    finished(Path(step["in"]).absolute(), step["finish"], numbered(outcomes), **more)


def absent(step: Mapping[str, Any]) -> None:
    """Hold that a file or folder is not there."""
    assert not Path(step["absent"]).exists()


def append(step: Mapping[str, Any]) -> None:
    """Add text to a file."""
    with Path(step["append"]).open("a", encoding="utf-8") as file:
        file.write(step["text"])


def copy(step: Mapping[str, Any]) -> None:
    """Copy lines of a file."""
    lines = Path(step["copy"]).read_text(encoding="utf-8").splitlines(keepends=True)
    chosen = "".join(lines[number] for number in step.get("lines", range(len(lines))))
    with Path(step.get("onto") or step["to"]).open("a" if "onto" in step else "w", encoding="utf-8") as file:
        file.write(chosen)


def remove(step: Mapping[str, Any]) -> None:
    """Remove a file or a folder."""
    path = Path(step["remove"])
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def settle(step: Mapping[str, Any]) -> None:
    """Change fields of a JSON file."""
    changed = held(Path(step["settle"])) | {name: value for name, value in step.items() if name != "settle"}
    Path(step["settle"]).write_text(json.dumps(changed), encoding="utf-8")


STEPS = {
    "run": run, "see": see, "calls": calls, "absent": absent, "finish": finish,
    "remove": remove, "append": append, "copy": copy, "settle": settle,
    "move": lambda step: Path(step["move"]).rename(step["to"]),
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """Inputs by file (or those of a golden case), and steps."""

    name: str
    golden: str
    files: Mapping[str, Any]
    steps: tuple[Any, ...]
    slow: bool

    def play(self, folder: Path) -> None:
        """Write the inputs into an empty folder, and do all steps there."""
        with alike_everywhere(folder):
            if self.golden:
                case_named(self.golden).write()
            write_files(self.files)
            for step in self.steps:
                if isinstance(step, str):
                    run({"run": step})
                elif (kind := next(iter(step))) in STEPS:
                    STEPS[kind](step)
                else:
                    read_step(step)()  # type: ignore[operator]


def scenarios(test: str, name: str) -> pytest.MarkDecorator:
    """Run a test once for each case of `NAME.yaml` beside it, as `scenario`; `slow: true` marks one."""
    cases = [
        pytest.param(scenario, id=scenario.name, marks=[pytest.mark.slow] * scenario.slow)
        for scenario in read_scenarios(test, name).values()
        if scenario.steps
    ]
    return pytest.mark.parametrize("scenario", cases)


def read_scenarios(test: str, name: str) -> dict[str, Scenario]:
    """The cases of `NAME.yaml` beside a test, by name."""
    found: dict[str, Scenario] = {}
    for case in table(test, name)["cases"]:
        like = found.get(case.get("like", ""))
        files = {**(like.files if like else {}), **case.get("files", {})}
        golden = case.get("golden", like.golden if like else "")
        steps = tuple(case.get("steps", ()))
        found[case["name"]] = Scenario(case["name"], golden, files, steps, case.get("slow", False))
    return found
