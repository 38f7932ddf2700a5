"""A reward function for training: the verdicts of a judge on checklists, in the form that TRL calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from truebench_hf.api.judge import File, Judge, JudgeKeywords, ModelLike, as_spec, as_texts, cache_file
from truebench_hf.errors import UserError, unknown
from truebench_hf.rewards.shapes import PENALTY, SHAPES
from truebench_hf.rewards.step import Step

if TYPE_CHECKING:
    from truebench_hf.data.case import Case
    from truebench_hf.rewards.writer import Opening

Rewards = list[float | None]
# Settings that are of the judge and of no other.
_OWN = ("base_url", "judge_arg", "calibration", "threshold", "cascade_judge", "cascade_arg")


class ChecklistReward:
    """A reward function for `trl.GRPOTrainer(reward_funcs=...)`: a judge decides the criteria of each completion.

    - `judge` is a spec, a function or a loaded model (not the one in training, whose verdicts would be kept while it
      changes) as for `truebench_hf.judge`, with `settings` of `Judge` beside (`level`, `votes`, `cache`, ...); or a
      `Judge`. With `cache` no question is paid for twice, in this training or when it goes on; equal completions are
      judged once anyway.
    - Programs decide what they can count without doubt (lengths, language, format), and the judge the rest. With
      judge="none", or without one and with `rules=True`, the rest is not judged, and no model is needed.
    - Criteria stand in a column of the data (`criteria`, `rubric`, `rubrics` or `checklist`; another name: `column`) as
      rows of `truebench run` hold them, with weights if need be. A prompt that has none gets a checklist from the
      `generator`, once (in `language`, by default that of the prompt). Criteria that are
      questions are judged on TICK's terms.
    - `shape` is fraction, pass_all or penalty (see `reward_of`); `penalty` is what each failed criterion costs there.
    - `held_out` is a second judge that the model is not trained on: its rewards are logged beside, for `held_out_share`
      of the completions (the same ones each time), and used for nothing else. A gap that grows means that the model
      learns to please the judge. It has the settings of the judge, but for address, provider options and what is fitted
      to the judge; for others give a `Judge`.

    `reward(completions, prompts=..., criteria=...)` gives a float for each, or None where it is not judged, never 0: the
    trainer leaves it out. `reward.awaited` is the form to be awaited. Means, the share not judged and the gap go to the
    trainer's metrics, reasons to its table of completions, a line a call to the JSONL file `log`; `last` has them too.
    `name` is how metrics call it, by default `checklist_SHAPE`. A generator of the judge's own spec is reached as
    the judge is, another one by its environment.

    Raises UserError on what the caller can fix: now, and in training on data that cannot be judged, or where a server is
    away for longer than `patience` seconds.
    """

    def __init__(
        self,
        judge: ModelLike | Judge | None = None,
        *,
        generator: ModelLike | None = None,
        shape: str = "fraction",
        penalty: float = PENALTY,
        held_out: ModelLike | Judge | None = None,
        held_out_share: float = 1.0,
        column: str | None = None,
        language: str = "",
        name: str | None = None,
        log: File | None = None,
        **settings: Unpack[JudgeKeywords],
    ) -> None:
        """See the class; nothing is asked before the first call."""
        given = locals()
        more = {key: value for key, value in given.items() if key not in ("self", "settings")}
        self._again = partial(type(self), **more, **settings)

        from truebench_hf.prompts import Prompts
        from truebench_hf.rewards.scoring import Scoring
        from truebench_hf.rewards.writer import Writer

        _check(judge, shape, penalty, held_out, held_out_share, settings)
        self.__name__ = name or f"checklist_{shape}"  # by which TRL calls its metrics
        self.last = Step(())
        self._column, self._generates = column, generator is not None
        self._log = None if log is None else Path(log)
        first = judge if isinstance(judge, Judge) else Judge(judge, **settings)
        shared: Any = {key: value for key, value in settings.items() if key not in _OWN}
        second = held_out if isinstance(held_out, Judge | None) else Judge(held_out, **shared)
        opening = None if generator is None else _opening(generator, judge, settings)
        cache = cache_file(settings.get("cache"), [opening.spec] if opening else [])
        replaced = {key: str(path) for key, path in (settings.get("prompts") or {}).items()}
        writer = Writer(opening, cache, Prompts(replaced))
        self._scoring = Scoring(first, second, held_out_share, writer, language, shape, penalty)
        self._mine = [
            made for made, one in ((first, judge), (second, held_out)) if made is not None and made is not one
        ]

    def __call__(self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any) -> Rewards:
        """The rewards, in order. Works inside a running event loop too, which waits meanwhile."""
        cases = self._cases(completions, prompts, columns)
        return self._told(self._scoring.writer.run(self._scoring.step(cases)), columns)

    async def ask(self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any) -> Rewards:
        """The same for a caller on a loop of its own, whichever it is."""
        cases = self._cases(completions, prompts, columns)
        return self._told(await self._scoring.writer.ask(self._scoring.step(cases)), columns)

    @property
    def awaited(self) -> AwaitedReward:
        """The form that a trainer awaits, so that several such functions are asked at a time."""
        return AwaitedReward(self)

    def close(self) -> None:
        """Give back what it holds; a `Judge` that it was given stays open."""
        self._scoring.writer.close()
        for judge in self._mine:
            judge.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # Trainers that score in a process of their own send it there: as what it was made of, opened there anew.
        return self._again, ()

    def _cases(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[Case]:
        from truebench_hf.rewards.samples import criteria_columns, read_samples

        if prompts is None:
            raise UserError("prompts: there are none; a judge needs to know what the completions answer")
        if not self._generates and not criteria_columns(columns, self._column):
            raise UserError(
                "no column of the data holds criteria; give `criteria` (a list of texts for each prompt), name their "
                "column by column=, or give a generator= that writes a checklist for each prompt"
            )
        read = read_samples(prompts, completions, columns, self._column)
        for place, case in enumerate(read, 1):
            if case.criteria and self._scoring.shape != "pass_all" and all(one.weight < 0 for one in case.criteria):
                raise UserError(
                    f"completion {place}: its criteria are faults alone (negative points), of which there is no "
                    "fraction; use shape='pass_all', or add one with positive points"
                )
        return read

    def _told(self, step: Step, columns: Mapping[str, Any]) -> Rewards:
        self.last = step
        step.tell(self.__name__, columns, self._log)
        return step.rewards


class AwaitedReward:
    """A `ChecklistReward` as an async callable, which TRL recognises by its `__call__`."""

    def __init__(self, reward: ChecklistReward) -> None:
        self.reward = reward
        self.__name__ = reward.__name__

    async def __call__(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any
    ) -> Rewards:
        """The rewards, in order."""
        return await self.reward.ask(completions, prompts, **columns)


checklist_reward = ChecklistReward


def _check(
    judge: Any, shape: str, penalty: float, held_out: Any, held_out_share: float, settings: Mapping[str, Any]
) -> None:
    if shape not in SHAPES:
        raise unknown("shape", shape, SHAPES)
    if not 0 <= penalty < inf:
        raise UserError(f"penalty={penalty!r}: must be a number from 0 on")
    if not 0 < held_out_share <= 1:
        raise UserError(f"held_out_share={held_out_share!r}: must lie above 0, and be 1 at most")
    if judge is None and "rules" not in settings:
        raise UserError('judge: there is none; name one, or let rules decide alone: judge="none"')
    if held_out is not None and (held_out is judge or held_out == judge):
        raise UserError("held_out is the judge itself, which cannot drift from itself; name another one")
    if isinstance(judge, Judge) and (more := sorted(set(settings) - {"cache"})):
        raise UserError(f"{', '.join(more)}: the judge is made already; give such settings to its Judge(...)")


def _opening(model: ModelLike, judge: Any, settings: Mapping[str, Any]) -> Opening:
    from truebench_hf.rewards.writer import Opening

    limits = {name: settings[name] for name in ("concurrency", "patience") if name in settings}
    if isinstance(model, str) and model == judge:
        return Opening(model, as_texts(settings.get("judge_arg")), settings.get("base_url"), **limits)
    return Opening(as_spec(model), **limits)
