"""What a clause speaks of and what it says of it: "The summary must not exceed 100 words" -> the answer, not, "exceed 100 words".

Subjects are few: the answer as a whole, each line (paragraph, sentence, item) of it, or whatever else is named. A clause
that allows, hopes or depends says nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from truebench_hf.rules import Rule

Of = Literal["answer", "line", "paragraph", "sentence", "item", "other"]
Shape = Literal[
    "stated", "bare", "ordered"
]  # with a subject, with a verb alone ("has two paragraphs"), "use no commas"

Reading = tuple[tuple[Rule, ...], bool]  # the rules that a clause states, and whether it says nothing else

_ANSWER = r"response|answer|reply|output|text|result|content|message|completion"
_WORK = (
    r"summary|translation|(?:cover )?letter|e-?mail|mail|story|essay|article|paper|report|document|poem|haiku|limerick|speech|song|lyrics|"
    r"(?:blog |social media |linkedin |instagram |facebook )?post|tweet|caption|review|biography|draft|memo|note|notice|announcement|"
    r"newsletter|press release|narrative|tale|fable|monologue|invitation|proposal|statement|advertisement|ad|product description|"
    r"job (?:post|posting|description|offer)|essay|editorial|blog|diary entry|checklist|itinerary|guide|tutorial|toast|speech|"
    r"complaint|petition|obituary|eulogy|sonnet|ballad|rap|riddle|joke|fairy tale|short story|reference letter|thank-you note"
)
WORK = re.compile(rf"\b(?:{_WORK})\b|summari[sz]ed|translated")
_KIND = (
    r"whole|entire|full|complete|overall|generated|output|written|revised|rewritten|resulting|translated|summari[sz]ed|finished|"
    r"produced|created|corrected|edited|shortened|new|model|model's|assistant's|ai's|llm's"
)
_OF = (
    r" of (?:the |this |your |its )?(?:source |original |provided |given |user's |whole |entire )*"
    r"(?:text|content|message|problem|passage|article|summary|document|email|conversation|response|answer)"
)
WHOLE = (
    rf"(?:(?:the|your|this|its|a|model's|assistant's) )?(?:(?:{_KIND}) )*(?:(?:{_ANSWER})(?: text| to the (?:question|query|user))?|"
    rf"(?:{_WORK})(?: (?:text|draft|content|result|itself|body text))?)(?:{_OF})?(?: as a whole| in full)?|it|this|(?:the |your )?(?:answers|responses|replies)"
)
_LENGTH = rf"(?:(?:the|its|a) )?(?:total |overall |full |maximum |minimum )*length(?: of (?:an? )?(?:{WHOLE}))?|(?:the )?(?:{_ANSWER}|{_WORK})(?: text)? length"
_PART = r"(?:line|paragraph|sentence|(?:bullet |list |numbered )?(?:item|point)|bullet)"
_EACH = rf"(?:each|every)(?: of the)? (?:single )?{_PART}s?(?: (?:in|of) (?:{WHOLE}|the list))?"
_EACH_OF = rf"(?:each|every) (?:summary|list) {_PART}"
_PARTS: tuple[Of, ...] = ("line", "paragraph", "sentence")
_AGENT = r"you|we|the (?:model|assistant|ai|llm|bot)|model"
_MODAL = r"must|should|shall|will|has to|have to|needs to|need to|is to|are to|ought to|is required to|are required to|is expected to"
_FREE = r"may|might|can|could|would"
_FINITE = {
    "is": "be", "are": "be", "has": "have", "have": "have", "contains": "contain", "contain": "contain", "includes": "include", "uses": "use",
    "consists": "consist", "comprises": "comprise", "starts": "start", "begins": "begin", "opens": "open", "ends": "end", "closes": "close",
    "finishes": "finish", "concludes": "conclude", "exceeds": "exceed", "spans": "span", "stays": "stay", "remains": "remain", "keeps": "keep",
    "avoids": "avoid", "mentions": "mention", "continues": "continue", "totals": "total", "answers": "answer", "responds": "respond",
    "replies": "reply", "writes": "write", "gives": "give", "offers": "offer", "provides": "provide", "refrains": "refrain", "lists": "list",
    "appears": "appear", "appear": "appear", "speaks": "speak",
}  # fmt: skip
_VERB = "|".join(_FINITE)

_STATED = re.compile(
    rf"(?:(?P<whole>{WHOLE})|(?P<length>{_LENGTH})|(?P<each>{_EACH}|{_EACH_OF})|(?P<none>no {_PART})|(?P<agent>{_AGENT})|(?P<other>(?!it |this )[^,;]{{1,90}}?)) "
    rf"(?:(?P<modal>{_MODAL})(?P<not> not| never)?|(?P<cannot>cannot|can not|may not)|(?P<free>{_FREE})|(?P<doesnot>(?:does|do) not)|"
    rf"(?P<finite>{_VERB})(?P<isnot> not)?) (?P<said>.+)"
)
_ASKED = re.compile(
    rf"(?P<verb>is|are|does|do|has|have) (?:(?P<whole>{WHOLE}|response)|(?P<length>{_LENGTH})|(?P<each>{_EACH}|{_EACH_OF})|(?P<none>no {_PART})|"
    rf"(?P<agent>{_AGENT})|(?P<other>(?:the|all)(?: \S+){{1,6}}?)) (?P<not>not )?(?P<said>.+)\?"
)
_BARE = re.compile(
    rf"(?:(?P<doesnot>does not)|(?:must|should)(?P<not> not)?|(?P<finite>{_VERB})(?P<isnot> not)?) (?P<said>.+)"
)
_THERE = re.compile(
    r"(?:(?:is|are) there(?= .*\?)|there (?:(?:must|should|shall|has to|have to|needs to|need to) be|is|are))(?P<not> not)? (?P<said>.+?)(?: in (?:the|your) (?:entire |whole )?(?:response|answer|reply|output|text))?\??"
)
_ORDER = re.compile(
    rf"(?:please )?(?:(?P<not>do not|never) )?(?:"
    rf"(?:make sure|ensure) (?:that )?(?P<sure>.+)|"
    rf"(?:answer|respond|reply|speak|write|continue)(?: (?:only|to the (?:question|user)))?(?P<place> (?:in|using|with|within) .+)|"
    rf"(?:write|give|provide|output|return|present|produce|generate|formulate|express|deliver|answer|format|keep|limit|restrict|compose|start|begin|end|finish|conclude|draft|display|show) "
    rf"(?:(?P<object>(?!it |this ){WHOLE}|it|everything|answers|(?:your|the) (?:answers|responses)) (?:written |entirely )?)(?P<how>(?:in|as|to|with|under|within|using|below|between|at|no) .+)|"
    rf"(?:output|return|produce|generate|provide)(?P<form> (?:only )?(?:in |the |a |valid )*(?:json|csv|markdown).*)|"
    rf"(?P<act>(?:use|write(?! (?:in|the|your|it)\b)|include|contain|avoid|start|begin|end|finish|conclude|open|mention|refrain) .+))"
)
_LABEL = re.compile(
    r"(?:(?:total |overall |max(?:imum)? |min(?:imum)? )?(?:length|word count|size)|(?P<language>(?:output |response )?language)) ?[:=-] ?(?P<said>.+)"
)

# What makes a clause no plain demand: it depends, allows, hopes, compares or is said of less than all.
LOOSE = re.compile(
    r"\b(?:if|when|whenever|unless|where|wherever|whether|in case|in the case|in the event|provided (?:that|you|there)|providing|as long as|depending|depends|otherwise|"
    r"once the|until|except|excepting|apart from|aside from|other than|besides|beyond|while|whereas|even though|although|though|"
    r"optional|optionally|may|might|could|can|permitted|acceptable|ideally|preferabl[ye]|possible|instead|rather|unlike|before|after|"
    r"during|since|because|for every|per|than the|compared|same|similar|half|twice as|as many|relative)\b"
)
HEDGED = re.compile(
    r"\b(?:about|around|approximately|approx|roughly|nearly|almost|circa|ca|or so|close to|a few|several|some|generally|mostly|mainly|"
    r"primarily|largely|more or less|preferably|ideally|somewhat|usually|as much as|as far as|near|limited number)\b|~|≈"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """`said` of `of`, denied where `denied`. `name` is what is spoken of in words; `said` begins with a verb as "be"."""

    of: Of
    name: str
    denied: bool
    said: str
    shape: Shape = "stated"

    @property
    def plural(self) -> bool:
        """Whether several answers are spoken of."""
        return self.of == "answer" and self.name.split()[-1:] in (["answers"], ["responses"], ["replies"])

    @property
    def lead(self) -> str:
        """The words before what is said, for a further thing said of the same."""
        return f"{self.name} must "


def clause(text: str) -> Clause | None:
    """The clause that a text is; None where it is of no known shape, or allows instead of demanding."""
    if (match := _THERE.fullmatch(text)) is not None:
        return Clause("answer", "the response", bool(match["not"]), f"contain {match['said']}")
    if text.endswith("?"):
        return _asked(text)
    if (match := _LABEL.fullmatch(text)) is not None:
        said = match["said"]
        return Clause("answer", "the response", False, f"be in {said}" if match["language"] else f"have {said}")
    if (match := _ORDER.fullmatch(text)) is not None:
        return _ordered(match)
    if (match := _BARE.fullmatch(text)) is not None:
        denied, verb = bool(match["doesnot"] or match["isnot"] or match["not"]), _FINITE.get(match["finite"] or "", "")
        return Clause("answer", "the response", denied, f"{verb} {match['said']}".strip(), "bare")
    return _stated(text)


def _stated(text: str) -> Clause | None:
    match = _STATED.fullmatch(text)
    if match is None or (match["free"] and not match["none"]):  # "no line may have more than ..."
        return None
    denied = bool(match["not"] or match["cannot"] or match["doesnot"] or match["isnot"])
    said = f"{_FINITE[match['finite']]} {match['said']}" if match["finite"] else match["said"]
    return _of(match, said, denied)


def _of(match: re.Match[str], said: str, denied: bool) -> Clause:
    groups = match.groupdict()
    if parts := groups.get("each") or groups.get("none"):
        of: Of = next((part for part in _PARTS if re.search(rf"\b{part}", parts)), "item")
        of = "item" if of == "line" and " list" in parts else of
        return Clause(of, f"each {of}", denied or bool(groups.get("none")), said)
    if groups.get("length"):
        return Clause("answer", "the length", denied, said)
    if groups.get("agent"):
        return Clause("answer", "the model", denied, said)
    if groups.get("whole"):
        return Clause("answer", groups["whole"], denied, said)
    return Clause("other", groups.get("other") or "", denied, said)


def _asked(text: str) -> Clause | None:
    match = _ASKED.fullmatch(text)
    if match is None:
        return None
    said = (
        match["said"]
        if match["verb"] in ("does", "do")
        else f"{'be' if match['verb'] in ('is', 'are') else 'have'} {match['said']}"
    )
    return _of(match, said, bool(match["not"]))


def _ordered(match: re.Match[str]) -> Clause | None:
    denied = bool(match["not"])
    if match["sure"]:
        return None if denied else clause(match["sure"])
    if match["act"]:
        return Clause("answer", "the response", denied, match["act"], "ordered")
    if match["form"]:
        form = match["form"].strip()
        return Clause(
            "answer", "the response", denied, f"be {form}" if form.startswith("in ") else f"be in {form}", "ordered"
        )
    name = match["object"] or "the response"
    said = (match["place"] or match["how"] or "").strip()
    word = match.group().split()[0]
    if word in ("start", "begin", "end", "finish", "conclude"):
        return Clause("answer", name, denied, f"{word} {said}", "ordered")
    return Clause("answer", name, denied, f"be limited {said}" if said.startswith("to ") else f"be {said}", "ordered")


_SEAM = re.compile(r",? and |, (?:but )?|,? as well as ")


def split(text: str) -> Iterator[tuple[str, str]]:
    """The ways to part a text in two at "and" or a comma: (the first, the rest), from the left."""
    for match in _SEAM.finditer(text):
        first, rest = text[: match.start()].strip(), text[match.end() :].strip()
        listed = first.endswith("⟧") and rest.startswith("⟦")
        if first and rest and not listed:
            yield first, rest
