"""Options declared once: a frozen dataclass per command is its Python signature and its command line.

A field is an `option`, or a `role`: a model (or several) with a part in the command. What of a field ties a run folder
to its value is said there, by `binds`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, TypeVar

from truebench_hf.errors import UserError, in_python, unknown

T = TypeVar("T")
NOBODY = "none"  # in place of a spec, where a role may be left to nobody
_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "True or False"),
    "str": (str, "a text"),
}


@dataclass(frozen=True)
class Binds:
    """What of an option a run folder is tied to: `value(options)`, noted in run.json under `name`.

    By default the option itself. It is tied from the first paid call on, with `late` from the first results on; what
    `grows` may be added to then, but not taken away; `again` says what to name in place of the option itself.
    """

    name: str = ""
    value: Callable[[Any], Any] | None = None
    late: bool = False
    grows: bool = False
    again: str = ""


def option(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    argument: bool = False,
    binds: bool | Binds = False,
    panel: str = "",
    rare: bool = False,
    flag: str = "",
    choices: Collection[str] = (),
    least: int | None = None,
) -> Any:
    """A field of an options class, with the text that `--help` shows; an `argument` is given by its place.

    `panel` is the heading it stands under there, where that is not the `PANEL` of its class. A `rare` one is shown by
    `--help-all` alone. `flag` is its name on the command line, where that is not the field's. A value that is none of
    the `choices`, if there are any, below the `least` number or endless is refused.
    """
    facts = {
        "help": help, "argument": argument, "binds": Binds() if binds is True else binds or None, "panel": panel,
        "rare": rare, "flag": flag, "choices": choices, "least": least,
    }  # fmt: skip
    if isinstance(default, list | tuple) and not default:
        return dataclasses.field(default_factory=tuple, metadata=facts)
    return dataclasses.field(default=default, metadata=facts)


def role(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    binds: bool | Binds = True,
    no_model: Callable[[str], bool] | None = None,
    rare: bool = False,
) -> Any:
    """A field that names a model by its spec, or several (`tuple[str, ...]`: the flag may be repeated).

    `ROLE_arg`, `ROLE_base_url` and `ROLE_concurrency` are made beside it. The folder is tied to what `binds` says and
    to the identity of the models; how they are reached may change. `no_model` is true of values that name no model.
    """
    field = option(default, help=help, binds=binds, panel="Models", rare=rare)
    return dataclasses.field(
        default=field.default,
        default_factory=field.default_factory,
        metadata=dict(field.metadata) | {"role": True, "no_model": no_model},
    )


class Options:
    """Base of every options class. `PANEL` is the heading under which `--help` shows the fields of a class."""

    PANEL: ClassVar[str] = "Method"

    def __init_subclass__(cls) -> None:
        own = vars(cls).get("__annotations__", {})
        for name in [name for name in own if _is_role(cls.__dict__.get(name))]:
            title, rare = name.replace("_", " "), cls.__dict__[name].metadata["rare"]
            numbered = ", N.k=v for the N-th" if str(own[name]).startswith("tuple") else ""
            for part, kind, default, help in (
                ("arg", "tuple[str, ...]", (), f"Provider option k=v for the {title}{numbered}; may be repeated."),
                ("base_url", "str | None", None, f"URL of the OpenAI-compatible server of the {title}."),
                ("concurrency", "int", 16, f"Requests to the {title} at a time."),
            ):
                own[f"{name}_{part}"] = kind
                least = 1 if part == "concurrency" else None
                setattr(cls, f"{name}_{part}", option(default, help=help, panel="Models", rare=rare, least=least))

    def __post_init__(self) -> None:
        """Check the values: every class its own, and those of its bases by `super()`. One text is a list of one."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value, facts = getattr(self, field.name), field.metadata
            if str(field.type).startswith("tuple") and isinstance(value, str):
                value = (value,)
                object.__setattr__(self, field.name, value)
            for entry in value if isinstance(value, tuple) else () if value is None else (value,):
                if (least := facts.get("least")) is not None and not least <= entry < inf:
                    raise UserError(f"{flag(field.name)} {entry}: must be at least {least}")
                if (choices := facts.get("choices")) and entry not in choices:
                    raise unknown(field.name.replace("_", " "), entry, choices)


