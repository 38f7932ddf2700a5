"""Thinking is split off, and only thinking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.models.chat_template import split_thinking


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("Hello", ("Hello", "", False), "no thinking"),
        ("", ("", "", False), "nothing at all"),
        ("  spaced \n", ("  spaced \n", "", False), "an answer without thinking is left as it is"),
        ("<think>a</think>b", ("b", "a", False), "a block before the answer"),
        ("\n <think>\na\n</think>\n\nb\n", ("b", "a", False), "blanks around it"),
        ("<think></think>b", ("b", "", False), "an empty block, as templates leave when thinking is off"),
        ("<THINK>a</Think>b", ("b", "a", False), "upper case"),
        ("<thinking>a</thinking>b", ("b", "a", False), "the longer tag"),
        ("<think>a</think><think>b</think>c", ("c", "a\nb", False), "two blocks"),
        ("a\n</think>\n\nb", ("b", "a", False), "the template opened the tag in the prompt"),
        ("a.</think>b", ("b", "a.", False), "some models write no line end around it"),
        ("a. </think>\nb", ("b", "a.", False), "it ends its line"),
        ("\n</think>b", ("b", "", False), "it begins its line; nothing was thought"),
        ("a\n</think>", ("", "a", False), "thinking only, opened in the prompt"),
        (
            "Is `</think>` right?\n</think>\nb",
            ("b", "Is `</think>` right?", False),
            "quoted in the thinking, then real",
        ),
        (
            "Write </think> to close the block.",
            ("Write </think> to close the block.", "", False),
            "a closing tag in a sentence",
        ),
        ("Use `</think>`\nhere", ("Use `</think>`\nhere", "", False), "one in code quotes"),
        ('print("</think>")', ('print("</think>")', "", False), "one in a string"),
        ("End it with </think>", ("End it with </think>", "", False), "one that ends the answer"),
        ("<think>a", ("", "a", True), "cut off while thinking: no answer"),
        ("  <think>\na\nb", ("", "a\nb", True), "cut off, with blanks"),
        ("<think>a</think><think>b", ("", "a\nb", True), "cut off in the second block"),
        ("Use <think> here", ("Use <think> here", "", False), "a tag quoted inside an answer"),
        ("Use <think>x</think> here", ("Use <think>x</think> here", "", False), "a block quoted inside an answer"),
        ("<think>a</think>Say </think>.", ("Say </think>.", "a", False), "a closing tag in the answer after thinking"),
        ("<think>a</think>", ("", "a", False), "thinking only, but closed: an empty answer"),
        ("<thinker>a</thinker>", ("<thinker>a</thinker>", "", False), "another tag"),
    ],
)
def test_split(text: str, expected: tuple[str, str, bool], reason: str) -> None:
    assert split_thinking(text) == expected, reason


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("a\nb", ("", "a\nb", True), "cut off while thinking"),
        ("", ("", "", True), "cut off at once"),
        ("a\n</think>\n\nb", ("b", "a", False), "closed"),
        ("\n</think>\nb", ("b", "", False), "closed at once"),
        ("a </think> b", ("b", "a", False), "closed within a line"),
        ("Is `</think>` it?\n</think>\nb", ("b", "Is `</think>` it?", False), "quoted in the thinking, then closed"),
        ("Use <think>\n</think>\nb", ("b", "Use <think>", False), "an opening tag talked about"),
        ("<think>a</think>b", ("b", "a", False), "the model opens it once more"),
        ("<think>a", ("", "a", True), "and is cut off"),
    ],
)
def test_split_where_the_prompt_opened_the_tag(text: str, expected: tuple[str, str, bool], reason: str) -> None:
    assert split_thinking(text, opened=True) == expected, reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rhine \ufffd", ("Rhine ", "", False)),
        ("\ufffd\ufffd", ("", "", False)),
        ("<think>a\ufffd", ("", "a", True)),
        ("a \ufffd b", ("a \ufffd b", "", False)),
    ],
)
def test_half_a_character_at_a_cut_end_is_left_out(text: str, expected: tuple[str, str, bool]) -> None:
    assert split_thinking(text) == expected


@given(thought=st.text(max_size=50), answer=st.text(max_size=50))
def test_thinking_never_reaches_the_answer(thought: str, answer: str) -> None:
    if "<" in thought or "<" in answer:
        thought, answer = thought.replace("<", "("), answer.replace("<", "(")
    thought, answer = thought.rstrip("\ufffd"), answer.rstrip("\ufffd")  # taken for half a character
    assert split_thinking(f"<think>{thought}</think>{answer}") == (answer.strip(), thought.strip(), False)
    assert split_thinking(f"<think>{thought}") == ("", thought.strip(), True)
    assert split_thinking(answer) == (answer, "", False)
