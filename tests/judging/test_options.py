"""Options that commands share: what makes no sense is refused before anything is opened."""

from __future__ import annotations

from typing import Any

import pytest

from truebench_hf.errors import UserError
from truebench_hf.study.options import LabellingOptions


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"temperature": -3.0}, "--temperature -3.0"),
        ({"temperature": float("nan")}, "--temperature nan"),
        ({"threshold": 0.0}, "--threshold 0.0"),
        ({"max_tokens": 0}, "--max-tokens 0"),
        ({"judge_level": "rubrik"}, "did you mean rubric"),
        ({"judge_level": "text"}, "unknown judge level"),
        ({"judge_level": "checklist"}, "is not for this command; rubric or decision"),
    ],
)
def test_labelling_options_that_make_no_sense(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        LabellingOptions(data="-", out="-", **more)
