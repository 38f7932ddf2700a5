"""The rules of the house, held by a reading of the source."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "truebench_hf"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# Imports only point down; rooms on one floor may use each other except where a test below says otherwise.
FLOORS = {
    "cli": 5, "api": 5, "rewards": 5, "space": 5, "standings": 5, "exports": 5, "inspect_task": 5, "demo": 5, "benchmarks": 4, "hub": 4, "study": 3.5, "report": 3, "judging": 3, "models": 2, "engine": 2,
    "prompts": 2, "given_responses": 2, "answer_files": 1, "metrics": 1, "records": 1, "instances": 1, "types": 0, "rules": 0, "in_memory": 0, "errors": 0, "arguments": 0, "extras": 0, "anonymous": 0, "options": 0,
    "redaction": 0, "confidential": 0, "terminal": 0, "jsonl": 0, "rows": 0, "row_files": 0, "row_formats": 0, "whole_files": 0,
}  # fmt: skip
HEAVY = {"torch", "transformers", "vllm", "ray", "gradio", "datasets", "evaluate", "plotly", "polars"}
TOP = {
    "truebench_hf", "loaders", "dataset_cards", "space", "tests", "examples", "docs", "README.md", "CHANGELOG.md", "LICENSE",
    "Makefile", "constraints.txt", "pyproject.toml", ".ci", ".gitignore", ".github",
}  # fmt: skip
OWNERS = ("metrics/modules/",)  # thin `evaluate` modules are nothing but their import


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def room(module: str) -> str:
    """The room of a dotted name inside the package; "" for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path, *, top_only: bool = False) -> list[tuple[int, str]]:
    """(line, dotted name) of every import of a file; those under TYPE_CHECKING are none at run time."""
    found = []
    for node in tree(path).body if top_only else nodes(path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or OWNERS[0] in name_of(path), f"{name_of(path)}: imports are absolute"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def test_the_reading_reads_something() -> None:
    assert len(SOURCES) > 40
    assert (4, "typing.Any") not in imports(PACKAGE / "errors.py")
    assert any(name == "truebench_hf.types.Message" for _, name in imports(PACKAGE / "models" / "asking.py"))


def test_imports_only_point_down() -> None:
    wrong = []
    for path in SOURCES:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        here = FLOORS.get(parts[0])
        if here is None or OWNERS[0] in name_of(path):  # __init__ is the door to everything
            continue
        for line, name in imports(path):
            if name.startswith("truebench_hf.") and (there := FLOORS.get(room(name))) is not None and there > here:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
    assert wrong == []


def test_every_room_has_a_floor() -> None:
    rooms = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in SOURCES}
    assert rooms - {"__init__", "__main__"} == set(FLOORS)


def test_no_benchmark_imports_another() -> None:
    wrong = []
    for path in (PACKAGE / "benchmarks").rglob("*.py"):
        own = path.relative_to(PACKAGE / "benchmarks").parts[0]
        for line, name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["truebench_hf", "benchmarks"] and len(parts) > 2 and parts[2] != own:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
    assert wrong == []


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for path in SOURCES
        if not any(owner in name_of(path) for owner in OWNERS)
        for line, name in imports(path, top_only=True)
        if name.split(".")[0] in HEAVY
    ]
    assert wrong == []


def test_types_and_errors_need_only_the_standard_library() -> None:
    for file in ("types.py", "errors.py", "metrics/pass_rate.py", "models/scripted.py", "engine/ledger.py"):
        for line, name in imports(PACKAGE / file, top_only=True):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or top == "truebench_hf", f"{file}:{line} imports {name}"


def test_modules_are_short_and_say_what_they_are() -> None:
    wrong = []
    for path in SOURCES:
        if path.read_text(encoding="utf-8").count("\n") > 400:
            wrong.append(f"{name_of(path)}: over 400 lines")
        if tree(path).body and not ast.get_docstring(tree(path)):
            wrong.append(f"{name_of(path)}: no docstring")
        wrong += [
            f"{name_of(path)}: {node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
            for node in nodes(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
        ]
    assert wrong == []


def test_the_vocabulary_stays_small() -> None:
    assert (PACKAGE / "types.py").read_text(encoding="utf-8").count("\n") <= 175


def test_errors_are_not_swallowed_and_nothing_is_left_open() -> None:
    wrong = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        wrong += [
            f"{name_of(path)}: {word}"
            for word in ("TODO", "FIXME", "import pickle", "trust_remote_code=True")
            if word in text
        ]
        for node in nodes(path):
            if isinstance(node, ast.ExceptHandler) and all(isinstance(b, ast.Pass | ast.Continue) for b in node.body):
                broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id.endswith("Exception"))
                wrong += [f"{name_of(path)}:{node.lineno} swallows everything"] * broad
    assert wrong == []


def test_only_the_terminal_prints() -> None:
    wrong = []
    for path in SOURCES:
        if name_of(path) == "truebench_hf/terminal.py" or OWNERS[0] in name_of(path):
            continue
        for node in nodes(path):
            called = node.func if isinstance(node, ast.Call) else None
            name = (
                called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
            )
            if name in ("Console", "print_exception", "print_exc", "echo", "secho") or (
                name == "print" and isinstance(called, ast.Name)
            ):
                wrong.append(f"{name_of(path)}:{node.lineno} calls {name}")  # type: ignore[attr-defined]
    assert wrong == [], "say, warn, complain and console keep escapes and secrets off the terminal"


def test_the_list_of_packages_is_the_tree() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in SOURCES if path.name == "__init__.py"
    }  # fmt: skip
    loaders = {
        ".".join(("truebench_hf", *path.parent.relative_to(ROOT).parts))
        for path in (ROOT / "loaders").rglob("__init__.py")
    }
    assert set(settings["packages"]) == packages | loaders
    assert len(settings["packages"]) == len(set(settings["packages"]))
    mapped = settings["package-dir"]
    assert mapped["truebench_hf.loaders"] == "loaders"


def test_nothing_strays_into_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.splitlines()]
    heavy = [name_of(path) for path in files if path.is_file() and path.stat().st_size > 500_000]
    assert heavy == [], "a wheel that was downloaded into the checkout stays in its history"
    assert {path.relative_to(ROOT).parts[0] for path in files} <= TOP
