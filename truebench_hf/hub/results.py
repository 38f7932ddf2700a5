"""A results data set: runs into it, submissions as pull requests, its check, and a copy of it.

The check: its tables fit, nothing stands twice, nothing vanished.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.results import KIND
from truebench_hf.data.catalogue import CATALOGUE, MINI, built
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.errors import UserError
from truebench_hf.hub import layout
from truebench_hf.hub.layout import RUNS, TABLE, Rows, task_of
from truebench_hf.hub.push import (
    HubOptions,
    Pushed,
    ResultsOptions,
    check_name,
    hub_api,
    hub_errors,
    name_and_revision,
    push_folder,
)
from truebench_hf.hub.staging import Staged, stage, stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.results.folder import Results
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import warn

_FILES = ["*run.json", "*judgments.jsonl"]
_PATIENCE = 10.0  # seconds
State = Literal["waiting", "merged", "refused"]
_STATES: dict[str, State] = {"open": "waiting", "draft": "waiting", "merged": "merged", "closed": "refused"}
# What else is asked of the data set, as by `publish --create-pr`, is no submission.
_TITLE = re.compile(r"Submission: (([a-z0-9-]+)--([a-z0-9-]+)--[0-9a-f]{10}) \(")
_LOOKED = 300  # pull requests that are looked through, newest first


def publish_run(options: ResultsOptions) -> Pushed:
    """Add a finished run to a results data set, as a folder for each of its models (see `layout`).

    The same run gives the same folder, so that publishing it again changes nothing. The scores of a run over instances
    with criteria are computed again from its judgments; of a study of another kind its figures are published. Paths,
    server addresses and keys are taken out. Raises UserError where the run does not hold together, is one of a scripted
    model without `force`, has scores there already that differ, which it may `replace`, or the Hub refuses; and where
    prompts and answers of no known benchmark would be seen by all, unless they are to be `public`.
    """
    run, repo_id = Path(options.run), str(options.repo_id)
    check_name(repo_id)
    if options.public and options.private:
        raise UserError("--public and --private: say one of the two")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        records = stage(run, folder)
        check_real(run, options.force)
        is_known = _is_known(Results.open(run), records)
        texts = (
            () if is_known else tuple(file.relative_to(folder).as_posix() for file in sorted(folder.rglob(JUDGMENTS)))
        )
        if not (is_known or options.public or options.private or options.dry_run):
            quoted = f"{', '.join(texts)} holds every prompt and answer" if texts else "its tables may quote it"
            raise UserError(
                f"{run}: its data is no known benchmark, and {quoted}; add "
                "--private for a private data set, or --public where everybody may read them"
            )
        has_card = False
        if not options.dry_run:
            if not options.replace:
                _check_new(records, repo_id)
            has_card = _present(repo_id, "README.md") is not None
        if not has_card:  # one that somebody has edited stays as it is
            card = Path(__file__).with_name("results_card.md").read_text("utf-8")
            (folder / "README.md").write_text(card.replace("THIS_REPOSITORY", repo_id), encoding="utf-8")
        run_ids = [record.run_id for record in records]
        pushed = push_folder(
            folder, repo_id, "dataset", options, message=f"Add run {' and '.join(run_ids)}",
            replace=[f"{RUNS}/{run_id}/*" for run_id in run_ids],
        )  # fmt: skip
        return replace(pushed, texts=texts)


def check_real(run: str | Path, force: bool) -> None:
    """Raise UserError for a run in which a `scripted:` model answered or judged, unless forced."""
    info = Results.open(run).info
    # Settings name who was asked; whose answers or conversations were given is told by the lines of the board.
    named = json.dumps([info.get("settings"), info.get("board")], ensure_ascii=False)
    double = re.search(r'(?<=")(?:[^"]* \+ )?(scripted:[^" ]+)', named)
    if double and not force:
        raise UserError(
            f"{run}: was made with {double[1]}, which answers by rules and is no model; add --force to publish it all "
            "the same"
        )


@dataclass(frozen=True)
class Checked:
    """How many runs and scores a results data set has, and what is wrong, a line each."""

    runs: int
    scores: int
    faults: tuple[str, ...]


def check_results(place: str | Path = ".", before: str | Path | None = None) -> Checked:
    """Check a results data set, a folder or `ORG/NAME[@REVISION]`: `truebench publish results --check` as a call.

    Every table has the columns of `layout`, it and the board in run.json are what the run gives, no score stands twice, and none of
    `before` is gone, as its main branch is for a pull request. Raises UserError where one of them is no results data
    set; `before` may be a new one, with its card alone.
    """
    folder, old = _fetched(place), None if before is None else _fetched(before)
    names = [path.name for path in old.iterdir()] if old else []
    # Of a new one nothing but the card was pushed yet: the first results come as a pull request, too.
    is_new = bool(names) and all(name == "README.md" or name[0] == "." for name in names)
    for checked, called in ((folder, str(place)), (None if is_new else old, f"--before {before}")):
        if checked and not (checked / RUNS).is_dir():
            raise UserError(
                f"{called}: no results data set there (it has no folder `{RUNS}`); give a checkout of one, or "
                "ORG/NAME[@REVISION]"
            )
    tables, faults = _read_tables(folder)
    for name, rows in tables.items():
        faults += _faults(folder / RUNS / name, rows)
    scores = _scores(tables)
    faults += [f"{score}: stands twice" for score, times in scores.items() if times > 1]
    stood = _scores(_read_tables(old)[0]) if old else ()
    faults += [f"{score}: is gone; it stood there before" for score in stood if score not in scores]
    return Checked(len(tables), sum(map(len, tables.values())), tuple(faults))


class ResultsCopy:
    """`folder` is the copy read last (None before the first), `stale` tells visitors since when it is out of reach."""

    def __init__(self, repo: str) -> None:
        """`repo` is a data set's id, `ORG/NAME[@REVISION]`."""
        self._name, _, self._revision = repo.partition("@")
        self.folder: Path | None = None
        self.stale = ""

    def renew(self) -> None:
        """Bring the copy up to date. Never raises: what was there stays, and the operator is told why, once."""
        wanted: Any = {"repo_type": "dataset", "revision": self._revision or None, "allow_patterns": _FILES}
        try:
            from huggingface_hub import HfApi, snapshot_download
            from huggingface_hub.utils.tqdm import disable_progress_bars

            disable_progress_bars()  # the log would fill with them
            # Asked first, since the download takes an old copy in silence where the Hub does not answer.
            commit = HfApi().dataset_info(self._name, revision=wanted["revision"], timeout=_PATIENCE).sha
            if self.folder is None or self.folder.name != commit:
                self.folder = Path(snapshot_download(self._name, **wanted))
                if self.folder.name != commit:
                    raise OSError(f"commit {commit} was announced and not sent")
            self.stale = ""
        except Exception as error:  # the client has many errors of its own; all mean: keep what we have
            if not self.stale:
                since = time.strftime("%H:%M UTC on %Y-%m-%d", time.gmtime())
                self.stale = f"The results data set could not be reached since {since}."
                text = " ".join(str(error).split())[:300]
                warn(f"board: results {self._name}: {type(error).__name__}: {text}")
            if self.folder is None:
                with suppress(Exception):  # what an earlier process has downloaded: there is nothing else to show
                    self.folder = Path(snapshot_download(self._name, local_files_only=True, **wanted))


