"""Runs into a results data set, and the check of one: every table as its run gives it, nothing twice, nothing vanished."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from truebench_hf.benchmarks.truebench.board import models_of
from truebench_hf.data.catalogue import NAMES
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.errors import UserError
from truebench_hf.hub import layout
from truebench_hf.hub.layout import RUNS, TABLE, Rows
from truebench_hf.hub.push import How, Pushed, check_name, hub_api, hub_errors, push_folder
from truebench_hf.hub.staging import Staged, stage
from truebench_hf.hub.submission import known_data
from truebench_hf.models.loading import EMBEDDED
from truebench_hf.models.providers import unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.results.folder import Results
from truebench_hf.study.notes import identities
from truebench_hf.text.terminal import warn


def publish_run(
    run: str | Path,
    repo_id: str,
    *,
    force: bool = False,
    replace: bool = False,
    public: bool = False,
    **how: Unpack[How],
) -> Pushed:
    """Add a finished run to a results data set, as a folder for each of its models (see `layout`).

    The same run gives the same folder, so that publishing it again changes nothing. The scores of a run over instances
    with criteria are computed again from its judgments; of a study of another kind its figures are published. Paths,
    server addresses and keys are taken out. Raises UserError where the run does not hold together, is one of a scripted
    model without `force`, has scores there already that differ, which it may `replace`, or the Hub refuses; and where
    prompts and answers of no known benchmark would be seen by all, unless they are to be `public`.
    """
    check_name(repo_id)
    if public and how.get("private"):
        raise UserError("--public and --private: say one of the two")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        records = stage(Path(run), folder)
        check_real(run, force)
        texts = _own_texts(Path(run), folder)
        if texts and not (public or how.get("private") or how.get("dry_run")):
            raise UserError(
                f"{run}: its data is no known benchmark, and {', '.join(texts)} holds every prompt and answer; add "
                "--private for a private data set, or --public where everybody may read them"
            )
        if not how.get("dry_run") and not replace:
            _check_new(records, repo_id, how.get("revision"))
        _add_card(folder, repo_id, how.get("dry_run", False), how.get("revision"))
        run_ids = [record.run_id for record in records]
        pushed = push_folder(
            folder, repo_id, "dataset",
            message=f"Add run {' and '.join(run_ids)}", replace=[f"{RUNS}/{run_id}/*" for run_id in run_ids], **how,
        )  # fmt: skip
        return dataclasses.replace(pushed, texts=texts)


def check_real(run: str | Path, force: bool) -> None:
    """Raise UserError for a run in which a `scripted:` model answered or judged, unless forced."""
    info = Results.open(run).info
    # Settings name who was asked; whose answers or conversations were given is told by the lines of the board.
    named = [info.get("settings", {}), info.get("board", {})]
    doubles = [text for text in _texts(named) if text.startswith("scripted:")]
    if doubles and not force:
        raise UserError(
            f"{run}: was made with {doubles[0]}, which answers by rules and is no model; add --force to publish it all "
            "the same"
        )


def model_of_page(run: str | Path, model_repo: str, force: bool) -> str:
    """The model of a run that the repository `ORG/MODEL` is of, of several the one; forced a lone model may be another.

    Raises UserError where there is none.
    """
    settings = Results.open(run).settings
    models = models_of(settings) if "model" in settings else [""]
    known = identities(settings)
    specs = {name: unpinned(name, str(known.get(name, ("", {}))[1].get("provider"))) for name in models}
    matching = [name for name, spec in specs.items() if _is_of(spec, model_repo)]
    if len(matching) == 1:
        return matching[0]
    if force and len(models) == 1:
        return models[0]
    remedy = ", or add --force if they are the same" if len(models) == 1 else ""
    raise UserError(
        f"--model-repo {model_repo}: {run} is a run of {', '.join(specs.values())}; name the repository of "
        f"{'that model' if len(models) == 1 else 'one of them'}{remedy}"
    )


@dataclass(frozen=True)
class Checked:
    """How many runs and scores a results data set has, and what is wrong, a line each."""

    runs: int
    scores: int
    faults: tuple[str, ...]


def check(folder: Path, before: Path | None = None, *, name: str = "", name_before: str = "") -> Checked:
    """Check a results data set in a folder; `before` is one that it must not have less than, say its main branch.

    `name` and `name_before` are what the user calls them. Every run is laid out again and its table compared. Raises
    UserError where one of them is no results data set; `before` may be a new one, with its card alone.
    """
    for place, called in ((folder, name or str(folder)), (before, f"--before {name_before or before}")):
        names = {path.name for path in place.iterdir()} if place and place.is_dir() else set()
        # Of a new one nothing but the card was pushed yet: the first results come as a pull request, too.
        is_new = bool(names & {"README.md", ".gitattributes"}) and all(n == "README.md" or n[0] == "." for n in names)
        if place and not (place / RUNS).is_dir() and not (is_new and place is before):
            raise UserError(
                f"{called}: no results data set there (it has no folder `{RUNS}`); give a checkout of one, or "
                "ORG/NAME[@REVISION]"
            )
    runs = sorted(path for path in (folder / RUNS).iterdir() if path.is_dir())
    strays = sorted(path for path in (folder / RUNS).iterdir() if not path.is_dir())
    faults = [f"{path.relative_to(folder).as_posix()}: belongs to no run" for path in strays]
    tables: dict[str, Rows] = {}
    for run in runs:
        tables[run.name], wrong = _checked_run(run)
        faults += wrong
    scores_there = _keys(tables)
    faults += [f"{_words(key)}: stands twice" for key, times in scores_there.items() if times > 1]
    if before:
        old = {run.name: _read(run)[0] for run in sorted((before / RUNS).glob("*"))}
        faults += [f"{_words(key)}: is gone; it stood there before" for key in _keys(old) if key not in scores_there]
    return Checked(len(runs), sum(map(len, tables.values())), tuple(faults))


def _checked_run(run: Path) -> tuple[Rows, list[str]]:
    """The table of a run, and what is wrong with it: all that differs from the table that the run itself gives."""
    where = f"{RUNS}/{run.name}"
    rows, faults = _read(run)
    if faults or not rows:
        return rows, faults or [f"{where}: {TABLE} is empty"]
    faults += [
        f"{where}: {row['model']}, {row['score']}: has the value {row['value']:g} over nothing; what is not known is null"
        for row in rows
        if row["value"] is not None and not row["n"]
    ]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            (again,) = stage(run, Path(scratch))
    except (UserError, LookupError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).replace(f"{run}: ", "").split())
        return rows, [f"{where}: cannot be laid out again: {reason[:200]}"]
    if again.run_id != run.name:
        faults.append(f"{where}: is the run {again.run_id}")
    old, new = ({(row["model"], row["score"]): _plain(row) for row in table} for table in (rows, again.rows))
    for key in old.keys() | new.keys():
        row, by_run = old.get(key), new.get(key)
        if row is None or by_run is None:
            difference = "is missing from the table" if row is None else "does not follow from the run"
        else:
            apart = [column for column in by_run if row[column] != by_run[column]]
            difference = ", ".join(f"{column} is {row[column]!r}, by the run {by_run[column]!r}" for column in apart)
        if difference:
            faults.append(f"{where}: {_words(key)}: {difference}")
    return rows, sorted(faults)


def _read(run: Path) -> tuple[Rows, list[str]]:
    where = f"{RUNS}/{run.name}"
    try:
        rows = layout.read_table(run / TABLE)
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        return [], [f"{where}: {'holds no ' + TABLE if missing else f'{TABLE} {error}'}"]
    return rows, []


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without the ends of intervals, which depend on the version of a library, and with rounded values."""
    value = row["value"]
    return {**row, "run": None, "low": None, "high": None, "value": value if value is None else round(value, 8)}


