"""The six `evaluate` modules, each a folder that `evaluate.load` takes, and what they share."""

from __future__ import annotations

from pathlib import Path

from truebench_hf.errors import unknown

_FOLDER = Path(__file__).parent


def module_folder(name: str) -> Path:
    """Return the folder of the module of this name. Raises UserError on an unknown name."""
    names = sorted(path.name for path in _FOLDER.iterdir() if (path / f"{path.name}.py").is_file())
    if name not in names:
        raise unknown("metric", name, names)
    return _FOLDER / name
