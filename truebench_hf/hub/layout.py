"""Results by model, revision and task, as mteb's repository has them: `results/{model}/{revision}/{task}.json`.

All of it follows from the published `run.json` of a run, so that it can be made again and compared (see `check`). What is
not known is null, and `missing` (or a score's `reason`) says why; nothing that is not known is 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.board import model_facts
from truebench_hf.hashing import canonical, digest
from truebench_hf.hub.tasks import task_of
from truebench_hf.models.providers import OPEN, unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.study.board import Board, Row
from truebench_hf.study.providers import identities, values
from truebench_hf.text import anonymous
from truebench_hf.types import Score

RESULTS, META = "results", "model_meta.json"
UNKNOWN = "no_revision_available"  # as mteb calls it
_SAMPLING = ("sampling", "temperature", "top_p", "repetition_penalty", "max_tokens")
_LONGEST = 80  # characters of a part of a path
_GIVEN = "answers were given, and nobody told who made them"
_NO_REVISION = "neither asked for nor told, or several are told"
_UNTOLD = "neither its name nor published facts tell"


@dataclass(frozen=True)
class _Model:
    """A model as results name it: without who provides it; None is what nobody told."""

    name: str
    revision: str | None
    provider: str | None
    why: str  # there is no revision
    spec: str
    asked: Mapping[str, Any]  # what shapes its answers

    @property
    def folder(self) -> str:
        """The folder of its results. Who runs it stands beside the revision, since scores differ between providers."""
        by = f"--{_safe(self.provider)}" if self.provider else ""
        return f"{RESULTS}/{_safe(self.name.replace('/', '__'))}/{_safe(self.revision or UNKNOWN)}{by}"


def results_of(run_id: str, info: Mapping[str, Any], board: Board) -> dict[str, dict[str, Any]]:
    """The files of a published run by path: one for each line of its board, and what is known of each model."""
    found: dict[str, dict[str, Any]] = {}
    for row in board.rows:
        model = _model(row, info)
        task = _task(row, board, info, model)
        while f"{model.folder}/{task}.json" in found:  # two local models of one name, say
            task += "-again"
        found[f"{model.folder}/{task}.json"] = _result(run_id, info, board, row, model, task)
        found[f"{model.folder}/{META}"] = _meta(model)
    return found


def is_result(path: str) -> bool:
    """Whether the file of a path below `results/` holds scores."""
    return path.endswith(".json") and not path.endswith(f"/{META}")


def scores_of_row(board: Board, row: Row) -> dict[str, dict[str, Any]]:
    """The scores of a line by column, null ones with the reason; those of the board's columns that it has."""
    titles = {c.name: (f"{c.group}: {c.title}" if c.group else c.title, c.percent) for c in board.columns}
    return {name: _score(score, *titles[name]) for name, score in row.scores.items() if name in titles}


def reason(score: Score) -> str | None:
    """Why a score has no value; None where it has one."""
    if score.value is not None:
        return None
    if score.n:
        return f"a part of it has nothing decided: {score.n} are decided, {score.unscored} are not"
    return f"none of {score.unscored} is decided" if score.unscored else "nothing of it was measured"


def _score(score: Score, title: str, share: bool) -> dict[str, Any]:
    low, high = score.ci95 or (None, None)
    said: dict[str, Any] = {"title": title, "share": share, "value": score.value, "n": score.n}
    said |= {"unscored": score.unscored, "low": low, "high": high}
    return said | ({"reason": why} if (why := reason(score)) else {})


def _result(run_id: str, info: Mapping[str, Any], board: Board, row: Row, model: _Model, task: str) -> dict[str, Any]:
    settings, versions, session = _object(info.get("settings")), _object(info.get("versions")), _last(info)
    data, _, revision = str(settings.get("data") or "").partition("@")
    release = task_of(str(settings.get("data_sha256")))
    told: dict[str, Any] = {
        "task": task, "kind": info["kind"], "model": model.name, "revision": model.revision,
        "provider": model.provider, "data": data or None, "data_revision": release[0] if release else revision or None,
        "data_sha256": settings.get("data_sha256"), "tool": "truebench-hf",
        "tool_version": versions.get("truebench-hf"), "date": session.get("finished"),
        "submitted": bool(info.get("submitted")), "run": f"runs/{run_id}", "line": row.name, "setting": row.setting,
        "asked": dict(model.asked), "facts": dict(row.facts), "main_score": board.main, "lower_is_better": board.order == "ascending",
        "scores": scores_of_row(board, row),
    }  # fmt: skip
    untold = "a submission tells of none" if told["submitted"] else "not noted"
    why = {
        "revision": model.why, "provider": _GIVEN, "data": "data of its own",
        "data_revision": "no release, and no revision of a data set was named; data_sha256 tells the rows",
        "data_sha256": "not noted", "tool_version": untold, "date": untold,
    }  # fmt: skip
    return told | {"missing": {name: text for name, text in why.items() if told[name] is None}}


