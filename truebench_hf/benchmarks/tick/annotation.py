"""What annotators are asked (appendix H): checklists to be written, preferences, scores, scores after a checklist.

Their filled-in sheets become entries of the rows that the questions were made of: `truebench label out` and `label in` on
a file of rows. How far annotators agree is the paper's table 6.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick.scoring import ALL, beside_paper, frame_of, grouped_table, paper_rows
from truebench_hf.data.checklist_rows import EFFECTS, ChecklistRow, Text, Written, load_entries, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.checklists import Checklist, read_checklist
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.kappa import krippendorff_alpha
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.report.labels import Annotations, Question, material, write_rows
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import sample
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken

if TYPE_CHECKING:
    from pandas import DataFrame

SCALE = tuple("12345")
Row = dict[str, Any]


@cache
def _guide(name: str) -> dict[str, str]:
    """What annotators read about a task before its material: a heading with its text."""
    import yaml

    texts: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return texts[name]


class Returned:
    """The rows with all answers, and what came of the sheets: `counts` by what they are, `notes` on what did not fit.

    A newer answer replaces an older one, a blank none. Raises UserError on sheets that were made of other rows.
    """

    def __init__(self, entries: Sequence[ChecklistRow], new: Annotations) -> None:
        self.rows: list[Row] = [copy.deepcopy(dict(entry.row)) for entry in entries]
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        questions = [(row, q) for entry, row in zip(entries, self.rows, strict=True) for q in _every_question(entry)]
        if unknown_ids := new.labels.keys() - {question.id for _, question in questions}:
            raise UserError(f"{min(unknown_ids)} in a sheet asks about no row of the data as it is now; give its own")
        for annotator in new.annotators:
            labels = new.of(annotator)
            for row, question in questions:
                if question.id in labels:
                    question.blind(self, row, annotator, labels[question.id])
        # What we write can be read.
        self.entries = [read(Record(f"row {row['id']}", row)) for row in self.rows]

    def find(self, row: Row, part: str, key: Row) -> Row | None:
        """The entry of a list of the row with this key."""
        row[part] = row.get(part) or []
        return next((entry for entry in row[part] if key.items() <= entry.items()), None)

    def entry(self, row: Row, part: str, key: Row, what: str) -> Row:
        """The same, a new one where there is none; it is counted as `what` it is."""
        if (entry := self.find(row, part, key)) is None:
            row[part].append(entry := dict(key))
            self.counts[what] += 1
        return entry


# The questions of a protocol; what one is about, its `blind`, is the function that enters an answer.
def _write(entry: ChecklistRow, author: str | None = None, seed: int = 0) -> Iterator[Question]:
    guided, key = _guide("writing") | _entry_texts(entry), _key("write", entry)
    doubts = {
        "safe": ("Is it all right to ask an assistant for this?", "all right to ask for"),
        "sense": ("Does the instruction make sense, so that a response can be told good from bad?", "one that makes sense"),
    }  # fmt: skip
    for part, (text, doubt) in doubts.items():
        about = partial(_enter_doubt, doubt=doubt)
        yield Question(f"{key}-{part}", text, guided, group=key, settles=("no",), blind=about)
    text = "Your checklist: one question a line, each ending with a question mark."
    yield Question(f"{key}-questions", text, guided, (), group=key, blind=_enter_checklist)


def _enter_doubt(returned: Returned, row: Row, annotator: str, label: str, doubt: str) -> None:
    if label == "no":
        returned.notes.append(f"{row['id']}: {annotator} finds the instruction not {doubt}")


def _enter_checklist(returned: Returned, row: Row, annotator: str, text: str) -> None:
    """A list that somebody wrote, as another run of theirs unless they wrote the same before."""
    listed = row["checklists"] = row.get("checklists") or []
    written = read_checklist(f"Questions:\n{text}")
    if not isinstance(written, Checklist):
        returned.notes.append(f"{row['id']}: what {annotator} wrote has no question: each ends with a question mark")
        return
    if dropped := written.duplicates + written.others:
        returned.notes.append(f"{row['id']}: of the lines of {annotator} {dropped} were no questions, or stood twice")
    own = [recorded for recorded in listed if recorded.get("author") == annotator]
    if list(written.questions) in [list(recorded["questions"]) for recorded in own]:
        return
    run = 1 + max((int(recorded.get("run", 1)) for recorded in own), default=0)
    name, taken = f"{annotator}, run {run}", {recorded.get("id") for recorded in listed}
    while name in taken:
        name += "'"
    facts = {"author": annotator, "source": "human", "run": run, "chosen": False}
    listed.append({"id": name, **facts, "questions": list(written.questions)})
    returned.counts["checklists"] += 1


def _prefer(entry: ChecklistRow, author: str | None, seed: int) -> Iterator[Question]:
    """Every pair of responses, which of them is A by lot."""
    for a, b in combinations(entry.responses, 2):
        turned = int(digest(f"{seed} {entry.id} {a.id} {b.id}")[0], 16) % 2
        yield _compared(entry, b, a) if turned else _compared(entry, a, b)


def _compared(entry: ChecklistRow, a: Text, b: Text) -> Question:
    guided = {**_guide("preferring"), **_entry_texts(entry), "Response A": a.text, "Response B": b.text}
    first, second = (response.id for response in entry.responses if response in (a, b))
    about = partial(_enter_preference, first=first, second=second, turned=first != a.id)
    return Question(_key("prefer", entry, a, b), "Which response is better?", guided, SCALE, blind=about)


def _enter_preference(
    returned: Returned, row: Row, annotator: str, label: str, first: str, second: str, turned: bool
) -> None:
    """A rating of two responses; the data may have them the other way round."""
    who, part = {"annotator": annotator}, "preferences"
    if returned.find(row, part, {"response_a": second, "response_b": first, **who}):
        first, second, turned = second, first, not turned
    entry = returned.entry(row, part, {"response_a": first, "response_b": second, **who}, part)
    entry["rating"] = 6 - int(label) if turned else int(label)


def _direct(entry: ChecklistRow, author: str | None = None, seed: int = 0) -> Iterator[Question]:
    for response in entry.responses:
        guided = _guide("scoring") | _entry_texts(entry, response)
        about = partial(_enter_score, key={"response_id": response.id, "protocol": "direct"})
        yield Question(_key("direct", entry, response), "How good is the response?", guided, SCALE, blind=about)


def _enter_score(
    returned: Returned, row: Row, annotator: str, label: str, key: Row, checklist: str | None = None
) -> None:
    entry = returned.entry(row, "ratings", {**key, "annotator": annotator}, "scores")
    entry |= {"score": int(label), "checklist_id": checklist, "effect": entry.get("effect")}


def _check_then_score(entry: ChecklistRow, author: str | None, seed: int) -> Iterator[Question]:
    """By a checklist of `author`, or else the chosen one, or else the first."""
    own = [checklist for checklist in entry.checklists if author in (None, checklist.author)]
    by_choice = sorted(own, key=lambda checklist: author is None and not checklist.chosen)
    return _checked(entry, by_choice[0]) if own else iter(())


def _checked(entry: ChecklistRow, checklist: Written) -> Iterator[Question]:
    """The questions of a checklist about each response, then its score, then what the checklist did to scoring."""
    listed = {"The checklist": "\n".join(f"- {text}" for text in checklist.questions)}
    for response in entry.responses:
        key, texts = _key("check", entry, response, checklist), _entry_texts(entry, response)
        ids, size = {"response_id": response.id, "checklist_id": checklist.id}, len(checklist.questions)
        for place, text in enumerate(checklist.questions):
            about = partial(_enter_answer, key=ids, place=place, size=size)
            yield Question(f"{key}-q{place + 1}", text, _guide("answering") | texts, group=key, blind=about)
        scored = {"response_id": response.id, "protocol": "check_then_score"}
        about = partial(_enter_score, key=scored, checklist=checklist.id)
        guided = _guide("scoring") | texts | listed
        yield Question(f"{key}-score", "How good is the response, all in all?", guided, SCALE, group=key, blind=about)
        text = "What did the checklist do to giving a score: did it make it easier, harder, or neither?"
        about = partial(_enter_effect, key=scored)
        yield Question(f"{key}-effect", text, texts, EFFECTS, group=key, blind=about)


def _enter_answer(returned: Returned, row: Row, annotator: str, label: str, key: Row, place: int, size: int) -> None:
    entry = returned.entry(row, "answers", {**key, "annotator": annotator}, "answered checklists")
    entry["answers"] = list(entry.get("answers") or [None] * size)
    entry["answers"][place] = label


def _enter_effect(returned: Returned, row: Row, annotator: str, label: str, key: Row) -> None:
    if (entry := returned.find(row, "ratings", {**key, "annotator": annotator})) is None:
        returned.notes.append(f"{row['id']}: {annotator} told what the checklist did, but gave no score")
    else:
        entry["effect"] = label


def _entry_texts(entry: ChecklistRow, response: Text | None = None) -> dict[str, str]:
    *before, last = entry.messages
    return material(before, last.content, None if response is None else response.text)


def _key(protocol: str, entry: ChecklistRow, *parts: Text | Written) -> str:
    messages = [[message.role, message.content] for message in entry.messages]
    texts = [[part.id, part.text] if isinstance(part, Text) else [part.id, list(part.questions)] for part in parts]
    return digest(canonical([protocol, entry.id, messages, texts]))[:12]


# By the checklist of an author. The first is the one that asks most of the rows; any row can have a checklist written.
PROTOCOLS: dict[str, Callable[[ChecklistRow, str | None, int], Iterator[Question]]] = {
    "check-then-score": _check_then_score, "preference": _prefer, "direct": _direct, "write": _write,
}  # fmt: skip


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

    written = True

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """FILE-sheets, beside the file; of rows that stand elsewhere in the current folder."""
        file = Path(self.place) if Path(self.place).name else Path(self.place).resolve()  # the current folder
        return file.with_name(f"{file.stem}-{SHEETS}") if file.exists() else Path(f"{file.name}-{SHEETS}")

    def labels_file(self, options: LabelInOptions) -> None:
        return None

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """None without `--out`: then what the rows hold is shown."""
        return super().unnamed_sheets(options) if options.out else []

    def draw(self, options: LabelAskOptions) -> Draw:
        """The questions of a protocol about `n` instructions, which keep the shares of languages and categories.

        The protocol is the one that the options name, or else the first that has something to ask about every row.
        """
        entries, author = load_entries(self.place), options.author

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
        chosen = sample(having, options.n, lambda e: e.id, lambda e: (e.language, e.category), options.seed)
        drawn = [question for entry in chosen for question in questions(entry, name)]
        return Draw(drawn, [f"{protocol}: {len(drawn)} questions about {len(chosen)} instructions"])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """The rows with all answers, written to `out`; without sheets what the rows hold. `value` are the entries."""
        if decisions:
            raise UserError("--decisions: rows keep the answers of every annotator; hand the sheet in as the others")
        if bool(new.labels) != (options.out is not None):
            raise UserError("give filled-in sheets and --out, a JSONL for the rows with them, or neither of both")
        entries = load_entries(self.place)
        if options.out is None:
            return Taken(entries, annotator_tables(entries))
        out = Path(options.out)
        if out.exists() and not (Path(self.place).exists() and out.samefile(self.place)):
            raise UserError(f"--out {out}: is there already; name another file, or {self.place} to add to it")
        returned = Returned(entries, new)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_rows(out, returned.rows)
        counts = ", ".join(f"{count} {what}" for what, count in returned.counts.items()) or "nothing"
        notes = [f"New: {counts}.", *returned.notes]
        return Taken(returned.entries, annotator_tables(returned.entries), notes=notes, files=[out])


_TITLES = {"direct": "direct scoring", "check_then_score": "check-then-score"}
_PREFERENCES, _ANSWERS = "preferences, 1 to 5", "answers to questions"


def rating_frame(entries: Sequence[ChecklistRow]) -> DataFrame:
    """A row per thing that an annotator was asked about.

    Columns: what (categorical: scores by protocol, preferences, answers), cluster (the instruction), item (what was asked
    about: annotators with the same item answered the same), value (1 to 5, yes or no, None: left open). A preference is
    about the response that stands first in the data.
    """
    rows: list[tuple[Any, ...]] = []
    for entry in entries:
        place = {response.id: n for n, response in enumerate(entry.responses)}
        rows += [(_TITLES[r.protocol], entry.id, str((entry.id, r.response_id)), r.score) for r in entry.ratings]
        for preference in entry.preferences:
            a, b = preference.response_a, preference.response_b
            rating = preference.rating if place[a] < place[b] else 6 - preference.rating
            rows.append((_PREFERENCES, entry.id, str((entry.id, *sorted((a, b)))), rating))
        rows += [
            (_ANSWERS, entry.id, str((entry.id, answers.response_id, answers.checklist_id, number)), label)
            for answers in entry.answers for number, label in enumerate(answers.answers)
        ]  # fmt: skip
    return frame_of(("what", "cluster", "item", "value"), rows, {"what": [*_TITLES.values(), _PREFERENCES, _ANSWERS]})


def annotator_tables(entries: Sequence[ChecklistRow], seed: int = 0) -> list[Table]:
    """Return how far annotators agree (Table 6), what answering a checklist did to scoring (H.4), and their preferences."""

    def alpha(rows: DataFrame) -> dict[str, Any]:
        items = [own for _, own in rows.groupby("item", sort=False)]
        level: Any = "nominal" if len(rows) and rows["what"].iloc[0] == _ANSWERS else "ordinal"
        ratings, clusters = [list(own["value"]) for own in items], [own["cluster"].iloc[0] for own in items]
        values = [float(value == "yes" if isinstance(value, str) else value) for value in rows["value"] if value]
        agreed = krippendorff_alpha(ratings, level, clusters=clusters, seed=seed)
        return {"ratings": len(values), "alpha": agreed, "mean": ratio(sum(values), len(values))}

    frame = rating_frame(entries)
    columns = (
        Column("what", "what"), Column("ratings", "ratings", "count"),
        Column("alpha", "alpha", "score", "Krippendorff's; items with a single rating are unscored.", unit="", digits=3, parts=ALL),
        Column("mean", "mean", "number", "Of the scores; of answers the share of yes.", unit="", digits=3),
    )  # fmt: skip
    note = (
        "Krippendorff's alpha at the ordinal level (the paper names none), of answers at the nominal one, with a bootstrap "
        "interval over instructions; none of fewer than ten."
    )
    printed = paper_rows("6", what="Eval. Protocol", alpha="Inter-Annotator Agreement", mean="Command-R+ Avg. Score")
    names = set(frame["what"])
    published = [{**row, "what": row["what"].lower()} for row in printed if row["what"].lower() in names]
    title = "Agreement of annotators (like the paper's table 6)"
    agreed = grouped_table("agreement", frame, ["what"], alpha, columns, published=published, title=title, note=note)
    return [*([agreed] if len(frame) else []), *_effects(entries), *_preferences(frame)]


def _effects(entries: Sequence[ChecklistRow]) -> list[Table]:
    """How often annotators say that a checklist made scoring easier, harder, or had no effect."""
    tally = Counter(rating.effect for entry in entries for rating in entry.ratings if rating.effect)
    rows = [{"effect": name, "answers": tally[name], "share": ratio(tally[name], tally.total())} for name in EFFECTS]
    printed = {"easier": 0.785, "harder": 0.064, "no effect": 0.15}
    published = [{"effect": name, "share": share} for name, share in printed.items()]
    share = Column("share", "%", "number", digits=1)
    columns = (Column("effect", "effect"), Column("answers", "answers", "count"), share)
    title = "What answering the checklist did to scoring (like the paper's appendix H.4)"
    return [beside_paper(Table("effects", columns, rows, title), published)] if tally else []


def _preferences(frame: DataFrame) -> list[Table]:
    items = frame[frame["what"] == _PREFERENCES].groupby("item", sort=False)["value"]
    labels = Counter(preference_from_ratings(list(ratings)) for _, ratings in items)
    rows = [{"label": name, "pairs": labels[name]} for name in ("win", "tie", "loss")]
    note = "About the response that stands first in the data, by the mean of its annotators: below 2.5 is a win, above 3.5 a loss."
    columns = (Column("label", "label"), Column("pairs", "pairs", "count"))
    return [Table("preferences", columns, rows, "Preferences", note)] if labels else []
