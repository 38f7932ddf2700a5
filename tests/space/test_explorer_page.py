"""What the tab of conversations shows: the list and its filters, one conversation, two beside each other, hostile texts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.space.sample_runs import SCRIPT, many_runs, real_runs
from truebench_hf.data.judged import Judged
from truebench_hf.space.board import explorer
from truebench_hf.space.board.asked import AskedConversations
from truebench_hf.space.board.conversation import rich
from truebench_hf.space.board.explorer import LISTED, Explorer, ExplorerPage
from truebench_hf.space.board.items import ExplorerItem, RecentItems
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.tabs import explorer_html
from truebench_hf.text.differences import differing
from truebench_hf.types import Criterion, Instance, Message, Response, Turn, Verdict


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> BoardStore:
    folder = tmp_path_factory.mktemp("runs")
    many_runs(real_runs(folder), 1, 130)
    board = BoardStore([folder / "runs"])
    board.refresh()
    return board


def _key(board: BoardStore, name: str) -> str:
    return next(entry.key for entry in board.snapshot.entries if name in entry.name)


def _page(board: BoardStore, **asked: object) -> ExplorerPage:
    return Explorer().page(board.snapshot, AskedConversations(**asked))  # type: ignore[arg-type]


def test_failures_come_first_and_the_list_says_how_many_of_all(board: BoardStore) -> None:
    page = _page(board, run=_key(board, "Alpha"))
    ended = [line.ended for line in page.lines]
    assert (page.counted, page.more) == ("36 of 36", "failures first")
    assert ended == ["failed"] * 9 + ["passed"] * 27
    assert [line.current for line in page.lines] == [True, *[False] * 35], "the first failure is shown"
    assert page.shown is not None
    assert page.shown.name.startswith(f"{page.lines[0].name} · ")
    assert (page.before, page.after, parse_qs(page.address)["id"]) == ("", page.lines[1].name, [page.lines[0].name])


def test_filters(board: BoardStore) -> None:
    rows = RecentItems().of(board.snapshot.entry(_key(board, "Alpha")))
    failed = explorer.select(rows, AskedConversations(failed="MUST be english"))
    assert failed
    assert all("must be english" in repr(item.judged.verdicts).lower() and item.ended == "failed" for item in failed)
    german = explorer.select(rows, AskedConversations(language="DE", outcome="passed"))
    assert german
    assert all(item.judged.instance.language == "DE" and item.ended == "passed" for item in german)
    page = _page(board, run=_key(board, "Alpha"), language="DE", category="none such")
    assert (page.counted, page.lines, page.shown, page.address.endswith("&id=")) == ("0 of 36", (), None, True)
    assert "No conversation passes this filter." in explorer_html(board, Explorer(), page.query)
    assert dict(page.filters[1][2])["none such"] == "none such (none here)", "what is asked for is seen"


def test_no_unrelated_conversation_under_a_filter(board: BoardStore) -> None:
    key = _key(board, "Alpha")
    english = _page(board, run=key, language="EN")
    german = _page(board, run=key, language="DE", id=english.lines[0].name)
    assert german.shown is not None
    assert "German" in german.shown.name
    assert (
        german.problem
        == f"Conversation “{english.lines[0].name}” does not pass this filter. Shown is the first that does."
    )
    kept = _page(board, run=key, language="EN", near=english.lines[2].name)
    assert ([line.current for line in kept.lines[:3]], kept.problem) == ([False, False, True], "")
    gone = _page(board, run=key, language="DE", near=english.lines[2].name)
    assert (gone.lines[0].current, gone.problem) == (True, "")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"id": "zzz"}, "This run has no conversation “zzz”. Choose one from the list."),
        ({"run": "nobody-1"}, "This board has no such run, or has it no longer. Choose one from the list of runs."),
        ({"run": "o1-"}, "This board has no such run, or has it no longer. Choose one from the list of runs."),
    ],
)
def test_what_is_not_there_is_said_and_not_replaced(board: BoardStore, asked: dict[str, str], told: str) -> None:
    page = _page(board, **asked)
    assert (page.problem, page.shown) == (told, None)
    assert "id" not in parse_qs(page.address)
    if "run" in asked:
        assert page.runs[0] == ("Not to be chosen here", ((asked["run"], asked["run"]),))


def test_a_published_result_and_a_broken_file_have_no_conversations(board: BoardStore, tmp_path: Path) -> None:
    paper = _key(board, "o1")
    assert _page(board, run=paper).problem == "This entry has no conversations to show."
    broken = many_runs(tmp_path, 1, 3)
    (broken / "run000" / "judgments.jsonl").write_text("{")
    other = BoardStore([broken])
    page = _page(other, run=_key(other, "Model-000"))
    assert page.problem == "The judgments of this run cannot be read."


def test_long_lists_have_pages_and_the_one_with_the_conversation_is_first(board: BoardStore) -> None:
    key = _key(board, "Model-000")
    first = _page(board, run=key)
    assert (len(first.lines), first.number, first.numbers) == (LISTED, 1, 3)
    third = _page(board, run=key, part="3")
    assert (len(third.lines), any(line.current for line in third.lines)) == (30, False)
    assert _page(board, run=key, id=third.lines[4].name).number == 3
    assert _page(board, run=key, part="999999").number == 3


def test_the_sample_can_be_browsed_without_a_run(board: BoardStore) -> None:
    page = _page(BoardStore())
    assert (page.run, page.counted, page.more) == ("sample", "36 of 36", "")
    text = explorer_html(board, Explorer(), AskedConversations(run="sample", id="1"))
    assert "Version 3.8.1" in text
    assert "tb-word" not in text
    assert "No model was asked" in text


def test_two_models_beside_each_other_have_the_prompt_once(board: BoardStore) -> None:
    alpha, beta = (_key(board, name) for name in ("Alpha", "Beta"))
    text = explorer_html(board, Explorer(), AskedConversations(run=alpha, beside=beta, id="1"))
    assert text.count("Version 3.8.1") == 1, "above both answers"
    assert "from <mark>Alpha-7B</mark>." in text
    assert "from <mark>Beta-70B</mark>." in text
    assert re.search(r"The answers share \d\d % of their words; what only one has is marked\.", text)
    page = _page(board, run=alpha, beside=beta, outcome="differ")
    assert page.lines
    assert all(line.ended != line.also for line in page.lines)
    assert page.head is not None
    assert page.head.detail.startswith("Alpha-7B 75.00 %, Beta-70B ")
    assert sum(count for _, _, count in page.head.counts) == len(page.lines)
    assert [pair[0] for _, of in _page(board, run=alpha).others for pair in of] == [beta], (
        "only what was asked the same"
    )
    other = _page(board, run=alpha, beside=_key(board, "Model-000"), id="1")
    assert other.shown is not None
    assert other.shown.sides[1].missing == "This run has no such conversation."
    assert _page(board, run=alpha, beside="nobody").head is None, "there is nothing to differ from"
    assert _page(board, run=alpha, beside="nobody", id="1").shown.sides[1].missing.startswith("This board has no")  # type: ignore[union-attr]


def test_a_verdict_of_the_rules_says_measured_and_texts_their_language() -> None:
    verdicts = (Verdict(Criterion("exactly three words"), "no", "measured: 4 words", "rules"),)
    instance = Instance("1", "KO", "c", "t", (Turn("세 단어로", (verdicts[0].criterion,)),))
    response = Response("1", "m", (Message("user", "세 단어로"), Message("assistant", "四つの言葉です")))
    found = {"1": ExplorerItem.of(Judged(instance, response, (verdicts,)))}
    recent = RecentItems()
    recent.of = lambda entry: found  # type: ignore[method-assign]
    text = explorer_html(BoardStore(), Explorer(recent), AskedConversations(run="sample"))
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
    recent = RecentItems()
    other = replace(item, response=replace(item.response, model="m"))
    found = {text: ExplorerItem.of(item), "other": ExplorerItem.of(other)}
    recent.of = lambda entry: found  # type: ignore[method-assign]
    asked = AskedConversations("sample", text, "", text, text, "", text, show=how)
    page = explorer_html(BoardStore(), Explorer(recent), asked) + explorer_html(
        BoardStore(), Explorer(recent), AskedConversations("sample", text, show=how)
    )
    assert text not in page or (markdown and text == "&lt;b&gt;"), (
        "which Markdown reads as <b>, and prints as it stands"
    )
    assert not any(sign in page for sign in ("${", "{{", "`", "<script", "<img", 'onfocus="'))


@pytest.mark.parametrize(
    ("text", "html_", "why"),
    [
        ("**a** `b`", "<strong>a</strong> <code>b</code>", "Markdown"),
        ("# A", "<h4>A</h4>", "below the page's own headings"),
        ("![a<b>](https://e.org/x.png)", "<em>[picture: a&lt;b&gt;]</em>", "nothing is asked for from elsewhere"),
        ("[a](javascript:alert(1))", "[a](javascript:alert(1))", "no script in links"),
        ("[a](data:text/html,x)", "[a](data:text/html,x)", "nor data"),
        ("[a](//e.org)", "[a](//e.org)", "nor what a page's own address completes"),
        (
            "[a](https://e.org)",
            'rel="noopener noreferrer nofollow ugc" target="_blank">a</a>',
            "links are what they are",
        ),
        ("<b onclick=x>a</b>", "&lt;b onclick=x&gt;a&lt;/b&gt;", "no HTML of theirs"),
        ("|a|b|\n|-|-|\n|1|2|", "<td>1</td>", "tables"),
        ("a\u202eb", "a\\u202eb", "the direction of reading is not turned"),
    ],
)
def test_markdown_can_do_no_harm(text: str, html_: str, why: str) -> None:
    assert html_ in (rich(text) or ""), why


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


@pytest.mark.parametrize(
    ("one", "other", "left", "right", "shared"),
    [
        ("the same", "the same", [], [], 1.0),
        ("", "", [], [], 1.0),
        ("a", "", ["a"], [], 0.0),
        ("The old fox runs far away.", "The red fox runs far away.", ["old"], ["red"], 12 / 14),
        ("売上は12％増加しました", "売上は15％増加しました", ["12"], ["15"], 20 / 22),
        ("a b c x d e f", "g h i x j k l", ["a b c x d e f"], ["g h i x j k l"], 0.0),  # one word in common is chance
        ("a  b", "a\nb", [], [], 1.0),  # blanks are no words
    ],
)
def test_words_that_only_one_has(one: str, other: str, left: list[str], right: list[str], shared: float) -> None:
    mine, theirs, share = differing(one, other)
    assert [text for text, alone in mine if alone] == left
    assert [text for text, alone in theirs if alone] == right
    assert share == pytest.approx(shared)


@given(st.text(max_size=60), st.text(max_size=60))
def test_pieces_are_the_whole_text_and_what_is_common_is_the_same(one: str, other: str) -> None:
    mine, theirs, share = differing(one, other)
    assert ["".join(text for text, _ in pieces) for pieces in (mine, theirs)] == [one, other]
    words = [re.findall(r"\w", "".join(text for text, alone in pieces if not alone)) for pieces in (mine, theirs)]
    assert words[0] == words[1]
    assert share is not None
    assert 0 <= share <= 1


def test_texts_that_are_too_long_are_not_compared() -> None:
    assert differing("a " * 15_000, "b " * 15_000) == ((("a " * 15_000, False),), (("b " * 15_000, False),), None)
