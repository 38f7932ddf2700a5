"""What annotators are asked (appendix H): checklists to be written, preferences, scores, scores after a checklist.

Their filled-in sheets become entries of the rows that the questions were made of: `truebench label out` and `label in` on
a file of rows.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick.agreement import annotator_tables
from truebench_hf.benchmarks.tick.entries import entry_items, load_entries
from truebench_hf.data.checklist_rows import EFFECTS, ChecklistRow, Text, Written, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.checklists import Checklist, read_checklist
from truebench_hf.report.labels import Annotations, write_rows
from truebench_hf.report.sheets import Question, material
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken

SCALE = tuple("12345")


@cache
def _guide(name: str) -> dict[str, str]:
    """What annotators read about a task before its material: a heading with its text."""
    import yaml

    texts: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return texts[name]


@dataclass(frozen=True)
class Target:
    """What an answer is about: it becomes the `column` of the entry with this `key` in the list `part` of the row.

    Or `part` is safe or sense: doubts, which become notes. `place` is that of a question among the `size` of its
    `checklist`; a preference is `turned` where the sheet showed the two responses the other way round.
    """

    entry: str
    part: str
    column: str = ""
    key: Mapping[str, str] = field(default_factory=dict)
    checklist: str | None = None
    place: int = 0
    size: int = 0
    turned: bool = False


def _write(entry: ChecklistRow, author: str | None = None, seed: int = 0) -> Iterator[Question]:
    guided, key = _guide("writing") | _entry_texts(entry), _key("write", entry)
    doubts = {
        "safe": "Is it all right to ask an assistant for this?",
        "sense": "Does the instruction make sense, so that a response can be told good from bad?",
    }
    for part, text in doubts.items():
        yield Question(f"{key}-{part}", text, guided, group=key, settles=("no",), blind=Target(entry.id, part))
    text = "Your checklist: one question a line, each ending with a question mark."
    yield Question(f"{key}-questions", text, guided, (), group=key, blind=Target(entry.id, "checklists"))


def _prefer(entry: ChecklistRow, author: str | None, seed: int) -> Iterator[Question]:
    """Every pair of responses, which of them is A by lot."""
    for a, b in combinations(entry.responses, 2):
        turned = int(digest(f"{seed} {entry.id} {a.id} {b.id}")[0], 16) % 2
        yield _compared(entry, b, a) if turned else _compared(entry, a, b)


def _compared(entry: ChecklistRow, a: Text, b: Text) -> Question:
    guided = {**_guide("preferring"), **_entry_texts(entry), "Response A": a.text, "Response B": b.text}
    first, second = (response.id for response in entry.responses if response in (a, b))
    key = {"response_a": first, "response_b": second}
    about = Target(entry.id, "preferences", "rating", key, turned=first != a.id)
    return Question(_key("prefer", entry, a, b), "Which response is better?", guided, SCALE, blind=about)


def _direct(entry: ChecklistRow, author: str | None = None, seed: int = 0) -> Iterator[Question]:
    for response in entry.responses:
        guided = _guide("scoring") | _entry_texts(entry, response)
        about = Target(entry.id, "ratings", "score", {"response_id": response.id, "protocol": "direct"})
        yield Question(_key("direct", entry, response), "How good is the response?", guided, SCALE, blind=about)


def _check_then_score(entry: ChecklistRow, author: str | None, seed: int) -> Iterator[Question]:
    """By a checklist of `author`, or else the chosen one, or else the first."""
    own = [checklist for checklist in entry.checklists if author in (None, checklist.author)]
    by_choice = sorted(own, key=lambda checklist: author is None and not checklist.chosen)
    return _checked(entry, by_choice[0]) if own else iter(())


def _checked(entry: ChecklistRow, checklist: Written) -> Iterator[Question]:
    """The questions of a checklist about each response, then its score, then what the checklist did to scoring."""
    size = len(checklist.questions)
    listed = {"The checklist": "\n".join(f"- {text}" for text in checklist.questions)}
    for response in entry.responses:
        key, texts = _key("check", entry, response, checklist), _entry_texts(entry, response)
        ids = {"response_id": response.id, "checklist_id": checklist.id}
        answer = Target(entry.id, "answers", "answers", ids, size=size)
        for place, text in enumerate(checklist.questions):
            about = replace(answer, place=place)
            yield Question(f"{key}-q{place + 1}", text, _guide("answering") | texts, group=key, blind=about)
        key_of_score = {"response_id": response.id, "protocol": "check_then_score"}
        scored = Target(entry.id, "ratings", "score", key_of_score, checklist.id)
        guided = _guide("scoring") | texts | listed
        yield Question(f"{key}-score", "How good is the response, all in all?", guided, SCALE, group=key, blind=scored)
        text = "What did the checklist do to giving a score: did it make it easier, harder, or neither?"
        yield Question(f"{key}-effect", text, texts, EFFECTS, group=key, blind=replace(scored, column="effect"))


def _entry_texts(entry: ChecklistRow, response: Text | None = None) -> dict[str, str]:
    *before, last = entry.messages
    return material(before, last.content, None if response is None else response.text)


def _key(protocol: str, entry: ChecklistRow, *parts: Text | Written) -> str:
    messages = [[message.role, message.content] for message in entry.messages]
    texts = [[part.id, part.text] if isinstance(part, Text) else [part.id, list(part.questions)] for part in parts]
    return digest(canonical([protocol, entry.id, messages, texts]))[:12]


# The questions of a protocol on a row, by the checklist of an author; what one is about, its `blind`, is a Target. The
# first is the one that asks most of the rows; any row can have a checklist written.
PROTOCOLS: dict[str, Callable[[ChecklistRow, str | None, int], Iterator[Question]]] = {
    "check-then-score": _check_then_score,
    "preference": _prefer,
    "direct": _direct,
    "write": _write,
}
Row = dict[str, Any]
_DOUBTS = {"safe": "all right to ask for", "sense": "one that makes sense"}
_COUNTED = {"answers": "answered checklists", "ratings": "scores", "preferences": "preferences"}


class Returned:
    """The rows with all answers, and what came of the sheets: `counts` by what they are, `notes` on what did not fit.

    A newer answer replaces an older one, a blank none. Raises UserError on sheets that were made of other rows.
    """

    def __init__(self, entries: Sequence[ChecklistRow], new: Annotations) -> None:
        self.rows: list[Row] = [copy.deepcopy(dict(entry.row)) for entry in entries]
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        by_id = dict(zip((entry.id for entry in entries), self.rows, strict=True))
        targets = {question.id: question.blind for entry in entries for question in _every_question(entry)}
        if unknown_ids := [name for name in new.labels if name not in targets]:
            raise UserError(
                f"{unknown_ids[0]}: is in a sheet, but asks about no row of the data as it is now; give the data that the "
                "sheets were made of"
            )
        for annotator in new.annotators:
            labels = new.of(annotator)
            for item, target in targets.items():
                if item in labels:
                    self._enter(by_id[target.entry], target, annotator, labels[item])
        # What we write can be read.
        self.entries = [read(Record(f"row {row['id']}", row)) for row in self.rows]

    def _enter(self, row: Row, target: Target, annotator: str, label: str) -> None:
        if target.part in _DOUBTS:
            if label == "no":
                self.notes.append(f"{row['id']}: {annotator} finds the instruction not {_DOUBTS[target.part]}")
            return
        row[target.part] = row.get(target.part) or []
        if target.part == "checklists":
            self._enter_checklist(row, annotator, label)
        else:
            self._enter_label(row, target, annotator, label)

    def _enter_checklist(self, row: Row, annotator: str, text: str) -> None:
        """A list that somebody wrote, as another run of theirs unless they wrote the same before."""
        written = read_checklist(f"Questions:\n{text}")
        if not isinstance(written, Checklist):
            self.notes.append(f"{row['id']}: what {annotator} wrote has no question: each ends with a question mark")
            return
        if dropped := written.duplicates + written.others:
            self.notes.append(f"{row['id']}: of the lines of {annotator} {dropped} were no questions, or stood twice")
        own = [recorded for recorded in row["checklists"] if recorded.get("author") == annotator]
        if list(written.questions) in [list(recorded["questions"]) for recorded in own]:
            return
        run = 1 + max((int(recorded.get("run", 1)) for recorded in own), default=0)
        name, taken = f"{annotator}, run {run}", {recorded.get("id") for recorded in row["checklists"]}
        while name in taken:
            name += "'"
        facts = {"author": annotator, "source": "human", "run": run, "chosen": False}
        row["checklists"].append({"id": name, **facts, "questions": list(written.questions)})
        self.counts["checklists"] += 1

    def _enter_label(self, row: Row, target: Target, annotator: str, label: str) -> None:
        """An answer, a score, what the checklist did to scoring, or a preference, in place of an earlier one."""
        listed, key, turned = row[target.part], {**target.key, "annotator": annotator}, target.turned

        def matching(key: Row) -> Row | None:
            return next((record for record in listed if key.items() <= record.items()), None)

        record = matching(key)
        if record is None and target.column == "rating":  # the data may have the two the other way round
            record = matching(key | {"response_a": key["response_b"], "response_b": key["response_a"]})
            turned = turned != (record is not None)
        if record is None and target.column == "effect":
            self.notes.append(f"{row['id']}: {annotator} told what the checklist did, but gave no score")
            return
        if record is None:
            listed.append(record := dict(key))
            self.counts[_COUNTED[target.part]] += 1
        if target.column == "answers":
            record["answers"] = list(record.get("answers") or [None] * target.size)
            record["answers"][target.place] = label
        elif target.column == "effect":
            record["effect"] = label
        elif target.column == "rating":
            record["rating"] = 6 - int(label) if turned else int(label)
        else:
            record |= {"score": int(label), "checklist_id": target.checklist, "effect": record.get("effect")}


def _every_question(entry: ChecklistRow) -> Iterator[Question]:
    """What any protocol asks about a row, of every checklist and with either response as A."""
    yield from _write(entry)
    yield from _direct(entry)
    for checklist in entry.checklists:
        yield from _checked(entry, checklist)
    for a, b in permutations(entry.responses, 2):
        yield _compared(entry, a, b)


class RowLabels(Labelling):
    """Rows of the `checklists` form, or what becomes such rows."""

    heeds = ("ask", "author", "out")
    written = True

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """FILE-sheets, beside the file; of rows that stand elsewhere in the current folder."""
        file = Path(self.place) if Path(self.place).name else Path(self.place).resolve()  # the current folder
        return file.with_name(f"{file.stem}-{SHEETS}") if file.exists() else Path(f"{file.name}-{SHEETS}")

    def _entries(self) -> list[ChecklistRow]:
        """The rows. Raises UserError where there are none: any other folder ends here, too."""
        try:
            return load_entries(self.place)
        except UserError as error:
            if not Path(self.place).is_dir():
                raise
            raise UserError(f"{self.place}: is no folder of a finished run or study, and no rows: {error}") from error

    def labels_file(self, options: LabelInOptions) -> None:
        return None

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """None without `--out`: then what the rows hold is shown."""
        return super().unnamed_sheets(options) if options.out else []

    def draw(self, options: LabelAskOptions) -> Draw:
        """The questions of a protocol about `n` instructions, which keep the shares of languages and categories.

        The protocol is the one that the options name, or else the first that has something to ask about every row.
        """
        entries, author = self._entries(), options.author

        def questions(entry: ChecklistRow, name: str) -> list[Question]:
            return list(PROTOCOLS[name](entry, author, options.seed))

        protocol = options.ask or next(name for name in PROTOCOLS if all(questions(entry, name) for entry in entries))
        name = protocol.replace("_", "-")  # rows of data spell check-then-score with underscores
        if name not in PROTOCOLS:
            raise unknown("protocol", protocol, PROTOCOLS)
        having = [entry for entry in entries if questions(entry, name)]
        if not having:
            checked = "a response and a checklist" + (f" by {author}" if author else "")
            lacks = {"preference": "two responses", "direct": "a response"}.get(protocol, checked)
            raise UserError(f"no row has {lacks}, which {protocol} is about")
        chosen = entry_items(having).sampled(options.n, options.seed)
        drawn = [question for entry in chosen for question in questions(entry, name)]
        return Draw(drawn, [f"{protocol}: {len(drawn)} questions about {len(chosen)} instructions"])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """The rows with all answers, written to `out`; without sheets what the rows hold. `value` are the entries."""
        if decisions:
            raise UserError("--decisions: rows keep the answers of every annotator; hand the sheet in as the others")
        if bool(new.labels) != (options.out is not None):
            raise UserError(
                "give filled-in sheets and --out, a JSONL for the rows with them (their own file adds them there); or "
                "neither: then what the rows hold is shown"
            )
        entries = self._entries()
        if options.out is None:
            return Taken(entries, None, annotator_tables(entries))
        out = Path(options.out)
        if out.exists() and not (Path(self.place).exists() and out.samefile(self.place)):
            raise UserError(f"--out {out}: is there already; name another file, or {self.place} to add to it")
        returned = Returned(entries, new)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_rows(out, returned.rows)
        counts = ", ".join(f"{count} {what}" for what, count in returned.counts.items()) or "nothing"
        notes = [f"New: {counts}.", *returned.notes]
        return Taken(returned.entries, None, annotator_tables(returned.entries), notes=notes, files=[out])
