"""Judging grounding by a classifier (`hf-classifier:`): sentence by sentence, the answer by its worst sentence.

None of the papers has such a judge: MiniCheck (arXiv 2404.10774) and its like label single claims. What they were
trained to ask fits the question of paper 002, whether each claim is borne out by the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.grounding.types import Grounding, Source, Unit
from truebench_hf.judging.sentences import sentences, trimmed
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import DecisionRequest

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


@dataclass(frozen=True, slots=True)
class Supported:
    """A sentence, `answer[start:end]`, with the classifier's P(supported); None where it declined."""

    start: int
    end: int
    share: float | None


class ClassifierJudge:
    """One classifier with its cut. It labels every sentence of an answer; it knows no "nothing to verify"."""

    template = CLASSIFIER

    def __init__(self, caller: Caller, cut: Cut | None = None) -> None:
        self.caller, self.cut = caller, cut or Cut()

    async def verdict(self, source: Source, answer: str) -> Grounding:
        """Whether every sentence of `answer` is supported by the whole prompt; undecided where a request failed.

        An answer without a letter or digit claims nothing: it is accurate without a call.
        """
        if not any(map(str.isalnum, answer)):
            return self._made(True, "the answer is empty")
        try:
            shares = await self.shares(source, answer)
        except RequestFailed as error:
            return self._made(None, f"the judge gave no answer: {error}")
        units = tuple(self._unit(answer, sentence) for sentence in shares)
        worst = min(
            (sentence for sentence in shares if sentence.share is not None),
            key=lambda sentence: sentence.share or 0.0,
            default=None,
        )
        labels = [unit.label for unit in units]
        accurate = False if "unsupported" in labels else None if None in labels else True
        if worst is None or (accurate is None):
            return self._made(accurate, NO_ROOM, units)
        return self._made(accurate, f"the worst sentence has {self._said(worst)}", units)

    async def shares(self, source: Source, answer: str) -> list[Supported]:
        """Every sentence with its P(supported), as the classifier gives it. Raises what `Caller.decide` raises."""
        spans = [trimmed(answer, *span) for span in sentences(answer)]
        evidence = "\n\n".join(text for _, text in source.parts())
        request = DecisionRequest(evidence, tuple(answer[start:end] for start, end in spans))
        decision = await self.caller.decide(request)
        pairs = zip(spans, decision.probabilities, strict=True)
        return [Supported(start, end, share) for (start, end), share in pairs]

    def _unit(self, answer: str, sentence: Supported) -> Unit:
        text = answer[sentence.start : sentence.end]
        if sentence.share is None:
            return Unit(text, sentence.start, sentence.end, None, NO_ROOM)
        supported = self.cut.share(sentence.share) >= self.cut.threshold
        return Unit(
            text, sentence.start, sentence.end, "supported" if supported else "unsupported", self._said(sentence)
        )

    def _said(self, sentence: Supported) -> str:
        share = self.cut.share(sentence.share or 0.0)
        return f"P(supported) = {share:.3f}, from {self.cut.threshold:.3f} on it counts as supported"

    def _made(self, accurate: bool | None, reason: str, units: Sequence[Unit] = ()) -> Grounding:
        return Grounding(accurate, reason, self.template, self.caller.model.spec, tuple(units))


def worst_share(sentences: Sequence[Supported]) -> float | None:
    """P(supported) of an answer: that of its worst sentence; None where one is missing, or there is none."""
    shares = [sentence.share for sentence in sentences]
    return None if not shares or None in shares else min(share for share in shares if share is not None)


def classifies(spec: str) -> bool:
    """Whether a spec names a classifier, which is asked by no template and rates no eligibility."""
    return spec.startswith("hf-classifier:")
