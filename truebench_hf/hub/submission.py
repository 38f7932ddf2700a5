"""A submitted `judgments.jsonl`, which anybody may have written: checked line by line, its scores computed again."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.data import jsonl
from truebench_hf.data.catalogue import MINI
from truebench_hf.data.judged import Judged, by_instance
from truebench_hf.data.records import Reader
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import ALL, task_of
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.report.sections import interval, percent
from truebench_hf.results.report import Report, score_tables
from truebench_hf.text.terminal import HALF
from truebench_hf.types import Instance, Score

MAX_BYTES = 200 * 2**20  # v0.6.1 answered at length is about 50 MB
MAX_NAME = 500  # characters


@dataclass(frozen=True)
class Submission:
    """A file that passed: its judged instances and the scores they give.

    `data` names the data when its hash is that of a known release or of `mini`, else None. `data_sha256` is over the
    instances as the file tells them. `notes` are what a person should know before merging.
    """

    model: str
    judge: str
    judged: Sequence[Judged]
    report: Report
    data: str | None
    data_sha256: str
    notes: tuple[str, ...] = ()

    @property
    def computed(self) -> dict[str, str]:
        """What follows from the verdicts, by name, to be read."""
        overall = self.report.scores["overall"]
        assert isinstance(overall, Score)
        return {
            "Pass rate in %": "undefined" if overall.value is None else percent(overall.value),
            "95 % interval": interval(overall),
            "n": f"{overall.n:,}",
            "Unscored": f"{overall.unscored:,}",
            "Data": self.data or "not the whole of a known release",
            "Data SHA-256": self.data_sha256,
        }


def validate(
    path: str | Path,
    *,
    name: str = "judgments.jsonl",
    claimed: Sequence[Mapping[str, Any]] | None = None,
    provenance: Mapping[str, Any] | None = None,
    model: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Submission:
    """Check a submitted file. Raises UserError with one line that shows `name`, never the path.

    With `claimed` (the rows of the table `scores` of one model) the scores computed again must equal it; `provenance` is that
    of the run, on which pass rule and notes depend. Every row's own `passed` must follow from its verdicts; all rows are of
    one model and one judge; no instance stands twice. Of the file of a run of several models the rows of `model` are taken.
    """
    if not name.endswith(".jsonl"):
        raise UserError(f"{name}: give a judgments.jsonl, as a run folder holds it")
    try:
        with Path(path).open("rb") as file:
            content = file.read(max_bytes + 1 if model is None else -1)
    except OSError as error:
        # The error's own text would show the path.
        raise UserError(f"{name}: cannot be read ({type(error).__name__})") from None
    if model is None and len(content) > max_bytes:
        raise UserError(f"{name}: larger than {max_bytes / 2**20:g} MiB")
    judged, judge = _judged(content, name, model)
    instances = [samples[0].instance for samples in by_instance(judged)]
    if provenance and by_rules(judged) and (provenance.get("judging") or {}).get("rules") != "decide":
        raise UserError(f"{name}: rules decided some of it, of which run.json does not tell; judge the run again")
    data_sha256, notes = data.data_hash(instances), []
    known = known_data(data_sha256)
    if known is None:
        notes.append("The instances are not the whole of a known release; they were taken as the file tells them.")
    if unscored := sum(item.passed is None for item in judged):
        unit = "instances" if len(instances) == len(judged) else "samples"
        notes.append(f"{unscored:,} of {len(judged):,} {unit} are unscored.")
    report = score(judged, provenance={**(provenance or {}), "model": judged[0].response.model, "judge": judge})
    if claimed is not None:
        check_scores(report, claimed)
    return Submission(judged[0].response.model, judge, judged, report, known, data_sha256, tuple(notes))


def by_rules(judged: Sequence[Judged]) -> bool:
    """Whether rules decided any criterion: such a run is never ranked with those that a judge alone decided."""
    return any(verdict.judge == JUDGE for item in judged for turn in item.verdicts for verdict in turn)


def known_data(data_sha256: str) -> str | None:
    """The name of the release, or `mini`, whose whole has this data hash."""
    if data_sha256 == data.data_hash(data.load(str(MINI))):
        return "mini"
    release, task = task_of(data_sha256) or (None, ALL)
    return release if task == ALL else None


def check_scores(report: Report, claimed: Sequence[Mapping[str, Any]]) -> None:
    """Compare claimed rows of scores with those of a report. Raises UserError on the first that differs.

    Intervals depend on the version of a library and are left out.
    """
    ours, theirs = _numbers(score_tables({"": report})[0].rows), _numbers(claimed)
    for place in dict.fromkeys((*ours, *theirs)):
        if ours.get(place) != theirs.get(place):
            raise UserError(
                f"scores: {place} is given as {theirs.get(place)}, but the judgments give {ours.get(place)}; score the "
                "run again"
            )


def _numbers(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Value, n and unscored of scores by their place: `by_category.Editing`."""
    numbers = {}
    for row in rows:
        score = row["score"] or Score(None, 0)
        value = round(score.value, 8) if isinstance(score.value, float) else score.value  # a file may hold anything
        numbers[".".join(filter(None, (row["group"], row["name"])))] = value, score.n, score.unscored
    return numbers


