"""Asking people about what a folder or a file holds: `truebench label out`, `label in` and `label open`, for all studies.

A room says of its folders what is asked (`questions`) and what becomes of the labels (`take`); sheets, annotators,
decisions of an adjudicator and the options are said here.

`label open` is the sheet of one annotator in a browser of this machine, and the answers straight back. Only this machine
can reach it, under an address that nobody can guess. An answer is in a file before the page is told that it is saved, so
that whatever ends the command loses none: the same command goes on where it was.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from truebench_hf.engine.folder import RunFolder
from truebench_hf.engine.pool import run_async
from truebench_hf.errors import UserError
from truebench_hf.options import Options, option
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question, Settled, SheetAnswer
from truebench_hf.report.sections import Section
from truebench_hf.study.items import sample
from truebench_hf.study.notes import lost_calls, provider_notes, reading_table
from truebench_hf.study.outcome import Outcome, write

T = TypeVar("T")
SHEETS = "sheets"
_LARGEST = 1_000_000  # bytes of one answer
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
    "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
}  # fmt: skip
_PLACE = "Folder of a finished run or study, or a file of rows with instructions (checklists_mini, too)."


class LabelAskOptions(Options):
    """How much people are asked of what a folder or a file holds."""

    folder: str = option(help=_PLACE, argument=True)
    n: int | None = option(
        None,
        ge=1,
        help="How much is asked; all of it, or for runs 200 and arbitrations 160. More of a run later holds it.",
    )
    ask: str | None = option(
        None, help="Rows of instructions: check-then-score, preference, direct or write; if not given, the first that the rows "
        "have all for."
    )  # fmt: skip
    unlabelled: bool = option(
        False,
        help="Runs and refinements: only what is not settled yet, after a larger --n, half-filled sheets or a round.",
    )
    model: str | None = option(None, help="Runs of several models: whose responses, as run.json names it.")
    author: str | None = option(
        None, help="Rows of instructions: whose checklist is answered; the chosen one if not given, or else the first."
    )
    seed: int = option(0, help="Draws the sample and each annotator's order.")

    @property
    def names(self) -> list[str]:
        """The annotators; none where they are left to the study."""
        return []


class LabelOutOptions(LabelAskOptions):
    """Who is asked, by sheets, how much of what a folder or a file holds."""

    annotators: str | None = option(
        None,
        help="Names, separated by commas; each gets all of it. Where none are given: A, or as many as the paper has.",
    )
    out: str | None = option(
        None, panel="Output", help="Folder of the sheets; FOLDER/sheets if not given, or FILE-sheets."
    )

    @property
    def names(self) -> list[str]:
        """The annotators; none where they are left to the study."""
        return [name.strip() for name in (self.annotators or "").split(",") if name.strip()]


class LabelOpenOptions(LabelAskOptions):
    """Who answers, in a browser of this machine, how much of what a folder or a file holds."""

    annotator: str = option("A", help="Your name, under which the answers are kept.")
    port: int = option(0, help="Port on this machine; any free one if 0.")
    out: str | None = option(
        None, panel="Output", help="Rows of instructions: JSONL for the rows with all answers; may be their own file."
    )

    @property
    def names(self) -> list[str]:
        """The one annotator."""
        return [self.annotator]


class LabelInOptions(Options):
    """What people filled in, and where it belongs."""

    folder: str = option(help=_PLACE, argument=True)
    sheets: tuple[str, ...] = option(
        (), argument=True, help="Filled-in sheets, CSV, or folders of them; FOLDER/sheets if none are given."
    )
    decisions: tuple[str, ...] = option((), help="Sheet of an adjudicator, who settles ties; may be repeated.")
    model: str | None = option(None, help="Runs of several models: whose responses, as run.json names it.")
    out: str | None = option(
        None, panel="Output", help="Rows of instructions: JSONL for the rows with all answers; may be their own file."
    )


@dataclass(frozen=True)
class Draw:
    """The questions that are asked now, lines on how they were drawn, and what notes the draw once sheets are written."""

    questions: Sequence[Question]
    lines: Sequence[str] = ()
    keep: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Taken:
    """What became of labels: the `value` for Python, what is shown of it, and the files that were written."""

    value: Any
    sections: Sequence[Section] = ()
    lead: str = ""
    notes: Sequence[str] = ()
    files: Sequence[str | Path] = ()


class Labelling:
    """What people are asked about a folder or a file, and what becomes of their labels. A room makes its own of it."""

    annotators: ClassVar[tuple[str, ...]] = ("A",)
    answers: ClassVar[tuple[str, ...]] = ("yes", "no")
    keeps_others: ClassVar[bool] = False  # whether labels of what is not asked here wait until it is
    written: ClassVar[bool] = False  # whether answers may be texts of the annotator's own

    def __init__(self, place: str) -> None:
        self.place = place

    def questions(self, options: LabelAskOptions) -> list[Question]:
        """All that could be asked. Raises UserError where there is nothing."""
        raise NotImplementedError

    def draw(self, options: LabelAskOptions) -> Draw:
        """What is asked: all of it, or `n` questions."""
        return Draw(
            sample(self.questions(options), options.n, lambda question: question.id, lambda _: (), options.seed)
        )

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Take in the answers of sheets, and the decisions of adjudicators. Raises UserError on sheets of others."""
        raise NotImplementedError

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """Where sheets are written, and read from, where nothing else is said."""
        return Path(self.place) / SHEETS

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """What is read where no sheets are named."""
        own = self.folder(options)
        return [own] if own.is_dir() else []

    def labels_file(self, options: LabelInOptions) -> Path | None:
        """Where labels that were taken in stand; None where they stand in what is labelled."""
        return Path(self.place) / labels.FILE

    def settle(self, new: Annotations, decisions: Mapping[str, str], file: Path, known: Collection[str]) -> Settled:
        """Join new answers and decisions to those in a file of labels; `known` are the ids of what can be asked here.

        Raises UserError on sheets that ask what this place does not hold.
        """
        strange = [item for item in new.labels if item not in known]
        if strange and not (self.keeps_others and len(strange) < len(new.labels)):
            raise UserError(
                f"{strange[0]}: is in a sheet, but not among what {self.place} asks; give the sheets that were made for it"
            )
        before = [row for row in labels.read_rows(file, self.answers) if self.keeps_others or row["id"] in known]
        decided = {row["id"]: row["label"] for row in before if row["how"] == "decided"}
        return labels.adjudicate(labels.joined(before, new, self.answers), decided | dict(decisions))


