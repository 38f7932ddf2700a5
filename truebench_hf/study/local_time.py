"""How long models that run in this process will take, told before they start: a large judge on a laptop takes days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truebench_hf.text.terminal import how_many
from truebench_hf.types import Usage

if TYPE_CHECKING:
    from truebench_hf.models.local import LocalModel
    from truebench_hf.study.study import Study

_FEW = 5_000  # tokens, for which no machine takes long


def local_time(study: Study[Any, Any, Any, Any]) -> list[str]:
    """Return a line for each local model of an opened study: what it is asked beyond what the folder holds, and how long
    that takes at the speed measured now.

    Nothing is said of less than a minute. Answers are reckoned as `--estimate` does; a model that is asked again takes longer.
    """
    local: dict[str, LocalModel] = {model.spec: model for model in study.roles.opened if hasattr(model, "speed")}  # type: ignore[misc]
    if not local:
        return []
    spent: dict[str, Usage] = {}
    for spec, usage in study.rehearsed():
        spent[spec] = spent.get(spec, Usage()) + usage
    lines = []
    for spec, usage in spent.items():
        if spec not in local or usage.input_tokens + usage.output_tokens < _FEW:
            continue
        read, written = local[spec].speed()
        minutes = (usage.input_tokens * read + usage.output_tokens * written) / 60
        if minutes >= 1:
            duration = f"{minutes:,.0f} minutes" if minutes < 180 else f"{minutes / 60:,.0f} hours"
            speed = f"{1 / read:,.0f} tokens a second read, {1 / written:,.0f} written"
            calls = how_many(usage.calls, "call")
            lines.append(f"{spec} runs on this machine: {calls}, some {duration} ({speed})")
    return lines
