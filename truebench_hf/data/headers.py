"""Columns by the names that people give them: in any case, or by another likely word, with a note of what was taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.data.rows import fold, holds
from truebench_hf.errors import UserError

_WRAPPERS = ("inputs", "outputs", "attributes", "body", "params")  # the last two of batches
_DOTTED = {"input.value": "input", "output.value": "output", "retrieval.documents": "documents"}


@cache
def words(what: str) -> Any:
    """What people, logs and tools call the same, from `log_forms.yaml`: lists of names and paths, or a table of them."""
    names = _forms()[what]
    if not isinstance(names, list):
        return names
    return tuple(chain.from_iterable(name if isinstance(name, list) else [name] for name in names))


@cache
def _forms() -> Any:
    import yaml

    return yaml.safe_load((files(__package__) / "log_forms.yaml").read_text(encoding="utf-8"))


@dataclass
class Headers:
    """Which column of some rows is read as which of ours; `taken` says so, for the columns of other names."""

    columns: dict[str, str] = field(default_factory=dict)
    joined: bool = False  # the prompt is an instruction with the input that it is about

    @property
    def taken(self) -> str:
        parts = [f"{theirs!r} as {ours}" for ours, theirs in self.columns.items()]
        parts += ["'instruction' with 'input' below it as prompt"] * self.joined
        return ", ".join(parts)

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row under our names."""
        row, theirs = unwrapped(row), set(self.columns.values())
        ours = {name: row.get(column) for name, column in self.columns.items()}
        row = {name: value for name, value in row.items() if name not in theirs} | ours
        if not self.joined:
            return row
        parts = [str(row.get(name) or "").strip() for name in ("instruction", "input")]
        rest = {name: value for name, value in row.items() if name not in ("instruction", "input")}
        return rest | {"prompt": "\n\n".join(filter(None, parts))}


def read_headers(
    rows: Iterable[Mapping[str, Any]], groups: Sequence[Sequence[str]], mapped: Collection[str] = ()
) -> Headers:
    """Find the columns of rows; the names of each of the `groups` mean the same, and those `mapped` need no search.

    Raises UserError where two columns may be meant.
    """
    used: dict[str, str] = {}  # columns in which any row has a value -> the same in small letters
    plain = True  # whether all that an `input` holds are texts
    for row in rows:
        for name, value in unwrapped(row).items():
            if holds(value):
                folded = used[str(name)] = fold(name)
                plain &= folded != "input" or (isinstance(value, str) and not value.lstrip().startswith("["))
    head = Headers()
    for group in groups:
        if set(group) & set(mapped):
            continue
        prompts = set(group) & set(used.values())
        if "input" in group and plain and "instruction" in used.values() and prompts == {"input"}:
            head.joined = True
            parts = {folded: name for name, folded in used.items() if folded in ("instruction", "input")}
            head.columns |= {ours: theirs for ours, theirs in parts.items() if ours != theirs}
        elif not set(group) & set(used):
            # One of its names in another case, or else a likely name.
            chosen = [(folded, name) for name, folded in used.items() if folded in group]
            likely = words("likely").get(group[0], ())
            chosen = chosen or [(group[0], name) for name, folded in used.items() if folded in likely]
            if len(chosen) > 1:
                (ours, first), (_, second) = chosen[:2]
                remedy = f"say which by --column {ours}={first!r}"
                raise UserError(f"the columns {first!r} and {second!r} may both be the {group[0]}; {remedy}")
            head.columns |= dict(chosen)
    return head


def unwrapped(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the fields of its `inputs`, `outputs` and other wrappers beside the others, where they are objects.

    So LangSmith, Phoenix and batches keep them, also as columns such as `inputs.question` and `attributes.output.value`.
    """
    flat = dict(row)
    for name, value in row.items():
        if fold(name) not in _WRAPPERS:
            continue
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = jsonl.maybe(value)
        if isinstance(value, Mapping):
            del flat[name]
            flat = {**value, **flat}
    for name in [name for name in flat if "." in str(name)]:
        inner = fold(name).removeprefix("attributes.")
        wrapper, _, field = inner.partition(".")
        if plain := _DOTTED.get(inner) or (field if wrapper in ("inputs", "input", "outputs", "output") else ""):
            flat.setdefault(plain, flat.pop(name))
    return flat
