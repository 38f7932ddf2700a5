"""`truebench study prompts [NAME]`: what judges and writers are asked."""

from __future__ import annotations

from pathlib import Path

from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.official import write_official_prompts
from truebench_hf.loaders.card import table
from truebench_hf.options import option
from truebench_hf.prompts import about_prompts, example, names, variants
from truebench_hf.report.console import show
from truebench_hf.study.options import PromptOptions
from truebench_hf.text.terminal import say


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


def prompts(options: ShowOptions) -> None:
    """`truebench study prompts`."""
    if options.official:
        if not options.out:
            raise UserError("--official goes with --out: the folder for the prompts, one NAME.jinja each")
        written = write_official_prompts(Path(options.official), Path(options.out))
        say(" ".join(f"--prompt {name}={file}" for name, file in written.items()))
    elif options.name is None:
        about = about_prompts()
        rows = [(name, ", ".join(variants(name)) or "-", *about[name]) for name in names()]
        show([table("Prompts", ("name", "variants", "what it does", "who uses it"), rows)])
    else:
        _show(options, options.name)


def _show(options: ShowOptions, name: str) -> None:
    if name not in names():
        raise unknown("prompt", name, names())
    if options.source:
        say(options.prompts.source(name), end="")
        return
    kinds = {"kinds": list(RUBRIC_TYPES.values())} if name == "taxonomy" else {}
    say(example(name, options.prompts, structured=options.structured, reasoning=options.reasoning, **kinds))
