"""The cache across folders, as commands and calls in Python use it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, Done, command_here, held, script, write_jsonl
from truebench_hf.engine.ledger import Calls
from truebench_hf.types import Usage

FRUITS = ["apple", "banana", "cherry", "damson"]
KEY = "sk-not-a-real-one-0123456789"


def rows(*edited: str) -> list[dict[str, Any]]:
    """A row per fruit; those that are `edited` have another criterion."""
    return [
        {"id": name, "prompt": f"Name a {name}.", "criteria": [f"names a {name}{'!' * (name in edited)}"]}
        for name in FRUITS
    ]


class Bench:
    """A working folder with data, a scripted model and judge, and what both were asked."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.record = folder, capsys, folder / "asked.jsonl"
        self.write_rows(rows())
        script(folder / "model.json", [{"contains": "Name", "reply": "Here it is."}])
        script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])

    def write_rows(self, data: list[dict[str, Any]]) -> None:
        write_jsonl(self.folder / "data.jsonl", data)

    def run(self, out: str, *more: str, code: int = 0) -> Done:
        flags = ["--data", "data.jsonl", "--model", "scripted:model.json", "--judge", "scripted:judge.json"]
        record = ["--model-arg", f"record={self.record}", "--judge-arg", f"record={self.record}"]
        return self.command("run", *flags, *record, "--rules", "off", "--out", out, *more, code=code)

    def command(self, *words: str, code: int = 0) -> Done:
        done = command_here(self.capsys, *words)
        assert done.returncode == code, done.stderr or done.stdout
        return done

    def asked(self) -> int:
        """How many calls were made since this was last asked."""
        count = len(self.record.read_text().splitlines()) if self.record.exists() else 0
        self.record.unlink(missing_ok=True)
        return count


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    monkeypatch.delenv("TRUEBENCH_CACHE")
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, capsys)


def info(out: str) -> dict[str, Any]:
    return dict(held(Path(out, "run.json")))


def test_the_second_of_two_equal_runs_asks_nothing(bench: Bench) -> None:
    first = bench.run("one")
    assert bench.asked() == 8
    assert "from the cache" not in first.stdout
    assert "from_cache" not in info("one")["usage"]

    estimate = bench.run("two", "--estimate")
    day = time.strftime("%Y-%m-%d", time.gmtime())
    note = f"Calls: 8 of 8 from the cache (asked {day})."
    assert note in " ".join(estimate.stdout.split())
    assert "What 4 items would take" in estimate.stdout
    assert "report.html" not in estimate.stdout
    assert note in " ".join(bench.run("two").stdout.split())
    assert note in Path("two", "report.html").read_text()
    assert bench.asked() == 0
    usage = info("two")["usage"]
    assert usage["now"] == {}, "a cached call costs nothing now"
    assert usage["from_cache"] == usage["total"] == info("one")["usage"]["total"]
    assert Path("two/judgments.jsonl").read_text() == Path("one/judgments.jsonl").read_text()
    assert Path(".truebench_cache/.gitignore").read_text() == "*\n"


def test_the_same_folder_takes_changed_rows_by_update(bench: Bench) -> None:
    bench.run("one")
    bench.asked()
    bench.write_rows(rows("cherry"))
    refused = bench.run("one", code=2)
    assert "the data changed in 1 of 4 rows (cherry): --update judges those anew" in refused.stderr
    assert refused.stderr.count("\n") == 1
    bench.run("one", "--update")
    assert bench.asked() == 1, "the judge of that row"
    assert "cherry!" in Path("one/judgments.jsonl").read_text()
    bench.run("one")
    assert bench.asked() == 0, "from now on these are the data of the folder"
    bench.write_rows([*rows()[1:], {"id": "elder", "prompt": "Name an elder.", "criteria": ["names it"]}])
    changes = "1 of 4 rows, 1 new, 1 gone (cherry, elder, apple)"
    assert changes in bench.run("one", code=2).stderr
    bench.run("one", "--update")
    assert bench.asked() == 2, "both of the new row; that of the row as it was is there"


