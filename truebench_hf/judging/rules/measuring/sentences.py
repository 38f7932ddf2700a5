"""Sentences, counted at their ends: an end is sure, or none, or in doubt.

Two splitters settle a doubt where they agree: the guess made here by what stands before and behind the mark, and pysbd
(`judging.sentences`), which knows the abbreviations of many languages. Else it is a sentence more or not. So is a line
without a mark at its end, such as a title or an item.
"""

from __future__ import annotations

import regex

from truebench_hf.judging.rules.measuring.plain_text import plain
from truebench_hf.judging.rules.measuring.ranges import CountRange
from truebench_hf.judging.sentences import sentences as split

_ASKING = regex.compile(
    r"(?:か|かな|のか|吗|嗎|呢|까요?|나요|가요|ไหม|หรือ)[。.!！]*(?=[\s」』”\"]|\Z)|^(?:what|why|how|who|whose|where|which|can|could|would|do|does|did|is|are)\b[^.!?\n]*$",
    regex.IGNORECASE | regex.MULTILINE,
)
_ASKED = 2500  # characters of lines in doubt that pysbd is asked about: it takes 13 ms for 1,000
_NEAR = 30  # characters around an end that tell about it
_MARK = regex.compile(
    r"(?P<mark>[.!?…‥。．！？｡؟।॥۔։።៕]+)(?P<closing>[\"'”’»«›」』）)\]*_`]*)(?P<blank>\s*)(?=(?P<behind>[\"'“‘«„‹「『（(\[¿¡*_`—–-]*\s?.?))",
    regex.DOTALL,
)
_WIDE = frozenset("。．！？｡؟।॥۔։።៕")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}.'’-]*\Z")
_PAIR = regex.compile(r"(?<!\p{L})\p{L}\.\s?\p{L}\Z")
_DECIMAL, _DATE = regex.compile(r"\d+\.\d+"), regex.compile(r"(?:[0-2]?\d|3[01])\.(?:0?\d|1[0-2])")
_INITIALS = regex.compile(r"(?<!\p{L})\p{Lu}\.\s?\p{Lu}\Z")
_KANA = regex.compile(r"[\p{Hiragana}、，,]")
_DOTTED = regex.compile(r"(?:\p{L}{1,4}\.)+\p{L}{1,4}")
_WORDS = frozenset(
    (
        "no",
        "op",
        "al",
        "pl",
        "ed",
        "art",
        "min",
        "max",
        "mar",
        "dec",
        "jan",
        "sept",
        "sen",
        "maj",
        "rep",
        "sec",
        "ext",
        "им",
        "пр",
    )
)  # that are whole words as well
_ORDINAL = regex.compile(r"\d{1,2}|[ivxl]+")
# Where a sentence may end without a mark: at a face or another picture.
_PICTURE = regex.compile(
    r"(?<![.!?。！？…\s])\s*(?:\p{Extended_Pictographic}[\p{M}\p{Emoji_Modifier}\u200d\ufe0f]*|[:;]-?[()DP])+\s+(?=[\p{L}\p{N}¿¡\"“'])"
)
# Quoted within a sentence: he said "Go. Now." and left.
_QUOTE = r"(?:“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|\"[^\"]*\"|\([^()]*\))"
_QUOTED = regex.compile(rf"{_QUOTE}(?=,?\s+\p{{Ll}})|(?<=[\p{{L}}\p{{N}},:]\s){_QUOTE}")
_STEPS = regex.compile(r":\s+\(?1[.)]\s")  # "How to do it: 1) Wash it. 2) Dry it."
_GLUED = regex.compile(r"(?<=\p{Ll}{2}|\d|[)])[.!?](?=\p{Lu}\p{Ll})")  # "... is 5.Then we go"
_PAUSE = regex.compile(r"(?:\.\.|…|[!?][\"'”’»“]|(?<![\p{L}\p{N}])(?:\d{1,2}(?:\.\d{1,2})?|[IVXL]+)\.)[^\p{L}\p{N}]*\Z")
_MOSTLY_END = frozenset(("etc", "usw", "itd", "itp", "inc", "ltd", "corp", "co"))
_LIST = regex.compile(r"[ \t]*(?:[-*+•‣◦▪●○–—·]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\(?[A-Z]\)|#{1,6})[ \t]+|[ \t]*\d{1,3}、")
_MONTH = regex.compile(r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)\p{L}*")
# These never end a sentence: titles before a name, and what stands before its example or its number.
_TITLES = """
dr mr mrs ms mx prof hr fr frau mme mlle sra srta dra dott sig ing inż mgr rev capt lt sgt messrs approx ca vs e.g i.e z.b d.h
p.ex np tj zob por т.е т.н г-н г-жа тов ths gs pgs tp bzw ggf inkl zzgl cf fig vol núm nº vgl sog tzn św dipl г-ну
"""
# These may, and mostly do not.
_SHORT = """
jan feb mar apr jun jul aug sep sept oct nov dec janv févr avr juil déc gov sen rep pres maj cmdr adm esq rd ln hwy apt ste sec eq
oz lb lbs ft tbsp tsp hrs mins secs ext viz resp misc
st sr jr gen col hon ave blvd mt dept univ est min max temp nr no num art p pp ed eds str bd abs jh tel god godz ul al pl
ок ул пр д рис см др им стр т.к тыс млн млрд кв u.a s.o s.u m.in wg v.d tr op
"""
_NEVER, _SHORTENED = frozenset(_TITLES.split()), frozenset(_SHORT.split())


