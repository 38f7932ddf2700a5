"""Sentences of texts in many languages, as offsets that cover the text: by lines and Markdown first, then by their stops.

A full stop ends no sentence behind an abbreviation (`abbreviations.yaml`), an initial, or an ordinal, nor before a small
letter. On the 465 sentences in twelve languages that `tests/judging/sentences.yaml` has cut by hand, pysbd 0.3.4 finds
88 % of the boundaries (F1) and syntok 1.4.4 86 %, line by line; this module finds 99.7 %, and 98.6 % or more in each.
wtpsplit-lite was not compared: it fetches weights from a hub when it is first used.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

_FENCE = r"(?:```|~~~)[^\n]*\n(?s:.)*?(?:\n(?:```|~~~)[^\n]*(?:\n+|\Z)|\Z)"
_BLOCKS = re.compile(rf"{_FENCE}|[^\n\r\u2028\u2029]*(?:[\n\r\u2028\u2029]+|\Z)")
_ROW = re.compile(r"\s*\|.*\|\s*")
_MARKER = re.compile(r"\s*(?:>\s*)*(?:#{1,6}|[-*+•–—]|\(?\d{1,3}[.):]|\(?[A-Za-z][.)])?(?:\s+\[[ xX]\])?(?:\s+|\Z)")
# A break between a line as long as those of texts that are wrapped and one that is no item.
_WRAPPED = re.compile(r"(?<=[^\n\r]{39}[\w,])\r?\n(?=[^\W\d_])(?!(?:[A-Za-z]|[ivx]{1,4})[.):]|o\s)")
_CLOSING = r"(?:“(?=\s|\Z)|[\"'”’»)\]」』）*_~`]|[ \u00a0\u202f]»|\[\d{1,3}(?:[,–-]\s?\d{1,3})*\])*"
_EMOJI = r"(?:\s*[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?)*"
_STOPS = re.compile(rf"(?P<stop>[.!?…]+|[。！？｡।॥؟۔።။։]+[.!?…]*)(?P<closing>{_CLOSING}){_EMOJI}(?P<gap>\s*)")
_OPENING = re.compile(r"[\s\"'“„«¿¡(\[「『（*_~`–—-]*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_HIRAGANA = re.compile(r"[\u3041-\u309f]")
_LETTER = re.compile(r"[A-Za-zΑ-ωА-яЁё]")
_LAST_WORD = re.compile(r"[^\W_\u3040-\u30ff\u3400-\u9fff]*\Z")
_MEASURE = re.compile(r"\d\s?[a-zа-я]\Z")  # "at 9 h.", "1799 г."
_TIME = re.compile(r"\b[ap]\.\s?m\Z", re.IGNORECASE)
_PHRASE = re.compile(r"\bp\.\s?(?:es|ej|ex)\Z|\wstr\Z", re.IGNORECASE)  # "p. ex.", "Hauptstr."
_DATE = re.compile(r"\d{4}\.\s?\d{1,2}\.\s?\d{1,2}\Z")
_ORDINAL = re.compile(
    r"\b(?:am|vom|zum|der|die|das|dem|den|des|im|ins|bis|ab|seit|beim|jede[mnrs]?|dnia|den)\s\d{1,2}\Z", re.IGNORECASE
)
_MONTH = re.compile(r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Jh)")
_THAI = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff]")
_CLAUSES = re.compile(rf"(?<={_THAI.pattern})\s+(?={_THAI.pattern})|[!?។៕]+\s*|\.\s+")
_CLAUSE = 40  # characters that a span of clauses has at least, so that no claim is cut into words
_HEADING = re.compile(r"#{1,6}\s|(?:\*\*|__)[^*_]+(?:\*\*|__):?\Z")
_ITEM = re.compile(r"\s*(?:[-*+•–—]|\(?\d{1,3}[.):]|\(?[A-Za-z][.)])\s")
_EDGES = re.compile(r"\A[\s#>*_¡¿\"'“„«-]+|[\s*_\"'”»\u2600-\u27bf\U0001f300-\U0001faff\ufe0f]+\Z")
_LONGEST = 15  # words of a sentence that claims nothing, two letters a word in scripts without blanks
_LABEL = 3  # words of a heading, or of a line with a colon at its end, that may stand for any label
_VIETNAMESE = re.compile(r"[ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]", re.IGNORECASE)
_SEEN = 60  # characters before a stop that tell what it is


def sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of every sentence, in order; the first begins at 0, each ends where the next begins.

    Headings, list items, rows of tables and fenced blocks stand by themselves, and a line break ends a sentence, but for
    one that wraps a long line. Markers of lists and headings belong to the sentence behind them, signs without a letter
    or digit to the one before. Thai, Lao and Khmer, which write no full stop, are cut at the blanks between clauses. A
    text of blanks is one span, "" is none.
    """
    ends: list[int] = []
    # Blanks in place of a line break within a sentence, which goes on in small letters.
    joined = _WRAPPED.sub(lambda at: " " * len(at[0]) if text[at.end()].islower() else at[0], text)
    for block in _BLOCKS.finditer(joined):
        ends += [block.start() + end for end in _ends(block.group())]
    # Markers go with what follows, and bare signs with what precedes.
    starts: list[int] = []
    waiting: int | None = None  # where markers begin that wait for their sentence
    for start, end in pairwise([0, *ends]):
        if _MARKER.fullmatch(text, start, end) and end > start:
            waiting = start if waiting is None else waiting
        elif any(map(str.isalnum, text[start:end])):
            starts.append(start if waiting is None else waiting)
            waiting = None
    if waiting is not None and any(map(str.isalnum, text[waiting:])):
        starts.append(waiting)
    return list(pairwise([0, *starts[1:], len(text)])) if text else []


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the same span without blanks around it."""
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of every sentence without blanks around it."""
    return [trimmed(text, *span) for span in sentences(text)]


