"""`truebench study checklist validate`: how far checklists, and judges who answer them, can be trusted (section 3.2).

Models add to the rows what the data does not hold: generators their checklists, judges their answers. All scores are
then read off the rows, so that rows which hold everything need no model, and the rows written here are such. The report
has the paper's tables 2, 3a and 3b, its figures 2 and 5, and appendix B.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Any

from truebench_hf.benchmarks.tick import agreement
from truebench_hf.benchmarks.tick.entries import DATA_HELP, entry_items, load_entries, others
from truebench_hf.data.checklist_rows import ChecklistRow, Judgments, Text, Written
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import SAMPLING, generate_checklist
from truebench_hf.judging.judge import JUDGE_SAMPLING, JudgeSettings
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import rules_fact, weak_judges
from truebench_hf.study.options import JudgingOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study

ROWS, VERDICTS = "rows.jsonl", "verdicts.jsonl"
_RUNS = 2  # checklists of each generator for an instruction: how alike they are says how steady it is
_DRAWN = replace(SAMPLING, temperature=0.7)  # at 0 they would all be the same


@dataclass(frozen=True, kw_only=True)
class ValidateOptions(StudyOptions, JudgingOptions):
    """Whose checklists are compared, and who answers them."""

    data: str = option(help=DATA_HELP)
    generator: tuple[str, ...] = role(
        (), help="Whose checklists are held against the chosen ones; may be repeated. None: those the data has.",
        binds=Binds("generators", lambda o: numbered(o.generator), grows=True),
    )  # fmt: skip
    judge: tuple[str, ...] = role(
        (), help="Who answers checklists; may be repeated. None: only what the data has of answers.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )  # fmt: skip
    votes: int = option(
        5, binds=Binds(late=True), panel="Judging",
        help="Answers with reasoning to each question that people answered: maj@k is of odd k up to this.",
    )  # fmt: skip
    judge_temperature: float = option(
        0.7, binds=Binds(late=True), panel="Judging", help="Sampling temperature of judges."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "votes")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")

    def settings(self, spec: str, mode: str, votes: int = 1) -> JudgeSettings:
        """How a judge answers: directly (by a probability where it gives those) or with reasoning."""
        base = self.judging(spec, self.TEXT_LEVEL, reasoning=mode == "reasoning")
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(base, sampling=sampling, votes=1 if self.decides(spec) else votes)

    def modes(self, spec: str) -> tuple[str, ...]:
        """In which ways a judge answers what people answered; who gives probabilities writes no reasoning."""
        return ("direct",) if self.decides(spec) else ("direct", "reasoning")


@dataclass(frozen=True)
class ValidatedEntry:
    """A row with all that models added; the problems of checklists that were not written, and all verdicts."""

    entry: ChecklistRow
    problems: tuple[str, ...] = ()
    verdicts: tuple[Mapping[str, Any], ...] = ()


class Validate(Study[ValidateOptions, ChecklistRow, ValidatedEntry, dict[str, Table]]):
    """Rows of checklists, completed and compared; `value` is the tables by name."""

    kind, unit = "checklist-validation", "instructions"
    needs = ("sacrebleu", "rouge_score")
    prompts = ("generate_checklist",)
    files = (ROWS, VERDICTS)

    @property
    def tried_prompts(self) -> Sequence[str]:
        return self.prompts if self.options.generator else ()

    def items(self) -> Items[ChecklistRow]:
        left_out: list[str] = []
        entries, options = load_entries(self.options.data, left_out), self.options
        if not (options.generator or any(len(entry.checklists) > 1 or entry.answers for entry in entries)):
            raise UserError(
                f"--data {options.data}: no row has another checklist than the chosen one, or answers; name a --generator"
            )
        taken = {record.author for entry in entries for record in entry.checklists} & set(names_of(options.generator))
        taken |= {record.by for entry in entries for record in entry.judgments} & set(names_of(options.judge))
        if taken:
            raise UserError(f"--data {options.data}: holds what {min(taken)} gave already; leave it out of the options")
        return entry_items(entries, left_out)

    def judge_settings(self) -> Iterator[JudgeSettings]:
        for spec in self.options.judge:
            for mode in self.options.modes(spec):
                yield self.options.settings(spec, mode, self.options.votes if mode == "reasoning" else 1)

    async def work(self, entry: ChecklistRow) -> ValidatedEntry:
        """The row with the generators' checklists, and then the judges' answers."""
        runs = product(enumerate(names_of(self.options.generator), 1), range(1, _RUNS + 1))
        generated = await asyncio.gather(*(self._written(entry, name, number, run) for (number, name), run in runs))
        written = tuple(checklist for checklist in generated if isinstance(checklist, Written))
        entry = entry.model_copy(update={"checklists": entry.checklists + written})
        # Judges answer what people answered, and on what a model wrote the chosen list beside it.
        compared = entry.chosen is not None and any(checklist.source == "model" for checklist in entry.checklists)
        calls = [
            self._answered(entry, response, checklist, name, number)
            for response in entry.responses for checklist in entry.checklists
            for number, name in enumerate(names_of(self.options.judge), 1)
            if entry.people(response, checklist) is not None
            or (compared and (checklist.chosen or checklist.source == "model"))
        ]  # fmt: skip
        answered = [part for parts in await asyncio.gather(*calls) for part in parts]
        answers = tuple(answer for group, _ in answered for answer in group)
        problems = tuple(problem for problem in generated if isinstance(problem, str))
        entry = entry.model_copy(update={"judgments": entry.judgments + answers})
        return ValidatedEntry(entry, problems, tuple(row for _, rows in answered for row in rows))

    async def _written(self, entry: ChecklistRow, name: str, number: int, run: int) -> Written | str:
        """One checklist of a generator, or why there is none."""
        caller = self.caller("generator", number)
        generated = await generate_checklist(
            caller, entry.case(), self.options.prompts, sampling=_DRAWN, sample=run - 1
        )
        if not generated.questions:
            return f"{entry.id}: {name}, run {run}: {generated.problem}"
        return Written(id=f"{name}, run {run}", author=name, source="model", run=run, questions=generated.questions)

    async def _answered(
        self, entry: ChecklistRow, response: Text, checklist: Written, name: str, number: int
    ) -> list[tuple[list[Judgments], list[dict[str, Any]]]]:
        """A judge's answers: in every mode, and several with reasoning, where people answered, too."""
        options, spec = self.options, self.options.judge[number - 1]
        people, results = entry.people(response, checklist) is not None, []
        for mode in options.modes(spec) if people else options.modes(spec)[-1:]:
            votes = options.votes if people and mode == "reasoning" else 1
            judge = self.judge(options.settings(spec, mode, votes), number=number, part=f"{name} {mode}")
            verdicts = await judge.verdicts(entry.case(response.text, checklist.questions))
            # A rule casts no votes: it would say the same each time.
            draws = zip(*(verdict.votes or (verdict.label,) * votes for verdict in verdicts), strict=True)
            about: dict[str, Any] = {
                "response_id": response.id,
                "checklist_id": checklist.id,
                "judge": name,
                "mode": mode,
            }
            answers = [Judgments.model_construct(**about, sample=n, answers=draw) for n, draw in enumerate(draws, 1)]
            rows = [
                {"id": entry.id, **about, "question": verdict.criterion.text, "label": verdict.label,
                 "votes": list(verdict.votes), "probability": verdict.probability, "reason": verdict.reason}
                for verdict in verdicts
            ]  # fmt: skip
            results.append((answers, rows))
        return results

    def score(self, done: Sequence[ValidatedEntry]) -> Outcome[dict[str, Table]]:
        entries = [validated.entry for validated in done]
        problems = [problem for validated in done for problem in validated.problems]
        lacking = {
            "a chosen checklist": sum(entry.chosen is None for entry in entries),
            "another checklist": sum(not others(entry) for entry in entries),
            "a response": sum(not entry.responses for entry in entries),
        }
        notes = [f"instructions without {what}: {count} of {len(entries)}" for what, count in lacking.items() if count]
        notes += [f"checklists not written: {len(problems)} ({problems[0]})"] if problems else []
        notes += weak_judges(self.options.judge)
        tables = [
            *agreement.likeness_table(entries), *agreement.rate_table(entries), *agreement.accuracy_table(entries), *agreement.length_tables(entries),
            *agreement.difficulty_table(entries),
        ]  # fmt: skip
        return Outcome(
            {table.name: table for table in tables}, title="TICK: checklists and their judges, validated", tables=tables,
            lead="Checklists are held against the chosen ones, and who answers them against the majority of the annotators.",
            items={
                # Rows of the `checklists` form with what models added: given back as data they need none.
                ROWS: [{**e.row, **e.model_dump(mode="json", include={"checklists", "judgments"})} for e in entries],
                VERDICTS: [row for validated in done for row in validated.verdicts],
            },
            notes=notes, facts={"Instructions": len(entries)}, ranking=self._ranking(tables), incomplete=len(problems),
        )  # fmt: skip

    def _ranking(self, tables: Sequence[Table]) -> Ranking:
        """The judges by their accuracy with one answer, with reasoning where they have it."""
        provenance = self.provenance
        facts = {"Data": str(provenance["data"]), **rules_fact(provenance)}
        rows: dict[str, dict[str, Any]] = {}
        cells = (row for table in tables if table.name == "accuracy" for row in table.rows)
        for cell in (row for row in cells if row["mode"] and not row.get(PUBLISHED)):
            row = rows.setdefault(cell["by"], {"judge": cell["by"], **facts})
            reasoned, score = cell["mode"] == "reasoning", cell["accuracy"]
            if cell["k"] > 1:
                row |= {"majority": score, "Majority of": str(cell["k"])} if reasoned else {}
                continue
            row |= {} if reasoned else {"direct": score}
            row |= {"accuracy": score} if reasoned or "accuracy" not in row else {}
        titles = {"accuracy": "Accuracy", "direct": "Without reasoning", "majority": "Majority"}
        columns = [Column("judge", "Judge"), *(Column(name, title, "score") for name, title in titles.items())]
        columns += [Column(name, name) for name in ("Data", "Majority of", "Rules")]
        alike, table = (
            [provenance["data_sha256"], provenance.get("rules", "off")],
            Table("", columns, list(rows.values())),
        )
        unit = "Agreement with annotators in %"
        return Ranking(table, "accuracy", alike, title="TICK: judges of checklists", unit=unit)


def names_of(specs: Sequence[str]) -> list[str]:
    """The names of models, numbered where two have one in common, as models in memory may."""
    return numbered(list(map(str, specs)))