def sentences(text: str) -> CountRange:
    """Sentences of a text."""
    fewest = usual = most = 0
    left = _ASKED
    for line in plain(text).split("\n"):
        line = _LIST.sub("", line, count=1) if _LIST.match(line) else line
        line = line.strip()
        if not any(map(str.isalnum, line)):
            continue
        sure, doubts, rest = _line(line)
        if doubts and len(line) <= left:
            left -= len(line)
            doubts = _unsettled(line, doubts)
            sure += sum(guess for _, guess, settled in doubts if settled)
            doubts = [one for one in doubts if not one[2]]
        guessed = sure + sum(guess for _, guess, _ in doubts)
        loose = len(_PICTURE.findall(line)) + len(_GLUED.findall(line)) + len(_STEPS.findall(line))
        fewest, usual, most = fewest + sure, usual + guessed + rest, most + sure + len(doubts) + rest + loose
    return CountRange.of(max(fewest, min(most, 1)), usual, most)


_Doubt = tuple[int, bool, bool]  # where it is, whether a sentence seems to end there, and whether that is settled


def _line(line: str) -> tuple[int, list[_Doubt], bool]:
    """(sentences that surely end, ends in doubt, whether the line goes on behind the last of them)."""
    sure, doubts, at = 0, list[_Doubt](), 0
    quoted = [found.span() for found in _QUOTED.finditer(line)]
    for mark in _MARK.finditer(line):
        if not any(map(str.isalnum, line[at : mark.start()])):
            continue
        ends = _ends(line, mark)
        if ends and any(start < mark.start() < end - 1 for start, end in quoted):
            ends = None
        if ends is None:
            doubts.append((mark.start("behind"), _guess(line, mark), False))
        elif ends:
            sure += 1
        if ends is not False:
            at = mark.start("blank")
    return sure, doubts, any(map(str.isalnum, line[at:]))


def _ends(line: str, mark: regex.Match[str]) -> bool | None:
    """Whether a sentence ends at a mark, None where that is in doubt."""
    signs, behind = mark["mark"], mark["behind"].lstrip("\"'“‘«„‹「『（([¿¡*_`—–- \t")
    if mark.end("blank") == len(line):
        return True
    if not mark["blank"]:
        if set(signs) & _WIDE and not mark["closing"]:
            return True
        if set(signs) & _WIDE and _KANA.match(behind):
            return False  # 「はい。」と言った
        return None if set(signs) & _WIDE or (set(signs) & set("!?") and behind.isupper()) else False
    if behind.islower():
        if signs == "." and not mark["closing"] and not ((word := _word(line, mark)) and _is_short(word.casefold())):
            return None  # who writes everything small begins sentences so
        return False if not set(signs) & set("!?") or mark["closing"] else None
    if not behind or (mark["closing"] and not behind.isupper()):
        return None
    if set(signs) & set("!?") and set(mark["closing"]) & set("\"'”’»“"):
        return None  # “Who are you?” Arin asked.
    if set(signs) & set("!?") and not set(signs) & {"…"}:
        return True
    if signs != ".":
        return True if set(signs) & _WIDE else None
    return _after_word(
        _word(line, mark), behind, _before(line, mark.start()), line[mark.end("behind") : mark.end("behind") + _NEAR]
    )


