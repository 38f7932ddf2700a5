"""Finished runs instance by instance, of every kind that scores its instances one by one.

A file of a million verdicts is not held: texts are read again for the lines that somebody looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Form, Reader, Stamp, read_lines, stamp, told, unchanged
from truebench_hf.errors import UserError
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import VerdictFrames, read_frames, unit_means
from truebench_hf.types import Instance, Message

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")


@dataclass(frozen=True)
class JudgedKind:
    """A kind of study that scores its instances one by one; a benchmark declares its own.

    `about` says what the score of a response is, and `scores` gives it, as the run itself counts it. Where `has_criteria`,
    instances that are held against other criteria ask something else.
    """

    name: str
    about: str
    scores: Callable[[Results, VerdictFrames], Any]
    has_criteria: bool = True

    def file(self, path: Path) -> Path:
        """The file of judged responses of a run. Raises UserError where it has none."""
        if file := Results(path, {}).judged_file:
            return file
        raise UserError(f"{path}: holds no judged instances; repeat the run's command")

    def form(self, path: Path) -> Form | None:
        """How a row of it is read; None is the form of ours."""
        return None

    def each(self, path: Path) -> Iterable[tuple[Judged, str]]:
        """Every judged response, and who judged it."""
        return read_lines(self.file(path), "repeat the run's command")

    def frames(self, path: Path) -> VerdictFrames:
        """All verdicts. Raises UserError where there are none."""
        frames = read_frames(self.file(path), lambda: self.each(path))
        if not len(frames):
            raise UserError(f"{self.file(path)}: holds no judged instances")
        return frames


@dataclass(frozen=True)
class Finished:
    """A model's run. `instances` has a row per instance, by its id: language, category, score as it counts there (0 to 1,
    of several samples their mean; NaN: undecided), asked (equal where instances ask the same), line (of its first
    sample).

    `settings` are those of its `run.json`, {} for a file without one. Texts are left in the file, of which `stamp` says
    whether it is still the same.
    """

    where: str
    of: JudgedKind = field(repr=False)
    model: str
    judge: str
    settings: Mapping[str, Any]
    instances: DataFrame = field(repr=False)
    stamp: Stamp = field(repr=False)

    @property
    def kind(self) -> str:
        """The kind of study."""
        return self.of.name

    @cached_property
    def scores(self) -> dict[str, float | None]:
        """The score of each instance by its id; None is undecided."""
        scores = self.instances["score"]
        return {name: None if score != score else score for name, score in scores.items()}

    def judged(self, names: Iterable[str], make: Callable[[Judged], T]) -> dict[str, T]:
        """What `make` returns of instances with their texts, which are read again and held no longer.

        Raises UserError where the file is another by now.
        """
        file = self.of.file(Path(self.where))
        unchanged(file, self.stamp)
        lines = {int(self.instances.at[name, "line"]): name for name in names}
        items = conversations(file, lines, make, self.of.form(file))
        return {lines[line]: item for line, item in items} if lines else {}


def model_runs(results: Results, kind: JudgedKind) -> list[Finished]:
    """Every model's run in a folder, or in a file of judged instances. Raises UserError where there is none."""
    import pandas as pd

    path = results.path
    file = kind.file(path)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise UserError(f"{file}: is no file that can be read twice; save it to one, and give that")
    before = stamp(file)
    frames = kind.frames(path)
    asks = questions(file, lambda: kind.each(path), criteria=kind.has_criteria)
    rows = frames.responses[["instance", "sample", "language", "category", "model", "judge", "line"]]
    rows = rows.assign(score=kind.scores(results, frames), asked=pd.Series(asks, dtype="int64"))
    runs, keys = [], ["instance", "sample"]
    for _, of_run in rows.groupby(["model", "judge"], sort=False, observed=True):
        # Of a response that stands twice the last row counts, at the place of the first.
        last = of_run.drop_duplicates(keys, keep="last").set_index(keys)
        of_model = last.loc[of_run.drop_duplicates(keys).set_index(keys).index].reset_index()
        # Of several samples of an instance the first stands for all, with the mean of their scores.
        first = of_model.drop_duplicates("instance").set_index("instance")
        scores = unit_means(of_model["score"].to_numpy(), of_model["instance"].to_numpy())
        instances = first[["language", "category", "asked", "line"]].assign(score=scores)
        names = first["model"].iloc[0], first["judge"].iloc[0]
        runs.append(Finished(str(path), kind, *names, results.settings, instances, before))
    return runs


def conversations(
    file: Path, wanted: Collection[int], make: Callable[[Judged], T], form: Form | None = None
) -> Iterator[tuple[int, T]]:
    """Yield (line, what `make` returns) of the wanted lines, numbered from 0; the others are not parsed.

    Raises UserError naming a line that cannot be read.
    """
    reader, read = Reader(), form or Reader.judged
    with file.open("rb") as content:
        for number, (where, line) in enumerate(jsonl.lines(content, str(file))):
            if number in wanted or b'"context"' in line:  # which later lines may name
                item, _ = read(reader, jsonl.parsed(line, where), where)
                if number in wanted:
                    yield number, make(item)


def questions(file: Path, careful: Callable[[], Iterable[tuple[Judged, str]]], *, criteria: bool = True) -> list[int]:
    """Return a number for every line: equal, within this process, where instances ask the same.

    That is their texts, and with `criteria` these with their points. `careful` reads files that are not of our form.
    """
    try:
        with file.open("rb") as content:
            contexts: dict[str, int] = {}
            rows = (jsonl.parsed(line, where) for where, line in jsonl.lines(content, str(file)))
            return [_of_row(row, contexts, criteria) for row in rows]
    except (KeyError, TypeError, AttributeError, IndexError):
        return [_of_instance(item.instance, criteria) for item, _ in careful()]


def _of_row(row: Mapping[str, Any], contexts: dict[str, int], criteria: bool) -> int:
    messages = [Message(message["role"], message["content"]) for message in row["messages"]]
    prompts, system = told(messages)
    verdicts, context = row["verdicts"], row.get("context")
    if "context_of" in row:
        context = contexts[row["context_of"]]
    elif context is not None:
        context = contexts[row["id"]] = hash(context)
    own = row.get("prompts") or [None] * len(verdicts)
    texts = [text if text is not None else prompts[place] for place, text in enumerate(own)]
    turns = zip(texts, row.get("references") or [None] * len(verdicts), strict=True)
    history = tuple((message["role"], message["content"]) for message in row.get("history", ()))
    points = (tuple((cell["criterion"], float(cell.get("weight", 1))) for cell in turn) for turn in verdicts)
    return hash((row.get("system", system), context, history, tuple(turns), tuple(points) if criteria else ()))


def _of_instance(instance: Instance, criteria: bool) -> int:
    context = None if instance.context is None else hash(instance.context)
    history = tuple((message.role, message.content) for message in instance.history)
    turns = tuple((turn.prompt, turn.reference) for turn in instance.turns)
    points = (tuple((c.text, float(c.weight)) for c in turn.criteria) for turn in instance.turns)
    return hash((instance.system, context, history, turns, tuple(points) if criteria else ()))
