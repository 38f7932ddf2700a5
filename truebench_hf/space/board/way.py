"""The way a run was judged: what must be equal for two runs to be ranked together, and how it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from truebench_hf.hub.public import public
from truebench_hf.judging.judge import LEVELS, JudgeSettings
from truebench_hf.prompts import Prompts, names, variants
from truebench_hf.space.board import shown

_PARTS = ("protocol", "cascade_judge", "panel", "prompts")
# Provider options about where and how fast a judge is asked, not about what it answers. Any other counts.
_REACHING = frozenset((
    "base_url", "api_key_env", "timeout", "attempts", "deadline", "device", "batch_size", "gpu_memory_utilization",
    "kv_cache_gib", "tensor_parallel_size", "enforce_eager", "prefix_caching", "record",
))  # fmt: skip
_LONGEST = 48  # characters of one thing said


def shaping(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's settings shaped its verdicts, beside data and the judge's name; equal for its published copy.

    A part that the settings do not tell is None: unknown, and so equal to none that is told. Within `judging` defaults
    are left out, since a run from before an option was there was judged as one that does not use it. Provider options
    are taken as they were said, which older runs note, too; `judge_options` would part those from new ones.
    """
    told = public({"settings": settings})["settings"]
    parts = {name: told.get(name) for name in _PARTS}
    parts |= {name: _arguments(told.get(name)) for name in ("judge_arg", "cascade_arg")}
    return parts | {"judging": _unusual(told["judging"]) if told.get("judging") else None}


def words(settings: Mapping[str, Any]) -> str:
    """The level, and behind it what is not as usual: `checklist, 5 votes, official rule`. Nothing without a level."""
    parts = shaping(settings)
    judging = dict(parts["judging"] or {})
    if not (level := judging.pop("level", None)):
        return ""
    said = [str(level), *(_said(name, value) for name, value in judging.items())]
    if parts["cascade_judge"] and settings["cascade_judge"] != settings["judge"]:
        said.append(f"then {shown.name(settings['cascade_judge'])}")
    if breaker := (settings.get("panel") or {}).get("tie_breaker"):
        said.append(f"ties to {shown.name(breaker)}")
    said += [*(parts["judge_arg"] or ()), *(f"then {text}" for text in parts["cascade_arg"] or ())]
    said += _prompts(parts["prompts"])
    if parts["protocol"] == "official":
        said.append("official rule")
    return ", ".join(shown.scrub(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…") for text in said)


def _arguments(given: Sequence[str] | None) -> list[str] | None:
    """Provider options (`k=v`, for a judge of a panel `N.k=v`) that shape answers, in one order."""
    if given is None:
        return None
    return sorted(text for text in given if re.sub(r"^\d+\.", "", text.partition("=")[0].strip()) not in _REACHING)


def _unusual(judging: Mapping[str, Any]) -> dict[str, Any]:
    """The level, and what is not the default of that level."""
    level = judging.get("level")
    usual = _flat(json.loads(json.dumps(asdict(JudgeSettings(level=level if level in LEVELS else "checklist")))))
    return {"level": level} | {k: v for k, v in _flat(judging).items() if k != "level" and v != usual.get(k)}


def _flat(judging: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in judging.items() if name != "sampling"}, **judging.get("sampling", {})}


def _said(name: str, value: Any) -> str:
    known = {
        "votes": f"{value} votes",
        "reasoning": "no reasoning",
        "calibrator": "calibrated",
        "cascade_level": f"then {value}",
        "max_tokens": f"up to {value} tokens",
    }
    if name == "abstain_band":
        return f"band {' to '.join(map(str, value or ()))}"
    return known.get(name, f"{name.replace('_', ' ')} {value}")


def _prompts(hashes: Mapping[str, str] | None) -> list[str]:
    """What is to be said of the prompts: nothing of ours; of others a variant's name, or the beginning of the hash."""
    if hashes is None:
        return ["prompts unknown"]
    return [
        f"{name} prompt {variant or hashes[name][:4]}"
        for name in sorted(hashes)
        if (variant := _ours().get((name, hashes[name]))) != ""
    ]


@cache
def _ours() -> dict[tuple[str, str], str]:
    """The variant by name and hash of a prompt of ours, "" for the usual one."""
    usual = {(name, Prompts().hash(name)): "" for name in names()}
    return usual | {(name, Prompts({name: v}).hash(name)): v for name in names() for v in variants(name)}
