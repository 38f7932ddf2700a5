"""The six `evaluate` modules, each a folder that `evaluate.load` takes, and what they share."""

from __future__ import annotations

from pathlib import Path

from truebench_hf.errors import unknown

_FOLDER = Path(__file__).parent


def metric(name: str) -> str:
    """The folder of one of the `evaluate` modules, for `evaluate.load(truebench_hf.metric("rubric_agreement"))`.

    Works without network. Raises UserError on an unknown name.
    """
    names = sorted(path.name for path in _FOLDER.iterdir() if (path / f"{path.name}.py").is_file())
    if name not in names:
        raise unknown("metric", name, names)
    return str(_FOLDER / name)
