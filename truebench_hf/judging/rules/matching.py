"""From the words of a criterion to rules, by the words of twelve languages (`phrases/*.yaml`).

A text becomes a row of words with names: numbers, units, bounds, quoted texts, "not" and so on. A clause states a rule where
the names of its words are a set of `rules.yaml`, whatever their order; a word that no table knows is in no set, so that what
is not understood from its first word to its last decides nothing. Clauses are parted at "and" and at marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby, product
from typing import Any, NamedTuple

from truebench_hf.data.rules import Rule, rule_of
from truebench_hf.errors import UserError
from truebench_hf.judging.rules.counting import load_table

_LATIN = ("en", "de", "fr", "es", "it", "pt", "pl", "vi")
_SCRIPTS = {"ko": "[가-힣]", "ja": "[ぁ-ヿ]", "zh": "[一-鿿]", "ru": "[а-яё]"}
_UNSPACED = ("ko", "ja", "zh")
_QUOTED = (
    r"“([^“”]+)”|\"([^\"]+)\"|«\s?([^«»]+?)\s?»|„([^„“”]+)[“”]|「([^「」]+)」|『([^『』]+)』|`([^`]+)`"
    r"|(?<!\w)['‘’]([^'‘’]+(?:['’][^'‘’ ]+)*)['’](?![A-Za-z\u00c0-\u024f])"
)
PARTS = {"paragraphs": "paragraph", "lines": "line", "sentences": "sentence", "list_items": "item"}
# What a quoted text is called, "the word", rather than counted.
_CALLED = ("words", "sentences", "hashtags", "characters", "lines")
# A bare number of these need not be an exact one: "contains 2 emoji", "has 10 words" that were asked for.
_LOOSE, _LOOSE_WITH_HAVE = ("emoji", "hashtags", "questions"), ("words", "characters")
_DENYING = ("not", "none", "nor")
_BETWEEN = ("and", "or", "nor", "filler", "noun", "unit", "between")  # may stand between texts that are listed
_VERBS = frozenset(("have", "must", "must_or_free", "answer", "appear", "start", "end", *_DENYING))
_ONCE = ("text", "language", "sign", "level", "not")
# Of no account for what a clause states, or used up by its amount.
_SILENT = frozenset(
    ("or", "must", "must_or_free", "work", "all", "between", "spaces", "low", "high", "mark", "loose", "counted", "min_rows",
     "max_rows", "min_columns", "max_columns")
)  # fmt: skip


class Word(NamedTuple):
    """A word of a text, or several: its name in the tables ("" for one that no table knows), and what it holds."""

    name: str
    value: Any = None


class Clause(NamedTuple):
    """The rule that a clause states; whether it is all of it; and whether it denies something."""

    rule: Rule
    complete: bool
    denies: bool


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[tuple[Rule, ...], bool]:
    """Return the rules that a text states, and whether they are all that it says; none and False where it states none."""
    words = words_of(text)
    clauses = _parsed(words)
    complete = clauses is not None
    if clauses is None:
        parts = (list(part) for between, part in groupby(words, lambda word: word.name == "and") if not between)
        clauses = [clause for part in parts if (clause := _clause(part, None))]
    if "work" in _names(words) and any(getattr(clause.rule, "unit", "") == "lines" for clause in clauses):
        complete = False  # those of a summary may be sentences
    return tuple(dict.fromkeys(x.rule for x in clauses)), complete and all(clause.complete for clause in clauses)


def words_of(text: str) -> list[Word]:
    """Return the words of a text: the longest that a table of its language knows at each place, quoted texts and numbers."""
    quoted = list[str]()

    def keep(match: re.Match[str]) -> str:
        quoted.append(next(group for group in match.groups() if group).strip())
        return f" \ue000{len(quoted) - 1}; "

    folded = re.sub(_QUOTED, keep, unicodedata.normalize("NFC", text.replace("\ue000", ""))).casefold()
    folded = re.sub(r"(?<=\d)[,.\u00a0 ](?=\d{3}(?!\d))", "", folded)
    folded = re.sub(r"[()（）\[\]]", " ", folded).translate(str.maketrans("’–—～〜", "'--~~")).replace("json-", "json ")
    by_script = [code for code, letters in _SCRIPTS.items() if re.search(letters, folded)]
    plain_words = set(re.findall(r"[^\W\d_]+", folded))
    language = by_script[0] if by_script else max(_LATIN, key=lambda code: len(plain_words & _lexicon(code).keys()))
    lexicon, words = _lexicon(language), list[Word]()
    for match in _scanner(language).finditer(_spaced(folded)):
        if match["text"]:
            words.append(Word("text", ((quoted[int(match["text"])],), False)))
        else:
            words += [Word("number", int(match["number"]))] if match["number"] else lexicon.get(match[0], [Word("")])
    return _joined(words)


@cache
def _lexicon(code: str) -> dict[str, list[Word]]:
    """Return the words of a language by how they are written, of two the first in the tables."""
    lexicon = dict[str, list[Word]]()
    for table in (load_table(f"phrases/{code}"), load_table("phrases/common")):
        for name, held in table.items():
            for value, texts in held.items() if isinstance(held, dict) else [(None, held)]:
                # "twice" is a number and its unit, "omit" is "not" and "have"
                number_and_unit = [Word("number", value), Word("unit", "times")] if name == "once" else None
                words = number_and_unit or [Word(part, value) for part in name.split("+")]
                for text in texts.split("|"):
                    lexicon.setdefault(_spaced(text), words)
    return lexicon


@cache
def _scanner(code: str) -> re.Pattern[str]:
    """Return what tells the words of a language apart."""
    letters, end = ("[a-z]", "(?![a-z])") if code in _UNSPACED else (r"[^\W\d_]", r"(?![^\W\d_]|-[^\W\d_]|')")
    known = [re.escape(text) for text in sorted(_lexicon(code), key=len, reverse=True)]
    texts = "|".join(text + (end if re.match(letters, text[-1]) else r"(?!\d)" * text[-1].isdigit()) for text in known)
    other = r"[a-z]+|\S" if code in _UNSPACED else r"[^\W\d_]+(?:-[^\W\d_]+)*'?|\S"
    return re.compile(rf"\ue000(?P<text>\d+);|{texts}|(?P<number>\d{{1,9}})(?!\d)|{other}")


def _spaced(text: str) -> str:
    """Return a text with single blanks, and none around characters of scripts that do without."""
    return re.sub(r"(?<=[가-힣ぁ-ヿ一-鿿]) | (?=[가-힣ぁ-ヿ一-鿿])", "", " ".join(text.split()))


def _joined(words: Sequence[Word]) -> list[Word]:
    """Return words in which quoted texts that are listed are one word that holds all of them."""
    joined, between = list[Word](), list[Word]()
    for word in words:
        if word.name == "text" and joined and joined[-1].name == "text":
            (first, either), (more, _) = joined.pop().value, word.value
            joined.append(Word("text", (first + more, either or "or" in _names(between))))
        elif word.name in _BETWEEN:
            between.append(word)
            continue
        else:
            joined += [*between, word]
        between = []
    return joined + between


def _parsed(words: Sequence[Word], before: Clause | None = None) -> list[Clause] | None:
    """Return the clauses that words are from the first to the last; None where something is left."""
    clause = _clause(words, before)
    if clause is not None:
        return [clause]
    for place, word in enumerate(words):
        first = _clause(words[:place], before) if word.name == "and" else None
        if first is None or first.denies:  # does it deny the rest, too?
            continue
        rest = list(words[place + 1 :])
        if "have" in _names(words[:place]) and not _VERBS & _names(rest):
            rest = [Word("have"), *rest]
        others = _parsed(rest, first)
        if others is not None:
            return [first, *others]
    return None


def _names(words: Sequence[Word]) -> set[str]:
    return {word.name for word in words}


def _clause(words: Sequence[Word], before: Clause | None) -> Clause | None:
    """Return the rule that words state; None where they state none, or may state several."""
    names, once = _names(words), [word.name for word in words if word.name in _ONCE]
    if "" in names or len(set(once)) < len(once) or {"answer", "work"} <= names or {"must_or_free", "not"} <= names:
        return None  # a work that is a part of the answer; and "muss nicht" is "need not"
    # What fills is dropped, and "a" where it counts nothing: "one table".
    spoken = [word for word in words if word.name != "filler"]
    around = zip(spoken, [Word(""), *spoken], [*spoken[1:], Word("")], strict=False)
    counting = {"unit", "bound", "between", "or", "and"}
    part, heard = _part([
        word for word, left, right in around
        if word.name != "and" and (word != Word("number", 1) or left.name == "bound" or right.name in counting)
    ])  # fmt: skip
    listed = getattr(before and before.rule, "unit", "") in PARTS and not part
    if listed and ("each" in names or ("bound" in names and names & set(_DENYING))):
        return None  # "five lines, not longer than": each, or all of them?
    held = _amounts(heard)
    if held is None:
        return None
    held |= {"part": part} if part else {}
    stated = frozenset(held) - _SILENT
    for row in (*_sets().get(stated, ()), *_sets().get(stated - {"answer"}, ())):
        if row.get("unit") in (None, held.get("unit"), held.get("counted")):
            return _filled(row, held)
    return None


def _part(words: list[Word]) -> tuple[str, list[Word]]:
    """Return the part of the answer that words are about, "each line", and the other words."""
    for place, word in enumerate(words):
        behind = next((at for at in range(place + 1, len(words)) if words[at].name != "between"), place)
        unit = str(words[behind].value).partition("/")[0] if words[behind].name == "unit" else ""
        if unit in PARTS and (word.name == "each" or (word.name == "all" and "text" not in _names(words))):
            return PARTS[unit], words[:place] + words[place + 1 : behind] + words[behind + 1 :]
    return "", words


def _amounts(words: Sequence[Word]) -> dict[str, Any] | None:
    """Return what words hold by their names, numbers and units as an amount; None where it is not clear."""
    held = {word.name: word.value for word in words if word.name not in ("number", "unit", "bound", *_DENYING)}
    numbers, units, bounds = ([x.value for x in words if x.name == name] for name in ("number", "unit", "bound"))
    denied = bool(_names(words) & set(_DENYING))
    if called := [unit for unit in units if unit in _CALLED and "text" in held]:
        held["noun"], units = None, [unit for unit in units if unit not in called]
    bases = {unit.partition("/")[0]: unit.partition("/")[2] for unit in sorted(units, reverse=True)}
    if len(bases) > 1 or (numbers and not bases) or (not numbers and set(bounds) - {"exactly"}):
        return None
    if not numbers:
        held |= ({"only": None} if bounds else {}) | ({"unit": units[-1]} if units else {})
        return held | ({"not": None} if denied else {})
    ((base, mark),) = bases.items()
    amount = bounded(numbers, bounds, "between" in held, denied)
    if amount is None or ("may" in held and not denied and amount[0] is not None):  # "may have at least" is no demand
        return None
    held.pop("may", None)
    low, high, bare = amount
    if base == "characters" and "spaces" in held:
        base = f"characters_{held.pop('spaces')}"
    base = "rows" if base == "lines" and "table" in held else base
    if base in ("rows", "columns"):
        return held | {base: None, f"min_{base}": low, f"max_{base}": high}
    loose = bare and (base in _LOOSE or (base in _LOOSE_WITH_HAVE and "have" in held))
    kind = base if base in ("headings", "times") else "count"
    if kind == "times" and not low:  # "at most twice" is met by none, too
        return None
    return held | {kind: None, "counted": base, "low": low, "high": high, "mark": mark, "loose": loose}


def bounded(
    numbers: Sequence[int], bounds: Sequence[str], between: bool, denied: bool
) -> tuple[int | None, int | None, bool] | None:
    """Return (least, most, whether only a number is named); None where it is not clear. "Not more than" is at most."""
    if len(numbers) == 1 and len(set(bounds)) < 2:
        (number,), bound = numbers, bounds[0] if bounds else "exactly"
        if denied:
            return {"above": (None, number, False), "below": (number, None, False)}.get(bound)
        low = {"at_least": number, "above": number + 1, "exactly": number}.get(bound)
        return low, {"at_most": number, "below": number - 1, "exactly": number}.get(bound), not bounds
    either = not bounds or (between and set(bounds) <= {"at_most"})  # "do", "bis" may be said of either
    return (min(numbers), max(numbers), False) if len(numbers) == 2 and either and not denied else None


@cache
def _sets() -> dict[frozenset[str], list[dict[str, Any]]]:
    """Return the rows of `rules.yaml` by the sets of names that they are about."""
    sets: dict[frozenset[str], list[dict[str, Any]]] = {}
    for row in load_table("phrases/rules"):
        optional = [(name.strip("[]"), "")[: 1 + (name[0] == "[")] for name in row["when"].split()]
        for names in product(*optional):
            sets.setdefault(frozenset(names) - {""}, []).append(row)
    return sets


def _filled(row: Mapping[str, Any], held: Mapping[str, Any]) -> Clause | None:
    """Return the rule of a row of `rules.yaml`, with what the words hold."""
    texts, either = held.get("text") or ((), False)
    if len(texts) > 1 and "$text" in row["rule"].values():
        return None
    values = dict(held) | {
        "texts": [text.rstrip(".,。，") or text for text in texts], "text": texts[0] if texts else None,
        "any": either or "any" in held or None, "codes": str(held.get("language")).split(),
        "sign": str(held.get("sign"))[0], "signs": held.get("sign"), "unit": held.get("counted"),
    }  # fmt: skip
    filled = {name: values.get(value[1:]) if str(value)[0] == "$" else value for name, value in row["rule"].items()}
    loose = row.get("measured") or held.get("loose") or any("..." in text or "…" in text for text in texts)
    try:
        rule = rule_of({name: value for name, value in filled.items() if value not in (None, "")})
    except UserError:
        return None
    return Clause(rule, not loose, "not" in held)
