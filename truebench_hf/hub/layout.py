"""The one layout of a results data set: a folder for each run, in it a table that every tool reads.

    runs/RUN_ID/scores.parquet    a row per model and score, in `COLUMNS`: what the Hub's viewer and load_dataset show
    runs/RUN_ID/report.html       the tables of the study to be read
    runs/RUN_ID/run.json          what was run: settings, versions, models, and the board
    runs/RUN_ID/scores.json       the study's own figures (some studies call them otherwise)
    runs/RUN_ID/judgments.jsonl   of runs over instances with criteria every conversation with its verdicts

RUN_ID follows from what was measured (model, revision, provider, data, judge and way of judging), so that a measurement
has one place. What is not known is null, never 0, and `reason` says why a score has no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.data import slug as part_slug
from truebench_hf.data import jsonl
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.providers import OPEN, unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.report.page import page
from truebench_hf.report.table import Table, pairs, what_was_run
from truebench_hf.results.report import Report
from truebench_hf.study.notes import identities, served_values
from truebench_hf.study.ranking import Board, BoardRow
from truebench_hf.text import anonymous
from truebench_hf.types import Score

RUNS, TABLE, REPORT = "runs", "scores.parquet", "report.html"
# Of a table by name the type in Arrow.
COLUMNS = {
    "run": "string", "kind": "string", "model": "string", "revision": "string", "provider": "string", "judge": "string",
    "data": "string", "data_revision": "string", "data_sha256": "string", "setting": "string", "measurement": "string",
    "submitted": "bool", "finished": "string", "tool_version": "string", "score": "string", "title": "string",
    "main": "bool", "lower_is_better": "bool", "share": "bool", "value": "double", "low": "double", "high": "double",
    "n": "int64", "unscored": "int64", "reason": "string",
}  # fmt: skip
Rows = list[dict[str, Any]]
_FACTS = {
    "Kind": "kind", "Judge": "judge", "Data": "data", "SHA-256 of the data": "data_sha256", "Finished": "finished",
}  # fmt: skip

ALL = "all"
# By release and task of a benchmark's eval.yaml (the whole of it, each language, each category): the `data_hash` of its
# instances, so that a run tells what it is over.
PARTS: Mapping[str, Mapping[str, str]] = jsonl.parsed(
    Path(__file__).with_name("release_parts.json").read_bytes(), "release_parts.json"
)
_SAMPLING = ("sampling", "temperature", "top_p", "repetition_penalty", "max_tokens")


def table_of(run_id: str, info: Mapping[str, Any], board: Board | None, figures: Iterable[str] = ()) -> Rows:
    """The rows of a published run: one for each model and score of its board, or one that names the `figures`."""
    settings, session = _object(info.get("settings")), (info.get("sessions") or [{}])[-1]
    data, _, data_revision = str(settings.get("data") or "").partition("@")
    release = task_of(str(settings.get("data_sha256")))
    run = dict.fromkeys(COLUMNS) | {
        "run": run_id,
        "kind": info["kind"],
        "judge": " + ".join(models_named(settings, "judges", "judge")) or None,
        "data": data or None,
        "data_revision": release[0] if release else data_revision or None,
        "data_sha256": settings.get("data_sha256"),
        "submitted": bool(info.get("submitted")),
        "finished": session.get("finished"),
        "tool_version": _object(info.get("versions")).get("truebench-hf"),
    }
    if board is None:
        return [run | {"reason": f"scores no models; its figures are in {', '.join(figures)}"}]
    columns, rows = {column.name: column for column in board.columns}, []
    for row, measurement in zip(board.rows, measurements(info, board), strict=True):
        model, revision, provider, _ = _model(row, info)
        line: dict[str, Any] = run | {"model": model, "revision": revision, "provider": provider}
        line |= {"setting": row.setting, "measurement": measurement}
        if judge := row.facts.get("Judge"):
            line["judge"] = judge
        for column, score in ((columns[name], score) for name, score in row.scores.items() if name in columns):
            low, high = score.ci95 or (None, None)
            rows.append(line | {
                "score": column.name, "title": f"{column.group}: {column.title}" if column.group else column.title,
                "main": column.name == board.main, "lower_is_better": board.order == "ascending",
                "share": column.percent, "value": score.value, "low": low, "high": high, "n": score.n,
                "unscored": score.unscored, "reason": reason(score),
            })  # fmt: skip
    clean: Rows = json.loads(json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace"))  # no half characters
    return clean


def measurements(info: Mapping[str, Any], board: Board) -> list[str]:
    """What is measured in each line of a board, as a hash: equal for the same model, data, judge and way of judging.

    A submission is a measurement of its own: two people may hand in runs of one model.
    """
    own, hashes = info.get("content") if info.get("submitted") else None, []
    for row in board.rows:
        # Lines of one model and setting (paradigms of a judge) differ in facts; what all have alike tells nothing.
        same = [other.facts for other in board.rows if (other.name, other.setting) == (row.name, row.setting)]
        apart = {name: fact for name, fact in row.facts.items() if any(facts.get(name) != fact for facts in same)}
        hashes.append(digest(canonical([info["kind"], row.setting, apart, own, *_model(row, info)]))[:12])
    return hashes


def run_name(*parts: str, content: object) -> str:
    """The id of a run: what it is to be called by, and a hash of what makes it one and the same."""
    return "--".join([*map(slug, parts), digest(canonical(content))[:10]])


def slug(text: str) -> str:
    """A model or a judge as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", anonymous.name(text)).strip("-").lower()[:60] or "unnamed"