def _after_word(word: str, behind: str, before: str, rest: str) -> bool | None:
    """Whether a point behind a word ends a sentence, when what follows does not begin with a small letter."""
    titled, word = word[:1].isupper(), word.casefold()
    if word in _NEVER:
        return False if titled or "." in word or behind.isnumeric() else None
    if len(word) == 1 and word.isalpha() and behind.isalpha() and rest.startswith("."):
        return False  # the first part of "z. B." or "J. R."
    if titled and len(word) == 1 and _INITIALS.search(before):
        return False  # the last part of "J. R. Smith"
    if not word and before[-1:] in set(')]”"»』」%€$°’'):
        return True
    if (_PAIR.search(before) and behind.isnumeric()) or (word.isdecimal() and _MONTH.match(behind + rest)):
        return False
    if word in _SHORTENED and word not in _WORDS and behind.isnumeric():
        return False
    if _DECIMAL.fullmatch(word):
        return None if _DATE.fullmatch(word) else True
    if len(word) <= 1 or word in _SHORTENED or _DOTTED.fullmatch(word) or _ORDINAL.fullmatch(word):
        return None
    return None if word in _MOSTLY_END or not (behind.isalpha() or behind.isnumeric()) else True


def _is_short(word: str) -> bool:
    """Whether a point behind a word is likely to belong to it."""
    return (
        len(word) <= 1
        or word in _SHORTENED | _NEVER | _MOSTLY_END
        or bool(_DOTTED.fullmatch(word) or _ORDINAL.fullmatch(word))
    )


def _word(line: str, mark: regex.Match[str]) -> str:
    before = _WORD.search(_before(line, mark.start()))
    return before.group().strip("'’-") if before else ""


def _before(line: str, place: int) -> str:
    return line[max(0, place - _NEAR) : place]


def _guess(line: str, mark: regex.Match[str]) -> bool:
    """Whether a sentence seems to end at a mark in doubt."""
    word = _word(line, mark).casefold()
    if mark["behind"].strip("\"'“‘«„‹「『（([¿¡*_`—–- \t").islower():
        return False
    if mark["mark"] == ".":
        return (
            not (len(word) == 1 and word.isalpha()) and word not in _SHORTENED | _NEVER and not _DOTTED.fullmatch(word)
        )
    return bool(mark["behind"].strip("\"'“‘«„‹「『（([¿¡*_`—–- \t").isupper())


def _unsettled(line: str, doubts: list[_Doubt]) -> list[_Doubt]:
    """The doubts, settled where pysbd says too that a sentence ends; not so behind dots, which may be a pause, and behind
    ordinals, which both take for an end. That none ends is never settled: "he got an A. She left" has initials to both."""
    ends = {end for _, end in split(line)}
    return [
        (place, guess, guess and place in ends and not _PAUSE.search(_before(line, place)))
        for place, guess, _ in doubts
    ]


def glued(text: str) -> bool:
    """Whether a sentence may begin without a blank before it."""
    return _GLUED.search(text) is not None


def questions(text: str) -> CountRange:
    """Sentences that end with a question mark; in some languages their last word shows them as well."""
    marks = regex.findall(r"[?？؟]+", text)
    loose = len(marks) + len(_ASKING.findall(text))
    sure = sum(1 for mark in _MARK.finditer(plain(text)) if set(mark["mark"]) & set("?？؟") and _closed(mark))
    return CountRange.of(sure, len(marks), loose)


def _closed(mark: regex.Match[str]) -> bool:
    return not mark["closing"] and (bool(set(mark["mark"]) & set("？؟")) or bool(mark["blank"]) or not mark["behind"])
