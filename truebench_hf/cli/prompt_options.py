"""Options of `truebench prompts show`: apart, since what they share with studies is loaded only then."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.options import option
from truebench_hf.study.options import PromptOptions


@dataclass(frozen=True, kw_only=True)
class ShowOptions(PromptOptions):
    """Which prompt is shown, and how."""

    name: str = option(help="Name of a prompt, as in `truebench prompts list`.", argument=True)
    source: bool = option(False, help="The template itself, to begin one of your own with.")
    structured: bool = option(False, help="As it is asked with a JSON schema.")
    reasoning: bool = option(True, help="As it is asked with or without reasons.")
