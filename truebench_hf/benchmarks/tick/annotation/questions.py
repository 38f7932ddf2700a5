"""What annotators are asked: checklists to be written, preferences, scores, scores after a checklist (appendix H).

Every question has an id made of all that is shown, so that the sheets of other data, or of rows that were changed since,
are told apart; it shows neither row nor model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from truebench_hf.data.checklist_rows import EFFECTS, Entry, Text, Written
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.sheets import material

SCALE = tuple("12345")
_WRITING = (
    "A checklist is a list of questions on any response to this instruction that can be answered by yes or no; yes has "
    "to mean that the response does what was asked.\n"
    "- Take the instruction apart into its single demands, those it states and those that go without saying. Ask one "
    "question for each; no two of them should ask for the same.\n"
    "- Be as exact as the demand, and no more: for a short paragraph ask whether it is short, for three sentences "
    "whether there are three.\n"
    "- Write one question a line, each ending with a question mark."
)
_PREFERRING = (
    "1: response A is much better.\n2: response A is better.\n3: the two are nearly identical.\n4: response B is better.\n"
    "5: response B is much better.\n"
    "Take 3 only where they differ in nothing that matters, in what they say and in how. Two responses with different "
    "content that are equally good are not identical: weigh their merits, and choose one."
)
_SCORING = (
    "1, horrible: hardly to be understood, or for the most part wrong or impossible to check.\n"
    "2, bad: hard to follow in places, small errors of fact or language, or a form that is missing something important.\n"
    "3, okay: readable and useful, no error of fact, one or two slips of language at most; of use to a newcomer, thin to "
    "an expert.\n"
    "4, great: useful, clear, at the level of an expert, without errors; tone or length could be a little better.\n"
    "5, excellent: as 4, with just the right tone and length."
)
_ANSWERING = (
    "Answer every question of the checklist by yes or no, then score the response.\n"
    "- Yes only where the response meets it entirely; a small flaw is a no.\n"
    "- No also where the response holds nothing to answer the question by.\n"
    "- Let the answers guide the score, but do not limit it to them: a response can pass them all and still be poor."
)


@dataclass(frozen=True)
class Target:
    """What an answer is about. `part` says which: safe, sense, questions, preference, score, answer or effect.

    `place` is that of a question in its checklist; of a preference `responses` are as they were shown, A and B.
    """

    entry: str
    part: str
    responses: tuple[str, ...] = ()
    checklist: str = ""
    place: int = 0
    protocol: str = ""


Asked = tuple[dict[str, Any], Target]  # a row for `sheets.export`, and what it is about


def asked(entry: Entry, protocol: str, author: str | None = None, seed: int = 0) -> Iterator[Asked]:
    """The questions of a protocol on a row; with a checklist of `author`, or else the chosen one, or else the first.

    Raises UserError on an unknown protocol.
    """
    return _questions_of(protocol)(entry, author, seed)


def every(entries: Sequence[Entry]) -> dict[str, Target]:
    """Every question that any protocol asks about these rows, by its id."""
    found: dict[str, Target] = {}
    for entry in entries:
        for row, target in (*_write(entry, None, 0), *_direct(entry, None, 0)):
            found[row["id"]] = target
        for one in entry.checklists:
            found |= {row["id"]: target for row, target in _checked(entry, one)}
        for a, b in combinations(entry.responses, 2):
            found |= {row["id"]: target for row, target in (_compared(entry, a, b), _compared(entry, b, a))}
    return found


def wanted(entry: Entry, author: str | None) -> Written | None:
    """The checklist that scoring follows."""
    if author is None:
        return entry.chosen or next(iter(entry.checklists), None)
    return next((one for one in entry.checklists if one.author == author), None)


def _write(entry: Entry, author: str | None, seed: int) -> Iterator[Asked]:
    shown = {"How to write a checklist": _WRITING, **_shown(entry)}
    key = _key("write", entry)
    asked = {
        "safe": "Is it all right to ask an assistant for this?",
        "sense": "Does the instruction make sense, so that a response can be told good from bad?",
    }
    for part, question in asked.items():
        yield (
            {"id": f"{key}-{part}", "sections": shown, "question": question, "group": key, "settles": "no"},
            Target(entry.id, part),
        )
    question = "Your checklist: one question a line, each ending with a question mark."
    row = {"id": f"{key}-questions", "sections": shown, "question": question, "options": [], "group": key}
    yield row, Target(entry.id, "questions")


def _prefer(entry: Entry, author: str | None, seed: int) -> Iterator[Asked]:
    """Every pair of responses, which of them is A by lot."""
    for a, b in combinations(entry.responses, 2):
        turned = int(digest(f"{seed} {entry.id} {a.id} {b.id}")[0], 16) % 2
        yield _compared(entry, b, a) if turned else _compared(entry, a, b)


def _compared(entry: Entry, a: Text, b: Text) -> Asked:
    sections = {"What the numbers mean": _PREFERRING, **_shown(entry), "Response A": a.text, "Response B": b.text}
    row = {"id": _key("prefer", entry, a, b), "sections": sections, "question": "Which response is better?"}
    return row | {"options": SCALE}, Target(entry.id, "preference", (a.id, b.id))


def _direct(entry: Entry, author: str | None, seed: int) -> Iterator[Asked]:
    for response in entry.responses:
        yield (
            {
                "id": _key("direct", entry, response), "question": "How good is the response?", "options": SCALE,
                "sections": {"What the scores mean": _SCORING, **_shown(entry, response)},
            },
            Target(entry.id, "score", (response.id,), protocol="direct"),
        )  # fmt: skip


def _check_then_score(entry: Entry, author: str | None, seed: int) -> Iterator[Asked]:
    one = wanted(entry, author)
    return _checked(entry, one) if one else iter(())


def _checked(entry: Entry, one: Written) -> Iterator[Asked]:
    """The questions of a checklist about each response, then its score, then what the checklist did to scoring."""
    for response in entry.responses:
        key, about = _key("check", entry, response, one), (entry.id, (response.id,), one.id)
        shown = _shown(entry, response)
        for place, question in enumerate(one.questions):
            sections = {"How to answer": _ANSWERING, **shown}
            row = {"id": f"{key}-q{place + 1}", "sections": sections, "question": question, "group": key}
            yield row, Target(about[0], "answer", *about[1:], place)
        listed = {"The checklist": "\n".join(f"- {question}" for question in one.questions)}
        row = {"id": f"{key}-score", "sections": {"What the scores mean": _SCORING, **shown, **listed}, "group": key}
        row |= {"question": "How good is the response, all in all?", "options": SCALE}
        yield row, Target(about[0], "score", *about[1:], protocol="check_then_score")
        row = {"id": f"{key}-effect", "sections": shown, "options": EFFECTS, "group": key}
        row |= {"question": "What did the checklist do to giving a score: did it make it easier, harder, or neither?"}
        yield row, Target(about[0], "effect", *about[1:], protocol="check_then_score")


def _shown(entry: Entry, response: Text | None = None) -> dict[str, str]:
    *before, last = entry.messages
    return material(before, last.content, None if response is None else response.text)


def _key(protocol: str, entry: Entry, *parts: Text | Written) -> str:
    said = [[message.role, message.content] for message in entry.messages]
    texts = [[one.id, one.text] if isinstance(one, Text) else [one.id, list(one.questions)] for one in parts]
    return digest(canonical([protocol, entry.id, said, texts]))[:12]


Questions = Callable[[Entry, str | None, int], Iterator[Asked]]
PROTOCOLS: dict[str, Questions] = {
    "write": _write,
    "preference": _prefer,
    "direct": _direct,
    "check-then-score": _check_then_score,
}


def _questions_of(protocol: str) -> Questions:
    """What a protocol asks; rows of data spell check-then-score with underscores."""
    found = PROTOCOLS.get(protocol.replace("_", "-"))
    if found is None:
        raise unknown("protocol", protocol, PROTOCOLS)
    return found


def asked_about(entries: Sequence[Entry], protocol: str, author: str | None = None) -> list[Entry]:
    """The rows that a protocol has something to ask about. Raises UserError where there are none."""
    found = [entry for entry in entries if next(asked(entry, protocol, author), None)]
    if not found:
        checked = "a response and a checklist" + (f" by {author}" if author else "")
        lacks = {"preference": "two responses", "direct": "a response"}.get(protocol, checked)
        raise UserError(f"no row has {lacks}, which {protocol} is about")
    return found


def rows(entries: Sequence[Entry], protocol: str, author: str | None = None, seed: int = 0) -> list[dict[str, Any]]:
    """All questions of a protocol, for `sheets.export`."""
    return [row for entry in entries for row, _ in asked(entry, protocol, author, seed)]
