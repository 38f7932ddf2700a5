"""What a results data set on the Hub holds already of the models, revisions and tasks that are about to be pushed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.hub.check import lost_scores
from truebench_hf.hub.layout import RESULTS, is_result
from truebench_hf.hub.mistakes import hub_errors, name_and_revision
from truebench_hf.hub.repository import hub_api

_RUN = re.compile(r"runs/([\w-]+)")


def former(staged: Path, repo_id: str, revision: str | None, *, replace: bool) -> tuple[str, ...]:
    """Patterns of the files of runs whose place the staged one takes: one model, revision and task stand once.

    Raises UserError where there is such a run and it is not to `replace` it, where it holds results of others as well,
    and where the same run would lose scores.
    """
    new = {path.relative_to(staged).as_posix(): path for path in (staged / RESULTS).glob("*/*/*.json")}
    new = {name: path for name, path in new.items() if is_result(name)}
    with hub_errors(repo_id):
        place = _place(repo_id, revision)
        there = [name for name in _files(repo_id, place) if is_result(name)] if new else []
        old = {name: _content(repo_id, name, place) for name in there if name in new}
        runs: dict[str, str] = {}
        for name, content in old.items():
            ours = jsonl.parsed(new[name].read_bytes(), name)
            if content.get("run") != ours["run"]:
                runs.setdefault(str(content.get("run")), name)
            elif gone := lost_scores(content, ours):
                raise UserError(f"{name}: {repo_id} has {', '.join(gone)} of it too, which would be lost")
        if runs and not replace:
            run, name = next(iter(runs.items()))
            raise UserError(
                f"{repo_id} has {name} already, by {run} of {old[name].get('date') or 'a day not told'}; a model, revision "
                "and task stand there once: add --replace to put this run in its place"
            )
        return tuple(pattern for run in runs for pattern in _patterns(repo_id, run, place, there, new))


def fetched(place: str | Path) -> Path:
    """A results data set in a folder: one that is there, or a copy of `ORG/NAME[@REVISION]`. Raises UserError."""
    from huggingface_hub import snapshot_download

    if (folder := Path(place).expanduser()).is_dir():
        return folder
    if str(place).count("/") != 1:
        raise UserError(f"{place}: no such folder; give a checkout of the results data set, or ORG/NAME[@REVISION]")
    name, revision = name_and_revision(str(place), "PLACE")
    with hub_errors(name, reads=True):
        # The commit first: without the Hub `snapshot_download` is content with what it fetched some other day.
        commit = hub_api().repo_info(name, repo_type="dataset", revision=revision or None).sha
        return Path(snapshot_download(name, repo_type="dataset", revision=commit))


def _patterns(repo_id: str, run: str, place: str | None, there: Collection[str], new: Collection[str]) -> list[str]:
    """The files of a run that goes. Raises UserError where results are left that only it has."""
    found = _RUN.fullmatch(run)
    if found is None:
        raise UserError(f"{repo_id}: a file of results names {run!r}, which is no run there; mend it on the Hub first")
    for name in there:
        if name not in new and _content(repo_id, name, place).get("run") == run:
            raise UserError(f"{repo_id}: {run} holds {name} too, which would go with it; publish a run that has both")
    return [f"{run}/*", f"index/{found[1]}.jsonl"]


def _place(repo_id: str, revision: str | None) -> str | None:
    """The branch to look at: one that is yet to be made starts as main."""
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        hub_api().repo_info(repo_id, repo_type="dataset", revision=revision)
    except RevisionNotFoundError:
        return None
    except Exception as error:
        if not _absent(error):
            raise
    return revision


def _files(repo_id: str, place: str | None) -> list[str]:
    """The paths below `results/`; none where the repository is yet to be made."""
    try:
        every = hub_api().list_repo_files(repo_id, repo_type="dataset", revision=place)
    except Exception as error:
        if not _absent(error):
            raise
        return []
    return [name for name in every if name.startswith(f"{RESULTS}/")]


def _absent(error: Exception) -> bool:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    return isinstance(error, RepositoryNotFoundError) and not isinstance(error, GatedRepoError)


def _content(repo_id: str, name: str, place: str | None) -> Mapping[str, Any]:
    file = hub_api().hf_hub_download(repo_id, name, repo_type="dataset", revision=place)
    content = jsonl.parsed(Path(file).read_bytes(), f"{repo_id}, {name}")
    return content if isinstance(content, dict) else {}
