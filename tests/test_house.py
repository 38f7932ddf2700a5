"""The rules of the house, held by a reading of the source."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "truebench_hf"
SOURCES = sorted(PACKAGE.rglob("*.py"))
# By the names they are imported by: `loaders/` is installed as `truebench_hf.loaders`.
MODULES = {
    ".".join((name, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for name, folder in (("truebench_hf", PACKAGE), ("truebench_hf.loaders", ROOT / "loaders"))
    for path in sorted(folder.rglob("*.py"))
}

# The floors of the house: imports only point down or stay on their floor, and none goes round in a circle.
FLOORS = {
    9: "bench cli demo space __main__",
    8: "api evaluate_modules integrations",  # and the face, `truebench_hf` itself
    7: "comparing hub loaders",
    6: "benchmarks",
    5: "report results study",
    4: "judging",
    3: "engine models",
    2: "data prompts",
    1: "metrics options text",
    0: "errors hashing types version",
}
FLOOR_OF = {room: floor for floor, rooms in FLOORS.items() for room in rooms.split()} | {"": 8}
HEAVY = {
    "torch", "transformers", "vllm", "ray", "gradio", "datasets", "evaluate", "plotly", "polars", "sklearn", "statsmodels", "sacrebleu",
    "rouge_score", "bert_score", "trl", "peft",
}  # fmt: skip
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ELSEWHERE = {"inspect_ai", "pytest"}  # whoever loads these modules has them
TOP = {
    "truebench_hf", "loaders", "dataset_cards", "space", "tests", "examples", "docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "constraints.txt", "pyproject.toml", "setup.py", ".ci", ".gitignore", ".github",
}  # fmt: skip
OWNERS = ("evaluate_modules/",)  # thin `evaluate` modules are nothing but their import


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
    unread = {id(inner) for node in nodes(path) if _is_type_checking(node) for inner in ast.walk(node)}
    for node in tree(path).body if top_only else nodes(path):
        if id(node) in unread:
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: imports are absolute"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@functools.cache
def modules_imported(path: Path) -> set[str]:
    """The modules of the house that a file imports, also within functions."""
    names = {name for _, name in imports(path) if name.split(".")[0] == "truebench_hf"}
    return {name if name in MODULES else name.rpartition(".")[0] for name in names}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle of a graph, its first node also at the end; none is an empty list."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_the_reading_reads_something() -> None:
    assert len(SOURCES) > 40
    assert "truebench_hf.loaders.truebench" in MODULES
    assert (4, "typing.Any") not in imports(PACKAGE / "errors.py")
    assert any(name == "truebench_hf.types.Message" for _, name in imports(PACKAGE / "models" / "asking.py"))
    in_a_function = modules_imported(PACKAGE / "api" / "face.py")
    assert "truebench_hf.loaders.export" in in_a_function
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) in (
        ["a", "c", "b", "a"],
        ["b", "a", "c", "b"],
        ["c", "b", "a", "c"],
    )
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_imports_only_point_down() -> None:
    wrong = [
        f"{name_of(path)} imports {other}"
        for name, path in MODULES.items()
        for other in modules_imported(path)
        if FLOOR_OF[room(other)] > FLOOR_OF[room(name)]
    ]
    assert wrong == []


def test_no_imports_go_round_in_a_circle() -> None:
    files: dict[str, set[str]] = {}
    rooms: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        edges = {other for other in modules_imported(path) if other != name}
        files[name] = edges
        rooms.setdefault(room(name), set()).update({room(other) for other in edges} - {room(name)})
    assert circle(rooms) == []
    assert circle(files) == []


def test_every_room_has_a_floor() -> None:
    placed = [name for rooms in FLOORS.values() for name in rooms.split()]
    assert sorted(placed) == sorted({room(name) for name in MODULES} - {""})


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


def test_every_imported_package_is_declared() -> None:
    extras = [needed for extra, needed in PROJECT["optional-dependencies"].items() if extra not in ("dev", "slow")]
    declared = names_of([*PROJECT["dependencies"], *chain.from_iterable(extras)])
    paths = [*MODULES.values(), *(ROOT / "space").rglob("*.py")]
    packages = {name.partition(".")[0]: name_of(path) for path in paths for _, name in imports(path)}
    assert {"datasets", "gradio", "sklearn"} <= set(packages)
    known = packages_distributions()
    others = set(packages) - ELSEWHERE - {"truebench_hf", "__future__"} - sys.stdlib_module_names
    undeclared = {name for name in others if not names_of(known.get(name, [name])) & declared}
    assert {name: packages[name] for name in undeclared} == {}


def names_of(requirements: Sequence[str]) -> set[str]:
    """The packages that lines of requirements name, as they are compared."""
    return {re.split(r"[\[><=]", line)[0].lower().replace("_", "-") for line in requirements}


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
        if name_of(path) == "truebench_hf/text/terminal.py" or OWNERS[0] in name_of(path):
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


def test_nothing_strays_into_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.splitlines()]
    heavy = [name_of(path) for path in files if path.is_file() and path.stat().st_size > 500_000]
    assert heavy == [], "a wheel that was downloaded into the checkout stays in its history"
    assert {path.relative_to(ROOT).parts[0] for path in files} <= TOP


# What is done in one place each. Files that still do it themselves stand here until their room has moved: the lists
# only ever get shorter.
RUN_JSON_OF_OTHERS = {  # the engine opens the folder it works in; a study asks it about its own folder
    "benchmarks/flexbench/score.py",
}  # fmt: skip
OWN_FOLDER = {"study/study.py", "study/roles.py", "engine/folder.py"}
SHARES = {"rate", "pass_rate", "clustered_rate", "clustered_share", "mean", "fmean"}


def _calls(path: Path, *names: str) -> bool:
    last = {name.rpartition(".")[2] for name in names}
    called = (node.func for node in nodes(path) if isinstance(node, ast.Call))
    near = (function for function in called if getattr(function, "attr", getattr(function, "id", "")) in last)
    return any(ast.unparse(function) in names for function in near)


def _formats_percent(node: ast.AST) -> bool:
    """Whether it is a share times 100 within a text."""
    if not isinstance(node, ast.FormattedValue) or node.format_spec is None:
        return False
    value = node.value
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and "100" in ast.unparse(value)


def _compares_within_a_share(node: ast.AST) -> bool:
    """Whether it is the share of cases in which two labels are equal."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or node.func.id not in SHARES
        or not node.args
    ):
        return False
    elements = [part.elt for part in ast.walk(node.args[0]) if isinstance(part, ast.ListComp | ast.GeneratorExp)]
    compared = [part for element in elements for part in ast.walk(element) if isinstance(part, ast.Compare)]
    return any(
        isinstance(part.ops[0], ast.Eq) and not isinstance(part.comparators[0], ast.Constant) for part in compared
    )


@pytest.mark.parametrize(
    ("does", "places", "still"),
    [
        (lambda p: _calls(p, "read_info"), {"results/folder.py"} | OWN_FOLDER, RUN_JSON_OF_OTHERS),
        (lambda p: _calls(p, "labels.write"), {"study/labelling.py"}, set()),
        (lambda p: any(map(_formats_percent, nodes(p))), {"report/sections.py"}, set()),
        (lambda p: any(map(_compares_within_a_share, nodes(p))), set(), set()),
    ],
    ids=["run.json", "sheets", "percent", "agreement"],
)
def test_what_is_said_once_is_done_in_one_place(
    does: Callable[[Path], bool], places: set[str], still: set[str]
) -> None:
    found = {path.relative_to(PACKAGE).as_posix() for path in SOURCES if does(path)}
    assert found - places - still == set(), "use the one place that does it"
    assert still - found == set(), "moved: take it off the list"
