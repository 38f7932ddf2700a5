"""Checklists made for one instruction: YES/NO questions on any response to it (paper 004, section 3.1.1)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import regex

from truebench_hf.data.judged import Case
from truebench_hf.models.asking import Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Message

SAMPLING = Sampling(max_tokens=2048)
USUAL = (2, 8)  # how many questions a checklist usually has (appendix G.1); more or fewer are counted, never cut
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\*\*)?Questions:?(?:\*\*)?:?(?:\*\*)?[ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"^(?:(?:[-*•]|\(?\d{1,3}[.):])[ \t]+)?(?:\[[ xX]?\][ \t]+)?")  # of an item in a list; its box
_YES_NO = re.compile(r"[ \t]*[(\[]\s*yes\s*(?:/|\||or)\s*no\s*[)\]]$", re.IGNORECASE)  # how it is to be answered
_ENDS = "?？؟\u037e՞፧"  # question marks of the world's scripts; the fourth is the Greek one
# Punctuation at the ends of words, and words of nothing else.
_AROUND = regex.compile(r"(?V1)(?<!\S)(?:\p{P}+(?!\S)|[\p{P}--[\-\#@]]+)|[\p{P}--[\#%]]+(?!\S)")
_EXAMPLE = "Analysis: " + "What is stated and what is expected. " * 8 + "\nQuestions:\n"
_EXAMPLE += "\n".join(f"Does the response meet requirement number {i} of the instruction in full?" for i in range(1, 6))
_AGAIN = (
    "Your answer cannot be used: {}. Give the checklist again in the form asked for: your analysis, then a "
    "line with nothing but `Questions:`, then one YES/NO question a line, each ending with a question mark."
)


@dataclass(frozen=True, slots=True)
class Checklist:
    """The questions of a model for one instruction, in its order; none where `problem` says why.

    Of the lines it wrote `duplicates` stood there twice and `others` were no questions.
    """

    questions: tuple[str, ...]
    analysis: str = ""
    duplicates: int = 0
    others: int = 0
    problem: str = ""


async def generate_checklist(
    caller: Caller, case: Case, prompts: Prompts, *, sampling: Sampling = SAMPLING, sample: int = 0, language: str = ""
) -> Checklist:
    """A checklist for responses to the instruction of `case`, whose response and criteria are not looked at.

    `language` is that of the questions, e.g. English; "": that of the instruction. An answer without a question is
    asked again. Raises what `Caller.complete` raises, but for a request that failed, which is a `problem`.
    """
    bare = Case(case.instruction, "", (), case.history, case.context)
    text = prompts.render("generate_checklist", **sections(bare), language=language)
    request = ChatRequest((Message("user", text),), sampling, sample, example=_EXAMPLE)
    checklist = await ask(
        caller, request, lambda text, cut: Problem("", True) if cut else read_checklist(text), _AGAIN.format
    )
    return Checklist((), problem=checklist.text) if isinstance(checklist, Problem) else checklist


def read_checklist(text: str) -> Checklist | Problem:
    """The questions behind the last heading `Questions:`, one a line; other lines are dropped and counted."""
    headings = list(_HEADING.finditer(text))
    if not headings:
        return Problem("it has no line `Questions:`")
    analysis = text[: headings[-1].start()].strip()
    lines = []
    for line in text[headings[-1].end() :].splitlines():
        # Without marks of lists and emphasis, and without a note that it is answered by yes or no.
        bare = _MARKER.sub("", line.strip().strip("*_ \t")).strip("*_ \t`")
        lines.append(" ".join(_YES_NO.sub("", bare).strip("*_ \t`").split()))
    lines = list(filter(None, lines))
    questions = [line for line in lines if is_question(line)]
    unique: dict[str, str] = {}
    for line in questions:
        unique.setdefault(folded(line), line)
    if not unique:
        return Problem("no line behind `Questions:` is a question")
    return Checklist(tuple(unique.values()), analysis, len(questions) - len(unique), len(lines) - len(questions))


def is_question(text: str) -> bool:
    """Whether a text is put as a question, in whatever script."""
    return text.rstrip()[-1:] in tuple(_ENDS) and any(map(str.isalnum, text))


def folded(question: str) -> str:
    """What two questions have in common that differ only in letter case, blanks, and punctuation around words.

    Signs that stand for something count, and marks of letters do: C++ is not C, -5 not 5, 3.5 not 35, < not >.
    """
    return " ".join(_AROUND.sub("", unicodedata.normalize("NFKC", question).casefold()).split())
