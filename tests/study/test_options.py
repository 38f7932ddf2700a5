"""Options that commands share: what roles make of themselves, what is refused, and what binds a folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import held, script
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.options import Binds, InMemory, Options, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, LabellingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Message


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"temperature": -3.0}, "--temperature -3.0"),
        ({"temperature": float("nan")}, "--temperature nan"),
        ({"threshold": 0.0}, "--threshold 0.0"),
        ({"max_tokens": 0}, "--max-tokens 0"),
        ({"judge_level": "rubrik"}, "did you mean rubric"),
        ({"judge_level": "text"}, "unknown judge level"),
        ({"judge_level": "checklist"}, "level for this command 'checklist': choose from rubric, decision"),
    ],
)
def test_labelling_options_that_make_no_sense(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        LabellingOptions(data="-", out="-", **more)


def test_values_are_read_as_texts_where_people_give_paths_sets_and_dicts() -> None:
    options = More(judge={"b", "a"}, judge_arg={"folder": Path("x"), "depth": 2}, tie_breaker=Path("openai:t"))
    assert (options.judge, options.judge_arg, options.tie_breaker) == (("a", "b"), ("folder=x", "depth=2"), "openai:t")
    assert More(judge=[Path("a"), "b"]).judge == ("a", "b")


def test_an_object_in_memory_stays_one_and_a_slip_of_the_pen_is_no_option() -> None:
    model = InMemory("function:f", print)
    options = More(judge=[model], tie_breaker=model)
    assert [spec.value for spec in (*options.judge, options.tie_breaker)] == [print, print]  # type: ignore[union-attr]
    for wrong, text in (({"judge": "a", "judgee": "a"}, "'judgee' is no option"), ({}, "'judge' is missing")):
        with pytest.raises(TypeError, match=text):
            More(**wrong)


# --- roles ----------------------------------------------------------------------------------------------------------


class One(Options):
    """A role each way."""

    judge: tuple[str, ...] = role(help="Judges.")
    tie_breaker: str | None = role(None, help="Breaks ties.")


class More(One):
    """What a role made is inherited; another class may say the role anew."""

    judge: tuple[str, ...] = role(help="Other judges.")
    votes: int = option(1, help="Votes.")


def test_a_role_makes_the_options_of_its_models() -> None:
    made = One.model_fields
    assert set(made) == {"judge", "tie_breaker"} | {
        f"{name}_{part}" for name in ("judge", "tie_breaker") for part in ("arg", "base_url", "concurrency")
    }
    assert "N.k=v for the N-th" in str(made["judge_arg"].description)
    assert "N.k=v" not in str(made["tie_breaker_arg"].description), "there is only one"
    assert "tie breaker" in str(made["tie_breaker_base_url"].description)
    given = More(judge=("a",))
    assert (given.judge_arg, given.judge_base_url, given.judge_concurrency) == ((), None, 16)
    assert set(More.model_fields) == {*made, "votes"}


# --- what binds -----------------------------------------------------------------------------------------------------


class BindingOptions(FolderOptions):
    """An option for each way to bind."""

    model: str = role(help="Who is asked.")
    judge: str | None = role(None, help="Who would judge.", binds=Binds(late=True))
    first: int = option(0, binds=True, help="Tied from the first paid call on.")
    late: int = option(0, binds=Binds(late=True), help="Tied from the first results on.")
    names: str = option("", binds=Binds("list", lambda o: o.names.split(","), grows=True), help="May be added to.")
    small: int = option(0, binds=Binds("size", lambda o: {"of": min(o.small, 9)}), help="Tied to what comes of it.")
    free: int = option(0, help="Shapes nothing.")


class Binding(Study[BindingOptions, str, str, None]):
    """One question."""

    kind, files, dies = "binding", ("done.json",), False

    def items(self) -> Items[str]:
        return Items(["Hello?"], name=lambda text: text, content=lambda text: text)

    async def work(self, text: str) -> str:
        return (await self.caller("model").complete(ChatRequest((Message("user", text),)))).text

    def score(self, done: Sequence[str]) -> Outcome[None]:
        if self.dies:
            raise ZeroDivisionError
        return Outcome(None, title="Binding", items={"done.json": list(done)})


class Folder:
    """A study with every kind of option, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.model, self.other = (script(folder / f"{n}.json", [], {"reply": "Hi."}) for n in ("model", "other"))
        self.silent = script(folder / "silent.json", [], {"error": "nobody is there"})

    def run(self, *, dies: bool = False, **more: Any) -> None:
        study = Binding(BindingOptions(**{"out": str(self.out), "model": self.model, "names": "a"} | more))
        study.dies = dies
        study.run()

    def results(self) -> bytes:
        file = self.out / "done.json"
        return file.read_bytes() if file.exists() else b""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize(
    ("change", "bound", "said"),
    [
        ({"first": 1}, "paid", r"other options \(.*first: 0 there, 1 now"),
        ({"small": 1}, "paid", r"other options \(.*size\.of: 0 there, 1 now"),
        ({"model": "OTHER"}, "paid", r"other options \(.*model: "),
        ({"late": 1}, "finished", "late: 0 there, 1 now"),
        ({"judge": "OTHER"}, "finished", "judge: "),
        ({"names": "b"}, "finished", "has results of a too, .* name them again with --names "),
        ({"free": 1}, "", ""),
        ({"small": 0, "names": "b,a"}, "", "what grows may be added to"),
    ],
)
def test_from_when_on_an_option_binds(folder: Folder, change: dict[str, Any], bound: str, said: str) -> None:
    """In vain, once a call is paid for though its study died, or once there are results."""
    change = {name: folder.other if value == "OTHER" else value for name, value in change.items()}
    stages = {"in vain": {"model": folder.silent}, "paid": {"dies": True}, "finished": {}}
    is_bound = False
    for stage, how in stages.items():
        folder.out = folder.out.with_name(stage)
        with suppress(ZeroDivisionError, RequestFailed):
            folder.run(**how)
        is_bound = is_bound or stage == bound
        before = folder.results()
        with pytest.raises(UserError, match=said) if is_bound else nullcontext():
            folder.run(**change)
        assert not is_bound or folder.results() == before
        folder.run(**({} if is_bound else change))


def test_what_grows_and_what_binds_by_its_value_are_noted_as_they_are(folder: Folder) -> None:
    for names, small in (("a", 10), ("b,a", 99)):
        folder.run(names=names, small=small)
        info = held(folder.out / "run.json")
        assert info["results"] == {"list": names.split(",")}
        assert info["settings"]["size"] == {"of": 9}
