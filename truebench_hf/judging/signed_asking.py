"""Asks a judge for labels until its answer can be read, whatever they are about, and counts what reading them cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from truebench_hf.judging.plain_reading import read_plain
from truebench_hf.judging.signed import Labels, SignedAnswer, is_forgeable, named_keys, read_signed
from truebench_hf.models.asking import Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.prompts import Prompts

L = TypeVar("L")


async def ask_signed(
    caller: Caller, request: ChatRequest, tag: str, labels: Labels[L], prompts: Prompts, *,
    material: Sequence[str], check: Callable[[SignedAnswer[L]], str] = lambda answer: "", plain: bool = False,
    long: bool = False, met: Callable[[SignedAnswer[L]], bool] | None = None,
) -> SignedAnswer[L]:  # fmt: skip
    """Ask for one of the words on offer under every key of `labels`, and again, saying what was wrong.

    `material` are the texts that the judge is shown and did not write: where none of them could be quoted for an
    answer, objects without the tag are read too; with a JSON schema, which demands the tag, not before the second
    answer. `check` says what else is wrong with an answer of the right form, "" if nothing is. With `plain` answers are
    read as the papers prescribe (`plain_reading`). A `long` answer that is cut off is not asked for again: the next one
    would be, too. `met` says whether an answer as a whole is a yes, where its single labels do not: of sentences, say.
    An answer that can be read in full counts by itself. Without one, a key keeps a label only where every answer that
    speaks of it states the same one, and `problem` says why others have none.
    Raises SchemaRefused and UserError as `Caller.complete` does.
    """
    reader = read_plain if plain else _SignedReader(tag, material, request.schema is not None)
    answers = _Answers(reader, labels, check, long)

    def repair(problem: str) -> str:
        return prompts.render("repair", problems=problem, keys=named_keys(labels), tag="" if plain else tag)

    result = await ask(caller, request, answers.read, repair, who="the judge")
    answer = answers.agreed(result) if isinstance(result, Problem) else result
    outcomes = None if met is None else [None if answer.problems else met(answer)]
    caller.reading.add(answer, {key: words.values() for key, words in labels.items()}, outcomes)
    return answer


def texts_of(values: Any) -> Iterator[str]:
    """All texts among the values of a prompt: what a judge that reads it could quote."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        for value in values.values():
            yield from texts_of(value)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from texts_of(value)


class _SignedReader:
    """Reads the answers to one question, those without the tag only if it must and may."""

    def __init__(self, tag: str, material: Sequence[str], schema: bool) -> None:
        self._tag, self._material = tag, material
        self._patience = 1 if schema else 0  # answers without the tag that are asked about before one counts

    def __call__(self, text: str, labels: Labels[L], truncated: bool) -> SignedAnswer[L]:
        answer = read_signed(text, self._tag, labels, truncated=truncated)
        if answer.signed:
            return answer
        self._patience -= 1
        if self._patience >= 0 or is_forgeable(labels, *self._material):
            return answer
        return read_signed(text, self._tag, labels, unsigned=True, truncated=truncated)


class _Answers(Generic[L]):
    """All answers to one question so far."""

    def __init__(
        self, reader: Callable[[str, Labels[L], bool], SignedAnswer[L]], labels: Labels[L],
        check: Callable[[SignedAnswer[L]], str], long: bool,
    ) -> None:  # fmt: skip
        self._reader, self._labels, self._check, self._long = reader, labels, check, long
        self._read: list[SignedAnswer[L]] = []

    def read(self, text: str, truncated: bool) -> SignedAnswer[L] | Problem:
        """The answer where it can be read in full, else what is wrong with it."""
        answer = self._reader(text, self._labels, truncated)
        if not answer.problems and (problem := self._check(answer)):
            answer = replace(answer, labels={}, problems=(problem,), unclear=frozenset(self._labels))
        self._read.append(answer)
        final = truncated and self._long
        return Problem(answer.problem, final) if answer.problems else self._with_all_reasons(answer)

    def _with_all_reasons(self, answer: SignedAnswer[L]) -> SignedAnswer[L]:
        """The answer with the reasons and the corrections of those before it."""
        reasons = {key: reason for earlier in self._read for key, reason in earlier.reasons.items()}
        corrected = frozenset(key for earlier in self._read for key in earlier.corrected)
        return replace(answer, reasons=reasons, corrected=corrected, asks=len(self._read))

    def agreed(self, problem: Problem) -> SignedAnswer[L]:
        """The labels on which all answers that speak of a key agree; `problem` is why there are no others."""
        labels: dict[str, L] = {}
        differing = []
        for key in self._labels:
            stated = [answer.labels[key] for answer in self._read if key in answer.labels]
            if any(label != stated[0] for label in stated):
                differing.append(key)
            elif stated and not any(key in answer.unclear for answer in self._read):
                labels[key] = stated[0]
        problems = [problem.text] + ([f"the answers differ on {', '.join(differing)}"] if differing else [])
        signed = any(answer.signed for answer in self._read)
        answer = SignedAnswer(labels, tuple(problems), signed=signed, failed=problem.failed)
        return self._with_all_reasons(answer)
