"""What was judged as frames: a row per response, per verdict and per vote, without their texts.

    responses   instance, sample, language, category, task, model, judge (of the run), error, recorded (what an official
                file says, else None), truncated (number of answers cut off), turns, answered (number of turns with an
                answer), line (its place in the file, from 0), and what it took by role: `model_calls`, ...
    verdicts    response (its row there), turn (from 1), label ("yes", "no", "unknown" or missing), weight, judge (who
                decided: of a cascade the second judge, rules ...), conflicting, reason (where it is undecided)
    votes       verdict (its row there), label (missing: a vote that was not cast)

A million verdicts take some tens of megabytes. pyarrow reads the lines of `judgments.jsonl` in blocks; a file that it
cannot take (an official evaluation file, a broken line) is left to the reader that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truebench_hf.data.judged import Judged
from truebench_hf.types import Score, Usage

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS = ("no", "unknown", "yes")
ROLES = ("model", "judge")
COUNTS = Usage.__slots__
_BLOCK = 4 << 20  # bytes of a file that are parsed at a time; a longer line is left to the careful reader
_NEEDED = ("id", "language", "category", "task", "model", "judge", "verdicts", "messages")
_GROUPS = ("language", "category", "task", "model", "judge", "error")


@dataclass(frozen=True)
class VerdictFrames:
    """The three frames."""

    responses: DataFrame
    verdicts: DataFrame
    votes: DataFrame

    def __len__(self) -> int:
        return len(self.responses)

    def of(self, rows: Any) -> VerdictFrames:
        """Return the frames of some responses, by their places, in that order and numbered anew."""
        if len(rows) == len(self) and (rows == range(len(rows))).all():
            return self
        verdicts, kept = _renumbered(self.verdicts, "response", rows, len(self.responses))
        votes, _ = _renumbered(self.votes, "verdict", kept, len(self.verdicts))
        return VerdictFrames(self.responses.iloc[rows].reset_index(drop=True), verdicts, votes)

    def without_doubles(self) -> tuple[VerdictFrames, int]:
        """Return the frames with each sample once (its last row, at its first place), and how many rows were left out."""
        keys = self.responses[["instance", "sample"]]
        last = ~keys.duplicated(keep="last").to_numpy()
        if last.all():
            return self, 0
        first = keys.groupby(["instance", "sample"], sort=False).ngroup().to_numpy()[last]
        return self.of(last.nonzero()[0][first.argsort(kind="stable")]), int((~last).sum())

    def runs(self) -> Iterator[tuple[str, str, VerdictFrames]]:
        """Yield (model, judge, frames) of each run, in the order of their first rows."""
        pairs = self.responses.groupby(["model", "judge"], sort=False, observed=True)
        for (model, judge), places in pairs.indices.items():
            yield str(model), str(judge), self.of(places)


def read_frames(file: Path, careful: Callable[[], Iterable[tuple[Judged, str]]]) -> VerdictFrames:
    """Return the frames of a file of judged instances; `careful` reads it where pyarrow cannot, and raises UserError."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.json as arrow_json  # type: ignore[import-untyped]

    parse = arrow_json.ParseOptions(explicit_schema=_schema(), unexpected_field_behavior="ignore")
    parts: tuple[list[Any], ...] = ([], [], [])
    lines = count = 0
    try:
        with arrow_json.open_json(file, arrow_json.ReadOptions(block_size=_BLOCK), parse) as blocks:
            for block in blocks:
                tables = (_responses(block, lines), *_verdicts(block, lines, count))
                for part, table in zip(parts, tables, strict=True):
                    part.append(table)
                lines, count = lines + block.num_rows, count + tables[1].num_rows
        joined = [pa.concat_tables(part).unify_dictionaries() for part in parts]
        return VerdictFrames(*(table.to_pandas(self_destruct=True, split_blocks=True) for table in joined))
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError):
        return frames_of(careful())


