"""Judging grounding by a judge that writes nothing, sentence by sentence: by a classifier (`hf-classifier:`), the answer by
its worst sentence, or by a judge at decision level.

None of the papers has such a judge: MiniCheck (arXiv 2404.10774) and its like label single claims. What they were
trained to ask fits the question of paper 002, whether each claim is borne out by the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from truebench_hf.data.judged import Case
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.grounding.places import unclaimed
from truebench_hf.judging.grounding.types import Excerpt, Grounding, Source, Unit, UnitLabel, accurate_by
from truebench_hf.judging.judge import CriteriaJudge
from truebench_hf.judging.sentences import claims_nothing, sentence_spans
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import DecisionRequest
from truebench_hf.types import Criterion, Label

_QUESTION = "Everything that this sentence of the response says is supported by the context: "
_LABELS: dict[Label | None, UnitLabel | None] = {"yes": "supported", "no": "unsupported"}
CLASSIFIER = "classifier"  # what stands in the place of a template
NO_ROOM = "the sentence leaves no room for the document in the judge's window"


@dataclass(frozen=True, slots=True)
class Cut:
    """From which probability on a sentence is supported; with a calibrator, from which calibrated one."""

    threshold: float = 0.5
    calibrator: Calibrator | None = None

    def share(self, probability: float) -> float:
        """A probability of the classifier as it is compared with the threshold."""
        return probability if self.calibrator is None else self.calibrator.apply(probability)


Shares = dict[tuple[int, int], float | None]  # P(supported) by the place of a sentence; None where the judge declined


class ClassifierJudge:
    """One classifier with its cut. It labels every sentence of an answer that claims something; others are `no_rad`."""

    template = CLASSIFIER

    def __init__(self, caller: Caller, cut: Cut | None = None) -> None:
        self.caller, self.cut = caller, cut or Cut()

    async def verdict(self, source: Source, answer: str) -> Grounding:
        """Whether every sentence of `answer` is supported by the whole prompt; undecided where a request failed.

        An answer that claims nothing is accurate without a call.
        """
        if not any(map(str.isalnum, answer)):
            return self._made(True, "the answer is empty")
        try:
            shares = await self.shares(source, answer)
        except RequestFailed as error:
            return self._made(None, f"the judge gave no answer: {error}")
        units = [*unclaimed(answer), *(self._unit(answer, *sentence) for sentence in shares.items())]
        units.sort(key=lambda unit: unit.start or 0)
        accurate, known = accurate_by(units), {span: share for span, share in shares.items() if share is not None}
        reason = NO_ROOM if shares else "the answer claims nothing"
        if known and accurate is not None:
            worst = min(known.items(), key=lambda sentence: sentence[1])
            reason = f"the worst sentence has {self._unit(answer, *worst).reason}"
        return self._made(accurate, reason, units)

    def _unit(self, answer: str, span: tuple[int, int], probability: float | None) -> Unit:
        text = answer[slice(*span)]
        if probability is None:
            return Unit(text, *span, None, NO_ROOM)
        share, threshold = self.cut.share(probability), self.cut.threshold
        reason = f"P(supported) = {share:.3f}, from {threshold:.3f} on it counts as supported"
        label: UnitLabel = "supported" if share >= threshold else "unsupported"
        return Unit(text, *span, label, reason)

    async def shares(self, source: Source, answer: str) -> Shares:
        """Every sentence that claims something with the classifier's P(supported). Raises what `Caller.decide` raises."""
        spans = [span for span in sentence_spans(answer) if not claims_nothing(answer[slice(*span)])]
        if not spans:
            return {}
        evidence = "\n\n".join(text for _, text in source.parts())
        request = DecisionRequest(evidence, tuple(answer[start:end] for start, end in spans))
        decision = await self.caller.decide(request)
        return dict(zip(spans, decision.probabilities, strict=True))

    def _made(self, accurate: bool | None, reason: str, units: Sequence[Unit] = ()) -> Grounding:
        return Grounding(accurate, reason, self.template, self.caller.model.spec, tuple(units))


def worst_share(shares: Shares) -> float | None:
    """P(supported) of an answer: that of its worst sentence; None where one is missing, or there is none."""
    known = [share for share in shares.values() if share is not None]
    return min(known) if known and len(known) == len(shares) else None


def classifies(spec: str) -> bool:
    """Whether a spec names a classifier, which is asked by no template and rates no eligibility."""
    return spec.startswith("hf-classifier:")


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
