"""Whether a response's final answer is the reference: a score that no judge has a say in (paper 004, Table 1).

The final answer of a response is, in this order: what stands in its last `\\boxed{...}`; in its last pair of tags
`<solution>` or `<answer>`; what follows the last `Answer:` at the beginning of a line, there or on the next line; its
last text in **bold**; the whole response. LiveBench's tasks ask for these.
Both sides are then compared normalised: Unicode NFKC, without letter case, marks of emphasis and quotation, and signs
at either end, blanks collapsed; numbers as numbers (1,000 = 1000.0). Nothing is searched for inside a longer answer.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_NAMED = re.compile(
    r"^[ \t>#*_`-]*(?:the )?(?:final )?answer(?: is)?[*_`]*[ \t]*[:：][*_`]*[ \t]*\n?[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TAGGED = re.compile(
    r"<(?:solution|answer)>((?:(?!<(?:solution|answer)>).)*?)</(?:solution|answer)>", re.IGNORECASE | re.DOTALL
)
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_MARKS = re.compile(r"[*_`\"'“”„‘’«»$]")
_ENDS = " .,;:!?。，；：！？()[]{}"
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def exact_answer(response: str, reference: str) -> bool:
    """Whether the final answer of a response is the reference, both normalised. A blank answer is never right."""
    given = normalised(final_answer(response))
    return bool(given) and given == normalised(reference)


def final_answer(response: str) -> str:
    """The final answer that a response gives: see the module's text."""
    for pattern in (_BOXED, _TAGGED, _NAMED, _BOLD):
        if found := pattern.findall(response):
            return str(found[-1])
    return response


def normalised(text: str) -> str:
    """An answer as it is compared."""
    plain = " ".join(_MARKS.sub("", unicodedata.normalize("NFKC", text)).casefold().split())
    bare = plain.strip(_ENDS)
    number = plain.rstrip(_ENDS).lstrip("([{")  # .5 is no 5
    number = number.replace(",", "") if _GROUPED.fullmatch(number) else number
    try:
        value = Decimal(number)
    except InvalidOperation:
        return bare
    return f"{value.normalize():f}" if value.is_finite() and abs(value.adjusted()) < 50 else bare