def _meta(model: _Model) -> dict[str, Any]:
    """The same for every run of one model, revision and provider."""
    known = model_facts(model.spec)
    size, weights, licence = (known.get(name) for name in ("Size (B)", "Weights", "Licence"))
    told: dict[str, Any] = {
        "name": model.name, "revision": model.revision, "provider": model.provider,
        "parameters_b": float(size) if size else None, "weights": None if weights == "unknown" else weights,
        "licence": None if licence == "unknown" else licence,
    }  # fmt: skip
    why = {"revision": _NO_REVISION, "provider": _GIVEN}
    return told | {"missing": {name: why.get(name, _UNTOLD) for name, value in told.items() if value is None}}


def _model(row: Row, info: Mapping[str, Any]) -> _Model:
    asked = {anonymous.name(spec): found for spec, found in identities(_object(info.get("settings"))).items()}
    line, how = row.name.partition(", ")[::2]
    key, identity = asked.get(row.name) or asked.get(line) or ("", {})
    given = str(identity.get("provider") or "")
    provider = "not pinned" if given == OPEN else given.rpartition(":")[2] or None
    spec = unpinned(line, given)
    name = without_kind(spec) + (f", {how}" if how else "")
    revision, why = _revision(key, identity, info.get("served"))
    settings = _object(info.get("settings"))
    asked_so = {name: settings[name] for name in _SAMPLING if name in settings}
    if options := _object(identity.get("options")):
        asked_so["options"] = options
    return _Model(name, revision, provider, why, spec, asked_so)


def _revision(key: str, identity: Mapping[str, Any], told: Any) -> tuple[str | None, str]:
    """(the revision, why there is none): the one asked for, that of the weights, or what the model calls itself."""
    if named := identity.get("revision"):
        return str(named), ""
    asked = _last_part(str(identity.get("model") or ""))
    called = [one for one in values(told, key, "model") if _last_part(one) != asked]  # dated, say
    found = values(told, key, "revision") or called
    if len(found) == 1:
        return found[0], ""
    return None, f"answers tell of several: {', '.join(sorted(found))}" if found else "neither asked for nor told"


def _last_part(model: str) -> str:
    """A model's name without organisation, case and what stands behind a colon."""
    return model.rpartition("/")[2].partition(":")[0].casefold()


def _task(row: Row, board: Board, info: Mapping[str, Any], model: _Model) -> str:
    """Kind and data to be read, and a hash of all that makes results one and the same measurement: data, judge, way of
    judging, and how the model was asked (with thinking or without, say)."""
    settings = _object(info.get("settings"))
    release = task_of(str(settings.get("data_sha256")))
    data = "-".join(release) if release else row.facts.get("Data") or str(settings.get("data") or "data")
    # Lines of one model and setting (paradigms of a judge) differ in facts; what all have alike tells nothing.
    same = [other.facts for other in board.rows if (other.name, other.setting) == (row.name, row.setting)]
    apart = {name: said for name, said in row.facts.items() if any(facts.get(name) != said for facts in same)}
    own = info.get("content") if info.get("submitted") else None
    mark = digest(canonical([row.setting, apart, dict(model.asked), own]))[:8]
    return f"{_safe(info['kind'])}--{_safe(data)}--{mark}"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _last(info: Mapping[str, Any]) -> Mapping[str, Any]:
    sessions = info.get("sessions")
    return _object(sessions[-1]) if isinstance(sessions, list) and sessions else {}


def _safe(text: str) -> str:
    """A name as a part of a path, wherever it is checked out; names that such a part cannot hold stay apart by a hash."""
    plain = re.sub(r"[^A-Za-z0-9._]+", lambda m: m[0] if set(m[0]) == {"-"} else "-", text).strip("-.") or "unnamed"
    return plain if text.isascii() and len(plain) <= _LONGEST else f"{plain[:_LONGEST]}-{digest(text)[:8]}"
