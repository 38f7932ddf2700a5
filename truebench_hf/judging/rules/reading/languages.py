"""Clauses that name the language of the answer: "must be written in Korean", "Answer in German."."""

from __future__ import annotations

import re

from truebench_hf.judging.rules.reading.clauses import Clause, Reading
from truebench_hf.rules import Language

# By the English names of ISO 639; what has several written forms has several codes.
CODES: dict[str, tuple[str, ...]] = {
    "afrikaans": ("af",), "arabic": ("ar",), "azerbaijani": ("az",), "belarusian": ("be",), "bulgarian": ("bg",), "bengali": ("bn",),
    "bosnian": ("bs",), "catalan": ("ca",), "czech": ("cs",), "welsh": ("cy",), "danish": ("da",), "german": ("de",), "deutsch": ("de",),
    "greek": ("el",), "english": ("en",), "esperanto": ("eo",), "spanish": ("es",), "estonian": ("et",), "basque": ("eu",),
    "persian": ("fa",), "farsi": ("fa",), "finnish": ("fi",), "french": ("fr",), "irish": ("ga",), "gujarati": ("gu",), "hebrew": ("he",),
    "hindi": ("hi",), "croatian": ("hr",), "hungarian": ("hu",), "armenian": ("hy",), "indonesian": ("id",), "icelandic": ("is",),
    "italian": ("it",), "japanese": ("ja",), "georgian": ("ka",), "kazakh": ("kk",), "korean": ("ko",), "lithuanian": ("lt",), "latvian": ("lv",), "macedonian": ("mk",), "mongolian": ("mn",), "marathi": ("mr",), "malay": ("ms",),
    "norwegian": ("nb", "nn"), "dutch": ("nl",), "punjabi": ("pa",), "polish": ("pl",), "portuguese": ("pt",), "romanian": ("ro",),
    "russian": ("ru",), "slovak": ("sk",), "slovenian": ("sl",), "somali": ("so",), "albanian": ("sq",), "serbian": ("sr",),
    "swedish": ("sv",), "swahili": ("sw",), "tamil": ("ta",), "telugu": ("te",), "thai": ("th",), "tagalog": ("tl",), "turkish": ("tr",),
    "ukrainian": ("uk",), "urdu": ("ur",), "vietnamese": ("vi",), "xhosa": ("xh",), "yoruba": ("yo",), "chinese": ("zh",), "zulu": ("zu",),
}  # fmt: skip

_NAME = rf"(?:the )?(?:{'|'.join(CODES)})(?: language)?"
_NAMES = rf"(?P<names>{_NAME}(?:, {_NAME})*(?:(?:,? or |/)(?:in )?{_NAME})?)"
_STRICT = r"(?P<strict>(?:only|solely|entirely|exclusively|fully|completely|purely|wholly|all|strictly|consistently) )?"
_MADE = (
    "written|provided|given|presented|composed|produced|rendered|delivered|expressed|generated|drafted|made|formulated|answered|prepared|"
    "created|phrased|stated|output|returned|displayed|shown|continued|conducted|kept|worded|submitted"
)
_TALK = r"(?:answers?|responds?|reply|write|speak|converse|communicate|answer the user|respond to the user|answer (?:the|user's|the user's) questions?)"
_SAID = re.compile(
    rf"(?:be {_STRICT}(?:(?:{_MADE}) )?{_STRICT.replace('strict', 'strict_2')}in |(?:continue to |keep )?{_TALK} {_STRICT.replace('strict', 'strict_3')}in |"
    rf"(?:continue|remain|stay|keep)(?: to be)?(?: written)? {_STRICT.replace('strict', 'strict_4')}in |(?:provide|give|write|continue) (?:the |an |a |its |your )?(?:answer|response|reply|conversation) in |"
    rf"(?:continue to )?use (?:the )?|consist of sentences in |be provided {_STRICT.replace('strict', 'strict_5')}in ){_NAMES}"
    rf"(?: (?:in|for) (?:the|your) (?:answer|response|reply|summary|translation|email)| only(?P<strict_6>))?"
)
_TALKS = re.compile(r"(?:the |this )?conversation(?: with the user)?")
_NAMED = re.compile(
    r"(?:the )?(?:output |response |answer )?language(?: (?:of|used in) (?:the|your) (?:response|answer|output|reply|summary|text))?"
)
_IS = re.compile(rf"be {_NAMES}")
_OF = re.compile(rf"\b({'|'.join(CODES)})\b")
_SHORT = re.compile(r"\b(?:acronym|title|name|slogan|keyword|hashtag)s?\b")
# What may be a line of a response in another language.
_SMALL = re.compile(r"\b(?:caption|note|notice|statement|joke|riddle|ad|toast)\b")
# "translated into Korean", "written in formal Korean": the language is told beside other things.
_MENTIONED = re.compile(
    rf"(?:translat(?:e|ed|ion)|render(?:ed)?|written|rewritten|provided|given|answer|respond|reply|summary|email|response|text)\b[^.,]{{0,60}}?\b(?:in|into) "
    rf"(?:the )?(?:\w+ )?(?P<name>{'|'.join(CODES)})(?: language)?(?=$|[.,]| (?:and|with|while|using|except|apart))"
)

_TRAILING = re.compile(rf"(?P<first>.+) in (?:the )?(?P<name>{'|'.join(CODES)})(?: language)?")
_PARTIAL = re.compile(
    r"\b(?:not|never|no|cannot|without|other than|apart|state|mention|reply that|only the|first|second|third|fourth|last|within|inside|outside|each|every|"
    r"columns?|keys?|values?|tags?|code|comments|subtitles?|titles?|keywords?|acronym|terms?|words?|names?|section|part|based on|explanation)\b"
)


def read(clause: Clause) -> Reading | None:
    """The language that a clause asks the whole answer to be in."""
    if clause.denied or _SHORT.search(clause.name):
        return None
    whole = clause.of == "answer" or (clause.of == "other" and _TALKS.fullmatch(clause.name))
    if whole and (match := _SAID.fullmatch(clause.said)) is not None:
        strict = any(word is not None for name, word in match.groupdict().items() if name.startswith("strict"))
        both = (
            re.search(r", (?!or )|/", match["names"]) and " or " not in match["names"]
        )  # "English, Korean", "Korean/English"
        return (_language(match["names"]),), not (strict or both or _SMALL.search(clause.name))
    if clause.of == "other" and _NAMED.fullmatch(clause.name) and (match := _IS.fullmatch(clause.said)) is not None:
        return (_language(match["names"]),), True
    return None


def mentioned(sentence: str, text: str) -> Reading | None:
    """The language that a sentence names beside other things, where the whole text names no other and speaks of no part."""
    match = _MENTIONED.search(sentence) if len(set(_OF.findall(text))) == 1 and not _PARTIAL.search(text) else None
    return None if match is None else ((_language(match["name"]),), False)


def trailing(text: str) -> tuple[str, Reading] | None:
    """What stands before a language at the end of a clause, and this: ("it must be a single sentence", English)."""
    match = _TRAILING.fullmatch(text)
    return None if match is None else (match["first"], ((_language(match["name"]),), True))


def names_others(rule: Language, text: str) -> bool:
    """Whether a text names further languages than a rule that was read of one of its clauses."""
    return {code for name in _OF.findall(text) for code in CODES[name]} != set(rule.codes)


def _language(names: str) -> Language:
    codes = dict.fromkeys(code for name in _OF.findall(names) for code in CODES[name])
    return Language(codes=tuple(codes))
