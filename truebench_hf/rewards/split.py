"""Criteria of training data that hold several demands, split beforehand, with a report of what was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truebench_hf.api.judge import File, ModelLike, as_spec, as_texts, cache_file
from truebench_hf.errors import UserError

if TYPE_CHECKING:
    from truebench_hf.rewards.writers import Writers
    from truebench_hf.types import Criterion


@dataclass(frozen=True)
class Split:
    """Rows with their criteria split. `changed` tells what was: (number of the row from 1, criterion, its demands).

    `problems` are criteria that stay whole because the model gave no answer that can be used: (row, criterion, why).
    """

    rows: list[dict[str, Any]]
    changed: list[tuple[int, str, tuple[str, ...]]]
    problems: list[tuple[int, str, str]]
    criteria: int  # how many there were

    def __str__(self) -> str:
        made = sum(len(parts) for _, _, parts in self.changed)
        first = f"{len(self.changed)} of {self.criteria} criteria hold several demands, {made} in all"
        lines = [
            f"row {row}: {whole}" + "".join(f"\n  - {part}" for part in parts) for row, whole, parts in self.changed
        ]
        lines += [f"row {row}: {whole}\n  left whole: {problem}" for row, whole, problem in self.problems]
        return "\n".join([first, *lines])


def split_criteria(
    rows: Iterable[Mapping[str, Any]],
    model: ModelLike,
    *,
    column: str | None = None,
    cache: File | None = None,
    base_url: str | None = None,
    model_arg: Mapping[str, Any] | None = None,
    concurrency: int = 16,
    patience: float = 60.0,
) -> Split:
    """Rows whose criteria hold one demand each: what a model finds to be several is written out one by one.

    A row has a `prompt` (or `messages`) and criteria, as in training; those that are single stay as they are, and so do
    faults (negative points), which are there only where all of them is. The demands of a criterion share its points:
    with pass_all a completion earns what it did before, with a fraction the other criteria weigh as before. Criteria
    come back as objects with `text` and `weight` (and `kind`, `condition` and `rule` where there are any), under their name.

    With `cache` (a folder or a .sqlite file) the same rows are split the same way again and nothing is asked twice.
    Raises UserError naming the row and the field that is wrong.
    """
    from truebench_hf.prompts import Prompts
    from truebench_hf.rewards.writers import Opening, Writers

    read = [_read(dict(row), number, column) for number, row in enumerate(rows, 1)]
    opening = Opening(as_spec(model), as_texts(model_arg), base_url, concurrency, patience)
    writers = Writers({"splitter": opening}, cache_file(cache, [opening.spec]), Prompts())
    try:
        found = writers.run(_all(writers, [case for _, case, _ in read]))
    finally:
        writers.close()
    return _report(read, found)


def _read(row: dict[str, Any], number: int, column: str | None) -> tuple[dict[str, Any], Any, str | None]:
    """(row, case, name of the column of its criteria) of one row."""
    from truebench_hf.rewards.samples import criteria_columns, read_samples

    prompt = row.get("prompt") if row.get("prompt") is not None else row.get("messages")
    if prompt is None:
        raise UserError(f"row {number}: has no prompt; split_criteria takes rows with `prompt` or `messages`")
    try:
        (case,) = read_samples([prompt], [""], {name: [value] for name, value in row.items()}, column)
    except UserError as error:
        raise UserError(f"row {number}: {str(error).removeprefix('completion 1: ')}") from error
    names = [name for name in criteria_columns(row, column) if case.criteria and row[name]]
    return row, case, names[0] if names else None


async def _all(writers: Writers, cases: list[Any]) -> list[list[Any]]:
    from truebench_hf.engine.pool import bounded
    from truebench_hf.engine.progress import progress

    made: dict[int, list[Any]] = {}
    with progress({"rows": len(cases)}) as step:

        async def one(place: int) -> tuple[int, list[Any]]:
            return place, await writers.split(cases[place])

        async for place, parts in bounded(range(len(cases)), one, 64):
            made[place] = parts
            step("rows")
    return [made[place] for place in range(len(cases))]


def _report(read: list[tuple[dict[str, Any], Any, str | None]], found: list[list[Any]]) -> Split:
    from truebench_hf.models.asking import Problem

    made = Split([], [], [], sum(len(case.criteria) for _, case, _ in read))
    for number, ((row, case, name), parts) in enumerate(zip(read, found, strict=True), 1):
        kept: list[Criterion] = []
        for whole, some in zip(case.criteria, parts, strict=True):
            if isinstance(some, Problem):
                made.problems.append((number, whole.text, some.text))
            elif len(some) > 1:
                made.changed.append((number, whole.text, tuple(one.text for one in some)))
            kept += [whole] if isinstance(some, Problem) else some
        made.rows.append(row if name is None else row | {name: [_plain(one) for one in kept]})
    return made


def _plain(criterion: Criterion) -> dict[str, Any]:
    more = {"kind": criterion.kind, "condition": criterion.condition, "rule": criterion.rule}
    return {"text": criterion.text, "weight": criterion.weight} | {k: v for k, v in more.items() if v is not None}
