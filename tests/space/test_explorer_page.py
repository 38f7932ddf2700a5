"""The explorer's page: the list and its filters, one conversation, two beside each other, hostile texts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.space.made import board_of, page, text_of
from tests.space.sample_runs import SCRIPT, many_runs, real_runs
from tests.support.corpus import each_row
from truebench_hf.data.judged import Judged
from truebench_hf.report.page import rich
from truebench_hf.space.board import explorer
from truebench_hf.space.board.explorer import LISTED, Explorer
from truebench_hf.space.board.items import ExplorerItem, RecentItems
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.pages import Query
from truebench_hf.types import Criterion, Instance, Message, Response, Turn, Verdict


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> BoardStore:
    folder = tmp_path_factory.mktemp("runs")
    many_runs(real_runs(folder), 1, 130)
    return board_of(folder / "runs")


def _key(board: BoardStore, name: str) -> str:
    return next(entry.key for entry in board.snapshot.entries if name in entry.name)


def _page(board: BoardStore, **query: str) -> SimpleNamespace:
    return SimpleNamespace(**Explorer().page(board.snapshot, Query(**query)))


def test_filters(board: BoardStore) -> None:
    rows = RecentItems().of(board.snapshot.entry(_key(board, "Alpha")))
    failed = explorer.select(rows, Query(failed="MUST be english"))
    assert failed
    assert all("must be english" in repr(item.drawn.exchanges).lower() and item.ended == "failed" for item in failed)
    german = explorer.select(rows, Query(language="DE", outcome="passed"))
    assert german
    assert all(item.language == "DE" and item.ended == "passed" for item in german)
    query = {"run": _key(board, "Alpha"), "language": "DE", "category": "none such"}
    drawn = _page(board, **query)
    assert (drawn.counted, drawn.lines, drawn.conversation, drawn.current) == ("0 of 36", [], None, "")
    assert "No conversation passes this filter." in page(board, tab="explorer", **query)
    assert dict(drawn.filters[0][2])["KO"] == "Korean · 한국어", "by its own name, too"
    assert dict(drawn.filters[1][2])["none such"] == "none such (none here)", "what is asked for is seen"


def test_no_unrelated_conversation_under_a_filter(board: BoardStore) -> None:
    key = _key(board, "Alpha")
    english = [item.name for item, _ in _page(board, run=key, language="EN").lines]
    german = _page(board, run=key, language="DE", id=english[0])
    assert "German" in german.conversation.item.drawn.name
    assert german.problem == f"Conversation “{english[0]}” does not pass this filter. Shown is the first that does."
    kept, gone = (_page(board, run=key, language=language, near=english[2]) for language in ("EN", "DE"))
    assert (kept.current, kept.problem) == (english[2], "")
    assert (gone.current, gone.problem) == (gone.lines[0][0].name, "")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"id": "zzz"}, "This run has no conversation “zzz”. Choose one from the list."),
        ({"run": "nobody-1"}, "This board has no such run, or has it no longer. Choose one from the list of runs."),
        ({"run": "o1-"}, "This board has no such run, or has it no longer. Choose one from the list of runs."),
    ],
)
def test_what_is_not_there_is_said_and_not_replaced(board: BoardStore, query: dict[str, str], told: str) -> None:
    drawn = _page(board, **query)
    assert (drawn.problem, drawn.conversation) == (told, None)
    if "run" in query:
        assert drawn.runs[0] == ("Not to be chosen here", ((query["run"], query["run"]),))


def test_a_published_result_and_a_broken_file_have_no_conversations(board: BoardStore, tmp_path: Path) -> None:
    assert _page(board, run=_key(board, "o1")).problem == "This entry has no conversations to show."
    broken = many_runs(tmp_path, 1, 3)
    for text in ("{", "[]", '{"id": 1}', '{"messages": [3], "verdicts": 1}'):
        (broken / "run000" / "judgments.jsonl").write_text(text)
        other = board_of(broken)
        assert _page(other, run=_key(other, "Model-000")).problem == "The judgments of this run cannot be read."


def test_long_lists_have_pages_and_the_one_with_the_conversation_is_first(board: BoardStore) -> None:
    key = _key(board, "Model-000")
    first, third = _page(board, run=key), _page(board, run=key, part="3")
    assert (len(first.lines), first.number, first.numbers) == (LISTED, 1, 3)
    assert (len(third.lines), third.current in [item.name for item, _ in third.lines]) == (30, False)
    assert _page(board, run=key, id=third.lines[4][0].name).number == 3
    assert _page(board, run=key, part="999999").number == 3


def test_the_sample_can_be_browsed_without_a_run() -> None:
    board = BoardStore()
    drawn = _page(board)
    assert (drawn.run, drawn.counted, drawn.more) == ("sample", "36 of 36", "")
    markup = page(board, tab="explorer", run="sample", id="1")
    assert "Version 3.8.1" in markup
    assert "tb-word" not in markup
    assert "No model was asked" in markup


def test_two_models_beside_each_other_have_the_prompt_once(board: BoardStore) -> None:
    alpha, beta = (_key(board, name) for name in ("Alpha", "Beta"))
    text = text_of(page(board, tab="explorer", run=alpha, beside=beta, id="1"))
    assert text.count("Version 3.8.1") == 1, "above both answers"
    assert "from Alpha-7B." in text
    assert "from Beta-70B." in text
    drawn = _page(board, run=alpha, beside=beta, outcome="differ")
    assert drawn.lines
    assert all(item.ended != other.ended for item, other in drawn.lines)
    assert drawn.head["detail"].startswith("Alpha-7B 75.00 %, Beta-70B ")
    assert sum(count for _, _, count in drawn.head["counts"]) == len(drawn.lines)
    others = [value for _, options in _page(board, run=alpha).others for value, _ in options]
    assert others == [beta], "only what was asked the same"
    assert _page(board, run=alpha, beside="nobody").head is None, "there is nothing to differ from"
    absent = {_key(board, "Model-000"): "This run has no such conversation.", "nobody": "This board has no"}
    for beside, missing in absent.items():
        assert _page(board, run=alpha, beside=beside, id="1").conversation.other.startswith(missing)


def _over(items: dict[str, ExplorerItem], **query: str) -> str:
    """The page of the sample, which holds these conversations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecentItems, "of", lambda self, entry: items)
        return page(BoardStore(), tab="explorer", run="sample", **query)


