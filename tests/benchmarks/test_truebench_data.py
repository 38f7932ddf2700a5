"""TRUEBench data from its four sources, and the errors of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.corpus import each_row
from tests.support.runs import ROOT, row, write_jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.data import load, select
from truebench_hf.data import catalogue
from truebench_hf.errors import UserError

GOOD = row(1, [("Say A.", ["is A"])])
REAL = ROOT.parent / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"


@each_row(__file__, "truebench_data", "bad_lines")
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: Any, words: str) -> None:
    path = write_jsonl(tmp_path / "data.jsonl", [GOOD, "", line])
    with pytest.raises(UserError) as caught:
        load(path)
    assert f"{path}, line 3" in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "mini2", "v0.5", "", "a/b/c/d.jsonl"])
def test_data_that_is_not_there(name: str) -> None:
    with pytest.raises(UserError, match="no such file") as caught:
        load(name)
    assert "v0.6.1" in str(caught.value)
    assert "mini" in str(caught.value)


def named(*pairs: tuple[str, str]) -> list[Any]:
    """Instances of these languages and categories."""
    return [
        replace(instance, language=language, category=category)
        for instance, (language, category) in zip(load("mini"), pairs, strict=False)
    ]


@each_row(__file__, "truebench_data", "selection")
def test_selection(languages: list[str], categories: list[str], outcome: list[str] | str) -> None:
    instances = named(("DE", "Editing"), ("KO", "Editing"), ("KO", "Safety"))
    if isinstance(outcome, str):
        with pytest.raises(UserError, match=outcome):
            select(instances, languages, categories)
    else:
        assert [instance.language for instance in select(instances, languages, categories)] == outcome


def test_a_language_that_the_data_calls_by_its_name() -> None:
    for asked in ("DE", "german"):
        assert [instance.language for instance in select(named(("German", "x"), ("EN", "x")), [asked], [])] == [
            "German"
        ]


class Home:
    """A loopback public home of a release."""

    def __init__(self) -> None:
        self.content = (json.dumps(GOOD) + "\n").encode()
        self.status, self.asked = 200, 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked += 1
        return web.Response(body=self.content, status=self.status)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Home]:
    served = Home()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with loopback.serving(served.handle) as port:
        release = replace(
            catalogue.RELEASES["v0.6.1"],
            url=f"http://127.0.0.1:{port}/f",
            sha256=hashlib.sha256(served.content).hexdigest(),
        )
        monkeypatch.setitem(catalogue.RELEASES, "v0.6.1", release)
        yield served


def test_a_release_is_fetched_once_and_checked(home: Home, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "truebench_hf"
    for _ in range(2):
        assert [instance.id for instance in load("v0.6.1")] == ["1"]
    assert home.asked == 1
    (cached,) = cache.iterdir()
    cached.write_bytes(cached.read_bytes() + b"\n")
    load("v0.6.1")
    assert home.asked == 2, "a spoilt cache is fetched again"
    cached.unlink()
    home.content += b"\n"
    with pytest.raises(UserError, match="does not have the pinned SHA-256"):
        load("v0.6.1")
    assert list(cache.iterdir()) == []
    home.status = 503
    with pytest.raises(UserError, match=r"503.*download it and give its path"):
        load("v0.6.1")


def test_the_pinned_release_is_the_one_at_hand() -> None:
    if not REAL.is_file():
        pytest.skip(f"the public release is not at {REAL}")
    release = catalogue.RELEASES["v0.6.1"]
    assert hashlib.sha256(REAL.read_bytes()).hexdigest() == release.sha256
    instances = load(str(REAL))
    turns = [turn for instance in instances for turn in instance.turns]
    assert (len(instances), len(turns), sum(len(turn.criteria) for turn in turns)) == (
        release.instances, release.turns, release.criteria,
    )  # fmt: skip
    assert {instance.language for instance in instances} == set(data.LANGUAGES)
    assert {instance.category for instance in instances} == set(data.CATEGORIES)
    assert len({(instance.category, instance.task) for instance in instances}) == 46
