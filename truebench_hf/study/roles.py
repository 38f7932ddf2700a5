"""The models of a study by the roles they play, each opened once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError, need
from truebench_hf.hashing import digest
from truebench_hf.models.on_ray import Cluster, OnRay
from truebench_hf.models.protocol import ChatModel
from truebench_hf.models.spec import Opening, open_model, takes_url
from truebench_hf.options import Binds, InMemory, facts, flag, pairs, roles
from truebench_hf.study.estimate import EstimatedModel
from truebench_hf.study.options import FolderOptions, numbered
from truebench_hf.text import redaction


class Roles:
    """The opened models of an options object: `roles["judge"]` are those of `--judge`, in order.

    Equal specs with equal arguments share one model. Nothing heavy is loaded before a model's first request. Raises
    UserError on specs and arguments that cannot be used, and where nothing tells two models of a role apart: the second
    would get the first one's answers.
    """

    def __init__(self, options: FolderOptions) -> None:
        self._opened: dict[Any, ChatModel] = {}
        self.options = options
        if options.engine == "ray":
            need("ray", "ray", what="--engine ray")
        self._cluster = Cluster(options.ray_address)
        self.models: dict[str, list[ChatModel]] = {
            name: self._open(name, specs) for name, specs in roles(options).items()
        }

    def __getitem__(self, role: str) -> list[ChatModel]:
        return self.models[role]

    def named(self, role: str) -> dict[str, ChatModel]:
        """The models of a role by name: the spec, numbered where one is named more than once."""
        return dict(zip(numbered([model.spec for model in self[role]]), self[role], strict=True))

    def concurrency(self, role: str) -> int:
        """How many requests a model of this role gets at a time."""
        return int(getattr(self.options, f"{role}_concurrency"))

    @property
    def slots(self) -> int:
        """How many requests all models together may have in work at a time."""
        by_model: dict[int, int] = {}
        for role, models in self.models.items():
            for model in models:
                by_model[id(model)] = max(by_model.get(id(model), 0), self.concurrency(role), model.batch or 0)
        return sum(by_model.values())

    def identities(self, role: str) -> dict[str, Any]:
        """What shapes the answers of the models of a role, under a name that another order does not change."""
        is_numbered = isinstance(getattr(self.options, role), list | tuple)
        return {f"{role} {name}" if is_numbered else role: asdict(m.identity) for name, m in self.named(role).items()}

    def estimate(self) -> None:
        """Put in place of every model one that is never asked."""
        self.models = {role: [EstimatedModel(model) for model in models] for role, models in self.models.items()}

    @property
    def opened(self) -> list[ChatModel]:
        """All models, each once, whoever stands in for them in an estimate."""
        return list(self._opened.values())

    @property
    def lost(self) -> int:
        """How many calls were lost with workers of Ray, and repeated."""
        return sum(model.lost for model in self._opened.values() if isinstance(model, OnRay))

    async def close(self) -> None:
        """Give back what the models hold."""
        try:
            for model in self._opened.values():
                await model.close()
        finally:
            self._cluster.leave()

    def _open(self, role: str, specs: Sequence[str]) -> list[ChatModel]:
        arguments = pairs(getattr(self.options, f"{role}_arg"), f"{flag(role)}-arg")
        url = getattr(self.options, f"{role}_base_url")
        if not specs and (arguments or url):
            raise UserError(f"{flag(role)}-arg and {flag(role)}-base-url are about {flag(role)}; name one")
        models = [self._model(role, spec, number, len(specs), arguments, url) for number, spec in enumerate(specs, 1)]
        for (first, model), (second, other) in combinations(enumerate(models), 2):
            if model.identity == other.identity and not self.options.asked_otherwise(role, first, second):
                raise UserError(
                    f"{flag(role)} {other.spec} stands twice, and no option that shapes its answers differs: a model "
                    f"always agrees with itself; name it once, or set the two apart by {flag(role)}-arg N.k=v"
                )
        return models

    def _model(
        self, role: str, spec: str, number: int, count: int, arguments: Mapping[str, str], url: str | None
    ) -> ChatModel:
        arguments = _arguments(f"{flag(role)}-arg", arguments, number, count)
        # One URL for all means: for those that take one. A lone model that takes none is told so.
        url = url if count == 1 or takes_url(spec) else None
        key = (spec, tuple(sorted(arguments.items())), url)
        options = self.options
        if key not in self._opened:
            model = open_model(spec, arguments, url, needs_key=not options.estimate)
            if options.engine == "ray" and not isinstance(spec, InMemory):  # an object of this process stays in it
                opening = Opening.here(spec, arguments, url, model.identity)
                model = OnRay(model, opening, self._cluster)
            self._opened[key] = model
        model = self._opened[key]
        if isinstance(model, OnRay):
            model.concurrency = max(model.concurrency, self.concurrency(role))
        return model


def _arguments(flag: str, arguments: Mapping[str, str], number: int, count: int) -> dict[str, str]:
    """The provider options of the `number`-th of `count` models: those for all, and over them those marked `N.`."""
    shared, own = {}, {}
    for key, value in arguments.items():
        place, dot, name = key.partition(".")
        if not dot:
            shared[key] = value
        elif not place.isdigit() or not 1 <= int(place) <= count:
            raise UserError(f"{flag} {key}: there is no number {place}; there {'is' if count == 1 else 'are'} {count}")
        elif int(place) == number:
            own[name] = value
    return shared | own


def bound(
    options: FolderOptions, roles: Roles, unasked: Collection[str], *, results: bool
) -> tuple[dict[str, Any], set[str]]:
    """What `run.json` notes of the options and the models, and which of it may change.

    `unasked` are options that say nothing here, `results` whether the folder has some, by which more is tied.
    """
    held: dict[str, Any] = {}
    free: set[str] = set() if results else {"judge_models"}
    for option, field in type(options).model_fields.items():
        binds, value = facts(field).binds, getattr(options, option)
        if option in unasked:
            continue
        if binds is None:
            free.add(option)
            beside = ("out", "prompt", "cache", "no_cache", "update", "price", "budget")
            if option not in beside and value != field.default:  # which says nothing
                held[option] = value
            continue
        name = binds.name or option
        held[name] = binds.value(options) if binds.value else value
        if binds.grows or (binds.late and not results):
            free.add(name)
        if facts(field).is_role:
            key = "judge_models" if binds.late else "models"
            held.setdefault(key, {}).update(roles.identities(option))
    return held, free


def growing(options: FolderOptions) -> dict[str, Binds]:
    """The options that may be added to, by the names under which run.json notes them."""
    pairs = [(facts(field).binds, name) for name, field in type(options).model_fields.items()]
    return {binds.name or name: binds for binds, name in pairs if binds and binds.grows}


def refuse_to_drop(options: FolderOptions, held: Mapping[str, Any]) -> None:
    """Results are written anew from what a command names: one that names less would drop what the folder holds."""
    before = read_info(Path(options.out)).get("results", {})
    for name, binds in growing(options).items():
        values = [held[name], before.get(name)]
        lists = [[] if v is None else list(v) if isinstance(v, list | tuple) else [v] for v in values]
        if gone := [result for result in lists[1] if result not in lists[0]]:
            fields = type(options).model_fields.items()
            option = next(name for name, field in fields if facts(field).binds is binds)
            raise UserError(
                f"--out {options.out} has results of {', '.join(map(str, gone))} too, which would be dropped; name "
                f"{binds.again or f'them again with {flag(option)}'} (finished calls are not asked again), or choose "
                "another folder"
            )


NOTED = "written"  # of run.json: by file the hashes of all that was written there


class UserEditedFiles:
    """The files of a study that people edit: `back` names the option that takes one back, "" without one.

    Those in folders below count too, by their last name.
    """

    def __init__(self, folder: Path, back: Mapping[str, str], options: Any) -> None:
        self._folder, self._back, self._options = folder, back, options
        self._read: dict[str, str] = {}  # hashes of those that this very command reads

    def check(self, noted: Mapping[str, Sequence[str]], names: Iterable[str] = ()) -> None:
        """Raise UserError where a file would be written over that is not as a study wrote it, or as this one read it."""
        for name in dict.fromkeys((*self._back, *filter(self.has, noted), *names)):
            file, back = self._folder / name, self._back[Path(name).name]
            if not file.is_file():
                continue
            current = digest(file.read_bytes())
            if self._is_read(file):
                is_known = self._read.setdefault(name, current) == current
            else:
                is_known = current in noted.get(name, ())
            if not is_known:
                use = f"add {flag(back)} {file} to use it (finished calls are not asked again)"
                remedy = use if back else "use another --out"
                raise UserError(
                    f"{file} was edited since it was written; {remedy}, or move it away to have it written anew"
                )

    def to_note(self, files: Mapping[str, Iterable[str]], noted: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """What to note before these texts are written. Raises UserError where one was edited since the check."""
        self.check(noted, files)
        hashes = {name: list(noted.get(name, ())) for name in files}
        for name, parts in files.items():
            text = "".join(map(redaction.known, parts)).encode("utf-8", "backslashreplace").decode()
            if name not in self._read:  # what people wrote stays theirs
                hashes[name] = list(dict.fromkeys((*hashes[name], digest(text))))
        return {NOTED: {**noted, **hashes}} if hashes else {}

    def has(self, name: str) -> bool:
        """Whether people edit the file of this name."""
        return Path(name).name in self._back

    def _is_read(self, file: Path) -> bool:
        """Whether an option names this very file."""
        values = [value for value in vars(self._options).values() if isinstance(value, str)]
        return any(Path(value).name == file.name and Path(value).resolve() == file.resolve() for value in values)