def _keys(tables: Mapping[str, Rows]) -> Counter[tuple[str, ...]]:
    """The scores of all tables: (model, score, measurement)."""
    return Counter(
        (row["model"], row["score"], row["measurement"]) for rows in tables.values() for row in rows if row["score"]
    )


def _words(key: tuple[str | None, ...]) -> str:
    return ", ".join(str(part) for part in key if part)


def _own_texts(run: Path, staged: Path) -> tuple[str, ...]:
    """The staged files with prompts and answers, where these are not of a release of TRUEBench, or a part of one."""
    settings = Results.open(run).settings
    hashes = (settings.get(name) for name in ("data_sha256", "selection_sha256"))
    if (settings.get("data") in NAMES or any(map(known_data, map(str, hashes)))) and not settings.get("criteria"):
        return ()
    return tuple(file.relative_to(staged).as_posix() for file in sorted(staged.rglob(JUDGMENTS)))


def _check_new(records: list[Staged], repo_id: str, revision: str | None) -> None:
    """Raise UserError where the data set has other scores of what was measured."""
    api = hub_api()
    where: Any = {"repo_id": repo_id, "repo_type": "dataset"}
    with hub_errors(repo_id):
        for record in records:
            path = f"{RUNS}/{record.run_id}/{TABLE}"
            for place in dict.fromkeys((revision, None)):  # a branch that is yet to be made starts as main
                if not api.file_exists(filename=path, revision=place, **where):
                    continue
                old = layout.read_table(Path(api.hf_hub_download(filename=path, revision=place, **where)))
                if list(map(_plain, old)) != list(map(_plain, record.rows)):
                    raise UserError(
                        f"{repo_id} has {record.run_id} already, of {old[0]['finished'] or 'a day not told'}; what was "
                        "measured stands there once: add --replace to put this run in its place"
                    )
                break


