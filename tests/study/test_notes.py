"""What studies tell in one wording."""

import pytest

from truebench_hf.study.notes import cut_off, weak_judges


@pytest.mark.parametrize(
    ("specs", "told"),
    [
        ([], False),
        (["openai:gpt-4o"], False),
        (["openai:gpt-4o", "smollm2"], True),
        (["hf:HuggingFaceTB/SmolLM2-1.7B-Instruct"], True),  # its sister
        (["hf:HuggingFaceTB/SmolLM3-3B"], False),
    ],
)
def test_weak_judges(specs: list[str], told: bool) -> None:
    assert bool(weak_judges(specs)) == told


def test_cut_off() -> None:
    assert cut_off(0) == []
    assert cut_off(2) == ["Responses cut off at the token limit, and judged as they stand: 2."]
