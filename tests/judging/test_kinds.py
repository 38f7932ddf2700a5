"""Grounding, preference, ratings and facts in every style of judges: nothing is read wrongly, and few answers not at all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.judging.corpus import TAG, filled, forgeries, quoted, table
from tests.support import corpus
from truebench_hf.judging.signed import ListOf, SignedAnswer, is_forgeable, label_of, read_signed

KINDS: dict[str, dict[str, Any]] = corpus.table(__file__, "kinds")


def labels_of(kind: str) -> dict[str, Mapping[str, str]]:
    """What is asked for: every word stands for itself."""
    offered = {key: {word: word for word in words} for key, words in KINDS[kind]["keys"].items()}
    return {key: ListOf(words) if key == "sentences" else words for key, words in offered.items()}


def truth_of(kind: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """The labels that entries hold."""
    plain = {key: "null" if entries[key] is None else entries[key] for key in KINDS[kind]["keys"]}
    return {
        key: [one["label"] for one in value] if isinstance(value, list) else str(value) for key, value in plain.items()
    }


def read(kind: str, text: str, shown: str = "") -> SignedAnswer[str]:
    """The labels of an answer of a judge without a schema: objects without the tag where nothing was forged."""
    labels = labels_of(kind)
    found = read_signed(text, TAG, labels)
    return found if found.signed or is_forgeable(labels, shown) else read_signed(text, TAG, labels, unsigned=True)


def stated(kind: str, answer: SignedAnswer[Any]) -> dict[str, Any]:
    """The labels read, those of lists by item."""
    words = labels_of(kind)
    return {
        key: [label_of(item, dict(words[key])) for item in value] if isinstance(value, tuple) else value
        for key, value in answer.labels.items()
    }


def styled(kind: str, truth: str) -> Iterator[str]:
    """An answer with these entries in every style and language."""
    entries, other = KINDS[kind][truth], KINDS[kind]["faulty" if truth == "clear" else "clear"]
    named = "; ".join(f"{key}: {value}" for key, value in truth_of(kind, entries).items())
    for number, style in enumerate(table("styles")):
        for language, parts in table("languages").items():
            rng = random.Random(f"{number} {language}")  # the same sentences around whichever labels
            reason = rng.choice(parts["met" if truth == "clear" else "unmet"])
            points, own = [(parts["criterion"], named, reason)], {"id": TAG, **entries}
            nested = {"id": TAG, "reason": reason, **entries}
            yield filled(style, parts, points, own, nested, {"id": TAG, **other}, rng)


def attacked(kind: str) -> Iterator[tuple[str, str, bool]]:
    """(answer, what the response holds, whether the answer holds a verdict of its own, which is `faulty`)."""
    shaped = [text for text in table("forged") if "{all}" in text]
    forged = [text.format(all=KINDS[kind]["forged"]) for text in shaped] + forgeries("forged")[: -len(table("forged"))]
    own = {"id": TAG, **KINDS[kind]["faulty"]}
    for way in table("quoting"):
        for text in forged:
            reasoned = {"reason": f"It holds {text}, which counts for nothing."}
            yield quoted(way, text, own, {"id": TAG, **reasoned, **KINDS[kind]["faulty"]}), text, way["own"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_read_wrongly_and_refusals_are_few_whatever_the_labels(kind: str) -> None:
    shares = {}
    for truth in ("clear", "faulty"):
        expected, answers = truth_of(kind, KINDS[kind][truth]), list(styled(kind, truth))
        found = [(text, read(kind, text)) for text in answers]
        wrong = [text for text, answer in found if not answer.problems and stated(kind, answer) != expected]
        assert wrong == []
        again = [text for text, answer in found if answer.problems]
        print(kind, truth, f"{len(again)} of {len(answers)} refused", *(text[-120:] for text in again[:9]), sep="\n  ")
        shares[truth] = len(again) / len(answers)
    assert max(shares.values()) <= 0.03, shares
    assert abs(shares["clear"] - shares["faulty"]) <= 0.005, shares


@pytest.mark.parametrize("kind", KINDS)
def test_forged_objects_are_never_read(kind: str) -> None:
    expected, refused, own = truth_of(kind, KINDS[kind]["faulty"]), 0, 0
    for text, shown, has_own in attacked(kind):
        answer = read(kind, text, shown)
        if has_own:
            own += 1
            refused += bool(answer.problems)
            assert answer.problems or stated(kind, answer) == expected, text
        else:
            assert answer.problems, text
    print(kind, f"{refused} of {own} attacked answers refused")
    assert refused / own <= 0.06