class AlreadyThere(UserError):
    """The run that was submitted is in the data set already."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A pull request with a run; model and judge as a folder's name has them."""

    num: int
    model: str
    judge: str
    state: State
    url: str
    opened: datetime
    run_id: str = ""


def submit(judgments: str | Path, repo_id: str) -> Pushed:
    """Queue a submitted `judgments.jsonl` as a pull request to a results data set; it must pass `validate` first.

    A file that waits already is not queued twice: then `Pushed.new` is False and `url` that of the waiting request.
    Raises AlreadyThere, a UserError, for a file whose run is in the data set.
    """
    check_name(repo_id)
    checked = validate(judgments)
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_file(checked, Path(folder))
        with hub_errors(repo_id):
            if hub_api().file_exists(repo_id, f"{RUNS}/{staged.run_id}/{TABLE}", repo_type="dataset"):
                raise AlreadyThere(f"{staged.run_id} is already in {repo_id}")
            queue = (pull for pull in _listed(repo_id) if pull.state == "waiting")
            waiting = next((pull.url for pull in queue if pull.run_id == staged.run_id), None)
        return push_folder(
            Path(folder), repo_id, "dataset", HubOptions(create_pr=True), message=f"Submission: {staged.run_id}",
            description=describe(staged), create=False, waiting=waiting,
        )  # fmt: skip


def describe(staged: Staged) -> str:
    """What the person who decides on a submission should know, as Markdown: what is claimed, and what was computed."""
    checked = staged.checked
    claimed = {"Model": anonymous.name(checked.model), "Judge": anonymous.name(checked.judge)}
    return "\n".join(
        [
            "**Claimed by the submitter, and checked by nobody:** that this model gave these answers and this judge "
            "these verdicts.\n",
            # A stranger's text as code, so that it can hold no link, image or mention.
            *(f"- {name}: `{' '.join(text.replace('`', ' ').split())[:200]}`" for name, text in claimed.items()),
            "\n**Computed again from the verdicts in the file:**\n",
            *(f"- {name}: {text}" for name, text in checked.computed.items() if text),
            *(["\n**Notes**\n", *(f"- {note}" for note in checked.notes)] if checked.notes else []),
        ]
    )


def submissions(repo_id: str, most: int) -> tuple[Submitted, ...]:
    """The newest submissions to a data set, at most so many.

    Raises whatever the Hub's client raises, and waits for the Hub as long as that does: for ever.
    """
    return tuple(islice(_listed(repo_id), most))


def _read_tables(folder: Path) -> tuple[dict[str, Rows], list[str]]:
    """The table of every run of a results data set, and what cannot be read."""
    tables, faults = dict[str, Rows](), list[str]()
    for run in sorted((folder / RUNS).glob("*")):
        try:
            tables[run.name] = layout.read_table(run / TABLE)
        except FileNotFoundError:
            faults.append(f"{RUNS}/{run.name}: holds no {TABLE}")
        except (OSError, ValueError) as error:
            faults.append(f"{RUNS}/{run.name}: {TABLE} {' '.join(str(error).split())[:200]}")
    return tables, faults


