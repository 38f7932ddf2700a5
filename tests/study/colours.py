"""A benchmark as a newcomer writes it, whole: rows of data, one prompt, one score. Which colour is a thing?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import option, role
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.types import Message

Row = dict[str, Any]


class ColourOptions(StudyOptions):
    """Who is asked about which things."""

    model: str = role(help="Who names the colours.")
    max_tokens: int = option(16, binds=True, help="Token limit of one answer.")


class Colours(Study[ColourOptions, Row, Row, float | None]):
    """The share of things whose colour a model knows."""

    kind, files = "colours", ("answers.jsonl",)

    def items(self) -> Items[Row]:
        rows = [row for _, row in jsonl.read(Path(self.options.data))]
        return Items(rows, name=lambda row: row["thing"], content=lambda row: row)

    async def work(self, row: Row) -> Row:
        question = Message("user", f"Which colour is {row['thing']}?")
        request = ChatRequest((question,), Sampling(max_tokens=self.options.max_tokens))
        answer = await self.caller("model").complete(request)
        return row | {"answer": answer.text, "right": row["colour"] in answer.text}

    def score(self, done: Sequence[Row]) -> Outcome[float | None]:
        right = pass_rate([row["right"] for row in done])
        columns = (Column("model", "Model"), Column("right", "Right", "score", parts=("value", "interval", "n")))
        table = Table("scores", columns, [{"model": self.options.model, "right": right}], "Colours known")
        ranking = Ranking(table, by="right", alike=[self.provenance["data_sha256"]])
        return Outcome(right.value, title="Colours", tables=[table], items={"answers.jsonl": done}, ranking=ranking)


if __name__ == "__main__":
    from truebench_hf.bench import application

    application(Colours)