def write_table(rows: Rows, file: Path) -> None:
    """Write the table of a run as Parquet."""
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    schema = pyarrow.schema([(name, pyarrow.type_for_alias(type_)) for name, type_ in COLUMNS.items()])
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema), file)


def read_table(file: Path) -> Rows:
    """The table of a run. Raises ValueError, with the columns that are wrong, where it has other ones than `COLUMNS`."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    types = {field.name: str(field.type) for field in table.schema}
    if wrong := sorted(name for name in types.keys() | COLUMNS if types.get(name) != COLUMNS.get(name)):
        raise ValueError(f"has other columns than a table of scores: {', '.join(wrong)}")
    rows: Rows = table.to_pylist()
    return rows


def report_page(rows: Rows, tables: Sequence[Table], board: Board | None, notes: Sequence[str] = ()) -> Iterator[str]:
    """The page of a run: the tables of its study, and the facts that its board tells of each model."""
    facts = [pairs(row.name, list(row.facts.items())) for row in (board.rows if board else ()) if row.facts]
    run_facts = {title: str(rows[0][name] or "") for title, name in _FACTS.items()}
    yield from page(f"Results: {rows[0]['run']}", [*tables, *facts, *what_was_run(run_facts)], notes=notes)


def task_of(data_sha256: str) -> tuple[str, str] | None:
    """(release, task) of the data with this hash; None where it is neither a whole release nor one of its tasks."""
    parts = ((release, task, part) for release, tasks in PARTS.items() for task, part in tasks.items())
    return next(((release, task) for release, task, part in parts if part == data_sha256), None)


def scores_by_task(task: str, report: Report) -> dict[str, Score]:
    """The scores by task that a run over one of them gives: over the whole, those of every task."""
    scores = {task: report.scores["overall"]}
    if task == ALL:
        groups = [report.scores.get(name, {}) for name in ("by_language", "by_category")]
        scores |= {part_slug(name): s for group in groups if isinstance(group, Mapping) for name, s in group.items()}
    return {name: score for name, score in scores.items() if isinstance(score, Score) and score.value is not None}


def models_named(settings: Mapping[str, Any], *roles: str) -> list[str]:
    """The models that settings name in these roles."""
    named = [settings.get(role) for role in roles]
    each = [name for value in named if value for name in (value if isinstance(value, list | tuple) else [value])]
    return list(dict.fromkeys(map(str, each)))


def reason(score: Score) -> str | None:
    """Why a score has no value; None where it has one."""
    if score.value is not None:
        return None
    if score.n:
        return f"a part of it has nothing decided: {score.n} are decided, {score.unscored} are not"
    return f"none of {score.unscored} is decided" if score.unscored else "nothing of it was measured"


def _model(row: BoardRow, info: Mapping[str, Any]) -> tuple[str, str | None, str | None, Mapping[str, Any]]:
    """(name, revision, provider, what shapes the answers) of the model of a line; None is what nobody told."""
    settings = _object(info.get("settings"))
    known = {anonymous.name(spec): (spec, identity) for spec, (_, identity) in identities(settings).items()}
    spec, _, how = row.name.partition(", ")
    key, identity = known.get(row.name) or known.get(spec) or ("", {})
    provider_spec = str(identity.get("provider") or "")
    provider = "not pinned" if provider_spec == OPEN else provider_spec.rpartition(":")[2] or None
    name = without_kind(unpinned(spec, provider_spec)) + (f", {how}" if how else "")
    sampling = {option: settings[option] for option in _SAMPLING if option in settings}
    if options := _object(identity.get("options")):
        sampling["options"] = options
    # The revision that was asked for, that of the weights, or the dated name by which the model calls itself.
    served, own = info.get("served"), _last_part(str(identity.get("model") or ""))
    named = [dated for dated in served_values(served, key, "model") if _last_part(dated) != own]
    served_as = served_values(served, key, "revision") or named
    revision = identity.get("revision") or (served_as[0] if len(served_as) == 1 else None)
    return name, revision and str(revision), provider, sampling


def _last_part(model: str) -> str:
    """A model's name without organisation, case and what stands behind a colon."""
    return model.rpartition("/")[2].partition(":")[0].casefold()


def _object(content: Any) -> Mapping[str, Any]:
    return content if isinstance(content, Mapping) else {}