def label_out(labelling: Labelling, options: LabelOutOptions) -> Taken:
    """Write the sheets of every annotator, and return these files, with lines on how questions were drawn as notes.

    Raises UserError.
    """
    draw = labelling.draw(options)
    out = options.out or labelling.folder(options)
    files = labels.write(draw.questions, out, options.names or labelling.annotators, options.seed)
    draw.keep()
    return Taken(None, notes=draw.lines, files=files)


def label_in(labelling: Labelling, options: LabelInOptions) -> Taken:
    """Read filled-in sheets, and take their labels into the folder or file. Raises UserError on what does not belong."""
    paths: Iterable[str | Path] = options.sheets
    if not (paths or options.decisions):
        paths = labelling.unnamed_sheets(options)
    new = labels.read(paths, written=labelling.written) if paths else Annotations()
    adjudicators = labels.read(options.decisions) if options.decisions else Annotations()
    decisions = {item: label for name in adjudicators.annotators for item, label in adjudicators.of(name).items()}
    before = labelling.labels_file(options)
    if before and not (new.labels or before.is_file()):
        raise UserError(
            f"{labelling.place}: nobody was asked yet; `truebench label out {labelling.place}` writes sheets"
        )
    return labelling.take(new, decisions, options)


def written_anew(
    place: str, file: str, rows: Iterable[Mapping[str, Any]], outcome: Callable[[RunFolder], Outcome[T]]
) -> Outcome[T]:
    """Write rows of labels into a file of a finished folder, and then its results anew, which `outcome` makes of it.

    Returns these with what the study noted of how they came about.
    """
    folder = RunFolder(place, {})
    try:
        folder.write_lines(file, map(labels.line, rows))
        info, result = folder.info, outcome(folder)
        made_with = provider_notes(info["settings"], info.get("served", {}))
        notes = [*lost_calls(info.get("calls_lost", 0)), *result.notes, *made_with]
        result = replace(result, notes=notes, charts=[*result.charts, *reading_table(info.get("reading", {}))])
        write(folder, result)
        return result
    finally:
        folder.ledger.close()


