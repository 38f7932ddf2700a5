"""Grounding by a judge that writes nothing: a probability for every sentence of an answer."""

from __future__ import annotations

from truebench_hf.data.case import Case
from truebench_hf.judging.grounding.types import Excerpt, Grounding, Source, Unit, UnitLabel
from truebench_hf.judging.judge import CriteriaJudge
from truebench_hf.judging.sentences import sentences, trimmed
from truebench_hf.types import Criterion, Label, Verdict

_QUESTION = "Everything that this sentence of the response says is supported by the context: "
_LABELS: dict[Label | None, UnitLabel | None] = {"yes": "supported", "no": "unsupported"}


async def grounding_by_decisions(judge: CriteriaJudge, source: Source, answer: str) -> Grounding:
    """Whether every sentence of `answer` is supported by the document, by a judge at decision level.

    None of the papers asks so. All sentences are asked about together, since they share the document.
    """
    spans = [trimmed(answer, *span) for span in sentences(answer)]
    spans = [(start, end) for start, end in spans if any(map(str.isalnum, answer[start:end]))]
    criteria = tuple(Criterion(f"{_QUESTION}{answer[start:end]}") for start, end in spans)
    case = Case(source.request, answer, criteria, context=source.document)
    verdicts = await judge.verdicts(case) if criteria else ()
    places = [trimmed(source.document, *span) for span in sentences(source.document)]
    units = tuple(
        Unit(answer[start:end], start, end, _LABELS.get(verdict.label), _reason(verdict), nearest)
        for (start, end), verdict in zip(spans, verdicts, strict=True)
        for nearest in [_nearest(source.document, places, answer[start:end])]
    )
    labels = [unit.label for unit in units]
    accurate = False if "unsupported" in labels else None if None in labels else True
    return Grounding(accurate, "" if units else "the answer is empty", "decision", judge.caller.model.spec, units)


def _reason(verdict: Verdict) -> str:
    if verdict.probability is None:
        return verdict.reason
    return f"P(supported) = {verdict.probability:.2f}"


def _nearest(document: str, places: list[tuple[int, int]], sentence: str) -> tuple[Excerpt, ...]:
    """The sentence of the document that has most words in common with one of the answer; none without a common word."""
    from rapidfuzz import fuzz, process

    texts = [document[start:end] for start, end in places]
    found = process.extractOne(sentence, texts, scorer=fuzz.token_set_ratio, score_cutoff=1)
    if found is None:
        return ()
    start, end = places[found[2]]
    return (Excerpt(found[0], True, 1.0, "document", start, end),)
