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
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from truebench_hf.errors import UserError
from truebench_hf.rules import Rule, rule_of

_FOLDER = Path(__file__).parent / "phrases"
_LATIN = ("en", "de", "fr", "es", "it", "pt", "pl", "vi")
_SCRIPTS = {"ko": "[가-힣]", "ja": "[ぁ-ヿ]", "zh": "[一-鿿]", "ru": "[а-яё]"}
_UNSPACED = ("ko", "ja", "zh")
_QUOTED = (
    r"“([^“”]+)”|\"([^\"]+)\"|«\s?([^«»]+?)\s?»|„([^„“”]+)[“”]|「([^「」]+)」|『([^『』]+)』|`([^`]+)`"
    r"|(?<!\w)['‘’]([^'‘’]+(?:['’][^'‘’ ]+)*)['’](?![A-Za-z\u00c0-\u024f])"
)
_WORD = r"\ue000\d+;|\d+|[^\W\d_]+(?:-[^\W\d_]+)*(?:\+\+)?'?|[^\w\s]"
_PARTS = {"paragraphs": "paragraph", "lines": "line", "sentences": "sentence", "list_items": "item"}
_GRIDS = ("table", "csv")
# What a quoted text is called, "the word", rather than counted.
_CALLED = ("words", "sentences", "hashtags", "characters", "lines")
# A bare number of these need not be an exact one: "contains 2 emoji", "has 10 words" that were asked for.
_LOOSE, _LOOSE_WITH_HAVE = ("emoji", "hashtags", "questions"), ("words", "characters")
_DENYING = ("not", "none", "nor")
_VERBS = frozenset(("have", "must", "must_or_free", "answer", "appear", "start", "end", *_DENYING))
_ONCE = ("text", "language", "sign", "program", "level", "not")
# Of no account for what a clause states, or used up by its amount.
_SILENT = frozenset(
    ("or", "must", "must_or_free", "work", "all", "between", "spaces", "low", "high", "mark", "loose", "counted", "min_rows", "max_rows",
     "min_columns", "max_columns")
)  # fmt: skip


class Word(NamedTuple):
    """A word of a text, or several: its name in the tables ("" for one that no table knows), and what it holds."""

    name: str
    value: Any = None


class Clause(NamedTuple):
    """The rule that a clause states, as a row; whether it is all of it; and whether it denies something."""

    rule: dict[str, Any]
    complete: bool
    denies: bool


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[tuple[Rule, ...], bool]:
    """Return the rules that a text states, and whether they are all that it says; none and False where it states none."""
    best: tuple[tuple[Rule, ...], bool] = ((), False)
    for code in _candidates(text):
        words = _joined(_words(text, code))
        clauses = _parsed(words)
        complete = clauses is not None and all(clause.complete for clause in clauses)
        if "work" in _names(words) and any(clause.rule.get("unit") == "lines" for clause in clauses or ()):
            complete = False  # those of a summary may be sentences
        rules = _rules(clauses if clauses is not None else _alone(words))
        if rules and complete:
            return rules, True
        best = max(best, (rules, False), key=lambda read: len(read[0]))
    return best


def words_of(text: str) -> list[Word]:
    """Return the words of a text in the language that knows most of them."""
    return min((_joined(_words(text, code)) for code in _candidates(text)), key=lambda words: len(_values(words, "")))


def _candidates(text: str) -> tuple[str, ...]:
    """Return the languages that a text may be in: by its script, or those two that know most of its words."""
    bare = re.sub(_QUOTED, "", text).casefold()
    by_script = tuple(code for code, letters in _SCRIPTS.items() if re.search(letters, bare))
    pieces = set(re.findall(_WORD, bare))
    return by_script or tuple(sorted(_LATIN, key=lambda code: -len(pieces & _lexicon(code)[0].keys()))[:2])


