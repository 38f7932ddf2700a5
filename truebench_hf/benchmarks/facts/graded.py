"""One answer with what every judge said of it, and the forms in which that is kept and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from truebench_hf.benchmarks.facts.data import FactsItem
from truebench_hf.data.judged import Judged, Mark, Marked, Tone, filled, sample_name
from truebench_hf.judging.grounding.types import Eligibility, Excerpt, Grounding, Source
from truebench_hf.metrics.pass_rate import disqualified
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Label, Response, Usage, Verdict

_TONES: Mapping[str | None, Tone] = {
    "supported": "yes", "unsupported": "no", "contradictory": "no", "no_rad": "none", None: "open"
}  # fmt: skip
_WORDS = {"no_rad": "nothing to verify", None: "undecided"}
_RATINGS: Mapping[str | None, Label | None] = {"no_issues": "yes", "minor": "yes", "major": "no", None: None}
_RATING_NAMES = {"no_issues": "no issues", "minor": "minor issues", "major": "major issues", None: "undecided"}
_GROUNDED: Mapping[bool | None, Label | None] = {True: "yes", False: "no", None: None}
_AROUND = 90  # characters of the source that are shown on either side of an excerpt
_QUOTES = str.maketrans("“”", '""')  # so that those around the excerpt are the only ones of a passage
ELIGIBLE = "The response does what was asked: not every judge finds major issues in it."
GROUNDED = "The response is grounded in its prompt"


@dataclass(frozen=True)
class Graded:
    """An answer to an item; verdicts and ratings by the judges' names. `document` names what several answers share.

    `itself`: the answer is its own baseline, so that nobody was asked whether it is eligible.
    """

    item: FactsItem
    document: str
    response: Response
    grounding: Mapping[str, Grounding]
    ratings: Mapping[str, Eligibility]
    baseline: str | None = None
    itself: bool = False
    usage: Mapping[str, Usage] = field(default_factory=dict)

    def name(self, beside: bool) -> str:
        """The item; `beside` other answers of the model to it with the number of this one."""
        return sample_name(self.item.id, self.response.sample, beside=beside)

    @property
    def answer(self) -> str:
        """The answer, "" where there is none."""
        return self.response.answers[0] if self.response.answers else ""

    @property
    def eligible(self) -> dict[str, Label | None]:
        """Whether the answer is eligible, by judge; "no" are major issues."""
        return {name: _RATINGS[rating.rating] for name, rating in self.ratings.items()}

    @property
    def undecided(self) -> str:
        """Why a verdict is missing that a score needs; "" where none is.

        Whether an answer is eligible is settled by one judge who finds it so.
        """
        for name, verdict in self.grounding.items():
            if verdict.accurate is None:
                return self.response.error or f"{name}: {verdict.reason}"
        unrated = [] if self.itself or self._consensus else [r for r in self.ratings.items() if r[1].rating is None]
        return f"{unrated[0][0]}: {unrated[0][1].reason}" if unrated else ""

    @property
    def _consensus(self) -> Label | None:
        labels = self.eligible.values()
        return "yes" if "yes" in labels else None if None in labels else "no"

    @property
    def judged(self) -> Judged:
        """As reports and the Space show it: a criterion on eligibility, and one a judge on grounding."""
        verdicts = []
        if self.ratings and not self.itself:
            reasons = (
                f"{anonymous.name(name)}: {_RATING_NAMES[rating.rating]}. {rating.reason}"
                for name, rating in self.ratings.items()
            )
            votes, judges = tuple(self.eligible.values()), " + ".join(self.ratings)
            verdicts.append(Verdict(Criterion(ELIGIBLE), self._consensus, "\n".join(reasons), judges, votes=votes))
        for name, verdict in self.grounding.items():
            text = f"{GROUNDED} ({anonymous.name(name)}, {verdict.template})."
            verdicts.append(Verdict(Criterion(text), _GROUNDED[verdict.accurate], verdict.reason, name))
        instance = self.item.instance
        turn = replace(instance.turns[0], criteria=tuple(verdict.criterion for verdict in verdicts))
        marked = tuple(
            marked_by(name, self.item.source, self.answer, grounding)
            for name, grounding in self.grounding.items()
            if grounding.units
        )
        return Judged(replace(instance, turns=(turn,)), self.response, (tuple(verdicts),), self.usage, marked=marked)

    def row(self, model: str, repeated: bool = False) -> dict[str, Any]:
        """Its line in verdicts.jsonl, of `repeated` samples with its number."""
        return {
            "id": self.item.id, **({"sample": self.response.sample} if repeated else {}),
            "document": self.document, "split": self.item.split, "model": model,
            "ineligible": disqualified([*self.eligible.values()]),
            "grounded": {name: _GROUNDED[verdict.accurate] for name, verdict in self.grounding.items()},
            "eligible": self.eligible,
            "groups": self.item.groups, "undecided": self.undecided, "is_baseline": self.itself,
            "answer": self.answer, "error": self.response.error, "baseline": self.baseline,
            "grounding": {name: asdict(verdict) for name, verdict in self.grounding.items()},
            "ratings": {name: asdict(verdict) for name, verdict in self.ratings.items()},
        }  # fmt: skip


def marked_by(judge: str, source: Source, answer: str, grounding: Grounding) -> Marked:
    """Return an answer in pieces, each with its label and the passages that hold it, as reports and the Space show it."""
    parts = dict(source.parts())
    marks = []
    for unit in grounding.units:
        tone, word = _TONES[unit.label], _WORDS.get(unit.label, str(unit.label))
        if unit.untraced:  # said to be supported, without an excerpt to be found: in doubt
            tone, word = "open", f"{word}, {'excerpt not found' if unit.excerpts else 'no excerpt'}"
        if unit.checked is False:
            word += ", not confirmed by its excerpt alone"
        if unit.start is None:
            word += ", not in the answer word for word"
        passages = tuple(_passage(excerpt, parts) for excerpt in unit.excerpts)
        marks.append((unit.start, Mark(unit.text, tone, word, unit.reason, passages)))
    return Marked(judge, filled(answer, marks))


def _passage(excerpt: Excerpt, parts: Mapping[str, str]) -> str:
    """The passage of the source in which an excerpt stands, within “ ”; of one that stands nowhere what was quoted."""
    if not excerpt.found:
        return f"“{excerpt.text}” (not in the prompt)"
    text = parts[excerpt.place]
    before, after = text[: excerpt.start].rpartition("\n")[2], text[excerpt.end :].partition("\n")[0]
    if len(before) > _AROUND:
        before = "… " + before[-_AROUND:].partition(" ")[2]
    if len(after) > _AROUND:
        after = after[:_AROUND].rpartition(" ")[0] + " …"
    where = excerpt.place if excerpt.ratio == 1 else f"{excerpt.place}, {excerpt.ratio:.0%} alike"
    quote = " ".join(text[excerpt.start : excerpt.end].split()).translate(_QUOTES)
    return f"{before.translate(_QUOTES)}“{quote}”{after.translate(_QUOTES)} ({where})".strip()
