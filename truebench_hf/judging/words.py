"""The words of a judge: its labels in the spellings that judges use, and what limits or takes back a label."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Any, Generic, TypeVar

L = TypeVar("L")
T = TypeVar("T")

ORNAMENT = " \t\r\n*_`~\"'“”‘’«»「」.!。．！"
_FORMS = {"pass": ("passed", "passes"), "fail": ("failed", "fails")}
_MARKS = {"yes": "✅✔✓☑🟢👍", "no": "❌✗✘✖☒🔴👎"}
# What judges write instead of the label asked for: never taken for it, yet it shows that two statements differ.
_ALIKE = {
    "yes": "yes met satisfied fulfilled accepted approved true correct ok oui ja sí sim tak da да はい 是 예 네 bestanden erfüllt 通过 通過 合格 "
    "符合 满足 충족 통과 réussi rempli respecté aprobado cumple cumplido aprovado cumprido superato soddisfatto rispettato "
    "spełnione spełnia zaliczone выполнено выполнен соблюдено пройдено зачёт зачет đạt",
    "no": "no unmet unsatisfied violated rejected false incorrect failure non nein nie não нет いいえ 否 未通过 不通过 不通過 不合格 不符合 未满足 "
    "미충족 불합격 실패 échec échoué suspenso incumplido reprobado reprovado niespełnione niezaliczone провал "
    "not_met not_satisfied not_fulfilled nicht_bestanden nicht_erfüllt non_rempli non_respecté no_cumple no_aprobado "
    "não_cumprido não_cumpre non_superato non_soddisfatto nie_spełnia не_выполнено не_выполнен не_соблюдено "
    "không_đạt",
}
_NOT = r"(?:does not|doesn't|did not|not|isn't|never|neither|nicht|non|não|nie|не|pas)\s+(?:an?\s+)?"
# Behind a label and a stop: words that hedge or limit the label, wherever they stand, and those that do so at the start only.
_HEDGES = re.compile(
    r"\?|…|\.\.\.|\b(?:borderline|arguably|tentative\w*|uncertain|unsure|not sure|perhaps|maybe|probably|possibly|"
    r"conditional\w*|provided|à condition|sous réserve|unter der bedingung|vorausgesetzt|con la condición|siempre que|desde que|a condizione|purché|pod warunkiem|при условии|với điều kiện|assuming|wait|actually|correction|reconsider\w*|on (?:second thought|reflection|the other hand)|"
    r"lenient\w*|generous\w*|benefit of the doubt|vielleicht|eigentlich|peut-être|quizás?|talvez|forse|może|возможно|có lẽ)\b|"
    r"可能|おそらく|아마",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:but|however|although|though|except|unless|strictly|technically|should be|would be|could be|might be|rather|instead|"
    r"either|aber|jedoch|allerdings|mais|cependant|toutefois|pero|aunque|sin embargo|mas|porém|ma|però|tuttavia|ale|jednak|но|"
    r"однако|кроме|nhưng|tuy nhiên|ngoại trừ|sauf|außer|excepto|salvo|tranne|eccetto|oprócz|(?<!not )exceed\w*|so no|(?:is|are) missed|cannot be|claimed|"
    r"\d+ of \d+)\b|\d ?%|但|不过|然而|除了|しかし|ただし|除外|を除|하지만|그러나|제외|超过|超え|초과",
    re.IGNORECASE,
)
_LIMITS_FIRST = re.compile(
    r"\W*(?:if|when|only (?:if|when|partly|in part|barely|just)|in part|with (?:minor|some|small|reservations?|caveats?)|nearly|almost|so far|or|and|for now|"
    r"wenn|falls|nur|si|solo|se|jeśli|если|nếu)\b",
    re.IGNORECASE,
)
_PARTLY = re.compile(
    r"\b(?:mostly|partly|partially|largely|partial|in part|not (?:fully|quite|entirely|completely)|teilweise|größtenteils|"
    r"partiellement|en partie|parcialmente|en parte|em parte|parzialmente|in parte|częściowo|частично|một phần)\b|部分|一部|부분",
    re.IGNORECASE,
)
_SHORT = 40  # characters of a text that is remembered
_ASCII = frozenset(map(chr, range(128)))
_UNBOUND = re.compile("[\u2000-\uffff\U0001f000-\U0001ffff]")  # letters and signs that stand without blanks
_STOP = re.compile(
    r"\s*(?:[-–—:;,.(\[/|!]|[（，。：；、]|=>|->|→|\n|(?:because|since|as|for|weil|da|denn|car|parce que|porque|perché|ponieważ|bo|потому что|так как|vì)\b|因为|因為|ので|ため)"
)
_REVERSED = {
    "yes": re.compile(
        r"\b(?:not (?:fully )?(?:met|satisfied|fulfilled|true|correct)|unmet|violat\w+(?<!no violation)(?<!no violations)|"
        r"(?:does not|doesn't|fails to) (?:meet|satisfy|fulfil)|nicht (?:erfüllt|eingehalten)|non (?:respecté|rempli|soddisfatto|rispettato)\w*|"
        r"no (?:cumple|se cumple)|não (?:cumpr\w+|atende)|nie(?: jest)? spełni\w+|не (?:выполнен|соблюден|соблюдён)\w*|không (?:đạt|đáp ứng))\b|"
        r"不符合|不满足|未达|未满足|未通过|満たしていない|満たさない|충족하지|미충족",
        re.IGNORECASE,
    ),
    "no": re.compile(
        r"\A\W*(?:it does|satisfied|met|fulfilled|all met)\b|\b(?:criterion|requirement|it) is (?:fully )?met\b|(?<!not )\bfully (?:met|satisfied|fulfilled)\b",
        re.IGNORECASE,
    ),
}
# Cyrillic letters that look like Latin ones, beside a Latin one.
_TWIN = str.maketrans("АВЕКМНОРСТХІЅаеорсхіѕ", "ABEKMHOPCTXISaeopcxis")
_TWINS = re.compile("(?<=[A-Za-z])[%s]+|(?<![%s])[%s]++(?=[A-Za-z])" % (("АВЕКМНОРСТХІЅаеорсхіѕ",) * 3))
# Letters that expressions take for an i whatever the case of either, and `casefold` does not: "FAİL", "faıl".
_TURKISH = {"ı": "i", "İ": "I"}
_ENTITY = re.compile(r"&(?:#\d{1,5}|#x[0-9a-fA-F]{1,4}|\w{2,8});")


def remembered(read: Callable[[str], T]) -> Callable[[str], T]:
    """The same function, which remembers what it made of short texts: judges use the same keys and labels all the time."""
    known = lru_cache(maxsize=4096)(read)

    @wraps(read)
    def found(text: str) -> T:
        return known(text) if len(text) <= _SHORT else read(text)

    return found


def visible(text: str) -> str:
    """The text without signs that nobody sees, and without what only shapes the sign before."""
    if text.isascii():
        return text
    hidden = [sign for sign in set(text) - _ASCII if sign in "\ufe0f\u20e3" or unicodedata.category(sign) == "Cf"]
    return text.translate(dict.fromkeys(map(ord, hidden))) if hidden else text


def narrow(text: str) -> str:
    """The text, as long as before, with letters and signs as ordinary ones that are only drawn otherwise."""
    if not text.isascii():
        text = text.translate({ord(sign): _ordinary(sign) for sign in set(text) - _ASCII})
        text = _TWINS.sub(lambda match: match.group().translate(_TWIN), text)
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: _ordinary(html.unescape(match[0])[:1]).ljust(len(match[0])), text)


def _ordinary(sign: str) -> str:
    plain = _TURKISH.get(sign) or unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign


@dataclass(frozen=True, slots=True)
class Value(Generic[L]):
    """A text that stands where a label belongs. `sure`: it is one of those asked for, neither limited nor reversed.

    `foreign`: it is none of those asked for, though it means one. `within`: words of a sentence follow it at once.
    """

    label: L
    sure: bool
    foreign: bool = False
    within: bool = False


@dataclass(frozen=True)
class Words(Generic[L]):
    """The labels on offer: each word with what it means, `{"PASS": "yes", "FAIL": "no"}`."""

    offered: Mapping[str, L]

    @cached_property
    def _accepted(self) -> dict[str, L]:
        whole = {word.casefold(): label for word, label in self.offered.items()}
        return {form: label for word, label in whole.items() for form in _FORMS.get(word, ())} | whole

    @cached_property
    def _alike(self) -> dict[str, L]:
        """Other words for yes and no, where the labels mean that."""
        found: dict[str, L] = {}
        for meaning in {"yes", "no"} & set(map(str, self.offered.values())):
            label: Any = meaning
            found |= {word.replace("_", " "): label for word in _ALIKE[meaning].split()} | dict.fromkeys(
                _MARKS[meaning], label
            )
        return found | self._accepted

    @cached_property
    def _marks(self) -> frozenset[str]:
        return frozenset(sign for sign in "".join(_MARKS.values()) if sign in self._alike)

    @cached_property
    def _pattern(self) -> str:
        """A regular expression for any label word, offered or alike, not within a longer word."""
        words = sorted(self._alike, key=len, reverse=True)
        latin = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words if not _UNBOUND.search(word))
        others = "|".join(re.escape(word) for word in words if _UNBOUND.search(word))
        bound = rf"(?<!\w)(?:{latin})(?![A-Za-z0-9_\u00c0-\u052f'’]|-\w)"
        # Most places of a text are ruled out by one letter. Cases are folded as the expression itself folds them.
        firsts = "".join(sorted({re.escape(word[0]) for word in words}))
        return rf"(?=[{firsts}])" + (rf"(?:{bound}|(?:{others})(?![A-Za-z]))" if others else bound)

    @cached_property
    def anywhere(self) -> re.Pattern[str]:
        """Finds label words in a text."""
        return re.compile(self._pattern, re.IGNORECASE)

    @cached_property
    def _start(self) -> re.Pattern[str]:
        return re.compile(rf"(?P<neg>{_NOT})?(?P<word>{self._pattern})", re.IGNORECASE)

    @cached_property
    def _offered_anywhere(self) -> re.Pattern[str]:
        words = "|".join(re.escape(word) for word in sorted(self._accepted, key=len, reverse=True))
        return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)

    @cached_property
    def value(self) -> Callable[[str], Value[L] | None]:
        """What a text says that stands where a label belongs; None where it says none, or more than one."""
        return remembered(self._said)

    @cached_property
    def echoes(self) -> Callable[[str], bool]:
        """Whether a text only repeats the form asked for: "PASS or FAIL", "...", "<verdict>"."""
        return remembered(self._repeats)

    def _said(self, text: str) -> Value[L] | None:
        text = narrow(visible(text))
        marks = {self._alike[sign] for sign in text[:300] if sign in self._marks}
        bare = "".join(sign for sign in text if sign not in self._marks).strip(ORNAMENT + "[](){}<>")
        if not bare:
            return Value(next(iter(marks)), False, foreign=True) if len(marks) == 1 else None
        found = self._worded(bare)
        return None if found is None or marks - {found.label} else found

    def _worded(self, text: str) -> Value[L] | None:
        if (known := self._accepted.get(text.casefold())) is not None:
            return Value(known, True)
        if (match := self._start.match(text)) is None:
            return None
        word, rest = " ".join(match.group("word").casefold().split()), text[match.end() :]
        label = self._alike[word]
        if match.group("neg"):
            others = [other for other in self.offered.values() if other != label]
            return Value(others[0], False) if len(others) == 1 else None
        if word not in self._accepted:
            return None if rest.strip(ORNAMENT + ",;:)]}|") else Value(label, False, foreign=True)
        if any(
            self._accepted[other.group().casefold()] != label for other in self._offered_anywhere.finditer(rest[:300])
        ):
            return None
        if self._alike.get(rest.strip(ORNAMENT + ":-–—,;()[] ").casefold(), label) != label:
            return None  # "PASS: no"
        enclosed, rest = rest[:1] in tuple("*_`\"'”’)]"), rest.lstrip("*_`\"'”’)]")
        if not enclosed and rest.strip(ORNAMENT + ")]}|,;") and not _STOP.match(rest):
            # In the midst of a sentence: perhaps a label, where it is written as one.
            return Value(label, False, within=True) if match.group("word").isupper() else None
        return Value(label, not self.limited(label, rest))

    def as_offered(self, text: str) -> set[L]:
        """The labels that a text names as they were asked for, letter by letter."""
        return {self.offered[m.group()] for m in self._offered_anywhere.finditer(text) if m.group() in self.offered}

    def limited(self, label: L, rest: str) -> bool:
        """Whether the prose behind a label limits or reverses it."""
        rest = rest[:300]
        reversed_by = _REVERSED.get(str(label))
        if _HEDGES.search(rest) or _LIMITS_FIRST.match(rest) or (reversed_by and reversed_by.search(rest)):
            return True
        # What is partly met fails, and reasons why something fails hold a "but" and an "instead".
        return str(label) != "no" and (_LIMITS.search(rest) is not None or _PARTLY.search(rest) is not None)

    def _repeats(self, text: str) -> bool:
        text = narrow(visible(text)).strip(ORNAMENT)
        said = {self._accepted[m.group().casefold()] for m in self._offered_anywhere.finditer(text)}
        bare = self._offered_anywhere.sub("", text)
        if len(said) > 1 and not re.sub(r"(?i)\b(?:or|either|and)\b|[\s/|,<>\[\](){}\"'“”`-]", "", bare):
            return True
        return text in ("", "…") or (
            not self.value(text) and re.fullmatch(r"[<\[{(][^<>]{1,40}[>\]})]", text) is not None
        )


@lru_cache(maxsize=16)
def _offering(items: tuple[tuple[str, Any], ...]) -> Words[Any]:
    return Words(dict(items))


def offering(labels: Mapping[str, L]) -> Words[L]:
    """The words of these labels; made once, since their patterns take long to build."""
    found: Words[L] = _offering(tuple(labels.items()))
    return found