def open_notes(settled: Settled) -> list[str]:
    """Say that questions stay open, where some do."""
    left = settled.open
    return [f"Open, left out: {len(left)} (ties or unanswered): {', '.join(left[:5])}."] if left else []


def label_open(labelling: Labelling, options: LabelOpenOptions, tell: Callable[[str], None]) -> Taken:
    """Serve the sheet until its annotator ends, then take the labels in; `tell` gets the address. Raises UserError."""
    labels.check_names(options.names)
    draw = labelling.draw(options)
    questions = labels.in_order(labels.check_questions(draw.questions), options.annotator, options.seed)
    folder = labelling.folder(options)
    folder.mkdir(parents=True, exist_ok=True)
    draw.keep()
    answers = AnswerFile(folder / f"{options.annotator}-answers.csv", questions, options.annotator, labelling.written)
    run_async(serve(questions, answers, options.port, lambda address: tell(
        f"{len(questions)} questions: open {address} in a browser of this machine. Ctrl-C stops; "
        f"answers are kept in {answers.path}."
    )))  # fmt: skip
    taking = LabelInOptions(folder=options.folder, sheets=(str(answers.path),), model=options.model, out=options.out)
    return label_in(labelling, taking)


class AnswerFile:
    """The answers of one annotator, in a file from the moment they are given; those that it holds already are kept.

    Raises UserError where the file asks one of the questions with other options.
    """

    def __init__(self, path: Path, questions: Sequence[Question], annotator: str, written: bool) -> None:
        self.path, self.annotator = path, annotator
        self.answers = {q.id: SheetAnswer(q.id, annotator, q.options, None, "", "") for q in questions}
        for answer in labels.read_answers(path, written) if path.exists() else ():
            if answer.options != self.answers.get(answer.id, answer).options:
                raise UserError(f"{answer.where}: question {answer.id!r} has other options now; move {path} away")
            self.answers[answer.id] = answer

    def save(self, name: str, text: str | None, note: str) -> None:
        """Put an answer into the file; None takes one back. Raises UserError on one that the question has not."""
        before = self.answers[name]
        answer = labels.chosen(text or "", before.options, name)
        self.answers[name] = replace(before, answer=answer, note=note.strip())
        labels.write_answers(self.path, self.answers.values())


async def serve(questions: Sequence[Question], answers: AnswerFile, port: int, tell: Callable[[str], None]) -> None:
    """Serve the form until the annotator ends; `tell` gets its address. Raises UserError where the port is taken."""
    from aiohttp import web

    path, ended = f"/{secrets.token_urlsafe(16)}", asyncio.Event()

    async def form(request: Any) -> Any:
        filled = [answers.answers[question.id] for question in questions]
        page = labels.form(questions, answers.annotator, path, filled).encode("utf-8", "replace")
        return web.Response(body=page, content_type="text/html", charset="utf-8", headers=_HEADERS)

    async def save(request: Any) -> Any:
        try:
            body = await request.json()
            if body.get("done") is True:
                ended.set()
            else:
                answers.save(body["id"], body.get("answer"), body.get("note", ""))
        except (ValueError, TypeError, AttributeError, KeyError, UserError) as error:
            return web.Response(status=400, body=str(error).encode("utf-8", "replace"))
        except OSError as error:  # the page says that the answer is not saved
            return web.Response(status=507, body=str(error).encode("utf-8", "replace"))
        return web.Response(text="saved")

    server = web.Application(client_max_size=_LARGEST)
    server.add_routes([web.get(path, form), web.post(path, save)])
    runner = web.AppRunner(server, access_log=None)  # the address is a secret
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
        except (OSError, OverflowError) as error:
            raise UserError(f"--port {port}: cannot be opened ({error}); leave it out for a free one") from error
        tell(f"http://127.0.0.1:{runner.addresses[0][1]}{path}")
        await ended.wait()
    finally:
        await runner.cleanup()
