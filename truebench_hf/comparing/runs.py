"""Finished runs: the board of each (the part of `run.json` that is meant for it, whoever wrote it, and nothing else), and
of the kinds of studies that score their instances one by one what these are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.facts.scores import read_frame, scores_by_document
from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.results import form, judging_specs, judgments, made_by, read_each, read_frames
from truebench_hf.benchmarks.truebench.scores import response_values, rule
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGED, Form, Stamp
from truebench_hf.data.records import stamp as file_stamp
from truebench_hf.data.rows import Record, user_error
from truebench_hf.engine.folder import INFO
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.spec import family
from truebench_hf.results.finished import Finished, JudgedKind, model_runs
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import VerdictFrames
from truebench_hf.study.ranking import LONGEST, Board
from truebench_hf.text.terminal import warn
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

Source = Literal["paper", "measured", "submitted"]
_DEEPEST = 4
_MOST = 10**9  # of instances: far beyond any data, and within what JSON readers take
_HALF = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


_Content = Annotated[str, Field(max_length=100)]


class _RunFile(BaseModel):
    """What a board reads of a `run.json`."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    kind: Annotated[str, Field(pattern=r"^[\w.-]{1,60}$")]
    format: Literal[1]
    board: Board
    submitted: bool = False
    content: _Content | list[_Content] = ""  # by line where it is that of several models
    settings: Any = None

    @model_validator(mode="after")
    def _line_by_line(self) -> _RunFile:
        if isinstance(self.content, list) and len(self.content) != len(self.board.rows):
            raise ValueError("'content' is to be told of every line")
        return self

    @property
    def contents(self) -> list[str]:
        """A hash by line of what it is made of."""
        hashes = self.content if isinstance(self.content, list) else [self.content] * len(self.board.rows)
        return [digest(content or canonical(self.board.as_json())) for content in hashes]

    @property
    def source(self) -> Source:
        """Whose figures they are: measured here, or made from judgments that were handed in."""
        return "submitted" if self.submitted else "measured"

    @property
    def data(self) -> str:
        """The hash of what was asked; "" where it is not told."""
        sha256 = self.settings.get("data_sha256") if isinstance(self.settings, dict) else None
        return sha256 if isinstance(sha256, str) else ""

    @field_validator("board")
    @classmethod
    def _holds_together(cls, board: Board) -> Board:
        names = [column.name for column in board.columns]
        texts = [text for column in board.columns for text in (column.name, column.title)]
        texts += [text for row in board.rows for text in (row.name, row.setting, *row.facts)]
        values = [board.title, board.unit, board.noun]
        values += [text for column in board.columns for text in (column.group, column.about)]
        values += [text for row in board.rows for text in row.facts.values()]
        sizes = [len(board.rows), 2 * len(names), *(25 * len(row.facts) for row in board.rows)]
        scores = [score for row in board.rows for score in row.scores.values()]
        if len(set(names)) < len(names) or not {board.main}.union(*(row.scores for row in board.rows)) <= set(names):
            raise ValueError("columns need names of their own, and every score and `main` a column")
        if not all(texts) or max(sizes) > LONGEST or any(len(text) > LONGEST for text in (*texts, *values)):
            raise ValueError(f"a text is empty, or longer than {LONGEST} characters, or there are too many")
        if not all(0 <= count <= _MOST for score in scores for count in (score.n, score.unscored)):
            raise ValueError(f"n and unscored are counts of at most {_MOST:,}")
        return board


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """One line of a board. Those of one `setting` may be ranked together, copies of one run have the same `content`.

    `overall` is the score of the board's main column. A rank is a span, from `rank` to `last`: the places that cannot
    be told from its own, `approximate` where it rests on totals alone. `misprints` names the columns whose figure the
    paper misprints. `data` is the hash of what was asked, "" where it is not known.
    """

    key: str  # stands in links
    kind: str
    name: str
    source: Source
    setting: str
    overall: Score
    scores: Mapping[str, Score] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    ascending: bool = False
    folder: Path | None = field(default=None, repr=False)
    content: str = field(default="", repr=False)
    misprints: frozenset[str] = frozenset()
    rank: int | None = None
    last: int | None = None
    approximate: bool = False
    data: str = field(default="", repr=False)


@dataclass(frozen=True)
class BoardRun:
    """A board as one run (or one paper) has it, and its lines to be shown."""

    kind: str
    board: Board
    entries: tuple[BoardEntry, ...]