@pytest.mark.parametrize(
    ("change", "more", "cache", "asked", "why"),
    [
        ((), ["--temperature", "0.5"], "", 4, "another sampling: the model answers anew, and the judge knows the answers"),
        ((), ["--no-cache"], "", 8, "nothing is taken from the cache"),
        ((), ["--limit", "2"], "", 0, "a part of what was asked"),
        (("cherry",), [], "", 1, "one edited criterion: the judge of the one row, whose answer is known"),
        ((), [], "off", 8, "an environment without a cache"),
        ((), [], "shared/cache", 0, "one that names its place"),
    ],
)  # fmt: skip
def test_what_is_asked_again(
    bench: Bench, change: tuple[str, ...], more: list[str], cache: str, asked: int, why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if cache:
        monkeypatch.setenv("TRUEBENCH_CACHE", cache)
    bench.run("one")
    assert bench.asked() == 8
    bench.write_rows(rows(*change))
    done = bench.run("two", *more)
    assert bench.asked() == asked, why
    assert Path(".truebench_cache").exists() is not bool(cache)
    assert Path("shared/cache/calls.sqlite").exists() is (cache == "shared/cache")
    if change:
        assert "7 of 8 from the cache" in " ".join(done.stdout.split())
        assert info("two")["usage"]["now"]["judge"]["calls"] == 1


def test_samples_keep_their_number(bench: Bench) -> None:
    """Two draws of one prompt are never one, and another folder goes on where the numbers end."""
    warm = ("--temperature", "0.7", "--samples")
    script(Path("model.json"), [{"contains": "Name", "reply": [f"Answer {n}." for n in range(8)]}])
    bench.run("one", *warm, "2")
    assert bench.asked() == 16
    drawn = {line["messages"][-1]["content"] for line in held(Path("one/judgments.jsonl"))}
    assert len(drawn) == 8, "every draw is its own answer"
    bench.run("two", *warm, "3")
    assert sum(len(texts[-1]) < 20 for texts in held(bench.record)) == 4, (
        "the third draw of every prompt, and its judge"
    )


def test_what_failed_is_asked_again(bench: Bench) -> None:
    rules = [{"contains": "banana", "error": "it burned down"}, {"contains": "<criteria", "verdicts": {}}]
    script(Path("judge.json"), rules)
    bench.run("one", code=3)
    bench.asked()
    bench.run("two", code=3)
    assert bench.asked() == 1


def test_a_server_elsewhere_is_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And neither a key nor a login nor what a prompt says of them is in the file."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    data = write_jsonl(tmp_path / "data.jsonl", [{"id": "a", "prompt": f"Say {KEY}.", "criteria": [f"says {KEY}"]}])

    def run(out: str, url: str) -> None:
        flags = ["--data", data, "--model", "openai:m", "--judge", "none", "--model-base-url", url, "--cache", "cache"]
        assert command_here(capsys, "run", *flags, "--out", out, "--allow-unscored").returncode == 0

    with OpenAIServer() as one, OpenAIServer() as other:
        run("first", one.url)
        run("second", one.url.replace("://", "://user:a-long-password@"))
        assert one.stats()["total"] == 1, "a login is no part of an address"
        run("third", other.url)
        assert other.stats()["total"] == 1
    held = b"".join(file.read_bytes() for file in (tmp_path / "cache").iterdir())
    assert not any(secret.encode() in held for secret in (KEY, "a-long-password", "Bearer"))


def test_a_damaged_cache_is_named_with_what_to_do(bench: Bench) -> None:
    bench.run("one")
    Path(".truebench_cache/calls.sqlite").write_bytes(b"no database, and long enough to be one " * 400)
    for done in (*(bench.command("cache", word, code=2) for word in ("info", "prune")), bench.run("two", code=2)):
        assert "`truebench cache clear`" in done.stderr
        assert done.stderr.count("\n") == 1
    bench.run("two", "--no-cache")
    bench.command("cache", "clear")
    bench.run("three")


def test_where_nothing_can_be_written_the_usual_cache_is_gone_without(bench: Bench) -> None:
    Path(".truebench_cache").write_text("a file")
    done = bench.run("one")
    assert "no cache in" in done.stderr
    assert "--cache" in bench.run("two", "--cache", ".truebench_cache", code=2).stderr


def test_commands_that_look_and_make_room(bench: Bench) -> None:
    assert "nothing is cached there" in bench.command("cache", "info").stdout
    bench.run("one")
    assert re.search(r"scripted:judge\.json\W+4\b", bench.command("cache", "info").stdout)
    assert "0 answers removed" in bench.command("cache", "prune").stdout
    assert "--days -1.0: must be at least 0" in bench.command("cache", "prune", "--days", "-1", code=2).stderr
    assert "8 answers removed" in bench.command("cache", "prune", "--days", "0").stdout
    bench.asked()
    bench.run("two")
    assert bench.asked() == 8
    bench.command("cache", "clear", "--cache", ".truebench_cache")
    assert [file.name for file in Path(".truebench_cache").iterdir()] == [".gitignore"]


def test_judge_in_python_shares_it_with_commands_and_later_calls(bench: Bench) -> None:
    spec, record = f"scripted:{bench.folder / 'judge.json'}", {"record": str(bench.record)}
    for _ in range(2):
        assert truebench_hf.judge("Hi.", "Hello.", "greets", spec, judge_arg=record).passed
    assert bench.asked() == 1
    assert truebench_hf.judge("Hi.", "Hello.", "greets", spec, judge_arg=record, no_cache=True).passed
    assert bench.asked() == 1
    reward = truebench_hf.checklist_reward(spec, judge_arg=record)
    assert reward(["Hello."], prompts=["Hi."], criteria=[["greets"]]) == [1.0]
    assert bench.asked() == 0
    calls: list[Any] = []

    def unnamed(messages: list[Any]) -> str:
        calls.append(messages)
        return "yes"

    for _ in range(2):
        truebench_hf.judge("Hi.", "Hello.", "greets", unnamed)
    first = len(calls) // 2
    assert calls[:first] == calls[first:], "nobody can tell whether a function is the same tomorrow"


@pytest.mark.slow
def test_ten_processes_lose_nothing(tmp_path: Path) -> None:
    """1,000 answers each, half of them under keys that all of them write."""
    path = tmp_path / "calls.sqlite"
    code = (
        "import sys\nfrom pathlib import Path\nfrom truebench_hf.engine.ledger import Calls\n"
        "from truebench_hf.types import Usage\n"
        "number, store = int(sys.argv[1]), Calls(Path(sys.argv[2]), shared=True)\n"
        "for place in range(1000):\n"
        "    key = f'shared {place}' if place % 2 else f'{number} {place}'\n"
        "    assert store.put(key, 'm', '', {'text': key}, Usage(1, 1, 0, 1)) == {'text': key}\n"
        "store.close()\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(number), str(path)], cwd=ROOT, stderr=-1, text=True)
        for number in range(10)
    ]
    assert [process.communicate(timeout=300)[1] for process in started] == [""] * 10
    store = Calls(path, shared=True)
    assert store.usage()["total"]["m"] == Usage(5500, 5500, 0, 5500)
    assert all(store.get(f"{number} {place}") for number in range(10) for place in range(0, 1000, 2))


def test_a_folder_of_the_users_keeps_its_files(bench: Bench) -> None:
    Path("mine").mkdir()
    bench.run("one", "--cache", "mine")
    assert [file.name for file in Path("mine").iterdir()] == ["calls.sqlite"]
