"""One Jinja file per prompt, and the loader that lets a user replace any of them.

`NAME.jinja` is a prompt, `NAME.VARIANT.jinja` another wording of it that can be chosen by name, and `_PART.jinja` a
text that several prompts share by `{% include "_PART.jinja" %}` on a line of its own. What each prompt is for, and sample
values to look at it and to try replaced ones before a run folder is opened and anything is paid for, stand in
`samples.yaml`. `sections` are the values of a case that judge prompts are filled with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from truebench_hf.data.judged import RESTS, Case, stated
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import digest
from truebench_hf.types import Criterion

_FOLDER = Path(__file__).parent
_SIGNED = re.compile(r"""["']id["'][^\n]{0,40}\{\{ *tag""")
_INCLUDE = re.compile(r"""^[ \t]*\{%\s*include\s+["']([\w.]+)["']\s*%\}[ \t]*(?:\n|\Z)""", re.MULTILINE)


class Prompts:
    """The prompts of one run: ours, with others in place of some (`{name: path, or name of a variant of ours}`)."""

    def __init__(self, replaced: Mapping[str, str] | None = None) -> None:
        self._chosen: dict[str, dict[str, str]] = {}  # by name: the `path` of a user's file, or a `variant` of ours
        self._sources: dict[str, str] = {}
        for name, choice in (replaced or {}).items():
            self._replace(name, choice)

    def _replace(self, name: str, choice: str) -> None:
        if name not in names():
            raise unknown("prompt", name, names())
        if choice in (ours := variants(name)):
            self._chosen[name] = {"variant": choice}
            return
        if not Path(choice).is_file():
            others = f", and no variant of ours ({', '.join(ours)})" if ours else ""
            raise UserError(f"--prompt {name}={choice}: no such file{others}")
        self._chosen[name] = {"path": choice}
        try:  # now, not when the first judge prompt is due
            self._template(name)
        except Exception as error:  # not of one kind: bad syntax, bad bytes, nesting too deep for Python
            raise UserError(f"--prompt {name}={choice}: {_error_line(error)}") from error

    @property
    def replaced(self) -> dict[str, dict[str, str]]:
        """What stands in place of our prompts, by name: its `text`, and its `path` or `variant`."""
        return {name: origin | {"text": self.source(name)} for name, origin in self._chosen.items()}

    def is_plain(self, name: str) -> bool:
        """Whether a prompt is in the papers' own plain form, whose answers bear no tag."""
        return self._chosen.get(name) == {"variant": "plain"}

    def is_signed(self, name: str) -> bool:
        """Whether a prompt asks for an object that opens with its tag as `id`."""
        return _SIGNED.search(self.source(name)) is not None

    def source(self, name: str) -> str:
        """The template text of a prompt, with what it includes in place."""
        if name not in self._sources:
            origin = self._chosen.get(name, {})
            ours = _FOLDER / (f"{name}.{origin['variant']}.jinja" if "variant" in origin else f"{name}.jinja")
            self._sources[name] = _with_includes(Path(origin.get("path", ours)).read_text(encoding="utf-8"))
        return self._sources[name]

    def hash(self, name: str) -> str:
        """SHA-256 of a prompt's template text, included texts in place, in hex."""
        return digest(self.source(name))

    def render(self, name: str, **values: Any) -> str:
        """The prompt with its values. Raises UserError when a replaced template is broken or asks for other values."""
        try:
            return self._template(name).render(**values).strip()
        except Exception as error:  # a template can raise anything: 1/0, an endless macro
            path = self._chosen.get(name, {}).get("path")
            if path is None:
                raise
            message = f"--prompt {name}={path}: {_error_line(error)}; values on offer: {', '.join(sorted(values))}"
            raise UserError(message) from error

    def _template(self, name: str) -> Template:
        # In a sandbox, since a prompt is a file that one takes over from others; ours need none of its checks.
        return _compiled(self.source(name), "path" in self._chosen.get(name, {}))


@lru_cache(maxsize=256)  # for all runs of a process: compiling takes longer than filling in
def _compiled(source: str, strange: bool) -> Template:
    return _environment(strange).from_string(source)


@cache
def _environment(strange: bool) -> Environment:
    kind = ImmutableSandboxedEnvironment if strange else Environment
    # Values are inserted once and never read as templates, so a reply that holds a placeholder stays text.
    return kind(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False, loader=FunctionLoader(_refused_include),
    )  # fmt: skip


def _with_includes(text: str) -> str:
    """A template with our files in place of its includes; it reaches no others, and its text tells all there is of it."""

    def included(include: re.Match[str]) -> str:
        ours = _FOLDER / include.group(1)
        if ours.suffix != ".jinja" or not ours.is_file():
            return include.group(0)  # refused when it is rendered
        return _with_includes(ours.read_text(encoding="utf-8"))

    return _INCLUDE.sub(included, text)


def _refused_include(name: str) -> str:
    ours = ", ".join(sorted(path.name for path in _FOLDER.glob("_*.jinja")))
    raise UserError(f'{name!r} cannot be included, only {ours}, as {{% include "..." %}} on a line of its own')


def _error_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def names() -> list[str]:
    """The names of all prompts."""
    return sorted(path.stem for path in _FOLDER.glob("[!_]*.jinja") if "." not in path.stem)


def variants(name: str) -> list[str]:
    """The names of our other wordings of a prompt."""
    return sorted(path.stem.removeprefix(f"{name}.") for path in _FOLDER.glob(f"{name}.*.jinja"))


def read_between(text: str, tag: str) -> str | None:
    """The last text of an answer between `<tag>` and `</tag>`, without the line breaks that set it off; None: none."""
    parts: list[str] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return parts[-1].removeprefix("\n").removesuffix("\n") if parts and parts[-1].strip() else None


def fence(*texts: str, beside: Sequence[str] = ()) -> str:
    """A tag suffix derived from the texts that none of them contains: text inside cannot close its own section.

    Nor does any text `beside` contain it. Those do not shape the suffix, so that prompts which differ only in them
    (the criteria of one response) begin alike and prefix caches can serve them.
    """
    joined = "\0".join(texts)
    suffix = digest(joined)[:8]
    while suffix in joined or any(suffix in text for text in beside):
        suffix = digest(suffix)[:8]
    return suffix


def sections(case: Case, beside: Sequence[str] = ()) -> dict[str, Any]:
    """The values that judge prompts are filled with; `tag` is a suffix that occurs in none of the texts.

    Nor does it in the texts `beside`, which a prompt shows too. The roles of the conversation bear it as well: a
    message cannot hold a turn of somebody else.
    """
    criteria = [one_line(criterion) for criterion in case.criteria]
    facts = [case.measured.get(criterion, "") for criterion in case.criteria]
    context, reference = case.context or "", case.reference or ""
    history = [message.content for message in case.history]
    tag = fence(*history, case.instruction, case.response, context, reference, beside=[*criteria, *facts, *beside])
    turns = [f"[{message.role}_{tag}]\n{message.content}" for message in case.history]
    return {
        "conversation": "\n\n".join(turns) or "(this is the first message)",
        "instruction": case.instruction,
        "response": case.response or "(the response is empty)",
        # What was measured stands under a name that neither the criterion's author nor the response can give.
        "criteria": [
            f"{text} (measured_{tag}: {figures})" if figures else text
            for text, figures in zip(criteria, facts, strict=True)
        ],
        # Of the whole case, so that prompts on single criteria of a response begin alike.
        "measured": bool(case.measured),
        "conditions": any(RESTS in text for text in criteria),
        "context": context,
        "reference": reference,
        "category": case.category or "",
        "system_message": any(message.role == "system" for message in case.history),
        "benchmark": case.benchmark or "",
        "tag": tag,
    }


def one_line(criterion: Criterion) -> str:
    """A criterion as it stands in a list of a prompt."""
    return " ".join(stated(criterion).split())


def about_prompts() -> dict[str, tuple[str, str]]:
    """Return what each prompt does, and who uses it."""
    return {name: (sample["does"], sample["used_by"]) for name, sample in _samples()["prompts"].items()}


def check_prompts(
    chosen: Iterable[str], prompts: Prompts, structured: str = "auto", reasoning: bool = True, **more: Any
) -> None:
    """Fill those of these prompts that are replaced, in each form they may take; `more` is what there is besides (see `example`).

    Raises UserError where a replaced template asks for values that there are not.
    """
    forms = {"on": (True,), "off": (False,), "auto": (False, True)}[structured]
    for name in set(chosen) & set(prompts.replaced):  # ours can be filled
        for variant, category, form in product(_samples()["variants"], _samples()["categories"], forms):
            values = _values(name, form, reasoning)
            changed = {key: value for key, value in (variant | {"category": category}).items() if key in values}
            prompts.render(name, **values | changed | more)


def example(name: str, prompts: Prompts, *, structured: bool = False, reasoning: bool = True, **more: Any) -> str:
    """What a prompt asks, filled with a small sample: the second turn of a conversation, judged on TRUEBench's terms.

    `more` replaces values: `kinds` of `taxonomy`, for example. Raises UserError on a replaced template that fails.
    """
    return prompts.render(name, **_values(name, structured, reasoning) | more)


@cache
def _samples() -> Mapping[str, Any]:
    import yaml

    samples: dict[str, Any] = yaml.safe_load((_FOLDER / "samples.yaml").read_text(encoding="utf-8"))
    return samples


def _values(name: str, structured: bool, reasoning: bool) -> dict[str, Any]:
    """What a prompt of that name is given."""
    sample = _samples()["prompts"][name]
    forms = {"structured": structured, "reasoning": reasoning}
    kept = {key: forms[key] for key in sample.get("forms", forms)}
    return {**_samples()[sample.get("of", "case")], **kept, **sample.get("values", {})}
