"""The playground's two modes over HTTP, with a model that answers in the forms asked for and with one that fails."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.space import author
from tests.space.visitor import Visitor, launched
from tests.support.loopback import free_port
from tests.support.openai_server import OpenAIServer
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.space import playground, visitors
from truebench_hf.space.engine import Engine
from truebench_hf.space.options import SpaceOptions

pytestmark = pytest.mark.slow  # a Gradio server

SECRET = "A very private question about tea, asked by me."
RULES = [
    {"contains": "Fail, please", "error": f"503 from http://10.0.0.7/v1 with sk-abcdefgh1234 for '{SECRET}' (busy)"},
    {"contains": ["<criteria", "cup"], "verdicts": {"German": "FAIL"}},
    {"contains": "tea", "probability": 0.9},
    {"contains": "in German", "probability": 0.1},
]
Open = Callable[[Engine], str]


@pytest.fixture(scope="module")
def opened() -> Iterator[Open]:
    """Open the playground over an engine: gives the address."""
    with ExitStack() as stack:

        def page(engine: Engine) -> str:
            import gradio as gr

            with gr.Blocks(analytics_enabled=False) as app:
                playground.build_tab(engine, app)
            app.queue(api_open=False)
            stack.callback(app.close)
            launch = lambda: app.launch(server_port=free_port(), prevent_thread_lock=True, quiet=True, ssr_mode=False)  # noqa: E731
            return str(launched(launch)[1])

        yield page


@pytest.fixture(scope="module")
def scripted(opened: Open, tmp_path_factory: pytest.TempPathFactory) -> str:
    script = tmp_path_factory.mktemp("playground") / "rules.json"
    script.write_text(json.dumps({"rules": RULES, "default": {"reply": "A cup of tea.", "probability": 0.5}}))
    return opened(Engine(SpaceOptions(model=f"scripted:{script}")))


@pytest.fixture(scope="module")
def written(opened: Open) -> str:
    engine = Engine(SpaceOptions(model="scripted:author"))
    engine.model = ScriptedModel("author", lambda asked: author.reply("\n".join(one.content for one in asked.messages)))
    return opened(engine)


def filled(url: str, **fields: str) -> Visitor:
    """A visitor who has typed these texts, and nothing into other fields."""
    page = Visitor(url)
    for name in ("prompt", "checklist", "answer", "document", "request"):
        page.shown[name, "value"] = fields.pop(name, "")
    for name, value in fields.items():
        page.shown[name, "value"] = value
    return page


TEA = {"prompt": "Tea?", "answer": "A cup of tea.", "checklist": "- It is about tea\n- It is in German"}


@pytest.fixture
def visitor(scripted: str) -> Visitor:
    """A visitor of a page over a model that mostly says that it is tea."""
    return filled(scripted, **TEA)


def line(visitor: Visitor, name: str = "guided") -> str:
    return str(visitor.shown[f"{name}-line", "value"])


LONG = "x" * 6001
MUSEUM = {"document": author.DOCUMENT, "request": "Tell me of the museum."}
# Over which model, what was typed, the button, and by part of the page what it shows then ("told": what was told meanwhile).
SCENARIOS: dict[str, tuple[str, dict[str, str], str, dict[str, str]]] = {
    "a checklist that fails says why, and the answer is there": (
        "written", {"prompt": "no Questions, please"}, "guided",
        {"guided-line": "tb-bad.*it has no line `Questions:`", "answer": r"^I would rather not\.$", "checklist": "^$"},
    ),
    "a checklist that fails leaves the old one": (
        "scripted", TEA, "draft",
        {"told": r"Writing a checklist", "guided-line": "no checklist that can be used: it has no line",
         "checklist": "^- It is about tea\n- It is in German$"},
    ),
    "verdicts on another answer are asked for anew": (
        "written", {"prompt": "Write a notice.", "checklist": "It says thank you.", "answer": "Hello."}, "improve",
        {"told": "Judging criterion 1 of 1", "improved": "It says thank you.*?Fail.*?Pass"},
    ),
    "sentences are coloured by their label": (
        "written", MUSEUM, "checked",
        {"document-answer": re.escape(author.GROUNDED), "grounding-outcome": "2 of 4 sentences are not supported",
         "checked-line": "tb-fail", "grounding": 'tb-yes"><p dir="auto"><span>[^<]*opens at nine.*?✓ supported'
         '.*tb-no"><p dir="auto"><span>[^<]*costs ten.*?✗ contradictory.*I love museums.*?nothing to verify'
         ".*It has a café.*?✗ unsupported"},
    ),
    "excerpts stand beside": (
        "written", MUSEUM, "checked", {"grounding": "<mark>“The museum opens at nine in the morning”</mark>"},
    ),
    **{
        f"verdicts are counted to the last ({level})": (
            "scripted", TEA | {"level": playground.LEVELS[level]}, "judge",
            {"verdicts": "1 of 2 criteria met, 1 not met", "told": told},
        )
        for level, told in {
            "decision": "Judging criterion 2 of 2", "cascade": "Judging criterion 2 of 2",
            "checklist": "Judging 2 criteria in one call",
        }.items()
    },
    **{
        f"refused: {problem}": ("scripted", TEA | MUSEUM | {name: text}, button, {
            f"{'checked' if button == 'checked' else 'guided'}-line": problem,
            "answer": f"^{re.escape(text if name == 'answer' else TEA['answer'])}$",
        })
        for name, text, button, problem in (
            ("prompt", " ", "guided", "The prompt is empty."),
            ("checklist", "x\n" * 13, "judge", "The checklist has 13 criteria; the limit is 12."),
            ("document", 2 * LONG, "checked", "The document has 12,002 characters; the limit is 12,000."),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_button(request: pytest.FixtureRequest, name: str) -> None:
    over, fields, button, expected = SCENARIOS[name]
    page = filled(request.getfixturevalue(over), **fields)
    told = page.whole(button)
    for part, pattern in expected.items():
        text = told if part == "told" else page.shown[part, "value"]
        assert re.search(pattern, text or "", re.DOTALL), (part, text)
    assert "criterion 3 of 2" not in told


def test_an_example_with_verdicts_is_there_before_any_model_is_asked(scripted: str) -> None:
    page = Visitor(scripted)
    assert "three bullet points" in page.shown["prompt", "value"]
    assert len(page.shown["checklist", "value"].splitlines()) == 4
    assert "<strong>Lift out of order</strong>" in page.shown["answer-rendered", "value"]
    verdicts = page.shown["verdicts", "value"]
    assert "3 of 4 criteria met, 1 not met (2 measured)" in verdicts
    assert "measured: 3 list items" in verdicts
    assert "It ends with the caretaker; nobody is thanked." in verdicts


def test_a_model_that_fails_leaves_no_old_answer_and_tells_the_operator_why(
    visitor: Visitor, capsys: pytest.CaptureFixture[str]
) -> None:
    visitor.shown["prompt", "value"] = f"Fail, please. {SECRET}"
    visitor.shown["answer", "value"] = "Old."
    visitor.whole("guided")
    assert visitor.shown["answer", "value"] == ""
    assert "The model gave no answer" in line(visitor)
    log = capsys.readouterr().err
    assert "rules.json gave no answer: 503 from (address) with (hidden) for '[…]' (busy)" in log
    visitor.shown["answer", "value"] = f"Fail, please. {SECRET}"
    visitor.whole("judge")
    assert "1 not met, 1 not decided" in visitor.shown["verdicts", "value"], "that it is not in German is measured"
    judging = capsys.readouterr().err
    assert judging.count("gave no answer: 503") == 1
    assert "private" not in log + judging


def test_levels_that_the_embedded_model_cannot_serve_are_not_offered_for_it(opened: Open) -> None:
    engine = Engine(SpaceOptions(model="smollm2"))
    assert ("level", "choices") not in Visitor(opened(engine)).shown
    # Nor are they for who asks the server itself.
    assert {playground.level_named(engine, how) for how in (*playground.LEVELS.values(), "x")} == {"decision"}


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        ({"model": "hf:HuggingFaceTB/SmolLM2-135M-Instruct"}, ("decision",)),  # the same model by its name on the Hub
        ({"model": "openai:x", "judge": "smollm2"}, ("decision",)),
        ({"model": "smollm2", "judge": "openai:x"}, ("rubric", "checklist", "decision", "cascade")),
        ({"model": "hf:HuggingFaceTB/SmolLM2-1.7B-Instruct"}, ("rubric", "checklist", "decision", "cascade")),
    ],
)
def test_all_levels_are_offered_for_any_other_judge(options: dict[str, str], levels: tuple[str, ...]) -> None:
    assert Engine(SpaceOptions(**options)).levels == levels


def test_loading_is_said_once(opened: Open) -> None:
    class Slow(ScriptedModel):
        loaded = 0

        async def complete(self, request: ChatRequest):  # type: ignore[no-untyped-def]
            self.loaded += not self.prompts
            return await super().complete(request)

    engine = Engine(SpaceOptions(model="hf:org/slow"))
    engine.model = model = Slow("slow", lambda request: "Tea.")
    model.spec = "hf:org/slow"
    page = Visitor(opened(engine))
    page.shown["prompt", "value"] = "Tea?"
    told = page.whole("draft")
    assert "Loading the model, which is needed once" in told
    assert model.loaded == 1
    assert "Loading" not in page.whole("draft")


@pytest.mark.parametrize("died", [False, True], ids=["never there", "gone since"])
def test_a_dead_server_shows_in_seconds_without_traceback_or_key(
    opened: Open, died: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecretkey0123456789")
    with author.serving() as url:
        url = opened(Engine(SpaceOptions(model="openai:demo", model_base_url=url)))
        page = filled(
            url, prompt="Write a notice.", answer="Hello.", checklist="It is polite.\nIt is kind.\nIt is fair."
        )
        if died:
            page.whole("guided")
            assert "criteria met" in line(page)
    for button in ("guided", "judge", "improve", "draft"):
        page.shown["answer", "value"] = "Hello there."
        began = time.monotonic()
        page.whole(button)
        assert time.monotonic() - began < 10
        assert "demo cannot be reached or used right now" in line(page)
        assert "tb-bad" in line(page)
        log = capsys.readouterr().err
        assert log.count("\n") == 1, log
        assert log.startswith("playground: openai:demo gave no answer: ")
        assert "Traceback" not in log
        assert "verysecret" not in log + line(page)


def test_a_server_that_does_not_begin_lets_the_next_visitor_in(
    opened: Open, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a third of what a request may take."""
    monkeypatch.setattr(visitors, "SECONDS", 3)
    with OpenAIServer() as server:
        server.add_faults([{"hang": 60}] * 2)
        url = opened(Engine(SpaceOptions(model="openai:demo", model_base_url=server.url)))
        page = filled(url, prompt="Write a notice.", answer="Hello.", checklist="It is polite.")
        for button in ("draft", "judge"):
            page.shown["answer", "value"] = "Hello."
            page.whole(button)
            assert "did not begin to answer within 1 seconds" in capsys.readouterr().err
            assert "took too long" not in line(page)


def test_a_judge_without_probabilities_says_that_another_way_is_left(
    opened: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer() as server:
        server.add_faults([{"match": {"path": "/v1/systemone"}, "status": 404}])
        url = opened(Engine(SpaceOptions(model="openai:demo", model_base_url=server.url)))
        page = filled(url, prompt="p", answer="a", checklist="It is polite.", level=playground.LEVELS["decision"])
        page.whole("judge")
    assert "demo gives no probabilities; choose a way to judge with reasons." in line(page)
    assert capsys.readouterr().err.count("\n") == 1
