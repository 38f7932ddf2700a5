"""The 36 answers of facts_mini as a log, and judges that know what is right of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.facts.data import MINI
from truebench_hf.judging.sentences import sentences, trimmed

KINDS = ("grounded", "ungrounded", "evasive")
MAJOR, FINE = '{"rating": "major issues"}', '{"rating": "no issues"}'


@cache
def mini() -> tuple[dict[str, Any], ...]:
    """The rows of the sample."""
    return tuple(json.loads(line) for line in MINI.read_text(encoding="utf-8").splitlines())


def log(path: Path, kinds: Sequence[str] = KINDS, **more: Any) -> str:
    """The answers of these kinds as rows of id and answer, with `more` columns."""
    rows = [{"id": row["id"], "answer": row[f"{kind}_response"]} | more for row in mini() for kind in kinds]
    return write_jsonl(path, rows)


def baselines(path: Path) -> str:
    """A model whose answers are none of the 36."""
    return script(path, [
        {"contains": row["user_request"], "reply": f"In short: {row['grounded_response']}"} for row in mini()
    ])  # fmt: skip


def oracle(path: Path, *, severe: bool = True, rules: Sequence[Mapping[str, Any]] = ()) -> str:
    """A judge by the response template who knows what is right; one who is not `severe` never says major issues.

    `rules` come before all others.
    """
    known: list[Mapping[str, Any]] = [*rules]
    for row in mini():
        if severe:
            known.append({"contains": [_test(row["evasive_response"])], "reply": f"It evades.\n{MAJOR}"})
        known.append({"contains": ["<response_", row["ungrounded_sentences"][0]["sentence"]], "reply": verdict(False)})
    known.append({"contains": "<test_response_", "reply": f"It answers.\n{FINE}"})
    return script(path, [*known, {"contains": "<response_", "reply": verdict(True)}])


def verdict(accurate: bool) -> str:
    """An answer to the response template."""
    return f'Compared.\n{{"verdict": "{"accurate" if accurate else "inaccurate"}"}}'


def _test(answer: str) -> str:
    """How a prompt on eligibility shows the answer under test."""
    return f">\n{answer}\n</test_response_"


def sentence_oracle(path: Path) -> str:
    """A judge by the json template: what was made up is contradictory or unsupported, all else supported by an excerpt."""
    rules: list[Mapping[str, Any]] = []
    for row in mini():
        rules.append({"contains": [_test(row["evasive_response"])], "reply": MAJOR})
        made_up = {entry["sentence"]: entry["why"] for entry in row["ungrounded_sentences"]}
        for kind in KINDS:
            answer = row[f"{kind}_response"]
            said = [answer[slice(*trimmed(answer, *span))] for span in sentences(answer)]
            labelled = [_labelled(text, made_up, row["context_document"]) for text in said]
            rules.append({"contains": [f">\n{answer}\n</response_"], "reply": json.dumps({"sentences": labelled})})
    return script(path, [*rules, {"contains": "<test_response_", "reply": FINE}])


def _labelled(sentence: str, made_up: Mapping[str, str], document: str) -> dict[str, Any]:
    if sentence not in made_up:
        return {
            "sentence": sentence,
            "rationale": "It says so.",
            "excerpts": [document.splitlines()[0]],
            "label": "supported",
        }
    label = "contradictory" if "ontradict" in made_up[sentence] else "unsupported"
    return {"sentence": sentence, "rationale": made_up[sentence], "excerpts": [], "label": label}
