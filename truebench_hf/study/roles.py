"""The models of a study by the roles they play, each opened once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.models.on_ray import Cluster, OnRay, Opening
from truebench_hf.models.protocol import ChatModel
from truebench_hf.models.spec import open_model, takes_url
from truebench_hf.options import InMemory, flag, pairs, roles
from truebench_hf.study.estimate import EstimatedModel
from truebench_hf.study.options import FolderOptions, numbered


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
        if getattr(self.options, f"{role}_concurrency") < 1:
            raise UserError(f"{flag(role)}-concurrency {self.concurrency(role)}: must be at least 1")
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
