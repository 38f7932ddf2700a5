"""`truebench label open`: the sheet of one annotator in a browser of this machine, and the answers straight back.

Only this machine can reach it, under an address that nobody can guess. An answer is in a file before the page is told that
it is saved, so that whatever ends the command loses none: the same command goes on where it was.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.report import sheets
from truebench_hf.report.sheets import Question, SheetAnswer
from truebench_hf.study.labelling import LabelInOptions, Labelling, LabelOpenOptions, Taken, drawn, label_in

_LARGEST = 1_000_000  # bytes of one answer
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


def label_open(labelling: Labelling, options: LabelOpenOptions, tell: Callable[[str], None]) -> Taken:
    """Serve the sheet until its annotator ends, then take the labels in; `tell` gets the address. Raises UserError."""
    sheets.check_names(options.names)
    draw = drawn(labelling, options)
    questions = sheets.in_order(sheets.check_questions(draw.questions), options.annotator, options.seed)
    folder = labelling.folder(options)
    folder.mkdir(parents=True, exist_ok=True)
    draw.keep()
    answers = AnswerFile(folder / f"{options.annotator}-answers.csv", questions, options.annotator, labelling.written)
    serve(questions, answers, options.port, lambda address: tell(
        f"{len(questions)} questions: open {address} in a browser of this machine. Ctrl-C stops; "
        f"answers are kept in {answers.path}."
    ))  # fmt: skip
    taking = LabelInOptions(folder=options.folder, sheets=(str(answers.path),), model=options.model, out=options.out)
    return label_in(labelling, taking)


class AnswerFile:
    """The answers of one annotator, in a file from the moment they are given; those that it holds already are kept.

    Raises UserError where the file asks one of the questions with other options.
    """

    def __init__(self, path: Path, questions: Sequence[Question], annotator: str, written: bool) -> None:
        self.path, self.annotator = path, annotator
        self._lock = threading.Lock()
        self._questions = {question.id: question for question in questions}
        self._answers = {q.id: SheetAnswer(q.id, annotator, q.options, None, "", "") for q in questions}
        if not path.exists():
            return
        for answer in sheets.read_answers(path, written):
            if answer.options != self._answers.get(answer.id, answer).options:
                raise UserError(f"{answer.where}: question {answer.id!r} has other options now; move {path} away")
            self._answers[answer.id] = answer

    @property
    def asked(self) -> list[SheetAnswer]:
        """The answers to the questions that are asked now."""
        return [self._answers[name] for name in self._questions]

    def save(self, name: Any, text: Any, note: Any) -> None:
        """Put an answer into the file; None takes one back. Raises UserError on one that the question has not."""
        if not isinstance(name, str) or name not in self._questions:
            raise UserError("no such question")
        if not isinstance(text, str | None) or not isinstance(note, str):
            raise UserError(f"{name}: answer and note must be texts")
        with self._lock:
            before = self._answers[name]
            answer = sheets.chosen(text or "", before.options, name)
            self._answers[name] = replace(before, answer=answer, note=note.strip())
            sheets.write_answers(self.path, self._answers.values())


def serve(questions: Sequence[Question], answers: AnswerFile, port: int, tell: Callable[[str], None]) -> None:
    """Serve the form until the annotator ends; `tell` gets its address. Raises UserError where the port is taken."""
    path, ended = f"/{secrets.token_urlsafe(16)}", threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != path:
                return self.reply(HTTPStatus.NOT_FOUND)
            page = sheets.form(questions, answers.annotator, path, answers.asked)
            return self.reply(HTTPStatus.OK, page.encode("utf-8", "replace"), "text/html; charset=utf-8")

        def do_POST(self) -> None:
            size = self.headers.get("Content-Length", "")
            if self.path != path or not size.isdecimal() or int(size) > _LARGEST:
                return self.reply(HTTPStatus.NOT_FOUND)
            try:
                body = json.loads(self.rfile.read(int(size)))
                if body.get("done") is not True:
                    answers.save(body.get("id"), body.get("answer"), body.get("note", ""))
            except (ValueError, AttributeError, UserError) as error:
                return self.reply(HTTPStatus.BAD_REQUEST, str(error).encode("utf-8", "replace"))
            except OSError as error:  # the page says that the answer is not saved
                return self.reply(HTTPStatus.INSUFFICIENT_STORAGE, str(error).encode("utf-8", "replace"))
            self.reply(HTTPStatus.OK, b"saved")
            if body.get("done") is True:
                ended.set()

        def reply(self, status: HTTPStatus, content: bytes = b"", kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            headers = {
                "Content-Type": kind, "Content-Length": str(len(content)), "Content-Security-Policy": _POLICY,
                "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
            }  # fmt: skip
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Say nothing: the address is a secret."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"--port {port}: cannot be opened ({error}); leave it out for a free one") from error
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tell(f"http://127.0.0.1:{server.server_port}{path}")
        try:
            ended.wait()
        finally:
            server.shutdown()