def folders(roots: Iterable[Path], depth: int = 0) -> Iterator[Path]:
    """Every folder with a `run.json` at or below the roots, in order of name.

    Hidden ones are left out, those that cannot be looked into, and those too deep below a root; `depth` is how far these are.
    """
    for root in roots:
        children: list[Path] = []
        try:
            is_run = (root / INFO).is_file()
            if not is_run and depth < _DEEPEST and root.is_dir():
                children = sorted(child for child in root.iterdir() if not child.name.startswith("."))
        except OSError:  # not ours to read, or gone meanwhile
            continue
        if is_run:
            yield root
        yield from folders(children, depth + 1)


def below(root: str, flag: str = "", remedy: str = "; give the --out of finished runs") -> list[Path]:
    """The same of one root. Raises UserError where there is none."""
    if not (run_folders := list(folders([Path(root)]))):
        raise UserError(f"{flag}{root}: no run folder at or below it{remedy}")
    return run_folders


def stamp(folder: Path) -> tuple[Stamp, ...]:
    """Changes when the results in a folder do."""
    return tuple(file_stamp(folder / name) for name in (INFO, *JUDGED))


def read_board(folder: Path) -> BoardRun | None:
    """The board of a run; None where it has none yet, or none that can be read, which the operator is told."""
    try:
        results = Results.open(folder) if (folder / INFO).is_file() else None
        info = results.info if results else {}
        if results is None or "board" not in info:  # gone meanwhile, unfinished, or of a study that has no board
            return None
        # Half a character (a lone surrogate) can stand on no page.
        run = _RunFile.model_validate_json(json.dumps(info, ensure_ascii=False).encode("utf-8", "replace"))
    except ValidationError as error:
        warn(f"board: {folder.name} is left out: {user_error(error, Record(INFO, info))}")
        return None
    except (OSError, UserError, RecursionError) as error:
        warn(f"board: {folder.name} is left out: run.json cannot be read ({error})")
        return None
    judged_folder = folder if results.judged_file else None
    return lines(run.kind, run.board, run.source, run.contents, judged_folder, run.data)


def lines(
    kind: str, board: Board, source: Source, contents: Sequence[str], folder: Path | None = None, data: str = ""
) -> BoardRun:  # fmt: skip
    """The board of a study as lines to show, each with a hash of what it is made of; lines of one hash are told apart by
    their place. What was submitted or printed is never ranked with what was measured."""
    entries = []
    for place, (row, content) in enumerate(zip(board.rows, contents, strict=True)):
        setting, number = f"{source} {row.setting}", contents[:place].count(content)
        key = f"{slug(row.name)}-{digest(canonical([content, setting, number]))[:8]}"
        overall = row.scores.get(board.main, Score(None, 0))
        facts = (row.scores, row.facts, board.order == "ascending", folder, content)
        entries.append(BoardEntry(key, kind, row.name, source, setting, overall, *facts, data=data))
    return BoardRun(kind, board, tuple(entries))


def once(lines_of_all: Iterable[BoardEntry]) -> list[BoardEntry]:
    """Every line once, the first copy of each; a submission of a run that was also measured is left out."""
    entries = list(lines_of_all)
    ours = {entry.content for entry in entries if entry.source == "measured"}
    unique: dict[str, BoardEntry] = {}
    for entry in entries:
        if entry.source != "submitted" or entry.content not in ours:
            unique.setdefault(entry.key, entry)
    return list(unique.values())