def _judged(content: bytes, name: str, model: str | None) -> tuple[list[Judged], str]:
    reader, rows = Reader(), dict[tuple[str, int], Judged]()
    instances: dict[str, Instance] = {}
    judges: set[tuple[str, str]] = set()
    for where, line in jsonl.lines(io.BytesIO(content), name):
        row = jsonl.parsed(line, where)
        item, judge = reader.judged(row, where)
        if model not in (None, item.response.model):
            continue
        judges.add((item.response.model, judge))
        if len(judges) > 1:
            raise UserError(f"{where}: another model or judge than in the lines before; submit one run of one model")
        if item.key in rows:
            raise UserError(f"{where}: instance {item.name[:60]!r} stands twice")
        if instances.setdefault(item.instance.id, item.instance) != item.instance:
            raise UserError(f"{where}: instance {item.instance.id[:60]!r} is another one than in a line before")
        _check_item(item, row, where)
        rows[item.key] = item
    if not rows:
        raise UserError(f"{name}: holds no judged instances")
    return list(rows.values()), next(iter(judges))[1]


def _check_item(item: Judged, row: Mapping[str, Any], where: str) -> None:
    """What one row says must hold together, and what stands in tables, links and names of files must be fit for them."""
    for field in ("id", "model", "judge", "language", "category", "task"):
        text = row[field]
        blank = field in ("id", "model", "judge") and not text.strip()
        if blank or len(text) > MAX_NAME or HALF.search(text):
            raise UserError(
                f"{where}: field {field!r} must be a text of at most {MAX_NAME} characters, none of them half a character "
                "(a lone surrogate)"
            )
    if row["passed"] is not item.passed:
        raise UserError(f"{where}: 'passed' is {row['passed']}, but its verdicts give {item.passed}")
    answers = len(item.response.answers)
    if not item.verdicts or answers > len(item.verdicts) or not any(item.verdicts):
        raise UserError(f"{where}: needs one list of verdicts per turn, and a criterion in some turn")
    if not all(verdict.criterion.text.strip() for turn in item.verdicts for verdict in turn):
        raise UserError(f"{where}: has a criterion without a text")
    roles = [message.role for message in item.response.messages if message.role != "system"]
    if roles[: 2 * answers] != ["user", "assistant"] * answers or roles[2 * answers :] not in ([], ["user"]):
        raise UserError(f"{where}: 'messages' must be user and assistant in turn")
    if any(verdict.label is not None for turn in item.verdicts[answers:] for verdict in turn):
        raise UserError(f"{where}: has a verdict on a turn without an answer")
