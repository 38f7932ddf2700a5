"""A reward function for training: the verdicts of a judge on checklists, in the form that TRL calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from truebench_hf.api.judge import File, Judge, JudgeKeywords, ModelLike, as_spec, as_texts, cache_file
from truebench_hf.errors import UserError, unknown
from truebench_hf.rewards.shapes import PENALTY, SHAPES, reward_of
from truebench_hf.rewards.step import Scored, Step, why

if TYPE_CHECKING:
    from truebench_hf.judging.case import Case
    from truebench_hf.rewards.writers import Opening

Rewards = list[float | None]
_OWN = (
    "base_url",
    "judge_arg",
    "calibration",
    "threshold",
    "cascade_judge",
    "cascade_arg",
)  # of the judge, and of no other


@dataclass(frozen=True, kw_only=True)
class RewardOptions:
    """What `checklist_reward` was given; explained there."""

    judge: ModelLike | Judge
    generator: ModelLike | None = None
    split: ModelLike | None = None
    shape: str = "fraction"
    penalty: float = PENALTY
    held_out: ModelLike | Judge | None = None
    held_out_share: float = 1.0
    column: str | None = None
    language: str = ""
    name: str
    log: File | None = None
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise unknown("shape", self.shape, SHAPES)
        if not 0 <= self.penalty < inf:
            raise UserError(f"penalty={self.penalty!r}: must be a number from 0 on")
        if not 0 < self.held_out_share <= 1:
            raise UserError(f"held_out_share={self.held_out_share!r}: must lie above 0, and be 1 at most")
        if self.held_out is not None and (self.held_out is self.judge or self.held_out == self.judge):
            raise UserError("held_out is the judge itself, which cannot drift from itself; name another one")
        if isinstance(self.judge, Judge) and (more := sorted(set(self.settings) - {"cache"})):
            raise UserError(f"{', '.join(more)}: the judge is made already; give such settings to its Judge(...)")


class _Reward:
    """What both forms share: the judge, the held-out one, the writers, and how a batch is scored."""

    def __init__(self, options: RewardOptions) -> None:
        from truebench_hf.prompts import Prompts
        from truebench_hf.rewards.writers import Writers

        self._options = options
        self.__name__ = options.name  # by which TRL calls its metrics
        self.last = Step(())
        settings = dict(options.settings)
        self._judge = options.judge if isinstance(options.judge, Judge) else Judge(options.judge, **settings)
        self._held_out: Judge | None = None
        if options.held_out is not None:
            shared = {name: value for name, value in settings.items() if name not in _OWN}
            given = options.held_out
            self._held_out = given if isinstance(given, Judge) else Judge(given, **shared)
        openings = {
            role: _opening(model, options)
            for role, model in (("generator", options.generator), ("splitter", options.split))
            if model is not None
        }
        cache = cache_file(settings.get("cache"), [how.spec for how in openings.values()])
        own = {name: str(path) for name, path in (settings.get("prompts") or {}).items()}
        self._writers = Writers(openings, cache, Prompts(own))

    def __reduce__(self) -> tuple[Any, ...]:
        # Trainers that score in a process of their own send it there: as its options, opened there anew.
        return type(self), (self._options,)

    def close(self) -> None:
        """Give back what it holds; a `Judge` that it was given stays open."""
        self._writers.close()
        for mine, given in ((self._judge, self._options.judge), (self._held_out, self._options.held_out)):
            if mine is not None and mine is not given:
                mine.close()

    def _cases(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[Case]:
        from truebench_hf.rewards.samples import criteria_columns, read_samples

        if prompts is None:
            raise UserError("prompts: there are none; a judge needs to know what the completions answer")
        options = self._options
        if options.generator is None and not criteria_columns(columns, options.column):
            raise UserError(
                "no column of the data holds criteria; give `criteria` (a list of texts for each prompt), name their "
                "column by column=, or give a generator= that writes a checklist for each prompt"
            )
        read = read_samples(prompts, completions, columns, options.column)
        for place, case in enumerate(read, 1):
            if case.criteria and options.shape != "pass_all" and all(one.weight < 0 for one in case.criteria):
                raise UserError(
                    f"completion {place}: its criteria are faults alone (negative points), of which there is no "
                    f"fraction; use shape='pass_all', or add one with positive points"
                )
        return read

    async def _step(self, cases: Sequence[Case]) -> Step:
        """Every case scored, equal ones once. On the loop of the writers."""
        from truebench_hf.engine.pool import bounded

        async def one(case: Case) -> tuple[Case, Scored]:
            return case, await self._scored(case)

        unique = dict.fromkeys(cases)
        scored = bounded(unique, one, max(1, len(unique)))  # the callers know their limits
        made = {case: its async for case, its in scored}
        return Step([made[case] for case in cases], self._held_out is not None)

    async def _scored(self, case: Case) -> Scored:
        from asyncio import gather

        ready = await self._with_criteria(case)
        if isinstance(ready, str):
            return Scored(None, ready)
        asked = [self._judge]
        if self._held_out is not None and _chosen(ready, self._options.held_out_share):
            asked.append(self._held_out)
        judged = await gather(*(judge.verdicts(ready) for judge in asked))
        shape, penalty = self._options.shape, self._options.penalty
        reward, *others = (reward_of(verdicts, shape, penalty) for verdicts in judged)
        return Scored(reward, why(judged[0]), others[0] if others else None)

    async def _with_criteria(self, case: Case) -> Case | str:
        """The case with the criteria to be judged, or why there are none."""
        from truebench_hf.models.asking import Problem

        if not case.criteria:
            found = await self._writers.checklist(case, self._options.language)
            if isinstance(found, Problem):
                return found.text
            case = replace(case, criteria=found, benchmark="tick")
        if self._options.split is None:
            return case
        parts = await self._writers.split(case)
        pairs = zip(case.criteria, parts, strict=True)
        return replace(
            case,
            criteria=tuple(c for whole, found in pairs for c in ((whole,) if isinstance(found, Problem) else found)),
        )

    def _told(self, step: Step, columns: Mapping[str, Any]) -> Rewards:
        self.last = step
        step.tell(self.__name__, columns, Path(self._options.log) if self._options.log is not None else None)
        return step.rewards


class ChecklistReward(_Reward):
    """A reward function: `reward(completions, prompts=..., criteria=...)` gives a float, or None, for each.

    `last` is what the call before came to (a `Step`: rewards, reasons, metrics). See `checklist_reward`.
    """

    def __call__(self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any) -> Rewards:
        """The rewards, in order. Works inside a running event loop too, which waits meanwhile."""
        cases = self._cases(completions, prompts, columns)
        return self._told(self._writers.run(self._step(cases)), columns)


class AsyncChecklistReward(_Reward):
    """The same, to be awaited: a trainer asks several such functions at a time."""

    async def __call__(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any
    ) -> Rewards:
        """The rewards, in order. May be awaited on any loop, and on several."""
        cases = self._cases(completions, prompts, columns)
        return self._told(await self._writers.ask(self._step(cases)), columns)


@overload
def checklist_reward(
    judge: ModelLike | Judge, *, generator: ModelLike | None = None, split: ModelLike | None = None,
    shape: str = "fraction", penalty: float = PENALTY, held_out: ModelLike | Judge | None = None,
    held_out_share: float = 1.0, column: str | None = None, language: str = "", name: str | None = None,
    log: File | None = None, asynchronous: Literal[False] = False, **settings: Unpack[JudgeKeywords],
) -> ChecklistReward: ...  # fmt: skip
@overload
def checklist_reward(
    judge: ModelLike | Judge, *, generator: ModelLike | None = None, split: ModelLike | None = None,
    shape: str = "fraction", penalty: float = PENALTY, held_out: ModelLike | Judge | None = None,
    held_out_share: float = 1.0, column: str | None = None, language: str = "", name: str | None = None,
    log: File | None = None, asynchronous: Literal[True], **settings: Unpack[JudgeKeywords],
) -> AsyncChecklistReward: ...  # fmt: skip
def checklist_reward(
    judge: ModelLike | Judge, *, generator: ModelLike | None = None, split: ModelLike | None = None,
    shape: str = "fraction", penalty: float = PENALTY, held_out: ModelLike | Judge | None = None,
    held_out_share: float = 1.0, column: str | None = None, language: str = "", name: str | None = None,
    log: File | None = None, asynchronous: bool = False, **settings: Unpack[JudgeKeywords],
) -> ChecklistReward | AsyncChecklistReward:  # fmt: skip
    """A reward function for `trl.GRPOTrainer(reward_funcs=...)`: a judge decides the criteria of each completion.

    - `judge` is a spec, a function or a loaded model as for `truebench_hf.judge`, with `settings` of `Judge` beside
      (`level`, `votes`, `cache`, ...); or a `Judge`. With `cache` no question is paid for twice, in this training or when
      it goes on; equal completions are judged once anyway.
    - Criteria stand in a column of the data (`criteria`, `rubric`, `rubrics` or `checklist`; another name: `column`) as
      rows of `truebench run` hold them, with weights if need be. A prompt that has none gets a checklist from the
      `generator`, once (in `language`, by default that of the prompt). `split` is a model that takes criteria with
      several demands apart; those it cannot are left whole. Criteria that are questions are judged on TICK's terms.
    - `shape` is fraction, pass_all or penalty (see `reward_of`); `penalty` is what each failed criterion costs there.
    - `held_out` is a second judge that the model is not trained on: its rewards are logged beside, for `held_out_share`
      of the completions (the same ones each time), and used for nothing else. A gap that grows means that the model
      learns to please the judge. It has the settings of the judge, but for address, provider options and calibration;
      for others give a `Judge`.

    What is not judged is None, never 0: the trainer leaves it out. Means, the share not judged and the gap go to the
    trainer's metrics, reasons to its table of completions, a line a call to the JSONL file `log`; `.last` has them too.
    `name` is how metrics call it, by default `checklist_SHAPE`. With `asynchronous` it is awaited instead of called.
    A generator or splitter of the judge's own spec is reached as the judge is, another one by its environment. Raises
    UserError on what the caller can fix; in training, where a server is away for longer than `patience` seconds.
    """
    options = RewardOptions(
        judge=judge, generator=generator, split=split, shape=shape, penalty=penalty, held_out=held_out,
        held_out_share=held_out_share, column=column, language=language, name=name or f"checklist_{shape}", log=log,
        settings=settings,
    )  # fmt: skip
    return AsyncChecklistReward(options) if asynchronous else ChecklistReward(options)


def _opening(model: ModelLike, options: RewardOptions) -> Opening:
    from truebench_hf.rewards.writers import Opening

    settings = options.settings
    limits = {name: settings[name] for name in ("concurrency", "patience") if name in settings}
    if isinstance(model, str) and model == options.judge:
        return Opening(model, as_texts(settings.get("judge_arg")), settings.get("base_url"), **limits)
    return Opening(as_spec(model), **limits)


def _chosen(case: Case, share: float) -> bool:
    """Whether the held-out judge is asked about a case: by what it says, so that it stays so when training goes on."""
    from truebench_hf.engine.ledger import canonical, digest

    drawn = int(digest(canonical(["held out", case.instruction, case.response]))[:13], 16) / 16**13
    return drawn < share