def _faults(run: Path, rows: Rows) -> list[str]:
    """What is wrong with a run: values over nothing, and figures of its table and its board that its judgments do not give."""
    where = f"{RUNS}/{run.name}"
    empty = [row for row in rows if row["value"] is not None and not row["n"]]
    faults = [f"{where}: {row['score']}: a value over nothing; what is not known is null" for row in empty]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            (again,) = stage(run, Path(scratch))
            files = {path.name for path in Path(scratch, RUNS, again.run_id).iterdir()}
        stated = {TABLE: rows}
        if again.submission:  # the board of another study is what its table was made of
            results = Results.open(run)
            stated["run.json"] = layout.table_of(run.name, results.info, results.board) if results.board else []
    except (UserError, LookupError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).replace(f"{run}: ", "").split())
        return [*faults, f"{where}: cannot be laid out again: {reason[:200]}"]
    there = {path.name for path in run.iterdir()}
    faults += [f"{where}: holds no {name}" for name in sorted(files - there)]
    faults += [f"{where}/{name}: is no file of a run" for name in sorted(there - files)]
    if again.run_id != run.name:
        faults.append(f"{where}: is the run {again.run_id}")
    for file, held in stated.items():
        differing = sorted({f"{row['model']}, {row['score']}" for row in map(dict, _plain(held) ^ _plain(again.rows))})
        faults += [f"{where}: {file}: {score}: is not what the run gives" for score in differing]
    return faults


def _plain(rows: Rows) -> set[tuple[tuple[str, Any], ...]]:
    """Rows without the ends of intervals, which depend on the version of a library, and with rounded values."""
    values = [None if row["value"] is None else round(row["value"], 8) for row in rows]
    left_out = dict.fromkeys(("run", "low", "high"))
    return {tuple((row | left_out | {"value": value}).items()) for row, value in zip(rows, values, strict=True)}


def _scores(tables: Mapping[str, Rows]) -> Counter[str]:
    """The scores of all tables, each as `model, score, measurement`."""
    rows = [row for rows in tables.values() for row in rows if row["score"]]
    return Counter(", ".join(filter(None, (row["model"], row["score"], row["measurement"]))) for row in rows)


def _fetched(place: str | Path) -> Path:
    """A results data set in a folder: one that is there, or a copy of `ORG/NAME[@REVISION]`. Raises UserError."""
    from huggingface_hub import snapshot_download

    if (folder := Path(place).expanduser()).is_dir():
        return folder
    if str(place).count("/") != 1:
        raise UserError(f"{place}: no such folder; give a checkout of the results data set, or ORG/NAME[@REVISION]")
    name, revision = name_and_revision(str(place), "PLACE")
    with hub_errors(name):
        # The commit first: without the Hub `snapshot_download` is content with what it fetched some other day.
        commit = hub_api().repo_info(name, repo_type="dataset", revision=revision or None).sha
        return Path(snapshot_download(name, repo_type="dataset", revision=commit))


def _is_known(results: Results, records: list[Staged]) -> bool:
    """Whether everybody may read the data of a run: rows of a TRUEBench release or of mini, or another set by its name."""
    settings = results.settings
    if settings.get("criteria"):
        return False
    if results.kind not in ("", KIND):
        return any(built(str(settings.get("data")), name) for name in CATALOGUE)
    if any(task_of(str(settings.get(name))) for name in ("data_sha256", "selection_sha256")):
        return True
    of_mini = {data.data_hash([instance]) for instance in data.load(str(MINI))}  # a folder may be called mini
    return all(data.data_hash([item.instance]) in of_mini for record in records for item in record.checked.judged)


def _check_new(records: list[Staged], repo_id: str) -> None:
    """Raise UserError where the data set has other scores of what was measured."""
    for record in records:
        path = _present(repo_id, f"{RUNS}/{record.run_id}/{TABLE}")
        old = layout.read_table(path) if path else record.rows
        if _plain(old) != _plain(record.rows):
            raise UserError(
                f"{repo_id} has {record.run_id} already, of {old[0]['finished'] or 'a day not told'}; what was "
                "measured stands there once: add --replace to put this run in its place"
            )


def _present(repo_id: str, name: str) -> Path | None:
    """A file of a data set; None where that has none of this name."""
    where: Any = {"repo_id": repo_id, "filename": name, "repo_type": "dataset"}
    with hub_errors(repo_id):
        return Path(hub_api().hf_hub_download(**where)) if hub_api().file_exists(**where) else None


def _listed(repo_id: str) -> Iterator[Submitted]:
    pulls = hub_api().get_repo_discussions(repo_id, repo_type="dataset", discussion_type="pull_request")
    for pull in islice(pulls, _LOOKED):
        if pull.is_pull_request and (named := _TITLE.match(pull.title)) and (state := _STATES.get(pull.status)):
            yield Submitted(pull.num, named[2], named[3], state, pull.url, pull.created_at, run_id=named[1])
