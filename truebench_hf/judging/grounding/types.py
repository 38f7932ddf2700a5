"""What judges of grounding are given, how they may be asked, and what they make of it: source, templates, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from truebench_hf.errors import unknown
from truebench_hf.prompts import fence

UnitLabel = Literal["supported", "unsupported", "contradictory", "no_rad"]
LABELS: tuple[UnitLabel, ...] = ("supported", "unsupported", "contradictory", "no_rad")
UNGROUNDED: tuple[UnitLabel, ...] = ("unsupported", "contradictory")  # one such unit makes an answer inaccurate
RatingLabel = Literal["no_issues", "minor", "major"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One piece of what was retrieved for an answer."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """The whole prompt that an answer has to be grounded in: document or passages, request, system instruction."""

    request: str
    document: str = ""
    system: str = ""
    passages: tuple[Passage, ...] = ()

    def parts(self) -> Iterator[tuple[str, str]]:
        """(place, text) of every part that holds something, the document first; a passage's place is its id."""
        passages = ((f"passage {passage.id}", passage.text) for passage in self.passages)
        parts = (("document", self.document), *passages, ("system", self.system), ("request", self.request))
        return (part for part in parts if part[1].strip())


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One piece of what a judge quoted, looked up in the source by program.

    `place` is the part of the source (see `Source.parts`), `start` and `end` are offsets in its text; `ratio` is 1.0
    where the piece stands there but for blanks, quotation marks, dashes and letter case, else the likeness (0 to 1) to
    the best place. Without a place it was not found.
    """

    text: str
    found: bool
    ratio: float = 0.0
    place: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or span of an answer with its label; None is undecided, and `reason` says why.

    `text` is `answer[start:end]`; both are None where the judge's sentence is not in the answer word for word. The span
    templates know accurate (here supported; nothing to verify is that too) and inaccurate (unsupported). `untraced`: said
    to be supported, but an excerpt to show it is missing or not in the source. `checked` is the double check's answer.
    """

    text: str
    start: int | None
    end: int | None
    label: UnitLabel | None
    reason: str = ""
    excerpts: tuple[Excerpt, ...] = ()
    untraced: bool = False
    checked: bool | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """Whether a judge finds an answer grounded; None where it settled nothing, and `reason` says why.

    `units` are in the order of the answer, none for templates that judge it as a whole. `attempted` is told by the
    SimpleQA-like template alone.
    """

    accurate: bool | None
    reason: str
    template: str
    judge: str = ""
    units: tuple[Unit, ...] = ()
    attempted: bool | None = None


@dataclass(frozen=True, slots=True)
class Eligibility:
    """How well an answer follows the instructions: no_issues, minor, major; None is undecided, and `reason` says why."""

    rating: RatingLabel | None
    reason: str
    judge: str = ""


def accurate_by(units: Iterable[Unit]) -> bool | None:
    """One ungrounded unit makes an answer inaccurate; else an undecided one leaves it open."""
    labels = {unit.label for unit in units}
    return False if labels.intersection(UNGROUNDED) else None if None in labels else True


def material(source: Source, *answers: str) -> dict[str, Any]:
    """Return what `_source.jinja` shows of a source, and a tag that occurs in none of its texts, nor in the answers.

    The tag is made of the source alone, so that prompts about one document begin alike for every answer, template and
    question, and servers and local models reuse what they have read.
    """
    passages = [{"id": " ".join(passage.id.split()), "text": passage.text} for passage in source.passages]
    texts = [source.document, source.system, source.request, *(passage["text"] for passage in passages)]
    beside = [*answers, *(passage["id"] for passage in passages)]
    values = {"document": source.document, "system": source.system, "request": source.request, "passages": passages}
    return values | {"tag": fence(*texts, beside=beside)}


@dataclass(frozen=True, slots=True)
class Template:
    """What a template is called in the paper, and the prompts it asks by."""

    paper: str
    prompts: tuple[str, ...]


TEMPLATES: Mapping[str, Template] = {
    "json": Template("JSON", ("grounding_json",)),  # labels every sentence in one call, strictly, with excerpts
    "json_alt": Template("JSON (alt)", ("grounding_json_alt",)),  # by plainer rules; excerpts for unsupported ones, too
    # and a call for each supported sentence with its excerpts alone
    "json_double_check": Template("JSON w. double-check", ("grounding_json", "grounding_double_check")),
    "implicit_span": Template("Implicit span-level", ("grounding_implicit",)),  # every sentence, then the answer
    "span": Template("Span-level", ("grounding_span",)),  # one call per sentence of the answer
    "response": Template("Response-level", ("grounding_response",)),  # the answer as a whole
    "simpleqa": Template("SimpleQA template", ("grounding_simpleqa",)),  # the same, with a third label: not attempted
}
DEFAULT = "json"


def template_named(name: str) -> str:
    """The name of a template as `TEMPLATES` has it; `json-alt` is `json_alt`. Raises UserError for another."""
    plain = name.strip().casefold().replace("-", "_")
    if plain not in TEMPLATES:
        raise unknown("grounding template", name, tuple(TEMPLATES))
    return plain


def prompts_of(template: str) -> tuple[str, ...]:
    """The names of the prompts that shape the verdicts of a template, for a study to bind."""
    return TEMPLATES[template_named(template)].prompts
