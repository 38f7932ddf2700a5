"""Options declared once: a pydantic model per command is its Python signature, its checks and its command line.

A field is an `option`, or a `role`: a model (or several) with a part in the command. What of a field ties a run folder
to its value is said there, by `binds`.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from truebench_hf.errors import UserError, in_python, unknown

T = TypeVar("T")
NOBODY = "none"  # in place of a spec, where a role may be left to nobody
# What a value must be, by pydantic's name of the error; those of a wrong type come from Python alone.
_TYPES = {"int_type": "a whole number", "float_type": "a number", "bool_type": "True or False", "string_type": "a text"}
_BOUNDS = {
    "greater_than_equal": "at least {ge:g}", "greater_than": "above {gt:g}", "less_than_equal": "at most {le:g}",
    "less_than": "below {lt:g}", "finite_number": "a finite number",
}  # fmt: skip


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


@dataclass(frozen=True)
class Facts:
    """What an option is beside its type, default, bounds and help: see `option` and `role`."""

    argument: bool = False
    binds: Binds | None = None
    panel: str = ""
    rare: bool = False
    flag: str = ""
    choices: Collection[str] = ()
    is_role: bool = False
    no_model: Callable[[str], bool] | None = None


def option(
    default: Any = ...,
    *,
    help: str,
    argument: bool = False,
    binds: bool | Binds = False,
    panel: str = "",
    rare: bool = False,
    flag: str = "",
    choices: Collection[str] = (),
    **bounds: float,
) -> Any:
    """A field of an options class, with the text that `--help` shows; an `argument` is given by its place.

    `panel` is the heading it stands under there, where that is not the `PANEL` of its class. A `rare` one is shown by
    `--help-all` alone. `flag` is its name on the command line, where that is not the field's. A value that is none of
    the `choices`, if there are any, is refused, and a number beyond the `bounds`: `ge`, `gt`, `le` and `lt` as in pydantic.
    """
    bound = Binds() if binds is True else binds or None
    return _field(default, help, Facts(argument, bound, panel, rare, flag, choices), **bounds)


def role(
    default: Any = ...,
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
    bound = Binds() if binds is True else binds or None
    return _field(default, help, Facts(False, bound, "Models", rare, is_role=True, no_model=no_model))


def _field(default: Any, help: str, facts: Facts, **bounds: Any) -> Any:
    field = Field(default, description=help, **bounds)
    field.metadata.append(facts)
    return field


def facts(field: FieldInfo) -> Facts:
    """Return what an option is beside its type, default, bounds and help."""
    return next(entry for entry in field.metadata if isinstance(entry, Facts))


class Options(BaseModel):
    """Base of every options class. `PANEL` is the heading under which `--help` shows the fields of a class.

    What pairs of options do to each other is checked in `model_post_init`, by every class for its own.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)
    PANEL: ClassVar[str] = "Method"

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = vars(cls).get("__annotations__", {})
        for name in list(own):
            field = vars(cls).get(name)
            if not (isinstance(field, FieldInfo) and facts(field).is_role):
                continue
            title, beside = name.replace("_", " "), Facts(panel="Models", rare=facts(field).rare)
            numbered = ", N.k=v for the N-th" if str(own[name]).startswith("tuple") else ""
            about = f"Provider option k=v for the {title}{numbered}; may be repeated."
            url = f"URL of the OpenAI-compatible server of the {title}."
            for part, kind, part_field in (
                ("arg", "tuple[str, ...]", _field((), about, beside)),
                ("base_url", "str | None", _field(None, url, beside)),
                ("concurrency", "int", _field(16, f"Requests to the {title} at a time.", beside, ge=1)),
            ):
                own[f"{name}_{part}"] = kind
                setattr(cls, f"{name}_{part}", part_field)

    def __init__(self, **values: Any) -> None:
        """Raises UserError on a value that will not do, TypeError on a name that is none, and where one is missing."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _refusal(error, type(self)) from None

    @field_validator("*", mode="wrap")
    @classmethod
    def _read(cls, value: Any, check: Callable[[Any], Any], info: ValidationInfo) -> Any:
        """The value as an option holds it: paths are texts, lists any sequence or one text, `k=v` options dicts, too."""
        name = str(info.field_name)
        field = cls.model_fields[name]
        value = _texts(name, value) if is_list(field) else _path_as_text(value)
        checked = check(value)
        entries = checked if isinstance(checked, tuple) else () if checked is None else (checked,)
        if (choices := facts(field).choices) and (wrong := [entry for entry in entries if entry not in choices]):
            raise unknown(flag(name), wrong[0], choices)
        return value if isinstance(checked, str | tuple) else checked  # pydantic makes plain texts of `InMemory`


def _texts(name: str, value: Any) -> tuple[Any, ...]:
    """Several texts; of a dict `k=v`, where values of provider options that are no texts are JSON."""
    if isinstance(value, Mapping) and name.endswith("_arg"):
        plain = {key: _path_as_text(entry) for key, entry in value.items()}
        return tuple(f"{key}={entry if isinstance(entry, str) else json.dumps(entry)}" for key, entry in plain.items())
    if isinstance(value, Mapping):
        lists = [(key, entry if isinstance(entry, list | tuple) else [entry]) for key, entry in value.items()]
        return tuple(f"{key}={entry}" for key, entries in lists for entry in entries)
    if isinstance(value, str | os.PathLike) or not isinstance(value, Iterable):
        return (_path_as_text(value),)
    return tuple(map(_path_as_text, sorted(value, key=str) if isinstance(value, set) else value))


def _path_as_text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _refusal(error: ValidationError, options: type[Options]) -> Exception:
    """The error that says what is wrong first: of the flag where a value is out of bounds, else of the argument."""
    wrong = error.errors(include_url=False)[0]
    name, kind = str(wrong["loc"][0]), wrong["type"]
    if kind in _BOUNDS:
        return UserError(f"{flag(name)} {wrong['input']}: must be {_BOUNDS[kind].format(**wrong.get('ctx', {}))}")
    if kind in ("missing", "extra_forbidden"):
        return TypeError(f"{name!r} {'is missing' if kind == 'missing' else 'is no option here'}")
    demand = "a text or a list of texts" if len(wrong["loc"]) > 1 else _TYPES.get(kind, wrong["msg"])
    optional = " or None" if type(None) in get_args(options.model_fields[name].annotation) else ""
    return UserError(f"{name}={wrong['input']!r}: must be {demand}{optional}")


def is_list(field: FieldInfo) -> bool:
    """Return whether an option takes several texts."""
    return get_origin(field.annotation) is tuple


def roles(options: Options) -> dict[str, tuple[str, ...]]:
    """The specs by role, in the order of the fields; () where a role is not filled."""
    specs = {}
    for name, field in type(options).model_fields.items():
        if facts(field).is_role:
            value, no_model = getattr(options, name), facts(field).no_model
            of_role = value if isinstance(value, tuple) else () if value is None else (value,)
            specs[name] = tuple(spec for spec in of_role if not (no_model and no_model(spec)))
    return specs


def flag(name: str) -> str:
    """How an option is written on the command line."""
    return f"--{name.replace('_', '-')}"


def signature(
    function: Callable[..., Any],
    *options: type[Options],
    by_place: Sequence[str] = (),
    without: Collection[str] = (),
) -> inspect.Signature:
    """Return the signature of a function whose `**options` are the fields of options classes but those `without`.

    Its own parameters come first, with their defaults, then the fields of `by_place`, and the others by keyword alone.
    """
    fields = {name: field for kind in options for name, field in kind.model_fields.items() if name not in without}
    own = {
        name: part for name, part in inspect.signature(function).parameters.items() if part.kind is not part.VAR_KEYWORD
    }

    def parameter(name: str) -> inspect.Parameter:
        if name not in fields:
            return own[name]
        field = fields[name]
        where = inspect.Parameter.POSITIONAL_OR_KEYWORD if name in by_place else inspect.Parameter.KEYWORD_ONLY
        required = own[name].default if name in own else inspect.Parameter.empty
        default = required if field.is_required() else field.default
        return inspect.Parameter(name, where, default=default, annotation=_in_python(field))

    required = [name for name, field in fields.items() if field.is_required()]
    return inspect.Signature([parameter(name) for name in dict.fromkeys((*own, *by_place, *required, *fields))])


def _in_python(field: FieldInfo) -> str:
    """The type of an option as a caller in Python gives it: models may be objects, and texts one or several."""
    kind, several = field.annotation, is_list(field)
    written = kind.__name__ if isinstance(kind, type) else str(kind)
    if facts(field).is_role:
        return "Models" if several else written.replace("str", "ModelLike")
    return "Texts" if several else written


def explained(text: str, *options: type[Options]) -> str:
    """Return a docstring with the help of every option behind it."""
    helps = {name: field.description for kind in options for name, field in kind.model_fields.items()}
    return "\n".join([inspect.cleandoc(text), "", *(f"- `{name}`: {help}" for name, help in helps.items())])


def declared(*options: type[Options], **shape: Collection[str]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a function the fields of options classes for its `**options`, as `signature` says, and their help for its docstring.

    Its UserErrors speak of arguments. Other names raise TypeError, which tells the nearest, and so does a missing one.
    """

    def declare(function: Callable[..., T]) -> Callable[..., T]:
        parameters = signature(function, *options, **shape)  # type: ignore[arg-type]
        name = function.__qualname__.removesuffix(".__init__")
        names = [parameter for parameter in parameters.parameters if parameter != "self"]

        @wraps(function)
        @in_python
        def call(*placed: Any, **named: Any) -> T:
            if strange := [argument for argument in named if argument not in names]:
                raise TypeError(f"{name}(): {unknown('argument', strange[0], names)}")
            try:
                values = parameters.bind(*placed, **named).arguments
            except TypeError as error:
                raise TypeError(f"{name}(): {error}") from None
            return function(**values)

        call.__doc__ = explained(function.__doc__ or "", *options)
        call.__signature__ = parameters  # type: ignore[attr-defined]
        return call

    return declare


