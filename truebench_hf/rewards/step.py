"""What one call of a reward function came to: rewards, reasons, and how far a held-out judge drifts from the judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from truebench_hf.errors import write_error
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.types import Verdict


@dataclass(frozen=True, slots=True)
class Scored:
    """One completion: its reward, why it is what it is, and the reward that the held-out judge would have given."""

    reward: float | None
    reason: str
    held_out: float | None = None


def why(verdicts: Sequence[Verdict]) -> str:
    """In short what a reward rests on: the criteria that fail, and those that are open with the reason for it."""
    told = [(outcome(one.label, one.criterion.weight), one) for one in verdicts]
    failed = [f"failed: {one.criterion.text}" for label, one in told if label == "no"]
    undecided = [f"open: {one.criterion.text} ({one.reason})" for label, one in told if label not in ("yes", "no")]
    return "; ".join([*failed, *undecided]) or "all met"


@dataclass(frozen=True)
class Step:
    """A batch of completions, in order."""

    scored: Sequence[Scored]
    held_out: bool = False  # whether there is such a judge

    @property
    def rewards(self) -> list[float | None]:
        """What the trainer gets."""
        return [one.reward for one in self.scored]

    def metrics(self) -> dict[str, float]:
        """Means over the batch: the share that was not judged, and with a held-out judge three more.

        `judge` and `held_out` are the mean rewards of the completions that both have judged, `gap` is the first less the
        second. Absent where there are none, since a mean of nothing is no number.
        """
        if not self.scored:
            return {}
        found = {"not_judged": sum(one.reward is None for one in self.scored) / len(self.scored)}
        both = [
            (one.reward, one.held_out) for one in self.scored if one.reward is not None and one.held_out is not None
        ]
        if both:
            judge, held_out = (fmean(values) for values in zip(*both, strict=True))
            found |= {"judge": judge, "held_out": held_out, "gap": judge - held_out}
        return found

    def tell(self, name: str, columns: Mapping[str, Any], log: Path | None) -> None:
        """Log it: by the trainer's `log_metric` and `log_extra` where it offers them, and as a line of `log`."""
        metrics = self.metrics()
        if callable(log_metric := columns.get("log_metric")):
            for key, value in metrics.items():
                log_metric(f"{name}/{key}", value)
        if callable(log_extra := columns.get("log_extra")):
            log_extra(f"{name}_reason", [one.reason for one in self.scored])
            if self.held_out:  # in every batch: the trainer makes a table of them
                log_extra(f"{name}_held_out", [one.held_out for one in self.scored])
        if log is not None and self.scored:
            known = [one.reward for one in self.scored if one.reward is not None]
            counts = {"n": len(self.scored), "judged": len(known), "reward": fmean(known) if known else None}
            step = getattr(columns.get("trainer_state"), "global_step", None)
            _append(log, {"step": step, "name": name} | counts | metrics)


def _append(path: Path, line: Mapping[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:  # one short write: several processes may share the file
            file.write(json.dumps(line) + "\n")
    except OSError as error:
        raise write_error(f"log {path}", error) from error
