"""How judges name a criterion and its fields: `criteria_1`, `Criterion 1`, `rubric 1`, `基準1`, and the like."""

from __future__ import annotations

import re

from truebench_hf.judging.words import ORNAMENT, narrow, remembered, visible
from truebench_hf.normal_form import normal_form

# "Criterion" and its neighbours in the twelve languages of TRUEBench.
NAMES = (
    r"(?:criteri[^\W\d_]{0,30}|kriteri[^\W\d_]{0,30}|kryteri[^\W\d_]{0,30}|crit[eè]res?|crit|rubri[^\W\d_]{0,30}|requirements?|anforderung[^\W\d_]{0,30}|exigences?|requisit[^\W\d_]{0,30}|"
    r"wymaganie|wymóg|требовани[^\W\d_]{0,30}|критери[^\W\d_]{0,30}|пункт[^\W\d_]{0,30}|questions?|items?|points?|checks?|conditions?|constraints?|"
    r"tiêu chí|yêu cầu|평가 ?기준|기준|항목|요구 ?사항|評価基準|基準|標準|标准|准则|要件|要求|条件|项目|項目|第|项|項)"
)
_NUMBERS = (
    "one two three four five six seven eight nine ten",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
)
_WORTH = {word: i for words in _NUMBERS for i, word in enumerate(words.split(), 1)}
_CARDINAL, _ORDINAL = (words.replace(" ", "|") for words in _NUMBERS)
_ROMAN = {word: i for i, word in enumerate(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"], 1)}
_SIGN = r"(?:(?:no|nr|num|number|№|n°)\b\.?\s*|\#)?"
# At most a few signs between name and number; a number is one that nothing joins to another (1.5, 10:30).
KEY = (
    rf"(?:(?<![^\W\d_]){NAMES}[\s_\\*`\"'.:(\[-]{{0,4}}{_SIGN}(?:(?P<n>\d{{1,6}})(?!\d|[.,]\d)|(?P<word>(?:{_CARDINAL})\b)|(?P<roman>[ivx]{{1,4}})\b)"
    rf"|\b(?P<nth>(?:{_ORDINAL}))\s+{NAMES}\b|(?<![\w.])[cqr#](?P<short>\d{{1,3}})(?![\w.]\w))"
)
_KEY = re.compile(KEY, re.IGNORECASE)
VERDICTS = ("verdict", "judgment", "judgement", "result", "label", "decision", "answer")
# Beside a criterion's name these hold its verdict, too; by themselves they stand in too many other objects.
VERDICT_FIELDS = (*VERDICTS, "final_verdict", "status", "outcome", "score", "rating", "grade")
WRAPPERS = frozenset({
    "verdicts", "criteria", "results", "result", "evaluation", "evaluations", "judgments", "judgements", "judgment",
    "judgement", "verdict", "answers", "answer", "ratings", "checklist", "output", "labels", "label", "scores",
    "assessment", "assessments", "decisions", "decision", "final", "final_verdict", "final_verdicts",
    "final_answer", "rubrics", "rubric", "requirements", "items", "questions", "data", "json"
})  # fmt: skip
REASONS = frozenset({
    "reason", "reasons", "reasoning", "explanation", "explanations", "rationale", "justification", "evidence",
    "analysis", "comment", "comments", "note", "notes", "thought", "thoughts", "criterion_text", "text",
    "description", "quote"
})  # fmt: skip
REASONING = frozenset({
    "reason", "reasons", "reasoning", "explanation", "explanations", "rationale", "justification", "evidence",
    "analysis", "thought", "thoughts"
})  # fmt: skip
IDENTITIES = frozenset({
    "criterion", "criteria", "criterion_id", "criteria_id", "criterion_number", "id", "index", "number", "no", "n",
    "item", "rubric", "question"
})  # fmt: skip
OVERALL = frozenset({
    "overall", "overall_verdict", "overall_result", "final", "final_verdict", "final_result", "final_answer",
    "total", "passed", "pass", "all", "all_passed", "all_criteria", "conclusion", "verdict", "result", "judgment",
    "decision", "label", "answer"
})  # fmt: skip


def named(match: re.Match[str]) -> int | None:
    """The number that a match of `KEY` names; None for "criterion" alone."""
    if number := match.group("n") or match.group("short"):
        return int(number)
    if roman := match.group("roman"):
        return _ROMAN.get(roman.casefold())
    word = match.group("word") or match.group("nth")
    return _WORTH[word.casefold()] if word else None


@remembered
def key_plain(text: str) -> str:
    """A key as it is compared: without case, ornaments and backslashes."""
    text = narrow(normal_form("NFKC", visible(text))).casefold().replace("\\", "")
    return "_".join(text.strip(ORNAMENT + ":.#()[]").replace("_", " ").split())


_ASIDE = "reason|reasoning|explanation|rationale|justification|evidence|analysis|comment|note|text|confidence"
_CRITERION = re.compile(r"\W*(?:crit|krit|kryt|крит|rubri|requirement|기준|基準|标准|標準|tiêu chí)", re.IGNORECASE)


def is_criterion(key: str) -> bool:
    """Whether a key speaks of criteria, not of something else that is numbered."""
    return _CRITERION.match(key) is not None


@remembered
def criterion_of(key: str) -> int | None:
    """The number of the criterion that a key of an object names, None where it names none, 0 where it cannot be told."""
    text = key_plain(key).replace("_", " ")
    if re.match(rf"(?:{NAMES})\s*(?:-\s*-?|\s-)?\d", text) and not re.fullmatch(
        rf"{NAMES}[\s.#-]?\s?(?:no\.?\s?|nr\.?\s?)?\d{{1,6}}", text
    ):
        if re.search(rf"\d[\s.]*(?:{_ASIDE})\Z", text):
            return None  # "criteria_1_reason"
        if match := re.match(rf"{NAMES}\s*#?(\d{{1,6}})\s?[:.(–-]\s", text):
            return int(match.group(1))  # "criterion 1: must be short"
        return 0  # "criteria_1a", "criteria_-1"
    if (match := _KEY.fullmatch(text)) is not None:
        return named(match)
    match = re.fullmatch(r"#?(\d{1,6})", text) or re.fullmatch(rf"{NAMES}\s*#?(\d{{1,6}})", text)
    return int(match.group(1)) if match else None