@cache
def load_table(name: str) -> Any:
    """Return a table of the folder `phrases`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)


@cache
def language_codes() -> dict[str, tuple[str, ...]]:
    """Return the codes of languages by their English names in lower case."""
    table = load_table("en")["language"]
    return {name: tuple(codes.split()) for codes, names in table.items() for name in names.split("|")}


@cache
def _lexicon(code: str) -> tuple[dict[str, Word], int]:
    """Return the words of a language by how they are written, of two the first in the tables; and the most pieces of one."""
    lexicon, longest = dict[str, Word](), 0
    for table in (load_table(code), load_table("common")):
        for name, held in table.items():
            for value, texts in held.items() if isinstance(held, dict) else [(None, held)]:
                for pieces in (_pieces(text, code) for text in texts.split("|")):
                    lexicon.setdefault(_key(pieces, code), Word(name, value))
                    longest = max(longest, len(pieces))
    return lexicon, longest


def _pieces(text: str, code: str) -> list[str]:
    if code in _UNSPACED:
        return re.findall(r"\ue000\d+;|\d+|[a-z]+|\S", text)
    return re.findall(_WORD, text)


def _key(pieces: Sequence[str], code: str) -> str:
    return ("" if code in _UNSPACED else " ").join(pieces)


def _words(text: str, code: str) -> list[Word]:
    """Return the words of a text: the longest that a table knows at each place, quoted texts and numbers apart."""
    quoted = list[str]()

    def keep(match: re.Match[str]) -> str:
        quoted.append(next(group for group in match.groups() if group).strip())
        return f" \ue000{len(quoted) - 1}; "

    folded = re.sub(_QUOTED, keep, unicodedata.normalize("NFC", text)).casefold()
    folded = re.sub(r"(?<=\d)[,.\u00a0 ](?=\d{3}(?!\d))", "", folded)
    folded = re.sub(r"[()（）\[\]]", " ", folded).translate(str.maketrans("’–—～〜", "'--~~")).replace("json-", "json ")
    pieces, words, at = _pieces(folded, code), list[Word](), 0
    lexicon, longest = _lexicon(code)
    while at < len(pieces):
        ends = range(min(at + longest, len(pieces)), at, -1)
        end = next((end for end in ends if _key(pieces[at:end], code) in lexicon), at + 1)
        if pieces[at][0] == "\ue000":
            words.append(Word("text", ((quoted[int(pieces[at][1:-1])],), False)))
        elif pieces[at].isdecimal() and end == at + 1:
            words.append(Word("number", int(pieces[at])))
        else:
            words += _spelled(lexicon.get(_key(pieces[at:end], code), Word("")))
        at = end
    return words


def _spelled(word: Word) -> list[Word]:
    """Return the words that stand for a word of the tables: "twice" is a number and its unit, "omit" is "not" and "have"."""
    if word.name == "once":
        return [Word("number", word.value), Word("unit", "times")]
    if word == Word("bound", "between"):
        return [Word("between")]
    return [Word(name, word.value) for name in word.name.split("+")]


def _joined(words: Sequence[Word]) -> list[Word]:
    """Return words in which quoted texts (or languages) that are listed are one word that holds all of them."""
    joined, between = list[Word](), list[Word]()
    for word in words:
        last, names = joined[-1].name if joined else "", {word.name for word in between}
        if word.name == last == "text" and names <= {"and", "or", "nor", "filler", "noun", "unit", "between"}:
            (first, either), (more, _) = joined.pop().value, word.value
            joined.append(Word("text", (first + more, either or "or" in names)))
        elif word.name == last == "language" and names <= {"or", "filler"} and "or" in names:
            joined.append(Word("language", f"{joined.pop().value} {word.value}"))
        elif word.name in ("and", "or", "nor", "filler", "noun", "unit", "between"):
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
        first = _clause(words[:place], before) if word.name in ("and", "or", "nor") else None
        within = place and words[place - 1].name == "number"  # "between 3 and 5"
        if first is None or within or (word.name != "and" and not first.denies):
            continue
        rest, denied = list(words[place + 1 :]), bool({"not", "none"} & _names(words[place:]))
        if word.name != "and" and not denied:  # "no commas or digits"
            rest = [Word("not"), *rest]
        elif first.denies and not denied and "answer" not in _names(rest):  # does it deny the rest, too?
            continue
        if "have" in _names(words[:place]) and not _VERBS & _names(rest):
            rest = [Word("have"), *rest]
        others = _parsed(rest, first)
        if others is not None:
            return [first, *others]
    return None


def _alone(words: Sequence[Word]) -> list[Clause]:
    """Return the clauses among words of which others are not understood."""
    parts: list[list[Word]] = [[]]
    for word in words:
        parts = [*parts, []] if word.name == "and" else [*parts[:-1], [*parts[-1], word]]
    return [clause for part in parts if (clause := _clause(part, None))]


def _names(words: Sequence[Word]) -> set[str]:
    return {word.name for word in words}


def _clause(words: Sequence[Word], before: Clause | None) -> Clause | None:
    """Return the rule that words state; None where they state none, or may state several."""
    names, once = _names(words), [word.name for word in words if word.name in _ONCE]
    if "" in names or len(set(once)) < len(once) or {"answer", "work"} <= names or {"must_or_free", "not"} <= names:
        return None  # a work that is a part of the answer; and "muss nicht" is "need not"
    if any(word.name == "language" and next_.name == "work" for word, next_ in pairwise(words)):  # "a German summary"
        return None
    unit, heard = str(before.rule.get("unit", "")) if before else "", _without_articles(words)
    if unit in _PARTS and any(word.name == "not" and next_.name == "bound" for word, next_ in pairwise(heard)):
        return None  # "five lines, not longer than": each, or all of them?
    part, heard = _part(heard, unit)
    if before and before.rule["kind"] in _GRIDS and {"lines", "rows", "columns"} & set(_values(heard, "unit")):
        heard = [Word(before.rule["kind"]), *heard]
    held = _amounts(heard)
    if held is None:
        return None
    held |= {"part": part} if part else {}
    stated = frozenset(held) - _SILENT
    for rule in (*_sets().get(stated, ()), *_sets().get(stated - {"answer"}, ())):
        if rule.get("unit") in (None, held.get("unit"), held.get("counted")):
            return _filled(rule, held)
    return None


def _without_articles(words: Sequence[Word]) -> list[Word]:
    """Drop what fills, and "a" where it counts nothing: "one table"."""
    heard = [word for word in words if word.name != "filler"]
    around = zip(heard, [Word(""), *heard], [*heard[1:], Word("")], strict=False)
    counting = {"unit", "bound", "between", "or", "and"}
    return [
        word
        for word, before, behind in around
        if word.name != "and" and (word != Word("number", 1) or before.name == "bound" or behind.name in counting)
    ]


def _part(words: list[Word], unit: str) -> tuple[str, list[Word]]:
    """Return the part of the answer that words are about, and the others: "each line", "no line is longer than".

    `unit` is what was counted before: "three lines, each of at most five words".
    """
    for place, word in enumerate(words):
        following = next((later for later in words[place + 1 :] if later.name != "between"), Word(""))
        base = str(following.value).partition("/")[0] if following.name == "unit" else ""
        longer = word.name in ("not", "none") and Word("bound", "above") in words and len(_values(words, "unit")) > 1
        every = word.name == "each" or (word.name == "all" and "text" not in _names(words))
        if base in _PARTS and (every or longer):
            return _PARTS[base], words[:place] + [word] * longer + words[words.index(following, place) + 1 :]
        alone = word.name == "each" or (word.name == "none" and following.name == "bound")
        if unit in _PARTS and alone and "not" not in _names(words):
            return _PARTS[unit], words[:place] + [word] * (word.name == "none") + words[place + 1 :]
    return "", words


def _amounts(words: Sequence[Word]) -> dict[str, Any] | None:
    """Return what words hold by their names, numbers and units as an amount; None where it is not clear."""
    held = {word.name: word.value for word in words if word.name not in ("number", "unit", "bound", *_DENYING)}
    numbers, units = _values(words, "number"), _values(words, "unit")
    denied = bool(_names(words) & set(_DENYING))
    if "text" in held:
        if called := [unit for unit in units if unit in _CALLED]:
            held["noun"], units = None, [unit for unit in units if unit not in called]
        if numbers == [len(held["text"][0])] and not units and "bound" not in _names(words):  # "the two words"
            numbers = []
    bounds = _values(words, "bound")
    if not units and numbers == [1] and bounds == ["at_least"]:  # "at least one table" is a table
        numbers, bounds = [], []
    bases = {unit.partition("/")[0]: unit.partition("/")[2] for unit in sorted(units, reverse=True)}
    bases.pop("sections" if "headings" in bases else "", None)
    if len(bases) > 1 or (numbers and not bases):
        return None
    if not numbers:
        if set(bounds) - {"exactly"}:
            return None
        held |= {"only": None} if bounds else {}
        return held | ({"unit": units[-1]} if units else {}) | ({"not": None} if denied else {})
    ((base, mark),) = bases.items()
    amount = bounded(numbers, bounds, "between" in held, denied)
    if amount is None or ("may" in held and not denied and amount[0] is not None):  # "may have at least" is no demand
        return None
    held.pop("may", None)
    low, high, bare = amount
    if base == "characters" and "spaces" in held:
        base = f"characters_{held.pop('spaces')}"
    base = "rows" if base == "lines" and {*_GRIDS} & set(held) else base
    if base in ("rows", "columns"):
        return held | {base: None, f"min_{base}": low, f"max_{base}": high}
    loose = bare and (base in _LOOSE or (base in _LOOSE_WITH_HAVE and "have" in held))
    kind = base if base in ("headings", "times") else "count"
    if kind == "times" and not low:  # "at most twice" is met by none, too
        return None
    return held | {kind: None, "counted": base, "low": low, "high": high, "mark": mark, "loose": loose}


def _values(words: Sequence[Word], name: str) -> list[Any]:
    return [word.value for word in words if word.name == name]


def bounded(
    numbers: Sequence[int], bounds: Sequence[str], between: bool, denied: bool
) -> tuple[int | None, int | None, bool] | None:
    """Return (least, most, whether only a number is named); None where it is not clear. "Not more than" is at most."""
    bounds = list(dict.fromkeys(bounds))
    if len(numbers) == 1 and len(bounds) < 2:
        (number,), bound = numbers, bounds[0] if bounds else "exactly"
        if denied:
            return {"above": (None, number, False), "below": (number, None, False)}.get(bound)
        low = {"at_least": number, "above": number + 1, "exactly": number}.get(bound)
        return low, {"at_most": number, "below": number - 1, "exactly": number}.get(bound), not bounds
    if len(numbers) != 2 or denied:
        return None
    if not bounds or (between and set(bounds) <= {"at_most"}):  # "do", "bis" may be said of either
        return min(numbers), max(numbers), False
    sides = [bounded([number], [bound], False, False) for number, bound in zip(numbers, bounds, strict=False)]
    low = next((side[0] for side in sides if side and side[1] is None), None)
    high = next((side[1] for side in sides if side and side[0] is None), None)
    return None if low is None or high is None or len(bounds) != 2 else (low, high, False)


@cache
def _sets() -> dict[frozenset[str], list[dict[str, Any]]]:
    """Return the rows of `rules.yaml` by the sets of names that they are about."""
    sets: dict[frozenset[str], list[dict[str, Any]]] = {}
    for row in load_table("rules"):
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
    rule = {name: value for name, value in filled.items() if value not in (None, "")}
    loose = row.get("measured") or held.get("loose") or any("..." in text or "…" in text for text in texts)
    try:
        rule_of(rule)
    except UserError:
        return None
    return Clause(rule, not loose, "not" in held)


def _rules(clauses: Sequence[Clause]) -> tuple[Rule, ...]:
    """Return the rules of clauses: what two say of one JSON, table or list is one rule."""
    rows = list[dict[str, Any]]()
    for rule in (clause.rule for clause in clauses):
        last = rows[-1] if rows else {"kind": ""}
        if last["kind"] == rule["kind"] and rule["kind"] in ("json", *_GRIDS):
            rows[-1] = last | rule
        elif last["kind"] == "listed" and rule.get("unit") == "list_items":
            rows[-1] = rule | {"mark": last.get("mark", "any")}
        else:
            rows.append(rule)
    return tuple(dict.fromkeys(map(rule_of, rows)))
