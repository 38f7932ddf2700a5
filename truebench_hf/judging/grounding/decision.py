"""Grounding by a judge that writes nothing: a probability for every sentence of an answer."""

from __future__ import annotations

from rapidfuzz import fuzz, process

from truebench_hf.data.case import Case
from truebench_hf.judging.grounding.classifier import accurate_by
from truebench_hf.judging.grounding.types import Excerpt, Grounding, Source, Unit, UnitLabel
from truebench_hf.judging.judge import CriteriaJudge
from truebench_hf.judging.sentences import sentence_spans
from truebench_hf.types import Criterion, Label

_QUESTION = "Everything that this sentence of the response says is supported by the context: "
_LABELS: dict[Label | None, UnitLabel | None] = {"yes": "supported", "no": "unsupported"}


async def grounding_by_decisions(judge: CriteriaJudge, source: Source, answer: str) -> Grounding:
    """Whether every sentence of `answer` is supported by the document, by a judge at decision level.

    None of the papers asks so. All sentences are asked about together, since they share the document.
    """
    spans = [span for span in sentence_spans(answer) if any(map(str.isalnum, answer[slice(*span)]))]
    criteria = tuple(Criterion(f"{_QUESTION}{answer[start:end]}") for start, end in spans)
    case = Case(source.request, answer, criteria, context=source.document)
    verdicts = await judge.verdicts(case) if criteria else ()
    places = sentence_spans(source.document)
    texts = [source.document[start:end] for start, end in places]
    units = []
    for (start, end), verdict in zip(spans, verdicts, strict=True):
        # The sentence of the document that has most words in common with it, where one has any.
        nearest = process.extractOne(answer[start:end], texts, scorer=fuzz.token_set_ratio, score_cutoff=1)
        excerpts = (Excerpt(nearest[0], True, 1.0, "document", *places[nearest[2]]),) if nearest else ()
        reason = verdict.reason if verdict.probability is None else f"P(supported) = {verdict.probability:.2f}"
        units.append(Unit(answer[start:end], start, end, _LABELS.get(verdict.label), reason, excerpts))
    reason = "" if units else "the answer is empty"
    return Grounding(accurate_by(units), reason, "decision", judge.caller.model.spec, tuple(units))
