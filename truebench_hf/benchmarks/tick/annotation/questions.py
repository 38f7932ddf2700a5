"""What annotators are asked: checklists to be written, preferences, scores, scores after a checklist (appendix H).

Every question has an id made of all that is shown, so that the sheets of other data, or of rows that were changed since,
are told apart; it shows neither row nor model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from truebench_hf.data.checklist_rows import EFFECTS, Entry, Text, Written
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.sheets import Question, material

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


def asked(entry: Entry, protocol: str, author: str | None = None, seed: int = 0) -> Iterator[Question]:
    """The questions of a protocol on a row; with a checklist of `author`, or else the chosen one, or else the first.

    What a question is about, its `blind`, is a Target. Raises UserError on an unknown protocol.
    """
    return _questions_of(protocol)(entry, author, seed)


def every(entries: Sequence[Entry]) -> dict[str, Target]:
    """What every question is about that any protocol asks about these rows, by its id."""
    questions: list[Question] = []
    for entry in entries:
        questions += [*_write(entry, None, 0), *_direct(entry, None, 0)]
        for checklist in entry.checklists:
            questions += _checked(entry, checklist)
        for a, b in combinations(entry.responses, 2):
            questions += [_compared(entry, a, b), _compared(entry, b, a)]
    return {question.id: question.blind for question in questions}


def possible(entries: Sequence[Entry], author: str | None = None) -> str:
    """The first protocol, from the one that asks most of the rows, that has something to ask about all of them.

    Any row can have a checklist written.
    """
    order = [name for name in PROTOCOLS if name != "write"]
    return next((name for name in order if all(next(asked(entry, name, author), None) for entry in entries)), "write")


def wanted(entry: Entry, author: str | None) -> Written | None:
    """The checklist that scoring follows."""
    if author is None:
        return entry.chosen or next(iter(entry.checklists), None)
    return next((one for one in entry.checklists if one.author == author), None)


def _write(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    shown = {"How to write a checklist": _WRITING, **_shown(entry)}
    key = _key("write", entry)
    doubts = {
        "safe": "Is it all right to ask an assistant for this?",
        "sense": "Does the instruction make sense, so that a response can be told good from bad?",
    }
    for part, text in doubts.items():
        yield Question(f"{key}-{part}", text, shown, group=key, settles="no", blind=Target(entry.id, part))
    text = "Your checklist: one question a line, each ending with a question mark."
    yield Question(f"{key}-questions", text, shown, (), group=key, blind=Target(entry.id, "questions"))


def _prefer(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    """Every pair of responses, which of them is A by lot."""
    for a, b in combinations(entry.responses, 2):
        turned = int(digest(f"{seed} {entry.id} {a.id} {b.id}")[0], 16) % 2
        yield _compared(entry, b, a) if turned else _compared(entry, a, b)


def _compared(entry: Entry, a: Text, b: Text) -> Question:
    shown = {"What the numbers mean": _PREFERRING, **_shown(entry), "Response A": a.text, "Response B": b.text}
    about = Target(entry.id, "preference", (a.id, b.id))
    return Question(_key("prefer", entry, a, b), "Which response is better?", shown, SCALE, blind=about)


def _direct(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    for response in entry.responses:
        shown = {"What the scores mean": _SCORING, **_shown(entry, response)}
        about = Target(entry.id, "score", (response.id,), protocol="direct")
        yield Question(_key("direct", entry, response), "How good is the response?", shown, SCALE, blind=about)


def _check_then_score(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    checklist = wanted(entry, author)
    return _checked(entry, checklist) if checklist else iter(())


def _checked(entry: Entry, checklist: Written) -> Iterator[Question]:
    """The questions of a checklist about each response, then its score, then what the checklist did to scoring."""
    for response in entry.responses:
        key, shown = _key("check", entry, response, checklist), _shown(entry, response)
        about = Target(entry.id, "answer", (response.id,), checklist.id)
        for place, text in enumerate(checklist.questions):
            read = {"How to answer": _ANSWERING, **shown}
            yield Question(f"{key}-q{place + 1}", text, read, group=key, blind=replace(about, place=place))
        listed = {"The checklist": "\n".join(f"- {text}" for text in checklist.questions)}
        read = {"What the scores mean": _SCORING, **shown, **listed}
        scored = replace(about, part="score", protocol="check_then_score")
        yield Question(f"{key}-score", "How good is the response, all in all?", read, SCALE, group=key, blind=scored)
        text = "What did the checklist do to giving a score: did it make it easier, harder, or neither?"
        effect = replace(scored, part="effect")
        yield Question(f"{key}-effect", text, shown, EFFECTS, group=key, blind=effect)


def _shown(entry: Entry, response: Text | None = None) -> dict[str, str]:
    *before, last = entry.messages
    return material(before, last.content, None if response is None else response.text)


def _key(protocol: str, entry: Entry, *parts: Text | Written) -> str:
    said = [[message.role, message.content] for message in entry.messages]
    texts = [[one.id, one.text] if isinstance(one, Text) else [one.id, list(one.questions)] for one in parts]
    return digest(canonical([protocol, entry.id, said, texts]))[:12]


Protocol = Callable[[Entry, str | None, int], Iterator[Question]]
PROTOCOLS: dict[str, Protocol] = {
    "check-then-score": _check_then_score,
    "preference": _prefer,
    "direct": _direct,
    "write": _write,
}


def _questions_of(protocol: str) -> Protocol:
    """What a protocol asks; rows of data spell check-then-score with underscores."""
    questions = PROTOCOLS.get(protocol.replace("_", "-"))
    if questions is None:
        raise unknown("protocol", protocol, PROTOCOLS)
    return questions


def asked_about(entries: Sequence[Entry], protocol: str, author: str | None = None) -> list[Entry]:
    """The rows that a protocol has something to ask about. Raises UserError where there are none."""
    having = [entry for entry in entries if next(asked(entry, protocol, author), None)]
    if not having:
        checked = "a response and a checklist" + (f" by {author}" if author else "")
        lacks = {"preference": "two responses", "direct": "a response"}.get(protocol, checked)
        raise UserError(f"no row has {lacks}, which {protocol} is about")
    return having
