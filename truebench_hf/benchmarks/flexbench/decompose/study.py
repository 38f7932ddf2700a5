"""`truebench flex study decompose`: our dimensions against human ones (paper 001, section 5.2 and appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.benchmarks.flexbench.decompose import data
from truebench_hf.benchmarks.flexbench.decompose.comparison import Compared, scores
from truebench_hf.benchmarks.flexbench.decompose.data import Matched, Pair
from truebench_hf.benchmarks.flexbench.decompose.preference import PROMPT, Preferences, compare
from truebench_hf.benchmarks.flexbench.decompose.sections import LEAD, TITLE, sections
from truebench_hf.benchmarks.flexbench.decompose.similarity import similarities
from truebench_hf.benchmarks.flexbench.sources import BUILT_IN
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JUDGE_SAMPLING
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.embedding import bert_scores, check_bert_score, embed
from truebench_hf.options import Binds, option, role
from truebench_hf.study.items import Items, whole
from truebench_hf.study.options import FolderOptions, ReplyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study


@dataclass(frozen=True, kw_only=True)
class DecomposeOptions(FolderOptions, ReplyOptions):
    """Which decompositions are compared, and how."""

    folders: tuple[str, ...] = option(
        help=f"Ours: folders that `flex build` wrote, YAML files, or {BUILT_IN}.", argument=True, panel="Data"
    )
    human: str = option(help=f"People's: {data.HELP}", panel="Data")
    judge: str | None = role(
        None, help="Who says which of two lists is better; none: similarity and counts alone.",
        binds=Binds(late=True, grows=True),
    )  # fmt: skip
    bertscore: bool = option(False, help="BERTScore, too (needs the package bert-score).")


class FlexDecompose(Study[DecomposeOptions, Pair, Preferences | None, list[Compared]]):
    """Every instruction that both sides took apart."""

    kind, unit, prompts, boards = "flexdecompose", "instructions", (PROMPT,), False
    needs = ("rouge_score",)
    files = ("scores.json", "comparisons.jsonl")

    def items(self) -> Items[Pair]:
        options = self.options
        human, self.left_out = data.read_human(options.human)
        self.matched: Matched = data.match(human, data.read_ours(options.folders))
        if not self.matched.pairs:
            raise UserError(
                f"none of the {len(human)} instructions of --human {options.human} stands in {', '.join(options.folders)}, "
                f"by id or text; `truebench flex build {options.human} --out FOLDER` takes them apart"
            )
        return Items(
            self.matched.pairs, lambda pair: pair.human.id, whole, size=lambda pair: len(pair.human.instruction)
        )

    def check(self) -> None:
        options = self.options
        check_prompts((PROMPT,), options.prompts, options.structured)
        if options.bertscore:
            check_bert_score()
        if not options.estimate:  # before a judge is paid for what could not be reported
            self.similarities = similarities(self.chosen, embed, bert_scores if options.bertscore else None)

    def setup(self) -> None:
        if self.options.judge is not None:
            self.schemas = SchemaFallback(self.caller("judge"), self.options.structured)

    async def work(self, pair: Pair) -> Preferences | None:
        if self.options.judge is None:
            return None
        return await compare(self.schemas, pair, self.options.prompts, JUDGE_SAMPLING)

    def score(self, done: Sequence[Preferences | None]) -> Outcome[list[Compared]]:
        matched = self.matched
        found = [Compared(*each) for each in zip(self.chosen, self.similarities, done, strict=True)]
        undecided = sum(None in one.labels.values() for one in done if one is not None)
        content = scores(found, matched) | {"provenance": self.provenance}
        files = {"scores.json": content, "comparisons.jsonl": [one.row() for one in found]}
        shown = sections(found, matched)
        return Outcome(found, files, TITLE, shown, lead=LEAD, notes=self._notes(undecided), incomplete=undecided)

    def _notes(self, undecided: int) -> list[str]:
        matched, notes = self.matched, list(self.left_out)
        if alone := len(matched.human_only):
            notes.append(f"{alone} instructions of --human are not among ours, and not compared")
        if other := matched.other_text:
            notes.append(
                f"{len(other)} instructions have the same id on both sides and another text ({', '.join(other[:5])}"
                f"{' ...' if len(other) > 5 else ''}): are they the same?"
            )
        if undecided:
            notes.append(
                f"on {undecided} instructions the judge is undecided; they are left out of its shares, and counted"
            )
        return notes
