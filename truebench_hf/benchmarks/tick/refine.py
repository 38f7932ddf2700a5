"""Self-refinement: a model answers, judges its answer, and rewrites it by that, several times over (section 4.1, G.6)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick import checklists, scoring, stick
from truebench_hf.benchmarks.tick.checklists import ChecklistItem, ListedChecklist
from truebench_hf.benchmarks.tick.revision import STATUS, Refined, ResponseVersion, Rewrite, criticise, rewrite
from truebench_hf.data.judged import Case
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.votes import turned_shares
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import metered
from truebench_hf.options import Binds, option
from truebench_hf.report.sections import Conversation, Conversations
from truebench_hf.report.sections import Outcome as Mark
from truebench_hf.report.table import Column, Table
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking

if TYPE_CHECKING:
    from pandas import DataFrame

VERSIONS = "versions.jsonl"
ALL_INSTRUCTIONS = "All instructions"
KEEP, CRITIQUES = ("last", "best"), ("checklist", "free")


class RefineOptions(stick.SelfJudgingOptions):
    """Which model refines its answers, how often, and by what feedback."""

    iterations: int = option(4, ge=1, binds=Binds(late=True), help="How often a response is rewritten at most.")
    critique: str = option(
        "checklist", choices=CRITIQUES, binds=Binds(late=True),
        help="The feedback: checklist (its answers; ends where all are YES), or free (prose; never ends early)."
    )  # fmt: skip
    keep: str = option(
        "last", choices=KEEP, binds=Binds(late=True), help="What counts: last, or best by its own score."
    )

    @property
    def scored(self) -> bool:
        """Whether there is a score of any kind: a critique in prose gives none."""
        return self.critique == "checklist" or self.outside is not None

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.critique == "free":
            if self.keep == "best":
                raise UserError("--keep best goes by the own score, which --critique free does not give; leave out one")
            if self.generator or self.checklists:
                raise UserError("--critique free uses no checklist; leave out --generator and --checklists")


class Refine(stick.SelfJudging):
    """A trace per instruction; `value` is the tables by name."""

    kind, unit = "refine", "instructions"
    files = (VERSIONS, checklists.FILE)
    editable = checklists.EDITABLE
    options: RefineOptions

    def __init__(self, options: RefineOptions) -> None:
        super().__init__(options, by_checklist=options.critique == "checklist")
        rating = ("rating",) if options.outside == "rating" else ()
        self.prompts = ("refine", "generate_checklist" if self.by_checklist else "critique", *rating)

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return ({}, {"critique": "It is too long.", "questions": []})

    async def work(self, item: ChecklistItem) -> Refined:
        """The first answer, and versions of it until all questions are answered YES or the iterations are used up."""
        spent, instance = metered(), checklists.bare(item.instance)
        first, listed = await asyncio.gather(self.answer(instance, self.options.sampling), self.listed(item))
        if isinstance(first, str):
            return Refined(item.instance, listed, (), first, self.unanswered(item.instance, first))
        case = stick.case_of(item.instance, first.text)
        version = ResponseVersion(0, first.text, "first", truncated=first.truncated, spent=spent)
        versions = [await self._judged(case, version, listed)]
        problem = f"no checklist: {listed.problem}" if listed and not listed.criteria else ""
        for iteration in range(1, self.options.iterations + 1):
            before = versions[-1].inside
            if self.by_checklist and not problem and not {"yes", "no"} & set(before.labels):
                problem = f"no question of the checklist was decided: {before.reason}"
            if problem or (listed and versions[-1].passes):
                break
            spent = metered()
            version = await self._next(case, versions[-1], iteration)
            case = replace(case, response=version.text)
            version = await self._judged(case, version, listed) if version.status == "rewritten" else version
            versions.append(replace(version, spent=spent))
        return Refined(item.instance, listed, tuple(versions), problem)

    async def _judged(self, case: Case, version: ResponseVersion, listed: ListedChecklist | None) -> ResponseVersion:
        """The version with the verdicts on it, those inside and the score outside."""
        own, outside = await asyncio.gather(self.verdicts(case, listed.criteria if listed else ()), self.outside(case))
        return replace(version, verdicts=own, outside=outside)

    async def _next(self, case: Case, before: ResponseVersion, iteration: int) -> ResponseVersion:
        """The version after one more iteration: where no text can be read the one before, with the verdicts on it."""
        options = self.options
        kept = replace(before, iteration=iteration, detail="", plan="", critique="")
        if not options.temperature and before.status in ("unchanged", "unreadable"):
            return replace(kept, status=before.status, detail="the request would be the one before")
        sample = iteration if options.temperature else 0  # at 0 equal requests have equal answers
        critique: str | Problem = ""
        written: Rewrite | Problem
        if options.critique == "free":
            caller = self.caller(options.judging_role).in_role("critique")
            critique = await criticise(caller, case, options.prompts, options.sampling, sample=sample)
        if isinstance(critique, Problem):
            written = critique
        else:
            kept = replace(kept, critique=critique)
            written = await rewrite(
                self.caller("model").in_role("rewrite"), case, options.prompts, options.sampling,
                verdicts=before.verdicts, critique=critique, sample=sample,
            )  # fmt: skip
        if isinstance(written, Problem):
            return replace(kept, status="failed" if written.failed else "unreadable", detail=written.text)
        if written.text.strip() == before.text.strip():
            return replace(kept, status="unchanged", plan=written.plan)
        return replace(kept, text=written.text, status="rewritten", plan=written.plan, truncated=False)

    def score(self, done: Sequence[Refined]) -> Outcome[dict[str, Table]]:
        options = self.options
        judge = f"answers of {options.judge}" if options.judge else "its own answers"
        how = f"{judge} to a checklist" if self.by_checklist else "critiques in prose"
        cut = sum(bool(refined.versions) and refined.versions[0].truncated for refined in done)
        missing = [(refined.instance.id, why) for refined in done if (why := undecided(refined, options))]
        frame = version_frame(done, options)
        steps = iteration_table(frame, options)
        tables = [steps, *([gain_table(frame, options)] if options.scored else [])]
        note = "Each version with the model's own verdicts; the last one shown is the last that was written."
        return self.outcome(
            done, tables, missing, {VERSIONS: [row for refined in done for row in refined.rows()]},
            title="STICK: self-refinement", lead=f"{options.model} refined by {how}, {options.keep} version kept; {options.lead}",
            notes=self.notes(cut, scored=self.by_checklist),
            conversations=Conversations("Refinement: versions", tuple(map(_conversation, done)), note),
            ranking=self._ranking(steps, done) if options.scored else None,
        )  # fmt: skip

    def _ranking(self, steps: Table, done: Sequence[Refined]) -> Ranking:
        """A row per refinement: the score before and after; ranked together over the same data and outside judge."""
        options, measure = self.options, "outside" if self.options.outside else "own"
        scores = {f"iteration:{row['iteration']}": row[measure] for row in steps.rows}
        first, *_, last = scores.values()
        columns = [scoring.MODEL, Column("refined", "Refined", "score"), Column("first", "First answer", "score")]
        columns += [Column(name, name.replace(":", " ").capitalize(), "score", group="By iteration") for name in scores]
        row = {"model": str(options.model), "refined": last, "first": first, **scores}
        table = Table("", columns, [row], "STICK: self-refinement", "Score after refinement, in %")
        facts = {"Critique": options.critique, "Kept": options.keep, "Iterations": str(options.iterations)}
        return self.ranking(table, "refined", done, **facts)


def version_frame(done: Sequence[Refined], options: RefineOptions) -> DataFrame:
    """A row per instruction and iteration (0: the first answer).

    Columns: iteration, id, category, status (of what was tried; None where it had stopped before), passing (whether all
    questions are answered YES), turned (`Transitions`, None where nothing was rewritten); of the version kept by then
    labels (own, None without an answer), own (the pass rate by these) and outside (a `ResponseScore`, None without).
    """
    rows = [
        (number, refined.instance.id, refined.instance.category, *refined.cells(number, options.keep))
        for number in range(options.iterations + 1) for refined in done
    ]  # fmt: skip
    columns = ("iteration", "id", "category", "status", "passing", "turned", "labels", "own", "outside")
    return scoring.frame_of(columns, rows).astype({"iteration": int, "passing": bool})


def iteration_table(frame: DataFrame, options: RefineOptions) -> Table:
    """Return what was tried in each iteration, what it turned, and the scores of the versions kept after it (Figure 3)."""
    statuses = [name for name in STATUS if name != "first"]

    def step(rows: DataFrame) -> dict[str, Any]:
        tried = Counter(rows["status"].dropna())
        turned, labels, outside = (list(rows[name].dropna()) for name in ("turned", "labels", "outside"))
        mended, broken = turned_shares(turned)
        return {
            **{name: tried[name] for name in statuses}, "passing": int(rows["passing"].sum()),
            "mended": mended, "broken": broken, "own": drfr(labels) if any(labels) else None,
            "outside": stick.outside_score(options.outside, outside) if options.outside else None,
        }  # fmt: skip

    columns = [Column("iteration", "iteration", "count")]
    columns += [Column(name, name, "count", STATUS[name].capitalize() + ".", minor=3) for name in statuses]
    columns.append(
        Column("passing", "all YES", "count", "Instructions with every question answered YES; they are done.", minor=2)
    )
    note = "The paper's figure 3 shows such critiques without their figures."
    if options.critique == "checklist":
        turned = "Of the questions of rewritten responses; what is open on one side is counted apart."
        columns += [Column("mended", "NO to YES %", "score", turned, minor=1),
                    Column("broken", "YES to NO %", "score", turned, minor=1),
                    Column("own", "own DRFR", "score", "By the model's own verdicts: what it aims at.", drawn=True)]  # fmt: skip
        note = "In figure 3 of the paper (Command-R+) STICK gains up to 6.5 DRFR points on InFoBench, 7.1 on WildBench."
    if options.outside:
        about = f"{stick.OUTSIDE_NAMES[options.outside]}."
        columns.append(Column("outside", "outside", "score", about, parts=scoring.ALL, drawn=True))
    title = f"Iterations, the {options.keep} version kept"
    return scoring.grouped_table("iterations", frame, ["iteration"], step, columns, title=title, note=note)


def gain_table(frame: DataFrame, options: RefineOptions) -> Table:
    """Return what the kept versions are better by, by category too; by the own score without another (Table 1)."""
    import pandas as pd

    last = frame[frame["iteration"] == options.iterations]
    first = frame[frame["iteration"] == 0]
    gains = pd.DataFrame({"category": list(last["category"])})
    for name, side in (("first", first), ("last", last)):
        shares = [score and score.score for score in side["outside"]] if options.outside else list(side["own"])
        gains[name] = pd.Series(shares, dtype=float)
    named = gains[gains["category"] != ""]
    gains = pd.concat([gains.assign(category=ALL_INSTRUCTIONS), named])
    order = dict.fromkeys([ALL_INSTRUCTIONS, *sorted(set(named["category"]))])
    gains["category"] = pd.Categorical(gains["category"], list(order))

    def gain(rows: DataFrame) -> dict[str, Any]:
        both = rows[["first", "last"]].dropna()
        means = {title: mean_of(*both[name].tolist()) for title, name in (("first", "first"), ("refined", "last"))}
        return {**means, **scoring.difference_cells(rows["last"].tolist(), rows["first"].tolist())}

    names = stick.OUTSIDE_NAMES | {"drfr": "mean pass rate on the given criteria"}
    measure = names.get(options.outside or "", "own pass rate")
    note = f"Score: {measure}, every instruction alike. {scoring.PAIRED_NOTE} The paper's rows are LiveBench scores after one step (Table 1)."
    columns = (
        Column("category", "Category"), Column("first", "first answer %", "number"), Column("refined", "refined %", "number"),
        *scoring.difference_columns("points", "The kept versions less the first answers, where both have a score."),
    )  # fmt: skip
    method = {"checklist": "STICK", "free": "Self-Refine"}[options.critique]
    published = [  # the paper prints no n and no intervals
        {
            "category": f"{row['Task']} ({model}, {method})", "first": row[f"{model}/Base"] / 100,
            "refined": row[f"{model}/{method}"] / 100, "difference": row[f"{model}/{method}/delta"] / 100,
        }
        for model in ("Command-R+", "GPT-4o") for row in scoring.paper_rows("1")
    ]  # fmt: skip
    title = "What refinement gained"
    return scoring.grouped_table(
        "gains", gains, ["category"], gain, columns, published=published, title=title, note=note
    )


def undecided(refined: Refined, options: RefineOptions) -> str:
    """Why there is no score of the version kept in the end; "" where there is one."""
    if not refined.versions:
        return refined.problem
    kept = refined.kept(options.iterations, options.keep)
    score = kept.outside if options.outside else kept.inside if refined.listed else None
    failed = [version.detail for version in refined.versions if version.status == "failed"]
    unscored = score.reason if score and score.score is None else ""
    return refined.problem or unscored or "; ".join(dict.fromkeys(failed))


def _conversation(refined: Refined) -> Conversation:
    """The instruction, and behind it every version with the verdicts on it."""
    outcome: Mark = ""
    if refined.versions and refined.listed:
        last = refined.versions[-1]
        outcome = "yes" if last.passes else "no" if "no" in last.inside.labels else "open"
    answers = []
    for version in refined.versions:
        met = [verdict.label for verdict in version.verdicts]
        title = f"Version {version.iteration} · {version.status}" + (
            f" · {met.count('yes')} of {len(met)} met" if met else ""
        )
        thoughts = "\n\n".join(filter(None, (version.critique, version.plan, version.detail)))
        answers.append(stick.answer_titled(title, version.text, version.verdicts, thoughts))
    return stick.answers_beside(refined.instance, answers, outcome, refined.problem)
