"""Every option of `truebench space`, declared once; on the Hub they are read from variables TRUEBENCH_<NAME>."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.rules.deciding import MODES
from truebench_hf.models.spec import kinds, specs, takes_url
from truebench_hf.options import Options, is_list, option, pairs

# What only rates or classifies writes no answer and decides no criterion.
_NO_CHAT = ("reward", "hf-classifier")
_YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class SpaceOptions(Options):
    """What the Space reads, and which model it runs. What it allows a visitor stands in `limits`.

    Raises UserError on what can be seen to be wrong before anything is read or loaded.
    """

    runs: tuple[str, ...] = option((), help="Run folder, or a folder of run folders; may be repeated.")
    results: str | None = option(None, help="Results data set on the Hub: ORG/NAME or ORG/NAME@REVISION.")
    submit: bool = option(True, help="Whether visitors may submit runs (to the results data set, as pull requests).")
    model: str = option("smollm2", help="Playground model: smollm2, hf:, vllm: or openai: spec.")
    model_base_url: str | None = option(None, help="URL of the playground model's OpenAI-compatible server.")
    model_arg: tuple[str, ...] = option((), help="Provider option k=v for the playground model; may be repeated.")
    judge: str | None = option(None, help="Playground judge: a spec; the playground model itself by default.")
    judge_base_url: str | None = option(None, help="URL of the playground judge's OpenAI-compatible server.")
    judge_arg: tuple[str, ...] = option((), help="Provider option k=v for the playground judge; may be repeated.")
    rules: str = option(
        "decide", help="What can be counted in an answer: off, evidence or decide, as in `truebench run`."
    )

    def model_post_init(self, context: Any) -> None:
        if self.rules not in MODES:
            raise unknown("mode of rules", self.rules, MODES)
        for folder in self.runs:
            if not folder or not Path(folder).is_dir():
                raise UserError(f"--runs {folder}: no such folder; make it first if runs are to come")
        if self.results is not None:
            from truebench_hf.hub.push import name_and_revision

            name_and_revision(self.results, "--results")
        _check_model("--model", self.model, self.model_base_url, self.model_arg)
        if self.judge is not None:
            _check_model("--judge", self.judge, self.judge_base_url, self.judge_arg)
        elif self.judge_base_url or self.judge_arg:
            raise UserError("--judge-base-url and --judge-arg only go with --judge")


def from_environment(environment: Mapping[str, str] = os.environ) -> SpaceOptions:
    """The options a Space is configured with; lists are separated by commas.

    Raises UserError, naming the variable, on what cannot be read and on what the options themselves refuse.
    """
    values: dict[str, Any] = {}
    for name, field in SpaceOptions.model_fields.items():
        variable = f"TRUEBENCH_{name.upper()}"
        if text := environment.get(variable, "").strip():
            values[name] = text
            if is_list(field):
                values[name] = tuple(part.strip() for part in text.split(",") if part.strip())
            elif field.annotation is bool:
                if text.lower() not in _YES_OR_NO:
                    raise UserError(f"{variable}={text}: must be yes or no")
                values[name] = _YES_OR_NO[text.lower()]
    try:
        return SpaceOptions(**values)
    except UserError as error:
        named = re.sub(r"--([a-z][a-z-]+)", lambda flag: f"TRUEBENCH_{flag[1].upper().replace('-', '_')}", str(error))
        raise UserError(named) from error


def _check_model(flag: str, spec: str, base_url: str | None, arguments: tuple[str, ...]) -> None:
    kind, _, name = spec.partition(":")
    if spec != "smollm2" and (kind not in kinds() or kind in _NO_CHAT or not name):
        raise unknown(f"{flag} spec", spec, specs())
    if base_url is not None and not takes_url(spec):
        raise UserError(
            f"{flag}-base-url {base_url}: only goes with specs of servers such as openai:, not with {flag} {spec}"
        )
    pairs(arguments, f"{flag}-arg")
