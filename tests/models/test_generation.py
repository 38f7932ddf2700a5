"""From generated tokens to a completion: thinking that the prompt opened, and half characters at the cut."""

from __future__ import annotations

from typing import Any

import pytest

from truebench_hf.models.chat_template import begins_thinking, completed, encode_chat
from truebench_hf.types import Message

# As R1 distills and QwQ write it: the template opens the tag, so the model never does.
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "
END = "\x00"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A token per byte, so that a character may be cut in half."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {symbol: i for i, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def _prompt(tokenizer: Any, behind: str, said: str = "Name a river.") -> list[int]:
    return encode_chat(tokenizer, (Message("user", said),), {"chat_template": TEMPLATE + behind})


@pytest.mark.parametrize(
    ("behind", "said", "expected", "reason"),
    [
        ("<think>", "Hello", True, "the tag alone"),
        ("<think>\n", "Hello", True, "with a line end, as R1 has it"),
        ("<thinking>\n\n", "Hello", True, "the longer tag"),
        ("", "Hello", False, "no tag"),
        ("<think>\n\n</think>\n\n", "Hello", False, "closed at once: thinking is off"),
        ("", "<think>", False, "a tag in the message"),
    ],
)
def test_whether_a_prompt_begins_the_thinking(
    tokenizer: Any, behind: str, said: str, expected: bool, reason: str
) -> None:
    assert begins_thinking(tokenizer, _prompt(tokenizer, behind, said)) is expected, reason


@pytest.mark.parametrize(
    ("behind", "made", "expected", "reason"),
    [
        ("<think>\n", "A river... the Rhi", ("", "A river... the Rhi", True), "cut off in the thinking"),
        ("<think>\n", f"Hm.{END}", ("", "Hm.", True), "ended in the thinking"),
        ("<think>\n", f"Hm.\n</think>\n\nRhine{END}", ("Rhine", "Hm.", False), "thought to the end"),
        ("<think>\n", "Hm.\n</think>\n\nThe Rhi", ("The Rhi", "Hm.", True), "cut off in the answer"),
        ("", "The Rhi", ("The Rhi", "", True), "no thinking"),
        ("<think>\n", "Der Rhein flie\u00df", ("", "Der Rhein flie", True), "half a character in the thinking"),
        ("", "Der Rhein flie\u00df", ("Der Rhein flie", "", True), "half a character in the answer"),
    ],
)
def test_completions(tokenizer: Any, behind: str, made: str, expected: tuple[str, str, bool], reason: str) -> None:
    tokens = tokenizer.encode(made.removesuffix(END))
    if made.endswith("\u00df"):
        tokens.pop()  # its second byte
    prompt = _prompt(tokenizer, behind)
    found = completed(tokenizer, prompt, tokenizer.decode(tokens), len(tokens), not made.endswith(END))
    assert (found.text, found.reasoning, found.truncated) == expected, reason
    assert found.usage.input_tokens == len(prompt)
