"""Whose results may stand where: a test double's nowhere, a model's on its own page, unless the user insists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.models import models_of
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.models.loading import EMBEDDED
from truebench_hf.models.providers import unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.study.providers import identities


def check_real(run: str | Path, force: bool) -> None:
    """Raise UserError for a run in which a `scripted:` model answered or judged, unless forced."""
    info = read_info(Path(run))
    # Settings name who was asked; whose answers or conversations were given is told by the lines of the board.
    told = [info.get("settings", {}), info.get("board", {})]
    doubles = [text for text in _texts(told) if text.startswith("scripted:")]
    if doubles and not force:
        raise UserError(
            f"{run}: was made with {doubles[0]}, which answers by rules and is no model; add --force to publish it all "
            "the same"
        )


def of_page(run: str | Path, model_repo: str, force: bool) -> str:
    """The model of a run that the repository `ORG/MODEL` is of, of several the one; forced a lone model may be another.

    Raises UserError where there is none.
    """
    settings = read_info(Path(run)).get("settings", {})
    models = models_of(settings) if "model" in settings else [""]
    known = identities(settings)
    specs = {name: unpinned(name, str(known.get(name, ("", {}))[1].get("provider"))) for name in models}
    found = [name for name, spec in specs.items() if _is_of(spec, model_repo)]
    if len(found) == 1:
        return found[0]
    if force and len(models) == 1:
        return models[0]
    remedy = ", or add --force if they are the same" if len(models) == 1 else ""
    raise UserError(
        f"--model-repo {model_repo}: {run} is a run of {', '.join(specs.values())}; name the repository of "
        f"{'that model' if len(models) == 1 else 'one of them'}{remedy}"
    )


def _is_of(spec: str, model_repo: str) -> bool:
    """Whether a spec names the model of a repository: by name and organisation, or by name where no other is told."""
    if spec == "smollm2":
        spec = EMBEDDED
    name = without_kind(spec).partition("@")[0].rstrip("/").casefold()
    organisation, own = model_repo.casefold().split("/")
    *before, last = name.split("/")
    on_the_hub = len(before) == 1 and before[0] not in (".", "..", "~")  # else it is a folder, or a name alone
    return last == own and (not on_the_hub or before[0] == organisation)


def _texts(value: Any) -> Iterator[str]:
    """Every text in settings; a panel's name is those of its judges."""
    if isinstance(value, str):
        yield from value.split(" + ")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