def loads(text: str) -> Any:
    """JSON as it can be shown: half a character, which no page can carry, is a question mark. Raises as `json` does."""
    value = json.loads(text)
    if _HALF.search(text) is None:  # only an escape can stand for half a character, and few files have any
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def slug(text: str) -> str:
    """A name for links: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "model"


TICK = "tick"


class _TrueBench(JudgedKind):
    """Runs that may be a file of their own, of the official form too."""

    def file(self, path: Path) -> Path:
        return judgments(path)

    def form(self, path: Path) -> Form:
        return form(path)

    def each(self, path: Path) -> Iterable[tuple[Judged, str]]:
        return read_each(path)

    def frames(self, path: Path) -> VerdictFrames:
        return read_frames(path)


def _documents(results: Results, frames: VerdictFrames) -> Any:
    by_id = scores_by_document(read_frame(results.path))
    return frames.responses["instance"].map(by_id.get).astype(float).to_numpy()


KINDS = {
    kind.name: kind
    for kind in (
        _TrueBench(TRUEBENCH, "instances passed", lambda of, frames: response_values(frames)[rule(of.settings)].to_numpy()),
        JudgedKind(FACTS, "final score of an answer, mean over judges", _documents, has_criteria=False),
        JudgedKind(TICK, "pass rate of a checklist", lambda of, frames: response_values(frames)["criterion_share"].to_numpy()),
    )
}  # fmt: skip


def read_run(where: str, model: str | None = None) -> Finished:
    """The run in a folder (or in a file of judged instances); of a study of several models the one named.

    Raises UserError as `read_all`, and where the model is not to be told.
    """
    by_model = {run.model: run for run in read_all(where)}
    if model is None and len(by_model) > 1:
        raise UserError(
            f"{where}: holds {', '.join(by_model)}; name one (--model-a, --model-b; of check --model-new, --model-old)"
        )
    if model is not None and model not in by_model:
        raise unknown(f"model in {where}", model, by_model)
    return by_model[model] if model is not None else next(iter(by_model.values()))


def read_all(where: str) -> list[Finished]:
    """Every model's run in a folder, or in a file of judged instances.

    Raises UserError where there is none, where it is not finished, or of a kind that does not score instance by instance.
    """
    return model_runs(*_opened(where))


def rows_of(where: str) -> tuple[JudgedKind, Results, list[tuple[Judged, float | None]]]:
    """The kind, the folder, and every judged response with its score, the last of those that stand twice.

    Raises UserError as `read_all`.
    """
    results, kind = _opened(where)
    judged = [item for item, _ in kind.each(results.path)]
    scores = kind.scores(results, kind.frames(results.path))
    rows = {
        (item.response.model, item.key): (item, None if score != score else float(score))
        for item, score in zip(judged, scores, strict=True)
    }
    return kind, results, list(rows.values())


def _opened(where: str) -> tuple[Results, JudgedKind]:
    """A finished run, and its kind."""
    path = Path(where)
    results = Results(path, made_by(path).info) if path.exists() and not path.is_dir() else Results.open(where)
    name = results.kind or TRUEBENCH
    if name not in KINDS:
        raise UserError(f"{where}: is a study of kind {name}; runs of kind {', '.join(KINDS)} score their instances")
    results.check_finished()
    return results, KINDS[name]


@dataclass(frozen=True)
class Pairing:
    """Two runs, instance by instance. `rows` has a row per pair, by its id in the first run and in that one's order:
    language, category, a and b (the scores), other (the id in the second run).

    `by_content` of the pairs have other ids in the two. `changed` are ids that ask something else in each; `only` those
    that one run alone holds.
    """

    rows: DataFrame
    by_content: int
    changed: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]


def pair_runs(run_a: Finished, run_b: Finished) -> Pairing:
    """Pair the instances of two runs that ask the same: by id, or else by their content (see `Finished`).

    Raises UserError where the runs are of two kinds, or have nothing in common.
    """
    if run_a.kind != run_b.kind:
        raise UserError(
            f"{run_a.where} is of kind {run_a.kind}, {run_b.where} of kind {run_b.kind}; give runs of one kind"
        )
    pairing = _paired(run_a.instances, run_b.instances)
    if not len(pairing.rows):
        why = "ask other things under the same ids" if pairing.changed else "have no instance in common"
        raise UserError(f"{run_a.where} and {run_b.where} {why}; give runs on the same data")
    return pairing


def _paired(first: DataFrame, second: DataFrame) -> Pairing:
    shared = first.index[first.index.isin(second.index)]
    same = shared[(first.loc[shared, "asked"] == second.loc[shared, "asked"]).to_numpy()]
    rest = second.drop(index=same)
    by_content = dict(zip(rest["asked"].tolist()[::-1], rest.index[::-1], strict=True))  # of alike ones the first
    asked_alone = first.drop(index=same)["asked"].items()
    matched = {name: by_content.pop(content) for name, content in asked_alone if content in by_content}
    others = dict(zip(same, same, strict=True)) | matched
    names = [name for name in first.index if name in others]
    ids = [others[name] for name in names]
    rows = first.loc[names, ["language", "category"]].assign(
        a=first.loc[names, "score"], b=second.loc[ids, "score"].to_numpy(), other=ids
    )
    left_a, left_b = set(first.index) - set(names), set(second.index) - set(ids)
    changed = left_a & left_b
    only_a = tuple(name for name in first.index if name in left_a - changed)
    only_b = tuple(name for name in second.index if name in left_b - changed)
    return Pairing(rows, len(matched), tuple(name for name in first.index if name in changed), (only_a, only_b))


def judges(kind: str, settings: Mapping[str, Any]) -> set[str]:
    """The specs of all who had a say in a run; none where it is not known."""
    if kind == TRUEBENCH:
        return judging_specs(settings)
    named = settings.get("judges") or settings.get("judge") or ()
    return {named} if isinstance(named, str) else set(named)


def self_judged(model: str, specs: Iterable[str]) -> bool:
    """Whether a judge belongs to the model's family."""
    return family(model) in set(map(family, specs))