def sentence_texts(text: str) -> list[str]:
    """Return the sentences that say something, without blanks around them."""
    pieces = (text[start:end] for start, end in sentence_spans(text))
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def claims_nothing(sentence: str) -> bool:
    """Return True if the wording alone shows that a sentence states nothing: `no_rad` in paper 002, appendix A.

    That is a short heading, a line that announces a list, a question, a greeting, an offer of help, or a closing
    (`no_claim.yaml`, in the twelve languages of TRUEBench). All else is for a judge to say: one with a digit, or with
    more behind a colon or a courtesy, may claim something.
    """
    plain = _EDGES.sub("", sentence)
    if not any(map(str.isalnum, plain)) or plain[-1] in "?？؟":
        return True
    length = _length(plain)
    if re.search(r"\d", plain) or length > _LONGEST or re.search(r"[:：]", plain[:-1]):
        return False
    announces, courtesy, asks, states = map(_no_claim, ("announces", "courtesy", "asks", "states"))
    if courtesy.fullmatch(plain.rstrip(".!…。！ ")):
        return True
    announced = plain[-1] in ":：" and not _ITEM.match(sentence)
    if announced and announces.match(plain):
        return True
    heading = plain[-1] not in ".!。！" and bool(_HEADING.match(sentence.strip()))
    short = length <= _LABEL or (heading and bool(asks.match(plain)))
    return (heading or announced) and short and not states.search(plain)


def _ends(block: str) -> list[int]:
    """Where the sentences of a line, or of a fenced block, end; the last end is that of the block."""
    if not block or block.startswith(("```", "~~~")) or _ROW.fullmatch(block):
        return [len(block)] if block else []
    ends: list[int] = []
    marker = _MARKER.match(block)
    start = at = marker.end() if marker else 0
    if len(_THAI.findall(block)) * 2 > len(block):
        for clause in _CLAUSES.finditer(block):
            ends += [clause.end()] if clause.end() - (ends[-1] if ends else 0) >= _CLAUSE else []
    else:
        for stop in _STOPS.finditer(block, at):
            if _ends_sentence(block, start, stop):
                start = stop.end()
                ends.append(start)
    return ends if ends and ends[-1] == len(block) else [*ends, len(block)]


def _ends_sentence(block: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a stop ends the sentence that begins at `start`."""
    if stop.end() == len(block):
        return True
    opening = _OPENING.match(block, stop.end())
    behind = block[opening.end() if opening else stop.end() :][:12]
    if stop["stop"][0] not in ".!?…":
        quoted = "」" in stop["closing"] or "』" in stop["closing"]
        return not (quoted and _HIRAGANA.match(behind))  # 「...。」と
    unspaced = _UNSPACED.match(behind) or _UNSPACED.match(block, stop.start() - 1)
    if not stop["gap"] and (stop["stop"] == "." or not unspaced):
        return False
    return not behind[:1].islower() and (stop["stop"] != "." or _is_full_stop(block, start, stop.start(), behind))


def _is_full_stop(block: str, start: int, at: int, behind: str) -> bool:
    """Whether a dot at `at` is no mark of an abbreviation, an initial, an ordinal, a date or an item of a list."""
    before = block[max(start, at - _SEEN) : at]
    match = _LAST_WORD.search(before)
    word = match.group().casefold() if match else ""
    numbered = behind[:1].isdigit() or behind[:1] == "§"
    if _LETTER.fullmatch(word):
        return not numbered and bool(_MEASURE.search(before) or _TIME.search(before))
    if word.isdigit():
        item = at - start <= 3 and before.strip() == word
        ordinal = len(word) <= 2 and (_ORDINAL.search(before) or _MONTH.match(behind))
        return not (numbered or item or ordinal or _DATE.search(before))
    always, before_number = _abbreviations()
    firm = before.endswith("& Co") and behind.startswith(("KG", "OHG"))
    return not (firm or word in always or (numbered and word in before_number) or _PHRASE.search(before))


@cache
def _abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    """The words after which a dot ends no sentence, and those after which it ends none before a number."""
    import yaml

    lists = yaml.safe_load(Path(__file__).with_name("abbreviations.yaml").read_text(encoding="utf-8"))
    always, before_number = (frozenset(" ".join(lists[name].values()).split()) for name in ("always", "before_number"))
    return always, before_number


def _length(plain: str) -> float:
    """How many words a text has: two letters or syllables are one in Chinese, Japanese and Vietnamese."""
    if _UNSPACED.search(plain):
        return len(plain) / 2
    words = len(plain.split())
    return words / 2 if _VIETNAMESE.search(plain) else words


@cache
def _no_claim(kind: str) -> re.Pattern[str]:
    """The patterns of one kind in `no_claim.yaml`, of all languages."""
    import yaml

    lists = yaml.safe_load(Path(__file__).with_name("no_claim.yaml").read_text(encoding="utf-8"))
    return re.compile("|".join(line for lines in lists[kind].values() for line in lines.splitlines()), re.IGNORECASE)
