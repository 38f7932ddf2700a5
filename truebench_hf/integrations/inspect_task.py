"""TRUEBench as a task of inspect: `inspect eval truebench_hf/truebench --model ... --model-role grader=...`.

Data, prompts, judge and scores are those of `truebench run`; models, engine and log are inspect's. Its entry point loads
this module, which needs inspect (extra `inspect`).
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from truebench_hf.benchmarks.truebench.options import OF_DATA, GenerateOptions
from truebench_hf.benchmarks.truebench.study import selection
from truebench_hf.errors import UserError, unknown
from truebench_hf.integrations.inspect_judges import check_named, generate_config, texts
from truebench_hf.integrations.inspect_scorer import criteria, instance_of, to_sample
from truebench_hf.options import from_values
from truebench_hf.version import __version__

__all__ = ["criteria", "truebench", "turns"]
JUDGING = ("judge", "judge_level", "rules", "reasoning", "prompt", "judge_arg", "judge_base_url")


@solver
def turns() -> Solver:
    """One answer of the model to every turn, with its own earlier answers as history."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for place, turn in enumerate(instance_of(state.metadata).turns):
            if place:
                state.messages.append(ChatMessageUser(content=turn.prompt))
            state = await generate(state)
        return state

    return solve


@solver
def judged(by: str | None) -> Solver:
    """Refuses an evaluation without a judge before its model is asked anything."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        try:
            check_named(by)
        except UserError as error:
            raise PrerequisiteError(str(error)) from error
        return state

    return solve


@task
def truebench(data: str = "truebench", **arguments: Any) -> Task:
    """TRUEBench, or data of one's own, by the model that inspect evaluates.

    Arguments are options of `truebench run` under their names: of the data `data`, `column`, `criteria`, `language`,
    `category`, `limit` (a sample that keeps their shares) and `seed`; of the judge `judge` (a spec of ours or a model of
    inspect; without one the model in the role `grader`), `judge_level`, `rules`, `reasoning`, `prompt`, `judge_arg` and
    `judge_base_url`. How answers are drawn is inspect's to say; ours is temperature 0 and 4,096 tokens.
    """
    arguments.pop("model", None)  # inspect passes it to every task
    try:
        if wrong := [name for name in arguments if name not in (*OF_DATA, *JUDGING)]:
            raise unknown("argument of the task", wrong[0], (*OF_DATA, *JUDGING))
        chosen = {name: arguments[name] for name in OF_DATA if arguments.get(name) is not None}
        # What a command has and a task has not: inspect answers, and no folder is written.
        options = from_values(
            GenerateOptions, {"out": "inspect", "model": "inspect", "data": str(data), **_listed(chosen)}
        )
        items = selection(options)
        instances = items.sampled(options.limit, options.seed)
    except UserError as error:
        raise PrerequisiteError(str(error)) from error
    judging = {name: arguments[name] for name in JUDGING if arguments.get(name) is not None}
    return Task(
        dataset=MemoryDataset(list(map(to_sample, instances)), name=str(data)),
        setup=judged(judging.get("judge")),
        solver=turns(),
        scorer=criteria(**judging),
        config=generate_config(options.sampling).merge({"reasoning_history": "none"}),
        metadata={"truebench_hf": __version__, "data_sha256": items.data_sha256(instances)},
    )


def _listed(arguments: dict[str, Any]) -> dict[str, Any]:
    """Lists may be written with commas, as inspect's own command line has them."""
    several = {name: arguments[name] for name in ("language", "category") if isinstance(arguments.get(name), str)}
    split = {name: [part.strip() for part in text.split(",")] for name, text in several.items()}
    return arguments | split | ({"column": texts(arguments["column"])} if "column" in arguments else {})