def frames_of(judged: Iterable[tuple[Judged, str]]) -> VerdictFrames:
    """Return the frames of judged instances, each with the judge of its run; each is held no longer than it is read."""
    import pandas as pd

    frame_columns = (_RESPONSES, _VERDICTS, _VOTES)
    # By column: rows as tuples would take twice the memory.
    columns = [{name: list[Any]() for name in names} for names in frame_columns]

    def add(frame: int, *values: Any) -> None:
        for column, value in zip(columns[frame].values(), values, strict=True):
            column.append(value)

    count = 0
    for line, (item, judge) in enumerate(judged):
        instance, response = item.instance, item.response
        groups = (instance.language, instance.category, instance.task, response.model, judge, response.error)
        sizes = (len(response.truncated), len(item.verdicts), len(response.answers), line)
        spent = [getattr(item.usage.get(role, Usage()), field) for role in ROLES for field in COUNTS]
        add(0, instance.id, response.sample, *groups, item.recorded, *sizes, *spent)
        for turn, of_turn in enumerate(item.verdicts, 1):
            for verdict in of_turn:
                reason = None if verdict.label in ("yes", "no") else verdict.reason
                weight = verdict.criterion.weight
                add(1, line, turn, verdict.label, weight, verdict.judge, verdict.conflicting, reason)
                for vote in verdict.votes:
                    add(2, count, vote)
                count += 1
    frames = (
        pd.DataFrame({name: _column(name, columns[place].pop(name)) for name in names})
        for place, names in enumerate(frame_columns)
    )
    return VerdictFrames(*frames)


_RESPONSES = (
    "instance", "sample", *_GROUPS, "recorded", "truncated", "turns", "answered", "line",
    *(f"{role}_{count}" for role in ROLES for count in COUNTS),
)  # fmt: skip
_VERDICTS = ("response", "turn", "label", "weight", "judge", "conflicting", "reason")
_VOTES = ("verdict", "label")


def _column(name: str, values: list[Any]) -> Any:
    """Return a column as blocks of a file have it, too: keys are categories, in the order of their first rows.

    Texts are objects: half a character (a lone surrogate), which Arrow's texts refuse, is as good as any here.
    """
    import pandas as pd

    if name in (*_GROUPS, "reason", "label"):
        names = list(LABELS) if name == "label" else [value for value in dict.fromkeys(values) if value is not None]
        codes = {value: code for code, value in enumerate(names)}
        return pd.Categorical.from_codes([codes.get(value, -1) for value in values], pd.Index(names, dtype=object))
    dtypes = {"instance": "object", "recorded": "boolean", "conflicting": "bool", "weight": "float64"}
    return pd.Series(values, dtype=dtypes.get(name, "int64"))


def _renumbered(frame: DataFrame, key: str, rows: Any, size: int) -> tuple[DataFrame, Any]:
    """Return the rows of a frame whose key is among `rows`, by its place there, and the places that these rows had."""
    import numpy as np

    numbers = np.full(size, -1)
    numbers[rows] = np.arange(len(rows))
    chosen = frame.assign(**{key: numbers[frame[key]]})
    chosen = chosen[chosen[key] >= 0].sort_values(key, kind="stable")
    return chosen.reset_index(drop=True), chosen.index.to_numpy()


# Blocks of a file, as columns of Arrow.


@cache
def _schema() -> Any:
    """What is read of a line; all else is skipped as it is parsed."""
    import pyarrow as pa

    text = pa.string()
    verdict = {
        "label": text, "weight": pa.float64(), "judge": text, "conflicting": pa.bool_(), "reason": text,
        "votes": pa.list_(text),
    }  # fmt: skip
    usage = pa.struct([(role, pa.struct([(count, pa.int64()) for count in COUNTS])) for role in ROLES])
    return pa.schema(
        {
            **dict.fromkeys(("id", *_GROUPS), text),
            "sample": pa.int64(),
            "truncated": pa.list_(pa.int64()),
            "recorded": pa.bool_(),
            "messages": pa.list_(pa.struct([("role", text)])),
            "usage": usage,
            "verdicts": pa.list_(pa.list_(pa.struct(list(verdict.items())))),
        }
    )