def as_call(name: str, options: type[Options], function: Callable[[Any], T], *by_place: str) -> Callable[..., T]:
    """Return the function of an options object as one whose parameters are the options, as Python calls it by `name`."""

    def call(**values: Any) -> T:
        return function(options(**values))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return declared(options, by_place=by_place)(call)


def pairs(texts: Sequence[str], flag: str) -> dict[str, str]:
    """`k=v` texts as a dict. Raises UserError on one without `=`, and on a name that is given twice."""
    by_name: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"{flag} {text}: write it as name=value")
        by_name.setdefault(name.strip(), []).append(value)
    for name, values in by_name.items():
        if len(values) > 1:
            raise UserError(f"{flag} {name}: is given {len(values)} times ({', '.join(values)}); give it once")
    return {name: value for name, (value,) in by_name.items()}


def columns(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The columns that `OURS=THEIRS` texts name, by our names; criteria may stand in several. Raises as `pairs`."""
    several = [text for text in texts if text.partition("=")[0].strip() == "criteria" and "=" in text]
    criteria = tuple(text.partition("=")[2] for text in several)
    for theirs in criteria:
        if criteria.count(theirs) > 1:
            raise UserError(f"--column criteria={theirs}: is given twice, so that each criterion would count twice")
    others = pairs([text for text in texts if text not in several], "--column")
    return {name: (theirs,) for name, theirs in others.items()} | ({"criteria": criteria} if criteria else {})


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
