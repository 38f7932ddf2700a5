"""Two texts, or two lists of texts: how far they overlap, which of them are partners, how much an edit changed, and
whether a final answer is the reference.

BLEU and ROUGE of checklists (paper 004, section 3.2.1, Table 2): questions are joined by line breaks into one text. BLEU
is sacrebleu's sentence BLEU on a scale of 0 to 1 (13a tokens, exponential smoothing, effective order), ROUGE the F1 of
rouge-score without stemming. Neither library finds words in scripts without blanks, and rouge-score drops every letter
but a to z; so both are given the same words here: texts are brought to NFC, signs of Chinese, Japanese, Thai, Lao,
Khmer and Burmese stand apart, one word each, and ROUGE's words are runs of letters, digits and their marks in any
script, in lower case. On ASCII both are what the libraries give.

The final answer of a response (paper 004, Table 1, a score that no judge has a say in) is, in this order: what stands in
its last `\\boxed{...}`; in its last pair of tags `<solution>` or `<answer>`; what follows the last `Answer:` at the
beginning of a line, there or on the next line; its last text in **bold**; the whole response. LiveBench's tasks ask for
these. Both sides are then compared normalised: Unicode NFKC, without letter case, marks of emphasis and quotation, and
signs at either end, blanks collapsed; numbers as numbers (1,000 = 1000.0). Nothing is searched for inside a longer answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal, InvalidOperation
from difflib import SequenceMatcher
from functools import cache
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

from truebench_hf.errors import need
from truebench_hf.metrics.binary import mean_of

# Thai and Lao, Burmese, Khmer; kana and Han with their extensions, and halfwidth kana. Marks stay with their sign.
_APART = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_SIGN = re.compile(f"[{_APART}]")


@dataclass(frozen=True)
class Overlap:
    """Each 0 (nothing in common) to 1 (alike), but for `count`: by how many questions the lengths differ."""

    bleu: float
    rouge_1: float
    rouge_2: float
    rouge_l: float
    count: float


def overlap(candidate: Sequence[str], reference: Sequence[str]) -> Overlap:
    """A checklist against the one it is held against. A text without a word overlaps with nothing."""
    need("stats", "sacrebleu", "rouge_score", what="overlap of texts")
    import sacrebleu

    text, right = (spaced("\n".join(questions)) for questions in (candidate, reference))
    bleu = sacrebleu.sentence_bleu(text, [right]).score / 100 if words(right) else 0.0
    scores = _rouge().score(right, text)
    unigrams, bigrams, longest = (float(scores[name].fmeasure) for name in ("rouge1", "rouge2", "rougeL"))
    return Overlap(min(bleu, 1.0), unigrams, bigrams, longest, float(abs(len(candidate) - len(reference))))


def rouge_l(candidate: str, reference: str) -> float:
    """ROUGE-L alone, of two texts: 0 (no word in common) to 1."""
    return float(_rouge().score(spaced(reference), spaced(candidate))["rougeL"].fmeasure)


def mean_overlap(overlaps: Sequence[Overlap]) -> Overlap | None:
    """The plain mean of each measure, of `count` the mean absolute error; None of nothing."""
    columns = list(zip(*map(astuple, overlaps), strict=True))
    return Overlap(*(mean_of(*column) or 0.0 for column in columns)) if columns else None


def spaced(text: str) -> str:
    """A text with blanks around every sign of a script that has none between words; marks stay with their sign."""
    parts: list[str] = []
    for sign in unicodedata.normalize("NFC", text):
        mark = unicodedata.category(sign).startswith("M")
        if mark and parts:
            parts[-1] += sign
        else:
            parts.append(sign)
    return "".join(f" {part} " if _SIGN.match(part) else part for part in parts)


def words(text: str) -> list[str]:
    """Runs of letters, digits and marks, in lower case; of a spaced text."""
    kept = (sign if unicodedata.category(sign)[0] in "LNM" else " " for sign in text.lower())
    return "".join(kept).split()


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of `n` values; None where there are none, and no deviation of one."""

    n: int
    mean: float | None
    deviation: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and deviation of some values."""
    return Spread(len(values), fmean(values) if values else None, stdev(values) if len(values) > 1 else None)


def nearest(likeness: Any) -> list[tuple[int, int]]:
    """For every row of an array its most alike column, the first of equals; a column may serve several rows."""
    return [(row, int(line.argmax())) for row, line in enumerate(likeness)] if likeness.size else []


def one_to_one(likeness: Any) -> list[tuple[int, int]]:
    """Pairs (row, column) of the greatest total likeness, no row and no column twice; the longer side keeps some over."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(likeness, maximize=True)
    return list(zip(map(int, rows), map(int, columns), strict=True))


# Words, runs of blanks, and single signs; scripts without blanks between words go sign by sign.
_PARTS = re.compile(r"[^\W\u0e00-\u0eff\u3040-\u9fff]+|\s+|.", re.DOTALL)


def edit_size(before: str, after: str) -> float:
    """0 (nothing) to 1 (everything): 1 minus difflib's ratio over words and signs."""
    parts: list[list[Any]] = [_PARTS.findall(text) for text in (before, after)]
    return 1 - SequenceMatcher(None, parts[0], parts[1], autojunk=False).ratio()


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
    answer = normalised(final_answer(response))
    return bool(answer) and answer == normalised(reference)


def final_answer(response: str) -> str:
    """The final answer that a response gives: see the module's text."""
    for pattern in (_BOXED, _TAGGED, _NAMED, _BOLD):
        if answers := pattern.findall(response):
            return str(answers[-1])
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


@cache
def _rouge() -> Any:
    need("stats", "rouge_score", what="ROUGE")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=SimpleNamespace(tokenize=words))