def _responses(block: Any, first: int) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if any(block[name].null_count for name in _NEEDED) or pc.any(pc.less(block["sample"], 1)).as_py():
        raise pa.ArrowInvalid("a field is absent, or out of its range")
    is_answer = pc.equal(pc.struct_field(pc.list_flatten(block["messages"]), "role"), "assistant")
    answers = pc.list_parent_indices(block["messages"]).filter(is_answer).to_numpy()
    columns = {"instance": block["id"], "sample": pc.fill_null(block["sample"], 1)}
    columns |= {name: pc.dictionary_encode(block[name]) for name in _GROUPS}
    columns |= {
        "recorded": block["recorded"],
        "truncated": pc.fill_null(pc.list_value_length(block["truncated"]), 0),
        "turns": pc.list_value_length(block["verdicts"]),
        "answered": np.bincount(answers, minlength=block.num_rows),
        "line": np.arange(first, first + block.num_rows),
    }
    for role in ROLES:
        spent = pc.struct_field(block["usage"], role)
        columns |= {f"{role}_{count}": pc.fill_null(pc.struct_field(spent, count), 0) for count in COUNTS}
    return pa.table({name: columns[name] for name in _RESPONSES})


def _verdicts(block: Any, line: int, place: int) -> tuple[Any, Any]:
    """Return the verdicts of a block and their votes, of which the first ones have these numbers."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    turns = pc.list_flatten(block["verdicts"])
    response_of_turn = pc.list_parent_indices(block["verdicts"]).to_numpy()
    turn_numbers = np.arange(len(response_of_turn)) - np.searchsorted(response_of_turn, response_of_turn) + 1
    turn_of_verdict = pc.list_parent_indices(turns).to_numpy()
    response_of_verdict = response_of_turn[turn_of_verdict]
    cells = pc.list_flatten(turns)
    label, judge, reason, votes = (pc.struct_field(cells, name) for name in ("label", "judge", "reason", "votes"))
    is_open = pc.or_kleene(pc.is_null(label), pc.equal(label, "unknown"))
    columns = {
        "response": (response_of_verdict + line).astype("int32"),
        "turn": turn_numbers[turn_of_verdict].astype("int16"),
        "label": _labels(label),
        "weight": pc.fill_null(pc.struct_field(cells, "weight"), 1.0),
        "judge": pc.dictionary_encode(pc.coalesce(judge, block["judge"].take(pa.array(response_of_verdict)))),
        "conflicting": pc.fill_null(pc.struct_field(cells, "conflicting"), False),
        "reason": pc.dictionary_encode(pc.if_else(is_open, reason, None)),
    }
    places = (pc.list_parent_indices(votes).to_numpy() + place).astype("int32")
    return pa.table(columns), pa.table({"verdict": places, "label": _labels(pc.list_flatten(votes))})


def _labels(texts: Any) -> Any:
    """Return labels as categories. Raises ArrowInvalid on any other text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = pc.index_in(texts, pa.array(LABELS))
    if codes.null_count != texts.null_count:
        raise pa.ArrowInvalid("a label is none of ours")
    return pa.DictionaryArray.from_arrays(codes, pa.array(LABELS))


Key = TypeVar("Key", bound=Hashable)


def unit_means(values: Any, units: Any) -> Any:
    """Return the mean of the decided values of each unit (NaN without any), in the order of their first rows."""
    import numpy as np
    import pandas as pd

    codes, names = pd.factorize(units)
    if len(names) == len(values):
        return np.asarray(values, dtype=float)
    known = ~np.isnan(values)
    counts = np.bincount(codes[known], minlength=len(names))
    sums = np.bincount(codes[known], weights=values[known], minlength=len(names))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def group_scores(
    keys: Sequence[Key | None], values: Any, units: Any, estimate: Callable[[Any], Score], first: Sequence[Key] = ()
) -> dict[Key, Score]:
    """Return `estimate` of the units of each group, groups as `ordered` has them; rows with the key None are in none."""
    import numpy as np

    places: dict[Key, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(place)
    units, values = np.asarray(units), np.asarray(values)
    return {key: estimate(unit_means(values[places[key]], units[places[key]])) for key in ordered(places, first)}


def ordered(names: Iterable[Key], first: Sequence[Key]) -> list[Key]:
    """Names in a given order, those that it lacks after them by alphabet."""
    known = set(names)
    return [name for name in first if name in known] + sorted(known - set(first))  # type: ignore[type-var]
