"""What `truebench study calibrate` leaves for other runs: a decision judge's calibrator and threshold, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.metrics.calibrators import Calibrator
from truebench_hf.models.fingerprint import COPIES, of_spec
from truebench_hf.prompts import Prompts
from truebench_hf.text.redaction import known

DECISION_PROMPTS = ("decision", "decision_question")


@dataclass(frozen=True)
class CascadeJudge:
    """A reasoning judge as it judges: its spec, level, prompts (hashes by name) and identity (`models.protocol`)."""

    judge: str
    level: str
    reasoning: bool
    prompts: Mapping[str, str]
    identity: Mapping[str, Any]


@dataclass(frozen=True)
class Calibrated:
    """A judge's calibrator, the threshold on calibrated probabilities, and the band that pays for a cascade, if known.

    `cascade_judge` is the reasoning judge that the band was priced with: it pays, or not, by what that one costs and
    gets right.
    """

    judge: str
    calibrator: Calibrator
    threshold: float
    band: tuple[float, float] | None = None
    cascade_judge: CascadeJudge | None = None
    rules: str = "off"  # what the judge was told of measurements, and what it was not asked


def as_json(calibrated: Calibrated, prompts: Prompts) -> dict[str, Any]:
    """The part of `calibration.json` that `read_calibration` needs."""
    hashes = {name: prompts.hash(name) for name in DECISION_PROMPTS}
    more = {"prompts": hashes, "content": of_spec(calibrated.judge)}
    return json.loads(json.dumps(asdict(calibrated) | more))  # type: ignore[no-any-return]


def read_calibration(path: str, judge: str, prompts: Prompts, rules: str = "off") -> Calibrated:
    """Read a `calibration.json`, or the one in a folder, for a run with `judge`, `prompts` and this mode of rules.

    A judge in a local folder is the same wherever it was copied to with the times of its files, and another once they
    were written anew (`models.fingerprint`). Raises UserError when it cannot be read, or was fitted for another judge, other prompts or another mode: probabilities of
    those mean something else.
    """
    file = Path(path) / "calibration.json" if Path(path).is_dir() else Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        calibrator = Calibrator.of_fields(content["calibrator"])
        found = Calibrated(content["judge"], calibrator, float(content["threshold"]))
        if content["band"]:
            low, high = map(float, content["band"])
            found = replace(found, band=(low, high), cascade_judge=CascadeJudge(**content["cascade_judge"]))
        hashes = dict(content["prompts"])
        found = replace(found, rules=content["rules"])
        there = str(content["content"])
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"--calibration {path}: cannot be read ({type(error).__name__}: {error})"
        raise UserError(f"{message}; give the calibration.json that `truebench study calibrate` wrote") from error
    here = of_spec(judge)
    copied = here and here == there and found.judge.partition(":")[0] == judge.partition(":")[0]
    if found.judge == judge and here != there:
        raise UserError(
            f"--calibration {path}: was fitted before the files of {judge} were changed, or written anew; calibrate it again"
        )
    if found.judge != judge and not copied:
        hint = f" ({COPIES})" if here and there else ""
        raise UserError(
            f"--calibration {path}: was fitted for the judge {found.judge}, not for {judge}; calibrate it{hint}"
        )
    if found.rules != rules:
        raise UserError(f"--calibration {path}: was fitted with --rules {found.rules}, not {rules}; calibrate it so")
    if changed := [name for name in DECISION_PROMPTS if hashes.get(name) != prompts.hash(name)]:
        raise UserError(f"--calibration {path}: was fitted with another prompt {changed[0]!r}; calibrate again")
    return found


def check_priced(path: str, fitted: Calibrated, now: Mapping[str, Any]) -> None:
    """Hold what a run knows of its cascade judge (fields of `CascadeJudge`) against the one the band was priced with.

    Raises UserError, in one line, on the first that differs: with another judge the band may not pay.
    """
    then = asdict(fitted)["cascade_judge"] or {}
    # As it was written: whatever is secret in it was masked.
    now = json.loads(known(json.dumps(now)))
    name = next((name for name in then if name in now and then[name] != now[name]), None)
    if name is None:
        return
    differs, remedy = _difference(name, then[name], now[name])
    raise UserError(
        f"--calibration {path}: its band was priced with the cascade judge {differs}; {remedy}, calibrate with this "
        "one, or give --abstain-band"
    )


def _difference(name: str, then: Any, now: Any) -> tuple[str, str]:
    """What of the cascade judge differs, and what would make it that one again."""
    if name == "judge":
        return f"{then}, not with {now}", "name that one by --cascade-judge"
    if name == "level":
        return f"at {then} level, not at {now}", f"ask it by --cascade-level {then}"
    if name == "reasoning":
        with_reasons, without = ("giving reasons", "--reasoning"), ("giving none", "--no-reasoning")
        (was, flag), (here, _) = (with_reasons, without) if then else (without, with_reasons)
        return f"{was}, not {here}", f"ask it by {flag}"
    if name == "prompts":
        changed = next(prompt for prompt in (*then, *now) if then.get(prompt) != now.get(prompt))
        return f"asked by another prompt {changed!r}", "give that one by --prompt"
    options = {**then, **then.get("options", {})}, {**now, **now.get("options", {})}
    changed = next(
        key for key in (*options[0], *options[1]) if key != "options" and options[0].get(key) != options[1].get(key)
    )
    was, here = (json.dumps(found.get(changed), ensure_ascii=False) for found in options)
    return f"with {changed} {was}, not {here}", "set that by --cascade-judge-arg"
