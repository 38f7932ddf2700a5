"""What annotators are asked (appendix H): checklists to be written, preferences, scores, scores after a checklist.

Their filled-in sheets become entries of the rows that the questions were made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from truebench_hf.data.checklist_rows import EFFECTS, Entry, Text, Written, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.checklists import Checklist, read_checklist
from truebench_hf.report.labels import Annotations
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
    questions = PROTOCOLS.get(protocol.replace("_", "-"))  # rows of data spell check-then-score with underscores
    if questions is None:
        raise unknown("protocol", protocol, PROTOCOLS)
    return questions(entry, author, seed)


def every_target(entries: Sequence[Entry]) -> dict[str, Target]:
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
    return next(name for name in PROTOCOLS if all(next(asked(entry, name, author), None) for entry in entries))


def _write(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    material = {"How to write a checklist": _WRITING, **_entry_texts(entry)}
    key = _key("write", entry)
    doubts = {
        "safe": "Is it all right to ask an assistant for this?",
        "sense": "Does the instruction make sense, so that a response can be told good from bad?",
    }
    for part, text in doubts.items():
        yield Question(f"{key}-{part}", text, material, group=key, settles=("no",), blind=Target(entry.id, part))
    text = "Your checklist: one question a line, each ending with a question mark."
    yield Question(f"{key}-questions", text, material, (), group=key, blind=Target(entry.id, "questions"))


def _prefer(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    """Every pair of responses, which of them is A by lot."""
    for a, b in combinations(entry.responses, 2):
        turned = int(digest(f"{seed} {entry.id} {a.id} {b.id}")[0], 16) % 2
        yield _compared(entry, b, a) if turned else _compared(entry, a, b)


def _compared(entry: Entry, a: Text, b: Text) -> Question:
    material = {"What the numbers mean": _PREFERRING, **_entry_texts(entry), "Response A": a.text, "Response B": b.text}
    about = Target(entry.id, "preference", (a.id, b.id))
    return Question(_key("prefer", entry, a, b), "Which response is better?", material, SCALE, blind=about)


def _direct(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    for response in entry.responses:
        material = {"What the scores mean": _SCORING, **_entry_texts(entry, response)}
        about = Target(entry.id, "score", (response.id,), protocol="direct")
        yield Question(_key("direct", entry, response), "How good is the response?", material, SCALE, blind=about)


def _check_then_score(entry: Entry, author: str | None, seed: int) -> Iterator[Question]:
    those = [candidate for candidate in entry.checklists if author in (None, candidate.author)]
    checklist = next((candidate for candidate in those if author is None and candidate.chosen), next(iter(those), None))
    return _checked(entry, checklist) if checklist else iter(())


def _checked(entry: Entry, checklist: Written) -> Iterator[Question]:
    """The questions of a checklist about each response, then its score, then what the checklist did to scoring."""
    for response in entry.responses:
        key, material = _key("check", entry, response, checklist), _entry_texts(entry, response)
        about = Target(entry.id, "answer", (response.id,), checklist.id)
        for place, text in enumerate(checklist.questions):
            read = {"How to answer": _ANSWERING, **material}
            yield Question(f"{key}-q{place + 1}", text, read, group=key, blind=replace(about, place=place))
        listed = {"The checklist": "\n".join(f"- {text}" for text in checklist.questions)}
        read = {"What the scores mean": _SCORING, **material, **listed}
        scored = replace(about, part="score", protocol="check_then_score")
        yield Question(f"{key}-score", "How good is the response, all in all?", read, SCALE, group=key, blind=scored)
        text = "What did the checklist do to giving a score: did it make it easier, harder, or neither?"
        effect = replace(scored, part="effect")
        yield Question(f"{key}-effect", text, material, EFFECTS, group=key, blind=effect)


def _entry_texts(entry: Entry, response: Text | None = None) -> dict[str, str]:
    *before, last = entry.messages
    return material(before, last.content, None if response is None else response.text)


def _key(protocol: str, entry: Entry, *parts: Text | Written) -> str:
    messages = [[message.role, message.content] for message in entry.messages]
    texts = [[part.id, part.text] if isinstance(part, Text) else [part.id, list(part.questions)] for part in parts]
    return digest(canonical([protocol, entry.id, messages, texts]))[:12]


Protocol = Callable[[Entry, str | None, int], Iterator[Question]]
PROTOCOLS: dict[str, Protocol] = {
    "check-then-score": _check_then_score,
    "preference": _prefer,
    "direct": _direct,
    "write": _write,
}


def asked_about(entries: Sequence[Entry], protocol: str, author: str | None = None) -> list[Entry]:
    """The rows that a protocol has something to ask about. Raises UserError where there are none."""
    having = [entry for entry in entries if next(asked(entry, protocol, author), None)]
    if not having:
        checked = "a response and a checklist" + (f" by {author}" if author else "")
        lacks = {"preference": "two responses", "direct": "a response"}.get(protocol, checked)
        raise UserError(f"no row has {lacks}, which {protocol} is about")
    return having


Row = dict[str, Any]
_DOUBTS = {"safe": "all right to ask for", "sense": "one that makes sense"}


class Returned:
    """The rows with all answers, and what came of the sheets: `counts` by what they are, `notes` on what did not fit."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.rows: list[Row] = [dict(entry.row) for entry in entries]
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self._rows = dict(zip((entry.id for entry in entries), self.rows, strict=True))
        self._sizes = {
            (entry.id, checklist.id): len(checklist.questions) for entry in entries for checklist in entry.checklists
        }

    def enter(self, target: Target, annotator: str, label: str) -> None:
        """Enter what an annotator answered to a question."""
        row = self._rows[target.entry]
        if target.part in _DOUBTS:
            if label == "no":
                self.notes.append(f"{row['id']}: {annotator} finds the instruction not {_DOUBTS[target.part]}")
        elif target.part == "questions":
            self._enter_checklist(row, annotator, label)
        elif target.part == "preference":
            self._enter_preference(row, target.responses, annotator, int(label))
        elif target.part == "answer":
            key = {"response_id": target.responses[0], "checklist_id": target.checklist, "annotator": annotator}
            answered = self._entry(row, "answers", key, "answered checklists")
            answered["answers"] = list(answered.get("answers") or [None] * self._sizes[target.entry, target.checklist])
            answered["answers"][target.place] = label
        else:
            key = {"response_id": target.responses[0], "annotator": annotator, "protocol": target.protocol}
            self._enter_score(row, key, target, label)

    def _enter_checklist(self, row: Row, annotator: str, text: str) -> None:
        """A list that somebody wrote, as another run of theirs unless they wrote the same before."""
        read = read_checklist(f"Questions:\n{text}")
        if not isinstance(read, Checklist):
            self.notes.append(f"{row['id']}: what {annotator} wrote has no question: each ends with a question mark")
            return
        if dropped := read.duplicates + read.others:
            self.notes.append(f"{row['id']}: of the lines of {annotator} {dropped} were no questions, or stood twice")
        listed = _listed(row, "checklists")
        own = [recorded for recorded in listed if recorded.get("author") == annotator]
        if list(read.questions) in [list(recorded["questions"]) for recorded in own]:
            return
        run = 1 + max((int(recorded.get("run", 1)) for recorded in own), default=0)
        name, taken = f"{annotator}, run {run}", {recorded.get("id") for recorded in listed}
        while name in taken:
            name += "'"
        facts = {"author": annotator, "source": "human", "run": run, "chosen": False}
        listed.append({"id": name, **facts, "questions": list(read.questions)})
        self.counts["checklists"] += 1

    def _enter_preference(self, row: Row, response_ids: Sequence[str], annotator: str, rating: int) -> None:
        """A rating, told in the order in which the data has the two responses, or an earlier rating of theirs."""
        order = [response["id"] for response in row["responses"]]
        a, b = sorted(response_ids, key=order.index)
        rating = rating if (a, b) == tuple(response_ids) else 6 - rating
        turned = {"annotator": annotator, "response_a": b, "response_b": a}
        if before := _matching(_listed(row, "preferences"), turned):
            before["rating"] = 6 - rating
        else:
            key = {"annotator": annotator, "response_a": a, "response_b": b}
            self._entry(row, "preferences", key, "preferences")["rating"] = rating

    def _enter_score(self, row: Row, key: Row, target: Target, label: str) -> None:
        """A score, or what the checklist did to scoring, which goes with a score."""
        if target.part == "score":
            scored = self._entry(row, "ratings", key, "scores")
            scored |= {"score": int(label), "checklist_id": target.checklist or None, "effect": scored.get("effect")}
        elif rating := _matching(_listed(row, "ratings"), key):
            rating["effect"] = label
        else:
            self.notes.append(f"{row['id']}: {key['annotator']} told what the checklist did, but gave no score")

    def _entry(self, row: Row, name: str, key: Row, what: str) -> Row:
        """The entry of a list with this key; a new one, where there is none."""
        listed = _listed(row, name)
        if (record := _matching(listed, key)) is None:
            listed.append(record := dict(key))
            self.counts[what] += 1
        return record