def _add_card(folder: Path, repo_id: str, dry_run: bool, revision: str | None) -> None:
    """A card for a data set that has none; one that somebody has edited stays as it is."""
    if not dry_run:
        with hub_errors(repo_id):
            places = {revision, None}  # a branch that is yet to be made starts as main
            if any(hub_api().file_exists(repo_id, "README.md", repo_type="dataset", revision=r) for r in places):
                return
    card = Path(__file__).with_name("results_card.md").read_text("utf-8")
    (folder / "README.md").write_text(card.replace("THIS_REPOSITORY", repo_id), encoding="utf-8")


def _is_of(spec: str, model_repo: str) -> bool:
    """Whether a spec names the model of a repository: by name and organisation, or by name where no other is told."""
    name = without_kind(EMBEDDED if spec == "smollm2" else spec).partition("@")[0].rstrip("/").casefold()
    organisation, own = model_repo.casefold().split("/")
    *before, last = name.split("/")
    on_the_hub = len(before) == 1 and before[0] not in (".", "..", "~")  # else it is a folder, or a name alone
    return last == own and (not on_the_hub or before[0] == organisation)


def _texts(value: Any) -> Iterator[str]:
    """Every text in settings; a panel's name is those of its judges."""
    if isinstance(value, str):
        yield from value.split(" + ")
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


_FILES = ["*run.json", "*judgments.jsonl"]
_PATIENCE = 10.0  # seconds
# Differs from request to request, and would make every failure look new.
_CHANGING = re.compile(r"\(Request ID: [^)]*\)|0x[0-9a-f]{6,}", re.IGNORECASE)


class ResultsCopy:
    """`folder` is the copy read last (None before the first), `stale` tells visitors since when it is out of reach."""

    def __init__(self, repo: str) -> None:
        """`repo` is a data set's id, `ORG/NAME[@REVISION]`."""
        self._name, _, self._revision = repo.partition("@")
        self._reported: set[str] = set()
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
            self._reported, self.stale = set(), ""
        except Exception as error:  # the client has many errors of its own; all mean: keep what we have
            since = time.strftime("%H:%M UTC on %Y-%m-%d", time.gmtime())
            self.stale = self.stale or f"The results data set could not be reached since {since}."
            text = " ".join(_CHANGING.sub("", str(error)).split())[:300]
            message = f"board: results {self._name}: {type(error).__name__}: {text}"
            if message not in self._reported:
                self._reported.add(message)
                warn(message)
            if self.folder is None:
                with suppress(
                    Exception
                ):  # what an earlier process has downloaded, if it is whole: there is nothing else to show
                    self.folder = Path(snapshot_download(self._name, local_files_only=True, **wanted))
