"""Prompts filled with sample values: to look at them, and before a run folder is opened and anything is paid for.

What each prompt is for, and the values, stand in `sample_prompts.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.prompts import Prompts


def about_prompts() -> dict[str, tuple[str, str]]:
    """Return what each prompt does, and who uses it."""
    return {name: (sample["does"], sample["used_by"]) for name, sample in _samples()["prompts"].items()}


def check_judge_prompts(settings: JudgeSettings, prompts: Prompts) -> None:
    """Fill every replaced prompt of such a judge, in each form it may take.

    Raises UserError where a replaced template asks for values that there are not.
    """
    check_prompts(prompts_used(settings), prompts, settings.structured, settings.reasoning)


def check_prompts(
    chosen: Iterable[str], prompts: Prompts, structured: str = "auto", reasoning: bool = True, **more: Any
) -> None:
    """The same for prompts by name; `more` is what there is besides (see `example`)."""
    forms = {"on": (True,), "off": (False,), "auto": (False, True)}[structured]
    for name in set(chosen) & set(prompts.replaced):  # ours can be filled
        for variant, category, form in product(_samples()["variants"], _samples()["categories"], forms):
            values = _values(name, form, reasoning)
            changed = {key: value for key, value in (variant | {"category": category}).items() if key in values}
            prompts.render(name, **values | changed | more)


def example(name: str, prompts: Prompts, *, structured: bool = False, reasoning: bool = True, **more: Any) -> str:
    """What a prompt asks, filled with a small sample: the second turn of a conversation, judged on TRUEBench's terms.

    `more` replaces values: `kinds` of `taxonomy`, for example. Raises UserError on a replaced template that fails.
    """
    return prompts.render(name, **_values(name, structured, reasoning) | more)


@cache
def _samples() -> Mapping[str, Any]:
    import yaml

    samples: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return samples


def _values(name: str, structured: bool, reasoning: bool) -> dict[str, Any]:
    """What a prompt of that name is given."""
    sample = _samples()["prompts"][name]
    forms = {"structured": structured, "reasoning": reasoning}
    kept = {key: forms[key] for key in sample.get("forms", forms)}
    return {**_samples()[sample.get("of", "case")], **kept, **sample.get("values", {})}
