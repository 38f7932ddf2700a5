"""Several instructions side by side: models by instructions, and models by dimensions (figures 1, 14 and 15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from truebench_hf.benchmarks.flexbench.judgments import models_of, read_judged
from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import ModelScores, score_models
from truebench_hf.benchmarks.flexbench.sections import told
from truebench_hf.report.sections import Grid, Matrix, Section

_BOTH = {"coverage": "Coverage", "achievement": "Achievement"}


def sections(folders: Sequence[str]) -> list[Section]:
    """The tables of judged folders, each once. Raises UserError where one holds no judgments."""
    scored: dict[str, tuple[Procedure, Mapping[str, ModelScores]]] = {}
    read = {folder: read_judged(folder) for folder in dict.fromkeys(str(Path(one)) for one in folders)}
    ids = Counter(procedure.id for procedure, _ in read.values())
    for folder, (procedure, judged) in read.items():
        name = procedure.id if ids[procedure.id] == 1 else f"{procedure.id} ({folder})"  # files of one name, say
        scored[name] = procedure, {one.model: one for one in score_models(procedure, models_of(judged))}
    models = list(dict.fromkeys(model for _, found in scored.values() for model in found))
    shown: list[Section] = [_overview(scored, models)]
    for name, title in _BOTH.items():
        rows = tuple(
            (model, tuple(found[model].total[name] if model in found else None for _, found in scored.values()))
            for model in models
        )
        shown.append(Matrix(f"{title} by instruction", "%", tuple(scored), rows))
    for name, (procedure, found) in scored.items():
        for place, title in enumerate(_BOTH.values()):
            dims = tuple(one.id for one in procedure.dimensions)
            cells = tuple((model, tuple(one.dimensions[d][place] for d in dims)) for model, one in found.items())
            shown.append(Matrix(f"{title} by dimension: {name}", "%", dims, cells))
    return shown


def _overview(scored: Mapping[str, tuple[Procedure, Mapping[str, ModelScores]]], models: Sequence[str]) -> Grid:
    header = ("model", *(f"{name} {part}" for name in scored for part in ("C", "A")))
    rows = tuple(
        (model, *(told(found[model].total[name]) if model in found else "" for _, found in scored.values() for name in _BOTH))
        for model in models
    )  # fmt: skip
    return Grid(
        "Models by instructions, in percent", header, rows, note="C: Coverage, A: Achievement, with 95 % intervals."
    )
