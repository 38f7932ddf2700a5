"""A study: the one life of every command that asks models for something.

    options -> roles opened -> items -> folder bound -> work(item), bounded, through the ledger
            -> score(results) -> files and report -> run.json: finished

A benchmark is a subclass: its items, its `work`, its `score`. All else is here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from truebench_hf.engine.folder import LEDGER, RunFolder, count_noted, read_info
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.money import Budget, Prices
from truebench_hf.engine.pool import bounded, progress, run_async
from truebench_hf.errors import need
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings, prompts_used
from truebench_hf.judging.rules import languages
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel
from truebench_hf.prompts import check_prompts
from truebench_hf.report.table import SCORES
from truebench_hf.study import notes
from truebench_hf.study.estimate import cost_notes, cost_table, estimated
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import WRITTEN, Outcome, lines, write
from truebench_hf.study.roles import NOTED, Roles, UserEditedFiles, bound, growing, refuse_to_drop

O = TypeVar("O", bound=FolderOptions)  # noqa: E741
T = TypeVar("T")
D = TypeVar("D")
V = TypeVar("V")
SAMPLED = ("limit", "data_sha256", "items")  # what a folder notes of a sample; the selection it is drawn from binds


class Study(Generic[O, T, D, V]):
    """One study on one options object (O): its items (T), what becomes of each (D), what its call returns (V).

    `kind` stands in `run.json`. `files` are the files and folders of its own that it writes, beside those of the
    house (see `Outcome`): in a folder of somebody else they are not overwritten. The first of them (or else scores.json)
    tells that there are results. Those in `editable` people edit, and give back by the option it names ("": by none): see `UserEditedFiles`. `prompts` are those it
    fills, beside those of the judges in `judge_settings`.
    """

    kind: ClassVar[str]
    files: ClassVar[tuple[str, ...]] = ()
    editable: ClassVar[Mapping[str, str]] = {}
    prompts: tuple[str, ...] = ()
    unit: ClassVar[str] = "items"  # what the progress bar counts
    renewed: ClassVar[tuple[str, ...]] = ()  # of `known`: what may change, since the ledger tells the calls apart
    unforeseen: ClassVar[str] = ""  # what `--estimate` cannot know
    needs: ClassVar[tuple[str, ...]] = ()  # modules of the extra `stats`: better missed before anything is paid for
    boards: ClassVar[bool] = True  # whether its results take the place of those that the folder has on a leaderboard

    def __init__(self, options: O) -> None:
        self.options = options
        self.known: dict[str, Any] = {}  # what its folder notes beside the options
        self.unasked: set[str] = set()  # options that say nothing here: what another stage noted of them stays
        self.step: Callable[[str], None] = lambda name: None  # moves a bar of `bars`
        self.tell: Callable[[str], None] = lambda line: None  # prints the lines of `understood`
        self.ledger: Calls
        self._cache: Calls | None = None  # what other folders have asked
        self._budget: Budget | None = None
        self._callers: dict[str, Caller] = {}
        self._first: dict[tuple[str, int], Caller] = {}  # by role and model
        self._judges: dict[Any, CriteriaJudge] = {}

    # What a benchmark says of itself.

    def items(self) -> Items[T]:
        """What there is to work through. Raises UserError on data that cannot be used."""
        raise NotImplementedError

    def judge_settings(self) -> Iterable[JudgeSettings]:
        """How its judges decide: their prompts are checked, and bind."""
        return ()

    @property
    def tried_prompts(self) -> Iterable[str]:
        """Those of `prompts` that are asked, or others in their place: replaced ones are tried before anything is paid for."""
        return self.prompts

    def trial_values(self) -> Iterable[Mapping[str, Any]]:
        """What they are filled with besides, each time."""
        return ({},)

    def check(self) -> None:
        """Raise UserError on whatever else is wrong, before the folder is tied to it and anything is paid for."""

    def understood(self) -> list[str]:
        """What was read of the data, in lines that are told before anything is asked."""
        return []

    def setup(self) -> None:
        """Make what all work shares: judges, say."""

    async def work(self, item: T) -> D:
        """What becomes of one item."""
        raise NotImplementedError

    def score(self, done: Sequence[D]) -> Outcome[V]:
        """What comes of all of them, given in the order of the data."""
        raise NotImplementedError

    def bars(self) -> dict[str, int]:
        """The bars of the progress display; a study with bars of its own steps them itself."""
        return {self.unit: len(self.chosen)}

    # What it can use meanwhile.

    def caller(self, role: str, number: int = 1, part: str = "") -> Caller:
        """The `number`-th model of a role in a part: the name under which the ledger counts its calls."""
        model: ChatModel = self.roles[role][number - 1]
        part = part or (role.replace("_", " ") if number == 1 else f"{role.replace('_', ' ')} {number}")
        if part in self._callers and self._callers[part].model is not model:
            part = f"{part} ({role} {number})"  # one spec in two roles, with other arguments: no part has two models
        if part not in self._callers:
            if (role, id(model)) not in self._first:  # the parts of a role share its limit of requests at a time
                limit = self.roles.concurrency(role)
                first = Caller(model, self.ledger, part, limit, self._cache, self._budget)
                self._first[role, id(model)] = first
            self._callers[part] = self._first[role, id(model)].in_role(part)
        return self._callers[part]

    def judge(self, settings: JudgeSettings, role: str = "judge", number: int = 1, part: str = "") -> CriteriaJudge:
        """A judge made of the `number`-th model of a role; one and the same for one part and settings."""
        caller = self.caller(role, number, part)
        key = (id(caller), repr(settings))
        if key not in self._judges:
            self._judges[key] = CriteriaJudge(caller, settings, self._prompts())
        return self._judges[key]

    @property
    def provenance(self) -> dict[str, Any]:
        """What the results were made with: the settings of the folder, and versions."""
        return {**self.folder.info["settings"], "versions": self.folder.info["versions"]}

    # Its life.

    def run(self) -> Outcome[V]:
        """Work through the items and write the results into the folder; in a notebook too. Raises UserError.

        Every call is in the ledger before its answer is used: the same options in the same folder ask nothing twice.
        With the option `estimate` nothing is asked: the outcome's value is the Usage of each part.
        """
        need("stats", *self.needs, what="this command")
        settings = self._open()
        edited = UserEditedFiles(Path(self.options.out), self.editable, self.options)
        if info := read_info(Path(self.options.out)):
            edited.check(info.get(NOTED, {}))
        if self.options.estimate:
            self._tell_understood()
            return self._estimate()
        before, samples = count_noted(self.options.out), count_noted(self.options.out, "samples", 1)
        held = self._bind(settings)
        self.ledger = self.folder.ledger
        try:
            self._cache = self.options.open_cache()
            self.prices = Prices(self.options.price, self.folder.info.get("prices", {}))
            if self.options.budget is not None:  # see how much of it is left
                self.prices.look_up(self.roles.opened)
                self._budget = Budget(self.options.budget, self.prices, self.ledger.paid())
            self._tell_understood()
            self.setup()
            with progress(self.bars()) as self.step:
                done = run_async(self._work())
            languages.unload()
            if served := self.ledger.served():
                self.folder.note(served=served)
            outcome = self._with_notes(self.score(done), len(done))
            all_notes = list(outcome.notes)
            if self.boards and before > len(done):
                is_limited = hasattr(self.options, "limit")
                back = f"--limit {before} brings" if is_limited else "naming the data as before brings"
                now = f"now of {len(done)}; {back} them back without a call."
                all_notes.append(f"There were results of {before} items here, {now}")
            if samples > (now_drawn := getattr(self.options, "samples", samples)):
                back = f"--samples {samples} brings them back."
                all_notes.append(f"There were {samples} samples of every item here, now {now_drawn}; {back}")
            return self._write_results(replace(outcome, notes=all_notes), held, edited)
        finally:
            self._close()

    def _close(self) -> None:
        self.ledger.close()
        if self._cache:
            self._cache.close()

    def _open(self) -> list[JudgeSettings]:
        """Open the roles, read the items and check all of it; how the judges decide."""
        self.roles = Roles(self.options)  # first: what its arguments make known as secret is masked in the data
        self.all = self.items()
        self.chosen = self.all.sampled(getattr(self.options, "limit", None), getattr(self.options, "seed", 0))
        settings = list(self.judge_settings())
        for judging in settings:
            check_prompts(prompts_used(judging), self._prompts(), judging.structured, judging.reasoning)
        if isinstance(self.options, PromptOptions):
            structured = getattr(self.options, "structured", "auto")
            for values in self.trial_values():
                check_prompts(self.tried_prompts, self._prompts(), structured, **values)
            check_prompts(["repair"], self._prompts())
        self.check()
        return settings

    def _bind(self, settings: Sequence[JudgeSettings]) -> dict[str, Any]:
        """Open the folder and tie it to the options; what it notes of them."""
        results = (Path(self.options.out) / next(iter(self.files), SCORES)).exists()
        held, free = bound(self.options, self.roles, self.unasked, results=results)
        free |= {*SAMPLED, *self.renewed}
        replaced = None
        if isinstance(self.options, PromptOptions):
            prompts = self._prompts()
            replaced = prompts.replaced
            used = [*self.prompts, *(name for judge in settings for name in prompts_used(judge))]
            again = ["repair"] if any(map(prompts.is_signed, used)) else []  # what is signed can be asked for again
            held["prompts"] = {name: prompts.hash(name) for name in dict.fromkeys([*used, *again])}
            if not results:
                free.add("prompts")
        held |= {"items": len(self.chosen), "data_sha256": self.all.data_sha256(self.chosen)}
        if self.all.drawn:
            limit = getattr(self.options, "limit", None) if len(self.chosen) < len(self.all.every) else None
            held |= {"limit": limit, "selection_sha256": self.all.sha256(self.all.every)}
        held |= self.known
        refuse_to_drop(self.options, held)
        self.folder = RunFolder(
            self.options.out, held, free - self.unasked, replaced, kind=self.kind, boards=self.boards,
            files=tuple(dict.fromkeys((*self.files, *WRITTEN))), rows=self.all.row_hashes(),
            update=getattr(self.options, "update", False),
        )  # fmt: skip
        return held

    def _with_notes(self, outcome: Outcome[V], count: int) -> Outcome[V]:
        """The outcome with what is to be said of its calls, of providers, of reading the answers, and of the cost."""
        info, ledger = self.folder.info, self.folder.ledger
        lost = info.get("calls_lost", 0) + self.roles.lost
        callers = self._callers.values()
        costs = notes.reading_costs(callers)
        record, spent = notes.reading_record(costs), ledger.paid()
        if ledger.usage()["now"]:
            self.prices.look_up(self.roles.opened)
        before = [*self._left_out(), *notes.from_cache(*ledger.recalled()), *notes.lost_calls(lost)]
        behind = [*notes.provider_notes(info["settings"], info.get("served", {})), *notes.reading_notes(costs, callers)]
        price_notes = cost_notes(spent, self.prices, count)
        known = {**outcome.known, **({"calls_lost": lost} if lost else {}), "reading": record}
        if listed := self.prices.to_json():
            known["prices"] = listed
        if price_notes:
            known["cost"] = round(self.prices.cost(spent), 6)
        charts = (
            [*outcome.charts, *notes.reading_table(record), *cost_table(spent, self.prices)] if outcome.report else []
        )
        outcome = replace(outcome, notes=[*before, *outcome.notes, *behind, *price_notes], charts=charts, known=known)
        least = getattr(self.options, "fail_under", None)
        board = outcome.ranking.board() if outcome.ranking and least is not None else None
        return replace(outcome, failed=board.below(least) or outcome.failed) if board and least is not None else outcome

    def _write_results(self, outcome: Outcome[V], held: Mapping[str, Any], edited: UserEditedFiles) -> Outcome[V]:
        """The outcome, once its files and its report are in the folder."""
        undeclared = {Path(name).parts[0] for name in outcome.written} - {*self.files, *WRITTEN}
        assert not undeclared, f"{type(self).__name__}.files lacks {undeclared}, which nothing would protect"
        texts = {name: lines(name, content) for name, content in outcome.written.items() if edited.has(name)}
        self.folder.note(**edited.to_note(texts, self.folder.info.get(NOTED, {})))
        results = {name: held[name] for name in growing(self.options)} | dict(outcome.results)
        write(self.folder, replace(outcome, known={**({"results": results} if results else {}), **outcome.known}))
        return outcome

    def _tell_understood(self) -> None:
        """Tell where the results go, where nobody has named a folder and one is made, and what was read."""
        if not (self.options.folder_named or self.options.estimate):
            self.tell(f"folder: {self.options.out}")
        for line in self.understood():
            self.tell(line)

    def _estimate(self) -> Outcome[Any]:
        """What would be asked beside what the folder's ledger holds, and what it would cost; nothing is written."""
        self.roles.estimate()
        self.ledger = Calls(Path(":memory:"), over=Path(self.options.out) / LEDGER)
        try:
            self._cache = self.options.open_cache(reading=True)
            self.setup()
            run_async(self._work())
            paid, recalled = self.ledger.paid(), notes.from_cache(*self.ledger.recalled())
        finally:
            self._close()
        parts = dict.fromkeys(part for caller in self._callers.values() for part in caller.parts.items())
        spent = {part: paid[part] for part in parts if part in paid}
        prices = Prices(self.options.price, read_info(Path(self.options.out)).get("prices", {}))
        prices.look_up(self.roles.opened)
        cost = cost_notes(spent, prices, len(self.chosen), "Estimated cost")
        estimate_notes = [*self._left_out(), *recalled, *cost, *filter(None, [self.unforeseen])]
        return estimated(spent, len(self.chosen), estimate_notes)

    def _left_out(self) -> list[str]:
        """What to say of rows of the data that are no items."""
        rows = self.all.left_out
        return [f"Rows of the data left out: {len(rows)} (the first: {rows[0]})."] if rows else []

    async def _work(self) -> list[D]:
        """All items, the largest first; the results in data order."""
        order = sorted(range(len(self.chosen)), key=lambda place: -self.all.size(self.chosen[place]))
        own = self.bars() == Study.bars(self)

        async def placed(place: int) -> tuple[int, D]:
            result = await self.work(self.chosen[place])
            if own:
                self.step(self.unit)
            return place, result

        # Twice the slots: while some items wait for one role, others keep the next one busy.
        try:
            done = dict([pair async for pair in bounded(order, placed, 2 * (self.roles.slots or 8))])
        finally:
            await self.roles.close()
        return [done[place] for place in range(len(self.chosen))]

    def _prompts(self) -> Any:
        assert isinstance(self.options, PromptOptions)
        return self.options.prompts
