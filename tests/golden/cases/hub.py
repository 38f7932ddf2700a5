"""Data sets built and pushed, results, the Space and a metric published: what is told, and what then is on the Hub."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.golden.case import Case, command_output
from tests.golden.cases.inputs import labelled_rows, rows, scripts
from tests.support import forked
from tests.support.hub_stub import HubStub
from tests.support.runs import row

LIBRARY = "truebench_hf/"  # of which the Space brings all files
_LIBRARY = re.compile(r"(?m)(^ *[\d,]+  truebench_hf/.*\n)+")
_BOUND = (
    (re.compile(r"(?m)^ *[\d,]+(?=  \S)"), "<size>"),
    (re.compile(r"(?<=files, )[\d,]+ bytes"), "<size>"),
    (re.compile(r"(?<=/commit/)[0-9a-f]{40}|(?<= commit )[0-9a-f]{10}"), "<commit>"),
)


def _on_the_hub(*commands: str) -> Callable[[], str]:
    """A step: these commands in processes of their own, which are told of the Hub on the loopback, and what it holds then.

    The Hub's clients read the environment when they are imported, so that these cannot run in this process.
    """

    def step() -> str:
        printed = []
        with HubStub() as hub:
            environment = {
                **os.environ,
                **hub.env,
                "HF_HUB_DISABLE_PROGRESS_BARS": "1",
                "HF_HOME": str(Path("home").absolute()),
            }
            for command in commands:
                words = shlex.split(command)
                done = forked.truebench(words, Path.cwd(), environment)
                printed.append(command_output(words, done.returncode, _unbound(done.stdout), _unbound(done.stderr)))
            _write_hub(hub)
            text = "\n".join(printed).replace(hub.url, "https://hub")
        shutil.rmtree("home", ignore_errors=True)
        return text

    return step


def _unbound(printed: str) -> str:
    """What is printed without sizes, which change with versions, and without a line for every file of the library."""
    if LIBRARY in printed:
        printed = re.sub(r"\d+ files,", "<n> files,", _LIBRARY.sub(f"0  {LIBRARY}...\n", printed))
    for bound, shown in _BOUND:
        printed = bound.sub(shown, printed)
    return printed


def _write_hub(hub: HubStub) -> None:
    """Leave what the Hub holds in the folder `hub`: every file but those of the library, and what was done there."""
    for (kind, name), repo in hub.repos.items():
        for revision in repo.refs:
            folder = Path("hub", kind, name, revision)
            for path, data in hub.files(kind, name, revision).items():
                if not path.startswith((LIBRARY, ".")):
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(data)
        titles = [f"{revision}: {commit.message}" for revision, commits in repo.refs.items() for commit in commits]
        lines = [f"private: {repo.private}, gated: {repo.gated}", *titles]
        lines += [f"pull request {pull.num}: {pull.title}\n{pull.base.description}" for pull in repo.pulls]
        Path("hub", kind, name, "history.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_data() -> None:
    rows("own", [
        *(row(n, [(f"Ask {n}.", ["is short"])], language="EN" if n % 2 else "DE") for n in range(4)),
        row("two", [("One?", ["is one"]), ("Two?", ["is two", "is short"])], category="Multi-Turn"),
        row("bad", [("Bad?", [])]),
    ])  # fmt: skip
    rows("more", [row(n, [(f"Ask {n}.", ["is short"])], language="FR") for n in range(3)])
    rows("labelled", labelled_rows("plum", {"is short": "yes", "has no comma": "no"}, [("user", "plum?")],
                                   rubric_type="quantity_limit", dimension="form", split="hard"))  # fmt: skip
    rows("asked", [
        {"Q": f"Say {n}.", "criteria": [f"says {n}", {"text": "is rude", "weight": -1}], "language": "EN"} for n in range(3)
    ])  # fmt: skip


def _write_runs() -> None:
    rows("own", [row(n, [(f"Ask {n}.", [f"says {n}."])], language="KO" if n == 5 else "EN") for n in range(6)])
    down = {"contains": "Ask 5.", "error": "http://10.0.0.1/secret is down"}
    scripts(
        {
            "model": [down, {"contains": "", "reply": "Here you are."}],
            "small": [{"contains": "", "reply": "Here I am."}],
        }
    )
    scripts({"judge": [{"contains": "<criteria", "verdicts": {"says 1.": "FAIL", "exactly": "FAIL"}}]})


def _spoil() -> None:
    """A copy of the published results in which a score is wrong, one is gone, and a file belongs to no run."""
    from truebench_hf.hub.layout import read_table, write_table

    spoiled = Path(shutil.copytree("hub/dataset/org/results/main", "spoiled"))
    (own,), (small,) = (spoiled.glob(f"runs/*{name}*/scores.parquet") for name in ("model", "small"))
    write_table([row | {"value": 0.9} if row["main"] else row for row in read_table(own)], own)
    write_table(read_table(small)[:-1], small)
    (spoiled / "runs" / "stray.jsonl").write_text("{}\n", encoding="utf-8")


_RUN = "run --judge scripted:judge.json --allow-unscored"
CASES = (
    Case(
        "data", _write_data,
        (
            "data list",
            "data list facts_mini",
            "data build facts_mini --out facts",
            lambda: Path("facts", "data", "all", "test.parquet").unlink(),  # the set is in the package, and its hash here
            "data build truebench --source own.jsonl --out own",
            "data build truebench --source own.jsonl --out refused --strict",
            "data build rubric_eval --source labelled.jsonl --out labelled",
            "data build training --source asked.jsonl --column prompt=Q --out training",
            "data build truebench_min --out refused",
            _on_the_hub(
                "data push own --repo-id org/own --i-have-the-rights --dry-run",
                "data push own --repo-id org/own --private",
                "data push own --repo-id org/own --private",
                "data build truebench --source more.jsonl --out more",
                "data push more --repo-id org/own --private",
                "data push labelled --repo-id org/labelled",
                "data push labelled --repo-id org/labelled --i-have-the-rights --create-pr",
                "data push training --repo-id org",
            ),
        ),
    ),
    Case(
        "publish", _write_runs,
        (
            f"{_RUN} --model scripted:model.json --data own.jsonl --out own",
            f"{_RUN} --model scripted:small.json --data mini --limit 3 --out mini",
            _on_the_hub(
                "publish results own --repo-id org/results",
                "publish results own --repo-id org/results --force",
                "publish results own --repo-id org/results --force --public",
                "publish results own --repo-id org/results --force --public",
                "publish results mini --repo-id org/results --force",
                "publish results mini --model-repo org/model --dataset org/bench --force",
                "publish results org/results --check",
                "publish metric truebench_score --repo-id org/truebench_score",
                "publish metric truebench_score --repo-id org/other",
                "publish space --repo-id org/board --create-pr",
                "publish space --repo-id org/board --private",
            ),
            _spoil,
            "publish results spoiled --check",
            "publish results hub/dataset/org/results/main --check --before spoiled",
            lambda: shutil.rmtree("spoiled"),
        ),
    ),
)  # fmt: skip
