"""The paper's own prompts from a CSV of the documented columns; the texts here are ours."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

import pytest

from tests.judging.grounding.helpers import SOURCE, caller
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.judge import EligibilityJudge, GroundingJudge
from truebench_hf.judging.grounding.official import METHODS, official_prompts, write_official_prompts
from truebench_hf.judging.grounding.types import Passage, Source
from truebench_hf.prompts import Prompts, check_prompts, names

WHOLE = "Grade it.\\n\\nQ: {{user_request}}\nE: {{context_document}}\nR: {{response}}\nThink."
FILTER = 'Q: {{user_request}}\nTest: {{response_a}}\nBase: {{response_b}}\nSay {{"Instruction Following": "No Issues"}} {# or #} {% so %}'
ROWS = {
    "response_level": WHOLE,
    "json": WHOLE,
    "json_alt": WHOLE,
    "implicit_span_level": WHOLE,
    "span_level": WHOLE + " Span {{ix+1}}: {{span}}",
    "json_with_double_check": 'S: {{json_dict["sentence"]}}\nC: {{json_dict["excerpt"]}}',
    "ineligible_responses_filter_with_context": FILTER.replace("user_request", "full_prompt"),
    "ineligible_responses_filter_no_context": FILTER,
}


def written(
    path: Path, rows: dict[str, str], columns: tuple[str, ...] = ("evaluation_method", "evaluation_prompt")
) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows.items())
    return path


def test_they_take_the_place_of_ours(tmp_path: Path) -> None:
    replaced = write_official_prompts(written(tmp_path / "evaluation_prompts.csv", ROWS), tmp_path / "prompts")
    assert (
        set(replaced)
        == set(METHODS.values())
        == {n for n in names() if n.startswith(("grounding", "elig"))} - {"grounding_simpleqa"}
    )
    prompts = Prompts(replaced)
    check_prompts(replaced, prompts)
    asked, seen = caller(tmp_path, ["Step by step.\n\n**Final Answer:** Inaccurate"])
    found = asyncio.run(GroundingJudge(asked, "response", prompts).verdict(SOURCE, "At {{ 8 }}."))
    assert found.accurate is False
    assert seen[0].messages[0].content == (
        f"Grade it.\n\nQ: {SOURCE.request}\nE: {SOURCE.document}\nR: At {{{{ 8 }}}}.\nThink."
    )
    vague, said = caller(tmp_path / "vague", ["Hm."])
    assert asyncio.run(GroundingJudge(vague, "json", prompts).verdict(SOURCE, "At 8.")).accurate is None
    assert len(said) == 3, "a long answer that is whole is asked for again"
    passages = Source("Q?", passages=(Passage("1", "One."), Passage("2", "Two.")))
    asyncio.run(GroundingJudge(asked, "span", prompts).verdict(passages, "Yes."))
    assert "E: One.\n\nTwo.\nR: Yes." in seen[1].messages[0].content
    assert "Span 1: Yes." in seen[1].messages[0].content


@pytest.mark.parametrize("variant", ["request", "full"])
def test_the_filter_shows_what_the_variant_says(tmp_path: Path, variant: str) -> None:
    prompts = Prompts(write_official_prompts(written(tmp_path / "x.csv", ROWS), tmp_path / "prompts"))
    reply = 'Analysis: it evades.\n```json\n{\n "Instruction Following": "Major Issue(s)"\n}\n```'
    asked, seen = caller(tmp_path, [reply])
    found = asyncio.run(EligibilityJudge(asked, variant, prompts).rate(SOURCE, "Early.", "At 9."))
    assert (found.rating, found.reason) == ("major", "Analysis: it evades.")
    shown = SOURCE.request if variant == "request" else "\n\n".join((SOURCE.system, SOURCE.document, SOURCE.request))
    said = '{"Instruction Following": "No Issues"} {# or #} {% so %}'
    assert seen[0].messages[0].content == f"Q: {shown}\nTest: Early.\nBase: At 9.\nSay {said}"


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ({}, ("evaluation_method", "evaluation_prompt"), "holds no records"),
        (ROWS, ("method", "prompt"), "missing field 'evaluation_method'; the file has method, prompt"),
        ({"jsonl": WHOLE}, ("evaluation_method", "evaluation_prompt"), "'jsonl', which is none of"),
        (
            {"json": WHOLE + "{{answer}}"},
            ("evaluation_method", "evaluation_prompt"),
            "has the unknown placeholder '{{answer}}'",
        ),
        ({"json": "Q: {user_request}"}, ("evaluation_method", "evaluation_prompt"), "no placeholder for the document"),
        ({"span_level": WHOLE}, ("evaluation_method", "evaluation_prompt"), "no placeholder for the span"),
    ],
)
def test_what_is_of_another_form_is_one_clear_line(
    tmp_path: Path, rows: dict[str, str], columns: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UserError) as told:
        official_prompts(written(tmp_path / "x.csv", rows, columns))
    assert words in str(told.value)
    assert "x.csv" in str(told.value)


def test_what_is_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"(none|bad)\.csv"):
        official_prompts(tmp_path / "none.csv")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"(none|bad)\.csv"):
        official_prompts(tmp_path / "bad.csv")
