"""Clauses about texts and signs: contains the word "x" twice, ends with a question mark, uses no commas.

Only what is asked for as a word, phrase or the like is sure to be meant to the letter. What is merely quoted may be a
fact that other words tell as well; it is measured.
"""

from __future__ import annotations

import re

from truebench_hf.judging.rules.reading.amounts import AMOUNT, NUMBER, amount, number
from truebench_hf.judging.rules.reading.clauses import Clause, Reading
from truebench_hf.judging.rules.reading.normalized import LITERAL, Quoted
from truebench_hf.rules import Contains, Count, EndsWith, Excludes, Forbidden, Rule, StartsWith

_NOUN = (
    r"(?:exact |specific |following |literal |given |required |key |same )*"
    r"(?:words?|phrases?|key ?words?|terms?|expressions?|strings?|sentences?|lines?|hashtags?|tags?|symbols?|characters?|emojis?|letters?|text|signs?|names?)"
)
_SURE = re.compile(
    r"(?:words?|phrases?|key ?words?|terms?|strings?|hashtags?|sentences?|text|lines?|symbols?|expressions?|tags?)$"
)
_SEVERAL = rf"(?P<list>{LITERAL}(?:(?:,|,? and|,? or|/| &)? ?{LITERAL})*)"
_THE = rf"(?:(?:all (?:of )?|each of |both |any of |either |the |this |these |a |its )*(?P<noun>{_NOUN})[:,]? )?"
_TIMES = rf"(?: (?:for )?(?P<times>(?:exactly |at least |at most |no more than |only )?(?:once|twice|thrice|{NUMBER} times)|{NUMBER} or more times))?"
_HAS = r"(?P<verb>include|contain|use|mention|have|feature|employ|incorporate)"
_CONTAIN = re.compile(
    rf"(?:{_HAS}|be include) (?:the use of )?{_THE}{_SEVERAL}{_TIMES}(?: in (?:it|the (?:response|answer|text|output)))?"
)
_AVOID = re.compile(
    rf"(?:avoid|refrain from|be free of|be without)(?: (?:using|mentioning|including|containing|explicitly mentioning|the use of|any use of))? {_THE}{_SEVERAL}"
)
_PASSIVE = re.compile(
    rf"(?:be (?:included|used|mentioned|present|contained|found|avoided)|appear|occur){_TIMES}(?: (?:in|anywhere in) (?:the|your) (?:response|answer|text|output|reply|summary|translation|email))?"
)
_NAMED = re.compile(rf"{_THE}{_SEVERAL}")
_NO_NAMED = re.compile(rf"no (?:{_NOUN}) {_SEVERAL}")
_START = re.compile(rf"(?:start|begin|open) with {_THE}{_SEVERAL}(?P<tail> (?:as|on) .+)?")
_END = re.compile(rf"(?:end|close|finish|conclude) with {_THE}{_SEVERAL}(?P<tail> (?:as|on) .+)?")
_MARKS = {
    "question mark": "?", "exclamation mark": "!", "exclamation point": "!", "period": ".", "full stop": ".", "colon": ":", "semicolon": ";", "comma": ",",
}  # fmt: skip
_END_MARK = re.compile(
    rf"(?:end|close|finish|conclude) (?:with|in) (?:a |an )(?:single )?(?P<mark>{'|'.join(_MARKS)})(?: {LITERAL})?"
)
_CLASSES = {
    r"digits?|numerals?|numeric digits?|arabic numerals?": ("digits", True),
    r"numbers?": ("digits", False),
    r"emojis?|emoticons?": ("emoji", True),
    r"commas?": ("commas", True),
    r"punctuation(?: marks?)?": ("punctuation", True),
    r"(?:capital|upper[ -]?case)(?: letters?| characters?)?|capitals": ("uppercase", True),
    r"lower[ -]?case(?: letters?| characters?)": ("lowercase", True),
    r"markdown(?: formatting| syntax| marks?| symbols?)?": ("markdown", False),
    r"latin letters?|letters of the latin alphabet": ("latin_letters", True),
}
_SIGNS = {
    r"exclamation (?:marks?|points?)": ("!！", True), r"question marks?": ("?？", True), r"semi-?colons?": (";；", True), r"colons?": (":：", False),
    r"asterisks?": ("*", True), r"em[ -]dash(?:es)?": ("—", True), r"hashtags?|hash (?:signs?|symbols?)": ("#", False),
    r"parenthes[ei]s|brackets?": ("()", False), r"(?:double )?quotation marks?|quotes": ('"“”', False), r"hyphens?|dash(?:es)?": ("-", False),
}  # fmt: skip
_THING = "|".join([*_CLASSES, *_SIGNS, "questions?"])
_ANY = r"(?:any |a |an |a single |the |the use of |using (?:any )?)*"
_NONE = re.compile(
    rf"(?:(?P<not>contain|include|use|have|feature|employ)|(?P<avoid>avoid|refrain from|be free (?:of|from)|be (?:written )?without|exclude)) (?:(?P<no>no|zero) )?{_ANY}"
    rf"(?P<first>{_THING})(?:(?:, | or | and |, or )(?:any )?(?P<second>{_THING}))?"
)
_NO_THING = re.compile(rf"no (?P<first>{_THING})(?:(?: or | and )(?P<second>{_THING}))?")
_LETTER = re.compile(rf"(?:contain|include|use|have) (?:(?P<no>no) )?(?:any |the |a )*letters? (?P<list>{LITERAL})")


