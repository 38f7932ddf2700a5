"""What `truebench study calibrate` leaves for other runs: a decision judge's calibrator and threshold, in one file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.loading import COPIES, of_spec
from truebench_hf.prompts import Prompts

DECISION_PROMPTS = ("decision", "decision_question")


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
    cascade_judge: str = ""
    rules: str = "off"  # what the judge was told of measurements, and what it was not asked

    def band_for(self, judge: str) -> tuple[float, float] | None:
        """Return the band of a cascade with this reasoning judge; None where none was priced, and the usual one will do.

        Raises UserError where another judge was priced, and where no cascade paid.
        """
        if not self.cascade_judge:
            return None
        if self.cascade_judge != judge:
            raise UserError(
                f"--calibration has a band that was priced with the cascade judge {self.cascade_judge}, not with {judge}; "
                "name that one by --cascade-judge, or calibrate with this one"
            )
        if self.band is None:
            raise UserError(
                f"--calibration found no band that pays for a cascade with {judge}; judge at decision level, or by {judge} "
                "alone"
            )
        return self.band


def as_json(calibrated: Calibrated, prompts: Prompts) -> dict[str, Any]:
    """The part of `calibration.json` that `read_calibration` needs."""
    hashes = {name: prompts.hash(name) for name in DECISION_PROMPTS}
    more = {"prompts": hashes, "content": of_spec(calibrated.judge)}
    return json.loads(json.dumps(asdict(calibrated) | more))  # type: ignore[no-any-return]


def read_calibration(path: str, judge: str, prompts: Prompts, rules: str = "off") -> Calibrated:
    """Read a `calibration.json`, or the one in a folder, for a run with `judge`, `prompts` and this mode of rules.

    A judge in a local folder is the same wherever it was copied to with the times of its files, and another once they
    were written anew (`models.loading`). Raises UserError when it cannot be read, or was fitted for another judge,
    other prompts or another mode: probabilities of those mean something else.
    """
    file = Path(path) / "calibration.json" if Path(path).is_dir() else Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        band = tuple(map(float, content["band"])) if content["band"] else None
        calibrated = Calibrated(
            content["judge"], Calibrator.of_fields(content["calibrator"]), float(content["threshold"]), band,  # type: ignore[arg-type]
            str(content["cascade_judge"]), content["rules"],
        )  # fmt: skip
        hashes, calibrated_content = dict(content["prompts"]), str(content["content"])
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"--calibration {path}: cannot be read ({type(error).__name__}: {error})"
        raise UserError(f"{message}; give the calibration.json that `truebench study calibrate` wrote") from error
    here = of_spec(judge)
    copied = here and here == calibrated_content and calibrated.judge.partition(":")[0] == judge.partition(":")[0]
    changed = [name for name in DECISION_PROMPTS if hashes.get(name) != prompts.hash(name)]
    wrong = ""
    if calibrated.judge == judge and here != calibrated_content:
        wrong = f"before the files of {judge} were changed, or written anew; calibrate it again"
    elif calibrated.judge != judge and not copied:
        hint = f" ({COPIES})" if here and calibrated_content else ""
        wrong = f"for the judge {calibrated.judge}, not for {judge}; calibrate it{hint}"
    elif calibrated.rules != rules:
        wrong = f"with --rules {calibrated.rules}, not {rules}; calibrate it so"
    elif changed:
        wrong = f"with another prompt {changed[0]!r}; calibrate again"
    if wrong:
        raise UserError(f"--calibration {path}: was fitted {wrong}")
    return calibrated
