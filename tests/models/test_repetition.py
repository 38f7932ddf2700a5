"""Which answers go round in circles, and that finishing them quickly changes none of their tokens."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from truebench_hf.models.generation import generate, repeats
from truebench_hf.models.loading import load, locate
from truebench_hf.models.protocol import Sampling

FRESH = random.Random(5).sample(range(10**6), 600)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], False),
        (FRESH, False),
        ([7] * 300, True),
        ([7] * 100, False),  # too short to tell
        (FRESH[:50] + FRESH[50:150] * 4, True),  # a loop of a hundred tokens
        (FRESH[:200] + FRESH[:60] + FRESH[200:400], False),  # it did once, and has gone on since
        ([t for i in range(9) for t in (FRESH[i], *range(39))], True),  # the items of a list, numbered
    ],
    ids=["empty", "fresh", "one token", "short", "long loop", "once", "list"],
)
def test_what_counts_as_repeating_itself(tokens: Sequence[int], expected: bool) -> None:
    assert repeats(tokens) is expected


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_repeating_answer_is_finished_with_the_same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    # Float32: guesses are confirmed by the same arithmetic that makes tokens one by one, up to rounding.
    model, tokenizer = load(*locate(), "", "auto", "cpu")
    loop, other = (tokenizer.encode(text) for text in ("one two three four five " * 30, "The capital of France is the"))
    finished: list[int] = []
    real = model.generate

    def counted(**how: object) -> object:
        finished.append("prompt_lookup_num_tokens" in how)
        return real(**how)

    monkeypatch.setattr(model, "generate", counted)
    monkeypatch.setattr("truebench_hf.models.generation._ROUND", 24)
    monkeypatch.setattr("truebench_hf.models.generation._TAIL", 16)
    quick = generate(model, tokenizer, [loop, other], Sampling(max_tokens=56))
    assert any(finished), "the repetition was guessed"
    monkeypatch.setattr("truebench_hf.models.generation.repeats", lambda tokens: False)
    assert quick == generate(model, tokenizer, [loop, other], Sampling(max_tokens=56))
