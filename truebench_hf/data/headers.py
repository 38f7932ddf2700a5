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


@cache
def words(what: str) -> Any:
    """What people, logs and tools call the same, from `log_forms.yaml`: lists of names and paths, or a table of them."""
    found = _forms()[what]
    flat = (name if isinstance(name, list) else [name] for name in found)
    return tuple(chain.from_iterable(flat)) if isinstance(found, list) else found


@cache
def _forms() -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load((files(__package__) / "log_forms.yaml").read_text(encoding="utf-8"))
    return found


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
        row = unwrapped(row)
        theirs = set(self.columns.values())
        row = {name: v for name, v in row.items() if name not in theirs} | {
            o: row.get(t) for o, t in self.columns.items()
        }
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
    used, plain = _used(rows)
    found = Headers()
    for group in groups:
        if set(group) & set(mapped):
            continue
        if "input" in group and plain and _is_about(used, group):
            found.joined = True
            parts = {fold(name): name for name in used if fold(name) in ("instruction", "input")}
            found.columns |= {ours: theirs for ours, theirs in parts.items() if ours != theirs}
        elif not set(group) & set(used):
            found.columns |= _chosen(used, group)
    return found


def _chosen(used: Sequence[str], group: Sequence[str]) -> dict[str, str]:
    """The column that is one of a group, by one of its names in another case, or else by a likely name."""
    same = [(fold(name), name) for name in used if fold(name) in group]
    chosen = same or [(group[0], name) for name in used if fold(name) in words("likely").get(group[0], ())]
    if len(chosen) > 1:
        (ours, first), (_, second) = chosen[:2]
        raise UserError(
            f"the columns {first!r} and {second!r} may both be the {group[0]}; say which by --column {ours}={first!r}"
        )
    return dict(chosen)


def _used(rows: Iterable[Mapping[str, Any]]) -> tuple[list[str], bool]:
    """The columns in which any row has a value, and whether all that an `input` holds are plain texts."""
    used: dict[str, None] = {}
    plain = True
    for row in rows:
        for name, value in unwrapped(row).items():
            if holds(value):
                used[str(name)] = None
                if fold(name) == "input":
                    plain &= isinstance(value, str) and not value.lstrip().startswith("[")
    return list(used), plain


def _is_about(used: Sequence[str], group: Sequence[str]) -> bool:
    """Whether rows hold an instruction and the input that it is about, and no other prompt."""
    folded = set(map(fold, used))
    return "instruction" in folded and set(group) & folded == {"input"}


def unwrapped(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the fields of its `inputs`, `outputs` and other wrappers beside the others, where they are objects.

    So LangSmith, Phoenix and batches keep them, also as columns such as `inputs.question` and `attributes.output.value`.
    """
    made = dict(row)
    for name, value in row.items():
        if fold(name) not in _WRAPPERS:
            continue
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = jsonl.maybe(value)
        if isinstance(value, Mapping):
            del made[name]
            made = {**value, **made}
    for name in [name for name in made if "." in str(name)]:
        if plain := _without_wrapper(fold(name)):
            made.setdefault(plain, made.pop(name))
    return made


def _without_wrapper(name: str) -> str:
    """`question` for `inputs.question`, `input` for `attributes.input.value`; "" for other columns with a dot."""
    inner = name.removeprefix("attributes.")
    known = {"input.value": "input", "output.value": "output", "retrieval.documents": "documents"}
    wrapper, _, field = inner.partition(".")
    return known.get(inner) or (field if wrapper in ("inputs", "input", "outputs", "output") else "")
