"""Instruction-following evaluation on the Hugging Face stack: five papers, one system.

`judge(...)` says whether a response meets criteria, `run(...)` scores a model, `tick(...)` compares models on any
prompts, `judge_agreement(...)` holds judges against labels, `checklist_reward(...)` trains a model, `build_data`,
`push_data` and `publish_*` put things on the Hub; nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from truebench_hf.version import __version__ as __version__

if TYPE_CHECKING:
    from truebench_hf.api.face import (
        build_data,
        check_results,
        publish_metric,
        publish_results,
        publish_space,
        push_data,
    )
    from truebench_hf.api.judge import Judge, Judgment, judge, model
    from truebench_hf.api.run import ajudge, arun, judge_agreement, run, tick
    from truebench_hf.errors import UserError
    from truebench_hf.evaluate_modules import metric
    from truebench_hf.integrations.rewards import checklist_reward
    from truebench_hf.loaders.prepare import load
    from truebench_hf.types import Criterion, Message

__all__ = (
    "Criterion", "Judge", "Judgment", "Message", "UserError", "ajudge", "arun", "build_data", "check_results", "checklist_reward", "judge", "judge_agreement", "load", "metric",
    "model", "publish_metric", "publish_results", "publish_space", "push_data", "run", "tick",
)  # fmt: skip
_PLACES = {
    "types": ("Criterion", "Message"),
    "errors": ("UserError",),
    "api.judge": ("Judge", "Judgment", "judge", "model"),
    "api.run": ("ajudge", "arun", "judge_agreement", "run", "tick"),
    "integrations.rewards": ("checklist_reward",),
    "evaluate_modules": ("metric",),
    "loaders.prepare": ("load",),
}
_MODULE = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """What the face offers is loaded when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'truebench_hf' has no attribute {name!r}")
    value = getattr(import_module(f"truebench_hf.{_MODULE.get(name, 'api.face')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
