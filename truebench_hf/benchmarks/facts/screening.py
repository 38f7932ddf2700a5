"""Flag requests that a grounding set should not hold: creative, mathematical or expert ones (paper 002, sections 2.1
and 2.2).

Word patterns for the languages of the built-in rows (English, German, Korean). Each pattern asks for a demand on the
answer ("calculate", "write a poem", "should I take"), not for a topic: a request about a price list or a medicine is
welcome as long as the document alone can answer it.
"""

from __future__ import annotations

import re
import unicodedata

CREATIVITY = "creativity"
MATHEMATICS = "mathematics"
EXPERTISE = "expertise"
FLAGS = (CREATIVITY, MATHEMATICS, EXPERTISE)

_WORK = (
    r"(?:poems?|haikus?|limericks?|sonnets?|songs?|lyrics|jokes?|fairy ?tales?|short stor(?:y|ies)|fables?|slogans?|"
    r"taglines?|jingles?|puns?|screenplays?)"
)
_PIECE = r"(?:Gedicht|Lied|Geschichte|Märchen|Slogan|Werbespruch|Witz|Reim|Kurzgeschichte|Drehbuch)"
_ADJECTIVES = r"(?:(?!of |for |about |on )[\w-]+ ){0,4}"  # words before the noun, articles included

_PATTERNS: dict[str, tuple[str, ...]] = {
    CREATIVITY: (
        # asking for a work of imagination, in the verb's reach: "write me a short poem", not "a summary of songs"
        rf"\b(?:write|compose|create|invent|make up|come up with|tell)(?: me| us)? {_ADJECTIVES}{_WORK}\b",
        rf"\b(?:turn|rewrite)\b[^.?!]{{0,60}}\b(?:into|as) {_ADJECTIVES}{_WORK}\b",
        rf"\b(?:write|tell|make up|invent)(?: me| us)? an? {_ADJECTIVES}story\b",
        # not the indicative "I imagine", nor a bare "creative", which also names departments and tools
        r"(?:^|[.!?] )imagine\b|\bpretend (?:that|to be|you)\b|\brole-?play\b|\b(?:be|get) creative\b",
        r"\b(?:a|an|some) (?:fictional|made-up|imaginary)\b|\bbrainstorm\b",
        rf"\b(?:schreib\w*|dichte\w*|erfinde\w*|erzähl\w*|verfass\w*)\b[^.?!]{{0,60}}\b{_PIECE}\b",
        r"\bstell dir vor\b|\bstellen Sie sich vor\b|\bsei kreativ\b|\bseien Sie kreativ\b|\bdenk\w* dir\b",
        # the syllable in front must not be Hangul: "다시 써 주세요" asks to write again, not to write verse
        r"(?<![가-힣])(?:시|동시|노래|동화|소설|이야기|농담)(?:를|을)? ?(?:한 편 ?)?(?:써|지어|만들어|들려|작성해)",
        r"(?:광고 ?문구|슬로건)(?:를|을)? ?(?:써|지어|만들어|작성해)|상상해|창의적으로|지어내",
    ),
    MATHEMATICS: (
        r"\b(?:calculate|compute|add up|tally|extrapolate|multiply|divide|subtract)\b",
        # a figure to be derived; one that stands in the document ("the average in table 2") passes
        r"\b(?:work out|determine|find) the (?:\w+ )?(?:sum|total|average|median|mean|percentage|growth rate)\b",
        r"\bwhat (?:percentage|per cent|fraction|proportion) of\b|\b(?:percentage|per cent) (?:increase|decrease)\b",
        r"\bhow (?:much|many) (?:more|less|fewer)\b[^.?!]{0,60}\bthan\b",
        r"\b(?:solve|prove)\b[^.?!]{0,40}\b(?:equation|theorem|problem)\b",
        r"\b(?:berechne\w*|ausrechnen|addier\w*|multiplizier\w*|subtrahier\w*)\b|\brechne\w* [^.?!]{0,60}\baus\b",
        r"\bwie viele? (?:mehr|weniger)\b[^.?!]{0,60}\bals\b|\bwie viel Prozent\b",
        r"계산해|계산하|몇 ?(?:퍼센트|%|프로)|(?:평균|합계|총합|증가율|감소율)(?:을|를) ?(?:구해|구하)",
    ),
    EXPERTISE: (
        # a decision or judgement on a case of one's own: the document cannot know it
        r"\bshould (?:I|we|he|she|they|my \w+) (?:take|stop taking|invest|buy|sell|sue|sign|operate|treat)\b",
        r"\bdiagnose (?:me|my|him|her|this|the|what)\b",
        r"\bwhat (?:dose|dosage|treatment|medicine) (?:should|would|do you)\b",
        r"\b(?:give|offer|need|want)\b[^.?!]{0,20}\b(?:legal|medical|tax|investment|financial) advice\b",
        r"\b(?:is|would) (?:it|this|that) (?:be )?(?:legal|lawful|enforceable)\b|\b(?:hold up in|would a) court\b",
        r"\b(?:as an?|in your) (?:\w+ )?(?:expert|professional|specialist|lawyer|doctor|physician|analyst)\b",
        r"\bpredict\b|\bforecast (?:how|whether|what|when)\b",
        r"\b(?:debug|refactor|implement)\b[^.?!]{0,40}\b(?:code|function|script|algorithm)\b",
        r"\bsoll(?:te|ten)? (?:ich|wir|er|sie)\b[^.?!]{0,50}\b(?:einnehmen|absetzen|anlegen|(?:ver)?kaufen|klagen)\b",
        r"\bstell\w* [^.?!]{0,30}\bDiagnose\b|\brechtlich zulässig\b|\bals Expert(?:e|in)\b|\bprognostizier\w*",
        r"\b(?:brauche|gib|geben Sie)\b[^.?!]{0,30}\b(?:Rechts|Anlage|Steuer)(?:rat|beratung)\b",
        r"진단해|처방해|(?:법률|투자|의학|세무) ?(?:자문|조언)(?:을|를)? ?(?:해|부탁|주세요)|전문가로서|예측해",
        r"(?:복용|투자|고소|소송)(?:을|를)? ?해야 (?:할까|하나요|합니까)",
    ),
}

_COMPILED = {flag: re.compile("|".join(f"(?:{part})" for part in parts), re.I) for flag, parts in _PATTERNS.items()}


def screen(request: str) -> tuple[str, ...]:
    """The reasons a human should look at `request` before it enters a grounding set; empty when none is found.

    Takes the user request alone, without its document, in English, German or Korean; any other language passes
    unseen. Returns the flags among `FLAGS` in that order. This is a filter for a human to look at, not a verdict: it
    is conservative, so a flag means that a known wording occurs, and an empty answer does not mean that the request
    needs no creativity, mathematics or expertise. Implements the exclusion rules of paper 002, sections 2.1 and 2.2.
    """
    text = " ".join(unicodedata.normalize("NFKC", request).replace("’", "'").split())
    return tuple(flag for flag in FLAGS if _COMPILED[flag].search(text))
