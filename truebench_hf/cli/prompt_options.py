"""Options of `truebench study prompts`: apart, since what they share with studies is loaded only then."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.options import option
from truebench_hf.study.options import PromptOptions


@dataclass(frozen=True, kw_only=True)
class ShowOptions(PromptOptions):
    """Which prompt is shown, and how."""

    name: str | None = option(None, help="Name of a prompt; without one all are listed.", argument=True)
    source: bool = option(False, help="The template itself, to begin one of your own with.")
    structured: bool = option(False, help="As it is asked with a JSON schema.")
    reasoning: bool = option(True, help="As it is asked with or without reasons.")
    official: str | None = option(
        None, help="evaluation_prompts.csv of google/FACTS-grounding-public: its judge prompts, for --prompt NAME=FILE."
    )
    out: str | None = option(None, help="With --official: folder for the prompts, one NAME.jinja each.", panel="Output")