def join_answers(entries: Sequence[Entry], new: Annotations) -> Returned:
    """The rows with the answers of sheets that were made of them; a newer answer replaces an older one, a blank none.

    Raises UserError on sheets that were made of other rows.
    """
    targets = every_target(entries)
    if unknown_ids := [name for name in new.labels if name not in targets]:
        raise UserError(
            f"{unknown_ids[0]}: is in a sheet, but asks about no row of the data as it is now; give the data that the "
            "sheets were made of"
        )
    returned = Returned(entries)
    for annotator in new.annotators:
        labels = new.of(annotator)
        for item, target in targets.items():
            if item in labels:
                returned.enter(target, annotator, labels[item])
    read_rows(returned.rows)  # what we write can be read
    return returned


def read_rows(rows: Sequence[Row]) -> list[Entry]:
    """The entries of rows in memory. Raises UserError."""
    return [read(Record(f"row {row['id']}", row)) for row in rows]


def _listed(row: Row, name: str) -> list[Row]:
    """A list of a row that may be changed: the rows of the data stay as they are."""
    row[name] = [dict(record) for record in row.get(name) or []]
    return row[name]  # type: ignore[no-any-return]


def _matching(listed: Sequence[Row], key: Row) -> Row | None:
    return next((record for record in listed if all(record.get(field) == value for field, value in key.items())), None)