def test_a_verdict_of_the_rules_says_measured_and_texts_their_language() -> None:
    verdicts = (Verdict(Criterion("exactly three words"), "no", "measured: 4 words", "rules"),)
    instance = Instance("1", "KO", "c", "t", (Turn("세 단어로", (verdicts[0].criterion,)),))
    response = Response("1", "m", (Message("user", "세 단어로"), Message("assistant", "四つの言葉です")))
    text = _over({"1": ExplorerItem.of(Judged(instance, response, (verdicts,)))})
    assert "measured: 4 words" in text
    assert 'lang="ko">세 단어로' in text


def _judged(text: str) -> Judged:
    verdict = Verdict(Criterion(text), "no", text, text, 0.5)
    instance = Instance(text, text, text, text, (Turn(text, (verdict.criterion,)),), context=text)
    response = Response(text, text, (Message("user", text), Message("assistant", text)), (text,), error=text)
    return Judged(instance, response, ((verdict,),))


HOSTILE = [SCRIPT, "<img src=x onerror=alert(1)>", "${alert(1)}", "{{constructor}}", "`x`", "</mark>", "&lt;b&gt;", '" autofocus onfocus="']  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("markdown", [False, True])
def test_every_text_of_a_conversation_stays_text(text: str, markdown: bool) -> None:
    item, how = _judged(text), "markdown" if markdown else ""
    other = replace(item, response=replace(item.response, model="m"))
    items = {text: ExplorerItem.of(item), "other": ExplorerItem.of(other)}
    query = {"id": text, "language": text, "category": text, "failed": text, "show": how}
    markup = _over(items, **query) + _over(items, id=text, beside=text, show=how)
    # Markdown reads &lt;b&gt; as <b>, and prints it as it stands.
    assert text not in markup or (markdown and text == "&lt;b&gt;")
    assert not any(sign in markup for sign in ("${", "{{", "`", "<script", "<img", 'onfocus="'))


@each_row(__file__, "cases", "markdown")
def test_markdown_can_do_no_harm(text: str, markup: str) -> None:
    assert markup in (rich(text) or "")


def test_markdown_that_is_too_long_is_shown_as_it_is() -> None:
    assert rich("x" * 60_001) is None


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("[]()!<>*_`#|\n ${}"), max_size=80))
def test_no_text_gets_an_element_of_its_own_into_the_page(text: str) -> None:
    made = rich(text)
    assert made is not None
    known = r"</?(?:p|h[456]|ul|ol|li|em|strong|s|code|pre|blockquote|table|thead|tbody|tr|t[hd]|hr|br)(?: (?:start|style|class)=\"[^\"<>]*\")*(?: /)?>"
    links = r"<a href=\"https?://[^\"<>]*\"(?: title=\"[^\"<>]*\")? rel=\"[\w ]+\" target=\"_blank\">|</a>"
    assert not set("<>") & set(re.sub(f"{known}|{links}", "", made)), made
    assert not set("`${}") & set(made)
