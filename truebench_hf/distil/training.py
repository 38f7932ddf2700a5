"""The training itself: LoRA through trl's trainer, merged into plain weights that load without it."""

from __future__ import annotations

import gc
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from importlib import metadata
from io import StringIO
from math import gcd, isfinite
from pathlib import Path
from typing import Any

from truebench_hf.distil.options import DistilOptions
from truebench_hf.distil.verdicts import Example
from truebench_hf.engine.progress import progress
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import decision_questions
from truebench_hf.models.chat_template import window_of, yes_no_prompts
from truebench_hf.prompts import Prompts

_PART = ".distil.part"  # the weights while they are written
_MICRO = 4  # verdicts computed at once
_MADE_BY = ("trl", "peft", "transformers", "torch")
_IGNORED = -100  # the label of a token that is no target
# In which the weights and what belongs to them are saved; the one without which nothing can be loaded comes last.
MODEL_FILES = (
    "model.safetensors", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
    "decision.json", "decision_template.jinja", "config.json",
)  # fmt: skip


@dataclass(frozen=True)
class Training:
    """What a training was: `verdicts` learned from, those `too_long`, the seconds it took, the loss of every step (of the
    one token that is the verdict, in nats), and the `versions` of what trained."""

    verdicts: int
    too_long: int
    seconds: float
    loss: tuple[float, ...]
    versions: Mapping[str, str]


