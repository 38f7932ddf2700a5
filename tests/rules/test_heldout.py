"""Criteria of the twelve languages by which the words of the tables were widened, and answers to some of them, with labels.

`heldout.jsonl` and, written later for a second look, `heldout2.jsonl` hold per language 25 criteria that a program can
decide wholly and 11 that only look so (rule null: no rule may decide them). `heldout_answers.jsonl` holds answers of ordinary kinds and what a careful person says of them.
A rule that is read may differ from the one here in what changes no verdict: `whole_words`, `case`, `emoji` counted to
zero instead of forbidden, an order of `rules`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from truebench_hf.data.rules import rule_of
from truebench_hf.judging.rules.matching import read

FOLDER = Path(__file__).parent
LANGUAGES = ("DE", "EN", "ES", "FR", "IT", "JA", "KO", "PL", "PT", "RU", "VI", "ZH")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def meaning(rule: Any) -> Any:
    """Return a rule without what changes no verdict."""
    if rule is None or rule["kind"] == "all":
        return rule and {"kind": "all", "rules": sorted(map(json.dumps, map(meaning, rule["rules"])))}
    rule = {name: value for name, value in rule.items() if name not in ("whole_words", "case")}
    if rule.get("classes") == ["emoji"]:
        return {"kind": "count", "unit": "emoji", "max": 0}
    if "characters" in rule:  # "!" and its full-width form
        rule["characters"] = rule["characters"][:1]
    plain: Any = json.loads(rule_of(rule).text)
    return plain


def test_most_that_a_program_can_decide_is_recognised_and_nothing_else() -> None:
    recognised: Counter[str] = Counter()
    wrong = []
    for row in rows("heldout.jsonl"):
        rules, complete = read(row["criterion"])
        stated = [json.loads(rule.text) for rule in rules] if complete else []
        read_as = meaning(None if not stated else stated[0] if len(stated) == 1 else {"kind": "all", "rules": stated})
        if read_as is not None and read_as != meaning(row["rule"]):
            wrong.append((row["criterion"], read_as))
        recognised[row["language"]] += read_as is not None
    assert wrong == []
    assert min(recognised[language] for language in LANGUAGES) >= 20, recognised  # of 25


def test_four_fifths_of_the_second_set_are_recognised_and_no_trap() -> None:
    whole = [row for row in rows("heldout2.jsonl") if read(row["criterion"])[1]]
    assert [row["criterion"] for row in whole if row["rule"] is None] == []
    assert len(whole) >= 0.8 * 300


def test_no_bound_is_read_as_another() -> None:
    """`bounds.jsonl`: at least, at most and their negations, as people word them; what is not understood states nothing."""
    whole = {row["text"]: read(row["text"])[0] for row in rows("bounds.jsonl") if read(row["text"])[1]}
    wanted = {row["text"]: (row.get("min"), row.get("max")) for row in rows("bounds.jsonl")}
    read_bounds = {
        text: [(json.loads(rule.text).get("min"), json.loads(rule.text).get("max")) for rule in rules]
        for text, rules in whole.items()
    }
    assert read_bounds == {text: [wanted[text]] for text in whole}
    assert len(whole) >= 0.85 * len(wanted)
