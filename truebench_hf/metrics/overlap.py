"""How far two checklists overlap word by word: BLEU and ROUGE (paper 004, section 3.2.1, Table 2), and their lengths.

Questions are joined by line breaks into one text. BLEU is sacrebleu's sentence BLEU on a scale of 0 to 1 (13a tokens,
exponential smoothing, effective order), ROUGE the F1 of rouge-score without stemming. Neither library finds words in
scripts without blanks, and rouge-score drops every letter but a to z; so both are given the same words here: texts are
brought to NFC, signs of Chinese, Japanese, Thai, Lao, Khmer and Burmese stand apart, one word each, and ROUGE's words
are runs of letters, digits and their marks in any script, in lower case. On ASCII both are what the libraries give.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from typing import Any

from truebench_hf.extras import need
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

    made, right = (spaced("\n".join(questions)) for questions in (candidate, reference))
    bleu = sacrebleu.sentence_bleu(made, [right]).score / 100 if words(right) else 0.0
    scores = _rouge().score(right, made)
    one, two, longest = (float(scores[name].fmeasure) for name in ("rouge1", "rouge2", "rougeL"))
    return Overlap(min(bleu, 1.0), one, two, longest, float(abs(len(candidate) - len(reference))))


def rouge_l(candidate: str, reference: str) -> float:
    """ROUGE-L alone, of two texts: 0 (no word in common) to 1."""
    return float(_rouge().score(spaced(reference), spaced(candidate))["rougeL"].fmeasure)


def mean_overlap(found: Sequence[Overlap]) -> Overlap | None:
    """The plain mean of each measure, of `count` the mean absolute error; None of nothing."""
    columns = list(zip(*map(astuple, found), strict=True))
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


class _Words:
    """What rouge-score takes for a tokenizer."""

    def tokenize(self, text: str) -> list[str]:
        return words(text)


@cache
def _rouge() -> Any:
    need("stats", "rouge_score", what="ROUGE")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=_Words())
