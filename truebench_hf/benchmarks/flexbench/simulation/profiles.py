"""Kinds of users by how cooperative they are, and how they are fitted to an instruction (appendices D.1 and D.2)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from truebench_hf.benchmarks.flexbench.derivation.asking import ask_json, listed
from truebench_hf.errors import UserError
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence

BEHAVIOUR = ("communication_style", "information_disclosure", "problem_solving")  # what an instruction may change
PROMPTS = ("flex_analysis", "flex_adjust", "flex_user", "flex_end")


@dataclass(frozen=True)
class Profile:
    """One kind of user (figure 11). `score` is how cooperative, 1 to 5."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    cooperativeness: str
    score: int
    summary: str
    communication_style: str
    information_disclosure: str
    problem_solving: str
    goals: tuple[str, ...] = ()
    catchphrases: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """What an instruction is about, as its users would see it (appendix D.2)."""

    context: str
    topics: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()


def read_profiles(path: str | None = None) -> tuple[Profile, ...]:
    """The five kinds of users of ours, or those of a JSON file in the same form. Raises UserError with the place."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig") if path else _OURS.read_text(encoding="utf-8")
        rows = TypeAdapter(tuple[Profile, ...]).validate_json(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--profiles {path}: cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"--profiles {path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if not rows:
        raise UserError(f"--profiles {path}: holds none")
    return rows


_OURS = files("truebench_hf.benchmarks.flexbench") / "profiles.json"


class Adjusting:
    """Profiles fitted to one instruction. It is given the instruction's text alone: of the dimensions it knows nothing."""

    def __init__(self, caller: Caller, prompts: Prompts, instruction: str, sampling: Sampling) -> None:
        self.caller, self.prompts, self.instruction, self.sampling = caller, prompts, instruction, sampling

    async def analysis(self) -> Analysis | Problem:
        """What the instruction is about."""
        values = {"instruction": self.instruction, "tag": fence(self.instruction)}
        example = (
            '{"context": "' + "a talk on the telephone " * 4 + '", "topics": ["a", "b", "c"], "questions": ["d?"]}'
        )

        def read(value: dict[str, Any]) -> Analysis | Problem:
            context = value.get("context")
            if not isinstance(context, str) or not context.strip():
                return Problem("it has no context")
            lists = {
                name: tuple(listed(value.get(name))) for name in ("topics", "concerns", "terms", "questions", "goals")
            }
            return Analysis(context.strip(), **lists)

        return await ask_json(
            self.caller, self.prompts, "flex_analysis", values, read, sampling=self.sampling, example=example
        )

    async def adjusted(self, profile: Profile, analysis: Analysis) -> Profile | Problem:
        """The profile with its behaviour in this setting and one or two catchphrases more; goals and traits stay."""
        shown = [*asdict(profile).values(), *asdict(analysis).values()]
        values = {"profile": profile, "analysis": analysis, "tag": fence(*map(str, shown))}
        kept = {name: getattr(profile, name) for name in BEHAVIOUR} | {"catchphrases": ["How long does it take?"]}

        def read(value: dict[str, Any]) -> Profile | Problem:
            told: dict[str, Any] = {name: value.get(name) for name in BEHAVIOUR}
            if lacking := [name for name, text in told.items() if not isinstance(text, str) or not text.strip()]:
                return Problem(f"it has no {', '.join(lacking)}")
            phrases = [text for text in listed(value.get("catchphrases")) if text.strip()]
            if not 1 <= len(phrases) <= 2:
                return Problem(f"it has {len(phrases)} catchphrases, not one or two")
            return replace(profile, **told, catchphrases=(*profile.catchphrases, *phrases))

        return await ask_json(
            self.caller, self.prompts, "flex_adjust", values, read, sampling=self.sampling, example=json.dumps(kept)
        )


def user_prompt(prompts: Prompts, profile: Profile, analysis: Analysis | None, first: bool) -> str:
    """All that a simulator is told: the base prompt, one and the same for every instruction, and the profile."""
    return prompts.render("flex_user", profile=profile, analysis=analysis, first=first)
