"""Sorting prompts by domain and task, `truebench facts classify`, and screening requests (paper 002, sections 2.1 and 2.2).

Abstract: the open set of FACTS Grounding has no columns for them, so that scores cannot be told apart by domain or task.
A model sorts its rows into the domains and tasks that paper 002 names (section 2.1), and what it says is marked as
classified wherever it is shown. What the data knows itself is kept, and tells how often the model is right.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.data import FactsItem
from truebench_hf.judging.grounding.types import material
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, role
from truebench_hf.report.table import Column, Part, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

OTHER = "other"
DOMAINS = {
    "finance": "banking, insurance, taxes, investment, the accounts of companies",
    "technology": "software, devices, engineering, science put to use",
    "retail": "shops, products, prices, deliveries, what customers say of them",
    "medical": "health, illness, treatment, medicines, studies of these",
    "legal": "laws, contracts, court decisions, rules that bind",
    OTHER: "none of these",
}
TASKS = {
    "question answering": "the request wants something in particular out of the material: facts, reasons, a comparison",
    "summary": "the request wants the material, or a part of it, in short",
    "rewriting": "the request wants the material in another form: for other readers, as a letter, a list, a table",
    OTHER: "none of these",
}
CREATIVITY, MATHEMATICS, EXPERTISE = FLAGS = ("creativity", "mathematics", "expertise")  # no task of a grounding set
_KINDS = {"domain": DOMAINS, "task": TASKS}
_DEFINED: dict[str, Any] = {
    f"{column}s": [{"name": name, "definition": definition} for name, definition in kinds.items()]
    for column, kinds in _KINDS.items()
}
_REASON = "The document is a notice of a bank about its accounts, and the request asks what changes. " * 2


@dataclass(frozen=True, slots=True)
class Sorted:
    """A prompt with what the model says of it; None with the reason where nothing could be read."""

    item: FactsItem
    domain: str | None
    task: str | None
    reason: str

    def row(self, spec: str) -> dict[str, Any]:
        """As `facts run --data` reads it: what the data knows comes first, what is the model's is named."""
        item, labels = self.item, {"domain": self.domain, "task": self.task}
        filled = [name for name, label in labels.items() if label and not getattr(item, name)]
        source = item.source
        passages: dict[str, Any] = {"passages": [asdict(passage) for passage in source.passages]}
        return {
            "id": item.id, "system": source.system or None, "request": source.request,
            **(passages if source.passages else {"document": source.document}),
            "domain": item.domain or self.domain, "task": item.task or self.task, "language": item.language or None,
            "context_tokens": item.length, "split": item.split or None, "baseline": item.baseline,
            "reference": item.reference, "classified": filled, "classified_by": spec, "classified_why": self.reason,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ClassifyOptions(StudyOptions):
    """Which prompts, and who sorts them."""

    data: str = option(help="facts_mini, open (the public set, from the Hub), a path or a Hub id, as for `facts run`.")
    model: str = role(help="Who sorts: a model spec.")
    max_tokens: int = option(512, least=1, panel="Method", binds=True, help="Token limit of one answer.")


class Classify(Study[ClassifyOptions, FactsItem, Sorted, Sequence[Sorted]]):
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

    async def work(self, item: FactsItem) -> Sorted:
        """The domain and task of one prompt."""
        labels = {name: {kind: kind for kind in kinds} for name, kinds in _KINDS.items()}
        answer = await ask_by_prompt(
            self.schemas, self.options.prompts, "classify", material(item.source) | _DEFINED, labels,
            sampling=Sampling(max_tokens=self.options.max_tokens), reason=_REASON,
        )  # fmt: skip
        if answer.problem:
            return Sorted(item, None, None, answer.problem)
        return Sorted(item, answer.labels["domain"], answer.labels["task"], answer.reason)

    def score(self, done: Sequence[Sorted]) -> Outcome[Sequence[Sorted]]:
        unsorted = [prompt for prompt in done if prompt.domain is None]
        notes = [f"{len(unsorted)} of {len(done)} prompts are unsorted: {unsorted[0].reason}"] if unsorted else []
        notes.append(f"`truebench facts run --data {self.options.out}/classified.jsonl` tells scores apart by them.")
        counts, scores = [], []
        for name, kinds in _KINDS.items():
            often = Counter(getattr(prompt, name) or "unsorted" for prompt in done).most_common()
            counts += [{"by": name, "kind": kind, "prompts": n, "share": n / len(done)} for kind, n in often]
            # Against the data's own word, where that is among the kinds.
            words = [(getattr(prompt.item, name).casefold(), getattr(prompt, name)) for prompt in done]
            pairs = [(truth, label) for truth, label in words if truth in kinds]
            right = pass_rate([None if label is None else label == truth for truth, label in pairs])
            scores += [{"by": name, "agreement": right}] if pairs else []
        columns = (
            Column("by", ""), Column("kind", "kind"), Column("prompts", "prompts", "count"),
            Column("share", "%", "number", digits=1),
        )  # fmt: skip
        about = "How often the model says what the data says itself, where that is one of the kinds."
        parts: tuple[Part, ...] = ("value", "interval", "n", "unscored")
        agreement = Column("agreement", "agreement %", "score", about, parts=parts, drawn=True)
        tables = [Table("counts", columns, counts, "Prompts by domain and task, classified", keys=2)]
        tables += (
            [Table("agreement", (columns[0], agreement), scores, "Against the data's own columns")] if scores else []
        )
        return Outcome(
            done, title="FACTS Grounding: prompts by domain and task", tables=tables,
            items={"classified.jsonl": [prompt.row(self.options.model) for prompt in done]},
            notes=notes, facts={"Model": self.options.model}, incomplete=len(unsorted),
        )  # fmt: skip


def screen(request: str) -> tuple[str, ...]:
    """Return the reasons a human should look at `request` before it enters a grounding set; () when none is found.

    Takes the user request alone, without its document, in English, German or Korean; any other language passes
    unseen. Returns the flags among `FLAGS` in that order. This is a filter for a human to look at, not a verdict: it
    is conservative, so a flag means that a known wording occurs, and an empty answer does not mean that the request
    needs no creativity, mathematics or expertise.
    """
    text = " ".join(unicodedata.normalize("NFKC", request).replace("’", "'").split())
    return tuple(flag for flag in FLAGS if _patterns()[flag].search(text))


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    import yaml

    written = yaml.safe_load(Path(__file__).with_name("screening.yaml").read_text(encoding="utf-8"))
    patterns = {flag: "|".join(f"(?:{part})" for part in written[flag]) for flag in FLAGS}
    for name, group in written["groups"].items():
        patterns = {flag: pattern.replace(f"{{{name}}}", group) for flag, pattern in patterns.items()}
    return {flag: re.compile(pattern, re.IGNORECASE) for flag, pattern in patterns.items()}
