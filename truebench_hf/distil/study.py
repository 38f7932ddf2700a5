"""A judge of one's own: a small model trained to decide as the judge of finished runs did, and measured beside it.

Abstract: the verdicts that a judge was paid for are the labels, and what a decision judge is asked about the same
responses are the prompts. LoRA trains a small model on them, but for the instructions held out: on these both it and
its base are asked, and its probabilities are calibrated. The teacher's verdict is the label everywhere here; how often
teacher and pupil are right, `truebench metaeval` tells. None of the five papers has this.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from truebench_hf.data import jsonl
from truebench_hf.distil.measures import (
    Distilled,
    calibration_figures,
    figures,
    fitted,
    measured,
    rows,
    side,
    usual,
)
from truebench_hf.distil.options import DistilOptions
from truebench_hf.distil.sections import sections, tenths
from truebench_hf.distil.split import held_out
from truebench_hf.distil.training import MODEL_FILES, Training, train
from truebench_hf.distil.verdicts import Example, Found, read
from truebench_hf.engine.pool import bounded
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.calibrated import DECISION_PROMPTS, as_json
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.metrics.intervals import MIN_CLUSTERS
from truebench_hf.models.caller import Caller
from truebench_hf.models.fingerprint import COPIES, fingerprint
from truebench_hf.models.local import LocalModel
from truebench_hf.models.protocol import ChatModel
from truebench_hf.models.spec import open_model
from truebench_hf.options import pairs
from truebench_hf.study.estimate import EstimatedModel
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Verdict

LEAST = 100, 10  # verdicts and instructions below which nothing can be learned, nor measured
FEW = 1000  # verdicts below which a judge learns little more than how often the teacher says yes
TRAINING, PUPIL = "training.json", "distilled"
_SHAPING = ("epochs", "max_steps", "learning_rate", "lora_rank", "batch_size", "max_length", "seed")
_SETTINGS = JudgeSettings(level="decision")  # what rules decide was left out, what they measure stands in the prompts

Asked = tuple[Example, Sequence[Verdict], Sequence[Verdict]]  # what base and pupil say; nothing of what is trained on


class Distil(Study[DistilOptions, Example, Asked, Distilled]):
    """A distillation: `setup` trains, which asks nobody and begins anew where it was stopped, `work` measures."""

    kind = "distil"
    files = ("distil.json", "verdicts.jsonl", "calibration.json", TRAINING, *MODEL_FILES)
    needs = ("sklearn",)
    unforeseen = "The training itself asks nobody: it takes this machine's time alone."

    def items(self) -> Items[Example]:
        """The responses with the teacher's verdicts, those held out and the others."""
        options = self.options
        need("distil", "trl", "peft", "transformers", "torch", what="this command")
        self.found: Found = read((*options.runs, *options.folders), options.teacher, options.rules, options.prompts)
        return Items(
            self.found.examples, lambda one: one.name, lambda one: [one.instruction, one.state, one.shown, one.labels],
            group=lambda one: one.instruction, size=lambda one: len(one.state),
        )  # fmt: skip

    def judge_settings(self) -> list[JudgeSettings]:
        return [_SETTINGS]

    def check(self) -> None:
        given = pairs(getattr(self.options, "base_arg"), "--base-arg")  # noqa: B009  # made beside `base`
        given.pop("revision", "")  # which is the base's own
        self.pupil: ChatModel = open_model(f"hf:{Path(self.options.out)}", given)
        self.sides = self._sides()

    def _sides(self) -> dict[str, list[Example]]:
        """What is trained on, and what is held out. Raises UserError where nothing can be learned or measured."""
        instructions = {one.instruction for one in self.chosen}
        verdicts = sum(len(one.labels) for one in self.chosen)
        if verdicts < LEAST[0] or len(instructions) < LEAST[1]:
            raise UserError(
                f"--runs: hold {verdicts} verdicts of {self.found.teacher} that can be used, on {len(instructions)} "
                f"instructions; a judge is distilled from {LEAST[0]} on {LEAST[1]} at least"
            )
        self.apart = held_out(instructions, self.options.held_out, self.options.seed)
        sides: dict[str, list[Example]] = {"trained on": [], "held out": []}
        for one in self.chosen:
            sides["held out" if one.instruction in self.apart else "trained on"].append(one)
        for name, some in sides.items():
            labels = Counter(label for one in some for label in one.labels)
            if len(labels) < 2:
                told = "".join(f"all {count} verdicts are {label}" for label, count in labels.items()) or "is nothing"
                raise UserError(
                    f"--runs: of what is {name} {told}; a judge learns and is measured on both yes and no: give more runs, "
                    "or another --seed or --held-out"
                )
        return sides

    def bars(self) -> dict[str, int]:
        return dict.fromkeys(("base", PUPIL), len(self.sides["held out"]))

    def setup(self) -> None:
        options, estimate = self.options, self.options.estimate
        self.training = None if estimate else self._training()
        caller = Caller(
            EstimatedModel(self.pupil) if estimate else self.pupil, self.ledger, PUPIL, self.roles.concurrency("base")
        )
        self._callers[PUPIL] = caller
        self.before, self.after = self.judge(_SETTINGS, "base"), Judge(caller, _SETTINGS, options.prompts)

    def _training(self) -> Training:
        """The training that the folder holds, or one that is made now. Raises UserError where it was another one."""
        out, made_with = Path(self.options.out), json.loads(json.dumps(self._made_with()))
        file = out / TRAINING
        if file.is_file():
            try:
                told = jsonl.parsed(file.read_bytes(), str(file))
                there, found = dict(told["made_with"]), Training(**told["training"])
                content = told["content"]
            except (KeyError, TypeError, ValueError) as error:
                raise UserError(f"{file}: cannot be read; move it away to train anew") from error
            if other := [name for name, value in made_with.items() if there.get(name) != value]:
                raise UserError(
                    f"--out {out}: the judge there was trained with other {', '.join(other)}; choose another folder"
                )
            if content != fingerprint(str(out)):
                raise UserError(
                    f"--out {out}: the judge there is not as it was trained (its files were changed, or are gone); put them "
                    f"back, or move {file} away to train anew; {COPIES}"
                )
            return found
        base = cast(LocalModel, self.roles["base"][0])
        made = train(base.load_to_train, self.sides["trained on"], self.options, self.options.prompts, out)
        told = {"made_with": made_with, "training": asdict(made), "content": fingerprint(str(out))}
        self.folder.write(TRAINING, json.dumps(told, indent=1) + "\n")
        return made

    def _made_with(self) -> dict[str, Any]:
        """All that shapes the weights."""
        learned = [[one.state, one.shown, one.labels] for one in self.sides["trained on"]]
        told = {name: getattr(self.options, name) for name in _SHAPING}
        prompts = {name: self.options.prompts.hash(name) for name in DECISION_PROMPTS}
        identity = asdict(self.roles["base"][0].identity)
        return {"verdicts": digest(canonical(learned)), "base": identity, "prompts": prompts, **told}

    async def _work(self) -> list[Asked]:
        """First the base is asked everything, then the new judge: a machine that could train need not hold both."""
        held = [one for one in self.chosen if one.instruction in self.apart]
        self.said = dict([pair async for pair in bounded(held, self._before, 2 * self.roles.slots)])
        base = self.roles["base"][0]
        if isinstance(base, LocalModel):
            base.unload()
        return await super()._work()

    async def _before(self, one: Example) -> tuple[str, Sequence[Verdict]]:
        said = await self.before.by_probability(one.criteria, one.shown, one.state)
        self.step("base")
        return one.name, said

    async def work(self, one: Example) -> Asked:
        if one.instruction not in self.apart:
            return one, (), ()
        after = await self.after.by_probability(one.criteria, one.shown, one.state)
        self.step(PUPIL)
        return one, self.said[one.name], after

    def score(self, done: Sequence[Asked]) -> Outcome[Distilled]:
        options, found, spec = self.options, self.found, self.pupil.spec
        assert self.training is not None, "what is scored was trained"
        asked = [one for one in done if one[0].instruction in self.apart]
        before, after = rows([(one, said) for one, said, _ in asked]), rows([(one, said) for one, _, said in asked])
        fit, problem = fitted(spec, after, len(asked), options)
        result = Distilled(
            spec, found.teacher, {name: side(some) for name, some in self.sides.items()}, self.training,
            {"base": measured(before), PUPIL: measured(after)}, usual(after), fit, problem,
        )  # fmt: skip
        notes = list(self._notes(result))
        told = figures(result) | {"base": options.base, "left_out": dict(found.left_out), "notes": notes}
        told["runs"] = [{"run": one.where, "kind": one.kind, "verdicts": one.verdicts} for one in found.sources]
        files: dict[str, Any] = {"distil.json": told, "verdicts.jsonl": (line for one in done for line in _lines(*one))}
        if fit:
            files["calibration.json"] = as_json(fit.calibrated, options.prompts) | calibration_figures(fit)
        facts = {"Judge": spec, "Base": options.base, "Teacher": found.teacher}
        lead = f"{options.base}, trained on verdicts of {found.teacher}: {spec}"
        return Outcome(result, files, f"Distilled judge: {spec}", sections(result, found), lead, notes, facts)

    def _notes(self, found: Distilled) -> Iterator[str]:
        calibrated = f" --calibration {Path(self.options.out)}" if found.fit else ""
        yield (
            f"Used by --judge {found.spec} --judge-level decision{calibrated}; the band of a cascade is priced by `truebench "
            "calibrate --cascade-judge`."
        )
        yield f"See whether the terms of {found.teacher} allow to train a model on what it writes."
        learned, first, last = found.training.verdicts, *tenths(found.training.loss)
        if learned < FEW:
            yield f"Trained on {learned} verdicts; under {FEW:,} a model learns little more than how often the answer is yes."
        if first is not None and last is not None and last >= first:
            yield "The loss did not fall: nothing was learned; give more --epochs, or another --learning-rate."
        if found.training.too_long:
            yield f"Longer than --max-length, and not trained on: {found.training.too_long} verdicts."
        if (few := found.sides["held out"].instructions) < MIN_CLUSTERS:
            yield f"Held out are {few} instructions; intervals are told from {MIN_CLUSTERS} on: raise --held-out, or give more runs."
        if found.problem:
            yield f"Its probabilities are not calibrated: {found.problem}."
        yield from weak_judges([self.options.base])


def distil(options: DistilOptions) -> Distilled:
    """Distil a judge from finished runs; `truebench study distil` as a Python call. Raises UserError."""
    return Distil(options).run().value


def _lines(one: Example, before: Sequence[Verdict], after: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    """A line per verdict that was used."""
    for place, (criterion, label) in enumerate(zip(one.criteria, one.labels, strict=True)):
        said = {"base": before[place].probability, PUPIL: after[place].probability} if after else {}
        yield {
            "side": "held out" if after else "trained on", "run": one.run, "instance": one.instance,
            "instruction": one.instruction, "criterion": criterion.text, "label": label, **said,
        }  # fmt: skip