def train(
    load: Callable[[], tuple[Any, Any]],
    examples: Sequence[Example],
    options: DistilOptions,
    prompts: Prompts,
    out: Path,
) -> Training:
    """Train what `load` gives on the verdicts, and write weights, tokenizer and config into `out`.

    Every prompt is the one that a decision judge reads its probabilities behind, to the token, and the target is the
    token that it reads as yes or as no. Raises UserError where the model has no such tokens, nothing is short enough,
    the loss is lost, or memory or disk do not suffice.
    """
    began, part = time.monotonic(), out / _PART
    shutil.rmtree(part, ignore_errors=True)
    try:
        model, tokenizer = load()
        with _writing(out):
            tokenizer.save_pretrained(part)  # now: the prompts below add tokens of their own to it
        every = list(rows(model, tokenizer, examples, prompts))
        short = _short(every, min(options.max_length, window_of(model)), options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # trl about transformers
            caches = model.config.use_cache
            trainer = _trainer(model, tokenizer, short, options, part)
            loss = _run(trainer, options)
        merged = trainer.model.merge_and_unload()
        merged.config.use_cache = caches  # a trainer turns it off
        with _writing(out):
            _save(merged, part, out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    del trainer, model, merged
    _free()
    versions = {name: metadata.version(name) for name in _MADE_BY}
    return Training(len(short), len(every) - len(short), round(time.monotonic() - began, 1), loss, versions)


def _short(every: Sequence[dict[str, Any]], window: int, options: DistilOptions) -> list[dict[str, Any]]:
    """The rows of so many tokens or fewer. Raises UserError where they do not have both answers."""
    found = [row for row in every if len(row["input_ids"]) <= window]
    if len({int(row["input_ids"][-1]) for row in found}) < 2:
        raise UserError(
            f"--max-length {options.max_length}: {len(every) - len(found)} of {len(every)} prompts have more than {window} "
            "tokens, and the others not both yes and no; raise it, or take a --base with a larger window"
        )
    return found


def rows(model: Any, tokenizer: Any, examples: Sequence[Example], prompts: Prompts) -> Iterator[dict[str, Any]]:
    """A row per verdict: the tokens of its prompt and of its answer, of which only the answer is learned.

    As arrays: lists of numbers take nine times the memory.
    """
    import numpy as np

    for one in examples:
        try:
            asked = yes_no_prompts(tokenizer, model.name_or_path, one.state, decision_questions(one.shown, prompts))
        except ValueError as error:
            raise UserError(f"--base: gives no yes or no: {str(error).rstrip('.')}; choose another model") from error
        for prompt, label in zip(asked, one.labels, strict=True):
            answer = prompt.yes if label == "yes" else prompt.no
            tokens = np.array([*prompt.tokens, answer], dtype=np.int32)
            labels = np.full_like(tokens, _IGNORED)
            labels[-1] = answer
            yield {"input_ids": tokens, "labels": labels}


def _trainer(
    model: Any, tokenizer: Any, learned: Sequence[Mapping[str, Any]], options: DistilOptions, out: Path
) -> Any:
    from datasets import Dataset
    from peft import LoraConfig
    from torch import bfloat16
    from torch.nn.functional import cross_entropy
    from transformers import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    class OneToken(SFTTrainer):  # type: ignore[misc]
        """Computes the logits of the one token that is learned: on processors trl computes all of them, for minutes."""

        def compute_loss(
            self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            at, places = (inputs["labels"] != _IGNORED).nonzero(as_tuple=True)
            kept, where = (places - 1).unique(return_inverse=True)
            asked = {name: inputs[name] for name in ("input_ids", "attention_mask")}
            outputs = model(**asked, use_cache=False, logits_to_keep=kept)
            wanted = inputs["labels"][at, places]
            loss = cross_entropy(outputs.logits[at, where].float(), wanted, reduction="sum")
            loss = loss / (len(wanted) if num_items_in_batch is None else num_items_in_batch)
            return (loss, outputs) if return_outputs else loss

        def _send_telemetry(self) -> None:
            """Nobody is told what is trained here."""

    at_once = gcd(_MICRO, options.batch_size)
    arguments = SFTConfig(
        str(out / "trainer"), per_device_train_batch_size=at_once,
        gradient_accumulation_steps=options.batch_size // at_once, num_train_epochs=options.epochs,
        max_steps=options.max_steps or -1, learning_rate=options.learning_rate, lr_scheduler_type="linear",
        warmup_steps=0.05, seed=options.seed, max_length=None, train_sampling_strategy="group_by_length",
        logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True,
        pad_token=_pad(tokenizer), use_cpu=model.device.type == "cpu", bf16=model.device.type == "cuda" and model.dtype == bfloat16,
    )  # fmt: skip
    lora = LoraConfig(
        r=options.lora_rank, lora_alpha=2 * options.lora_rank, lora_dropout=0.05, target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip
    trainer = OneToken(
        model, arguments, train_dataset=Dataset.from_list(list(learned)), processing_class=tokenizer, peft_config=lora
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _pad(tokenizer: Any) -> str | None:
    """What rows are filled up with, where the tokenizer names nothing: it is masked, so any token does."""
    named = tokenizer.pad_token or tokenizer.eos_token
    return None if named else str(tokenizer.convert_ids_to_tokens(0))


def _run(trainer: Any, options: DistilOptions) -> tuple[float, ...]:
    """Train to the end; the loss of every step. Raises UserError where it ends as no number, and so do the weights."""
    from torch import OutOfMemoryError
    from transformers import TrainerCallback

    with ExitStack() as bars:

        class Shown(TrainerCallback):  # type: ignore[misc]
            def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                self.step = bars.enter_context(progress({"steps": state.max_steps}))

            def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                self.step("steps")

        trainer.add_callback(Shown())
        try:
            trainer.train()
        except OutOfMemoryError as error:
            told = "the training does not fit the memory; lower it, or take a smaller --base"
            raise UserError(f"--max-length {options.max_length}: {told}") from error
    loss = tuple(line["loss"] for line in trainer.state.log_history if "loss" in line)
    if not all(map(isfinite, loss)):
        step = next(number for number, one in enumerate(loss, 1) if not isfinite(one))
        raise UserError(
            f"--learning-rate {options.learning_rate}: at step {step} the loss is no number any more; lower it, or train "
            "with --base-arg dtype=bfloat16 (or float32)"
        )
    return loss


def _save(model: Any, part: Path, out: Path) -> None:
    """Write the weights, and move all that is saved to where it belongs once it is whole."""
    with redirect_stderr(StringIO()):  # a bar for one file
        model.save_pretrained(part, max_shard_size="1TB")
    _save_decision(model.name_or_path, part)
    usual = (part / MODEL_FILES[-1]).stat().st_mode  # weights are written so that their owner alone may read them
    for file in sorted(part.iterdir(), key=lambda file: file.name == MODEL_FILES[-1]):
        if file.is_file():
            file.chmod(usual)
            file.replace(out / file.name)


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """What cannot be written inside is told as the user can mend it."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        raise UserError(f"--out {out}: the trained judge cannot be written: {error}; make room and repeat") from error


def _save_decision(base: str, folder: Path) -> None:
    """How the base is asked for decisions, where it comes with a way of its own; what was learned needs no temperature."""
    from transformers.decision import DecisionConfig

    config = DecisionConfig.from_pretrained(base)
    if config != DecisionConfig():
        replace(config, temperature={}, adapter=None).save_pretrained(folder)


def _free() -> None:
    """Give back what the training held on a GPU: the judge is loaded next."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
