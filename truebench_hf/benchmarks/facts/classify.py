"""Sorting prompts by domain, task and what they demand, `truebench facts classify` (paper 002, sections 2.1 and 2.2).

Abstract: the open set of FACTS Grounding has no columns for them, so that scores cannot be told apart by domain or task.
A model sorts its rows into the domains and tasks that paper 002 names (section 2.1), and what it says is marked as
classified wherever it is shown. What the data knows itself is kept, and tells how often the model is right. It also says
which requests demand creativity, mathematics or expertise: the paper leaves such out of its set (section 2.2), here they
are named, for people to look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.data import FactsItem
from truebench_hf.judging.grounding.types import material
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.agreement import class_agreement
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, role
from truebench_hf.report.table import Column, Part, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

NOTHING = "nothing"  # that a request demands beyond its material
_COLUMNS = ("domain", "task")  # that scores are told apart by
# What each column may say, with what that means, as `classify.jinja` shows it.
_KINDS: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("classes.yaml").read_text(encoding="utf-8"))
_DEFINED: dict[str, Any] = {
    f"{column}s": [{"name": name, "definition": definition} for name, definition in kinds.items()]
    for column, kinds in _KINDS.items()
}
_REASON = "The document is a notice of a bank about its accounts, and the request asks what changes. " * 2


@dataclass(frozen=True, slots=True)
class SortedPrompt:
    """A prompt with its domain and task by the model; None with the reason where nothing could be read."""

    item: FactsItem
    labels: Mapping[str, str | None]
    reason: str

    def row(self, spec: str) -> dict[str, Any]:
        """As `facts run --data` reads it: what the data knows comes first, what is the model's is named."""
        item, source = self.item, self.item.source
        passages = {"passages": [asdict(passage) for passage in source.passages]}
        filled = {
            name: label for name, label in self.labels.items() if name in _COLUMNS and label and not getattr(item, name)
        }
        return {
            "id": item.id, "system": source.system or None, "request": source.request,
            **(passages if source.passages else {"document": source.document}),
            "domain": item.domain or None, "task": item.task or None, **filled, "demand": self.labels["demand"], "language": item.language or None,
            "context_tokens": item.length, "split": item.split or None, "baseline": item.baseline,
            "reference": item.reference, "classified": [*filled], "classified_by": spec, "classified_why": self.reason,
        }  # fmt: skip


class ClassifyOptions(StudyOptions):
    """Which prompts, and who sorts them."""

    data: str = option(help="facts_mini, open (the public set, from the Hub), a path or a Hub id, as for `facts run`.")
    model: str = role(help="Who sorts: a model spec.")
    max_tokens: int = option(512, ge=1, panel="Method", binds=True, help="Token limit of one answer.")


class Classify(Study[ClassifyOptions, FactsItem, SortedPrompt, Sequence[SortedPrompt]]):
    """Every prompt, sorted once; a document too long for the model is unsorted, with the numbers."""

    kind, unit, prompts = "facts-classify", "prompts", ("classify",)
    files = ("classified.jsonl",)

    def items(self) -> Items[FactsItem]:
        """All prompts of the data."""
        return Items(
            data.load(self.options.data), lambda item: item.id, None, lambda item: (item.split, item.language),
            size=lambda item: len(item.document),
        )  # fmt: skip

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return (_DEFINED,)

    def setup(self) -> None:
        self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, item: FactsItem) -> SortedPrompt:
        """The domain and task of one prompt."""
        words = {name: {kind: kind for kind in kinds} for name, kinds in _KINDS.items()}
        answer = await ask_by_prompt(
            self.schemas, self.options.prompts, "classify", material(item.source) | _DEFINED, words,
            sampling=Sampling(max_tokens=self.options.max_tokens), reason=_REASON,
        )  # fmt: skip
        labels = dict.fromkeys(_KINDS) if answer.problem else answer.labels
        return SortedPrompt(item, labels, answer.problem or answer.reason)

    def score(self, done: Sequence[SortedPrompt]) -> Outcome[Sequence[SortedPrompt]]:
        unsorted = [prompt for prompt in done if None in prompt.labels.values()]
        notes = [f"{len(unsorted)} of {len(done)} prompts are unsorted: {unsorted[0].reason}"] if unsorted else []
        notes.append(f"`truebench facts run --data {self.options.out}/classified.jsonl` tells scores apart by them.")
        if unfit := [prompt.item.id for prompt in done if prompt.labels["demand"] not in (NOTHING, None)]:
            notes.append(
                f"Prompts that demand more than their material, to be looked at: {len(unfit)} (the first: {unfit[0]})."
            )
        counts, scores = [], []
        for name in _KINDS:
            often = Counter(prompt.labels[name] or "unsorted" for prompt in done).most_common()
            counts += [{"by": name, "kind": kind, "prompts": n, "share": n / len(done)} for kind, n in often]
        for name in _COLUMNS:  # against the data's own word, where that is among the kinds
            words = [(getattr(prompt.item, name).casefold(), prompt.labels[name]) for prompt in done]
            gold = [truth if truth in _KINDS[name] else None for truth, _ in words]
            agreed = class_agreement(gold, [label for _, label in words])["accuracy"]
            scores += [{"by": name, "agreement": agreed}] if any(gold) else []
        by, kind, share = Column("by", ""), Column("kind", "kind"), Column("share", "%", "number", digits=1)
        columns = (by, kind, Column("prompts", "prompts", "count"), share)
        about = "How often the model says what the data says itself, where that is one of the kinds."
        parts: tuple[Part, ...] = ("value", "interval", "n", "unscored")
        agreement = Column("agreement", "agreement %", "score", about, parts=parts, drawn=True)
        tables = [
            Table("counts", columns, counts, "Prompts by domain, task and demand, classified", keys=2),
            Table("agreement", (by, agreement), scores, "Against the data's own columns"),
        ]
        return Outcome(
            done, title="FACTS Grounding: prompts by domain, task and demand", tables=[table for table in tables if table.rows],
            items={"classified.jsonl": [prompt.row(self.options.model) for prompt in done]},
            notes=notes, facts={"Model": self.options.model}, incomplete=len(unsorted),
        )  # fmt: skip