def _is_role(field: Any) -> bool:
    return isinstance(field, dataclasses.Field) and "role" in field.metadata


def roles(options: Any) -> dict[str, tuple[str, ...]]:
    """The specs by role, in the order of the fields; () where a role is not filled."""
    specs = {}
    for field in filter(_is_role, dataclasses.fields(options)):
        value, no_model = getattr(options, field.name), field.metadata["no_model"]
        of_role = value if isinstance(value, list | tuple) else () if value is None else (value,)
        specs[field.name] = tuple(spec for spec in of_role if not (no_model and no_model(spec)))
    return specs


def flag(name: str) -> str:
    """How an option is written on the command line."""
    return f"--{name.replace('_', '-')}"


def from_values(options: type[T], values: Mapping[str, Any]) -> T:
    """An options object from Python values: paths are texts, lists any sequence or one text, `k=v` options dicts.

    Values of provider options that are no texts are JSON there. Raises UserError on a value of another kind.
    """
    kinds = {field.name: str(field.type) for field in dataclasses.fields(options)}  # type: ignore[arg-type]
    plain = {name: _plain(name, value, kinds.get(name, "")) for name, value in values.items()}
    for name, value in plain.items():
        if demand := unfit(value, kinds.get(name, "")):
            raise UserError(f"{name}={values[name]!r}: must be {demand}")
    return options(**plain)


def _plain(name: str, value: Any, kind: str) -> Any:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if kind.startswith("tuple"):
        if isinstance(value, Mapping) and name.endswith("_arg"):
            return tuple(f"{key}={_as_text(item)}" for key, item in value.items())
        if isinstance(value, Mapping):
            entries = [(key, entry if isinstance(entry, list | tuple) else [entry]) for key, entry in value.items()]
            return tuple(f"{key}={item}" for key, entry in entries for item in entry)
        if isinstance(value, str) or not isinstance(value, Iterable):
            return (value,)
        return tuple(sorted(value, key=str) if isinstance(value, set) else value)
    return value


def _as_text(value: Any) -> str:
    return str(value) if isinstance(value, str | os.PathLike) else json.dumps(value)


def signature(
    *options: type[Any], by_place: Sequence[str] = (), optional: Collection[str] = (), without: Collection[str] = ()
) -> inspect.Signature:
    """Return the Python signature of a call that takes the fields of options classes, those of `by_place` first.

    `optional` ones need not be given whatever their class says; those `without` are left out.
    """
    fields = {field.name: field for kind in options for field in dataclasses.fields(kind) if field.name not in without}

    def parameter(name: str) -> inspect.Parameter:
        field = fields[name]
        where = inspect.Parameter.POSITIONAL_OR_KEYWORD if name in by_place else inspect.Parameter.KEYWORD_ONLY
        default = () if field.default is dataclasses.MISSING else field.default
        if _is_required(field):
            default = None if name in optional else inspect.Parameter.empty
        return inspect.Parameter(name, where, default=default, annotation=_in_python(field))

    required = [name for name, field in fields.items() if _is_required(field)]
    return inspect.Signature([parameter(name) for name in dict.fromkeys((*by_place, *optional, *required, *fields))])


def _in_python(field: Any) -> str:
    """The type of an option as a caller in Python gives it: models may be objects, and texts one or several."""
    is_list = str(field.type).startswith("tuple")
    if "role" in field.metadata:
        return "Models" if is_list else str(field.type).replace("str", "ModelLike")
    return "Texts" if is_list else str(field.type)


def with_settings(function: Callable[..., Any], options: type[Any]) -> inspect.Signature:
    """Return the signature of a function whose `**settings` are the fields of an options class."""
    own = [part for part in inspect.signature(function).parameters.values() if part.kind is not part.VAR_KEYWORD]
    return inspect.Signature([*own, *signature(options).parameters.values()])