_WITH_MARK = re.compile(r"(?:sentences?|lines?|text|strings?)$")  # what has a mark at its end
_SENTENCE = re.compile(r"(?:the |your )?(?:\w+ )?(?:sentence|question|phrase|slogan)")


def read(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    """The texts or signs that a clause asks for or forbids."""
    if clause.of == "other":
        edges = _edges(clause, literals) if _SENTENCE.fullmatch(clause.name) else None
        return (edges[0], False) if edges is not None else _passive(clause, literals)
    if clause.of != "answer" or clause.name in ("it", "this"):  # what was spoken of before may be a part
        return None
    return _edges(clause, literals) or _signs(clause, literals) or _inside(clause, literals)


def _inside(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    if (match := _AVOID.fullmatch(clause.said)) is not None:
        return None if clause.denied else _excluded(_quoted(match["list"], literals), match["noun"] is not None)
    match = _CONTAIN.fullmatch(clause.said)
    if match is None:
        return None
    quoted = _quoted(match["list"], literals)
    if clause.denied:
        if match["times"]:
            return None
        return _excluded(quoted, match["noun"] is not None or match["verb"] in ("contain", "use"))
    return _contained(quoted, match["noun"], match["list"], match["times"])


def _passive(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    if (match := _NO_THING.fullmatch(clause.name)) is not None and re.fullmatch(
        r"be (?:used|included|present|allowed)|appear", clause.said
    ):
        return None if clause.denied else _forbidden(match)
    said = _PASSIVE.fullmatch(clause.said)
    if said is None:
        return None
    if (match := _NO_NAMED.fullmatch(clause.name)) is not None:
        return None
    match = _NAMED.fullmatch(clause.name)
    if match is None:
        return None
    quoted = _quoted(match["list"], literals)
    if clause.denied or "avoided" in clause.said:
        if said["times"] or (clause.denied and "avoided" in clause.said):
            return None
        if match["noun"] is not None and match["noun"].endswith(("letter", "letters")):
            return _letter(quoted)
        return _excluded(quoted, match["noun"] is not None)
    return _contained(quoted, match["noun"], match["list"], said["times"])


def _contained(quoted: tuple[Quoted, ...], noun: str | None, named: str, times: str | None) -> Reading | None:
    either = re.search(r" or |/", named) is not None
    bounds = _times(times)
    if bounds is None:
        return None
    low, high, plain = bounds
    if high is not None and high < max(low, 1):
        return None
    rule = Contains(values=_texts(quoted), any=either, min=max(low, 1), max=high)
    sure = noun is not None and bool(_SURE.search(noun)) and not any(map(_has_gap, quoted))
    if noun is not None and _WITH_MARK.search(noun) and any(one.mark for one in quoted):
        sure = False  # the sentence "I am here." is not in "I am here to stay"
    return (rule,), sure and low > 0 and not plain and not (either and times)


def _excluded(quoted: tuple[Quoted, ...], sure: bool) -> Reading:
    return (Excludes(values=_texts(quoted)),), sure and not any(map(_has_gap, quoted))


def _times(said: str | None) -> tuple[int, int | None, bool] | None:
    """From how many to how many times (without a word on it, once at least), and whether "3 times" leaves this open."""
    if said is None:
        return 1, None, False
    words = (
        re.sub(r"\b(?:once|twice|thrice)\b", lambda m: {"once": "1", "twice": "2", "thrice": "3"}[m.group()], said)
        .replace(" times", "")
        .replace("only", "exactly")
    )
    if (more := re.fullmatch(rf"(?P<n>{NUMBER}) or more", words)) is not None:
        return number(more["n"]), None, False
    match = re.fullmatch(AMOUNT, words)
    bounds = amount(match) if match is not None else None
    if bounds is None:
        return None
    return bounds.low or 0, bounds.high, bounds.plain


def _edges(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    """What the answer begins or ends with. What ends with 'Conclusion' may have a section of this name, so that only what
    reads as text is sure; and whether a mark belongs to a literal is not."""
    if clause.denied:
        return None
    for pattern, kind in ((_START, StartsWith), (_END, EndsWith)):
        if (match := pattern.fullmatch(clause.said)) is not None:
            quoted, *others = _quoted(match["list"], literals)
            text = re.sub(r"(?:\.\.\.|…)\Z" if kind is StartsWith else r"\A(?:\.\.\.|…)", "", quoted.text)
            if others or not text.strip():
                return None
            rule: Rule = kind(value=text)
            sure = kind is StartsWith or match["noun"] is not None or not text[-1].isalnum() or text.count(" ") > 2
            whole = text == quoted.text and not quoted.mark and match["tail"] is None and not text.endswith("...")
            return (rule,), sure and whole
    if (match := _END_MARK.fullmatch(clause.said)) is not None:
        return (EndsWith(value=_MARKS[match["mark"]]),), True
    return None


def _signs(clause: Clause, literals: tuple[Quoted, ...]) -> Reading | None:
    if (match := _LETTER.fullmatch(clause.said)) is not None and clause.denied != bool(match["no"]):
        return _letter(_quoted(match["list"], literals))
    match = _NONE.fullmatch(clause.said)
    if match is None:
        return None
    absent = (
        (not clause.denied)
        if match["avoid"] and not match["no"]
        else clause.denied != bool(match["no"]) and not match["avoid"]
    )
    return _forbidden(match) if absent else None


def _letter(quoted: tuple[Quoted, ...]) -> Reading | None:
    text = quoted[0].text
    if len(quoted) > 1 or len(text) > 1 or not text.isalpha():
        return None
    return (Forbidden(characters=text.lower() + text.upper()),), True


def _forbidden(match: re.Match[str]) -> Reading | None:
    if match["first"].startswith("question") and "mark" not in match["first"]:
        return ((Count(unit="questions", max=0),), True) if match["second"] is None else None
    classes: list[str] = []
    characters, certain = "", True
    for name in filter(None, (match["first"], match["second"])):
        for forms, (kind, sure) in _CLASSES.items():
            if re.fullmatch(forms, name):
                classes, certain = [*classes, kind], certain and sure
        for forms, (signs, sure) in _SIGNS.items():
            if re.fullmatch(forms, name):
                characters, certain = characters + signs, certain and sure
    if not classes and not characters:
        return None
    return (Forbidden(characters=characters, classes=tuple(dict.fromkeys(classes))),), certain  # type: ignore[arg-type]


def _quoted(named: str, literals: tuple[Quoted, ...]) -> tuple[Quoted, ...]:
    return tuple(dict.fromkeys(literals[int(place)] for place in re.findall(r"\d+", named)))


def _texts(quoted: tuple[Quoted, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.text for one in quoted))


def _has_gap(quoted: Quoted) -> bool:
    return "..." in quoted.text or "…" in quoted.text