def explained(text: str, *options: type[Any]) -> str:
    """Return a docstring with the help of every option behind it."""
    helps = {field.name: field.metadata["help"] for kind in options for field in dataclasses.fields(kind)}
    return "\n".join([inspect.cleandoc(text), "", *(f"- `{name}`: {help}" for name, help in helps.items())])


def declared(
    *options: type[Any], by_place: Sequence[str] = (), optional: Collection[str] = (), without: Collection[str] = ()
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a call the fields of options classes for its parameters, as `signature` says, and their help for its docstring.

    The call gets what it is given by name; its UserErrors speak of arguments. Other names raise TypeError.
    """
    parameters = signature(*options, by_place=by_place, optional=optional, without=without)

    def declare(function: Callable[..., T]) -> Callable[..., T]:
        @in_python
        def call(*placed: Any, **named: Any) -> T:
            return function(**parameters.bind(*placed, **named).arguments)

        call.__name__ = call.__qualname__ = function.__name__
        call.__doc__ = explained(function.__doc__ or "", *options)
        call.__signature__ = parameters  # type: ignore[attr-defined]
        return call

    return declare


def as_call(name: str, options: type[Any], function: Callable[[Any], T], *by_place: str) -> Callable[..., T]:
    """Return the function of an options object as one whose parameters are the options, as Python calls it by `name`."""

    def call(**values: Any) -> T:
        return function(from_values(options, values))

    call.__name__, call.__doc__ = name, function.__doc__
    return declared(options, by_place=by_place)(call)


def _is_required(field: Any) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def unfit(value: Any, kind: str) -> str:
    """What a value of this kind has to be, "" where it is that."""
    if kind.startswith("tuple"):
        return "" if all(isinstance(entry, str) for entry in value) else "a text or a list of texts"
    wanted = [part.strip() for part in kind.split("|")]
    # To Python True is a number.
    fits = [isinstance(value, _KINDS[p][0]) and isinstance(value, bool) == (p == "bool") for p in wanted if p in _KINDS]
    if any(fits) or (value is None and "None" in wanted) or not fits:
        return ""
    return " or ".join(_KINDS[part][1] if part in _KINDS else part for part in wanted)


def pairs(texts: Sequence[str], flag: str) -> dict[str, str]:
    """`k=v` texts as a dict. Raises UserError on one without `=`, and on a name that is given twice."""
    return {name: _only(flag, name, values) for name, values in _by_name(texts, flag).items()}


def columns(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The columns that `OURS=THEIRS` texts name, by our names; criteria may stand in several. Raises as `pairs`."""
    named = _by_name(texts, "--column")
    for theirs in named.get("criteria", ()):
        if named["criteria"].count(theirs) > 1:
            raise UserError(f"--column criteria={theirs}: is given twice, so that each criterion would count twice")
    return {name: tuple(v) if name == "criteria" else (_only("--column", name, v),) for name, v in named.items()}


def _by_name(texts: Sequence[str], flag: str) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"{flag} {text}: write it as name=value")
        by_name.setdefault(name.strip(), []).append(value)
    return by_name


def _only(flag: str, name: str, values: Sequence[str]) -> str:
    if len(values) > 1:
        raise UserError(f"{flag} {name}: is given {len(values)} times ({', '.join(values)}); give it once")
    return values[0]


class InMemory(str):
    """An object (`value`) that stands in options as a text, by which it is shown and written down.

    Two are equal where they hold the same object, whatever they are called: two functions may share a name.
    """

    value: Any

    def __new__(cls, text: str, value: Any) -> InMemory:
        named = super().__new__(cls, text)
        named.value = value
        return named

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InMemory) and other.value is self.value

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return id(self.value)

    def __deepcopy__(self, memo: dict[int, Any]) -> InMemory:
        return self  # `dataclasses.asdict` copies what it finds; a copy of the object would be another one
