"""Who judges a case: a chat model with a prompt and a reader, at one of four levels; a panel of them; or rules alone.

What `truebench study calibrate` leaves for judges that give probabilities is read here, too.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isclose
from pathlib import Path
from typing import Any, Protocol

from truebench_hf.data.judged import Case
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.rules.deciding import JUDGE, MODES, ruled
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING, ask_verdicts, verdict_example, verdict_schema
from truebench_hf.metrics import votes as counted
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.loading import COPIES, of_spec
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.options import NOBODY
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Criterion, Label, Message, Verdict

DECISION_PROMPTS = ("decision", "decision_question")
CASCADE_BAND = (0.2, 0.8)  # of P(yes), where the user names no other
BY_PROBABILITY = ("decision", "cascade")  # the levels at which a threshold and a calibration have an effect


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """How a judge decides. `level` is checklist, rubric, decision or cascade; `structured` is auto, on or off.

    `calibrator` and `threshold` are about probabilities: decision and cascade. What lies within the `band` of a cascade is
    given to a reasoning judge, which is asked at rubric level. `rules` is off, evidence (what programs
    measure stands beside the criteria it bears on) or decide (they decide where their measurement leaves no doubt).
    """

    level: str = "checklist"
    reasoning: bool = True
    structured: str = "auto"
    threshold: float = 0.5
    band: tuple[float, float] | None = None
    calibrator: Calibrator | None = None
    votes: int = 1
    rules: str = "off"
    sampling: Sampling = JUDGE_SAMPLING

    def __post_init__(self) -> None:
        if self.level not in _LEVELS:
            raise unknown("judge level", self.level, _LEVELS)
        if self.structured not in ("auto", "on", "off"):
            raise unknown("structured mode", self.structured, ("auto", "on", "off"))
        if self.rules not in MODES:
            raise unknown("mode of rules", self.rules, MODES)
        if self.level == "cascade" and self.band is None:
            object.__setattr__(self, "band", CASCADE_BAND)  # set here, so that every run notes it
        if self.votes > 1 and self.sampling.temperature == 0.0 and self.level != "decision":
            raise UserError("several votes need a judge temperature above 0: at 0 they would all be the same")

    def at_threshold(
        self, threshold: float | None, calibration: str | None, judge: str, prompts: Prompts
    ) -> JudgeSettings:
        """These settings at a threshold, or at that of a calibration of the judge: both are about probabilities alone.

        Raises UserError on a threshold that is none, and as `read_calibration`.
        """
        if not (threshold is None or 0 < threshold < 1):
            raise UserError(f"--threshold {threshold}: lies between 0 and 1")
        if self.level not in BY_PROBABILITY:
            return self
        settings = self
        if calibration:
            fitted = read_calibration(calibration, judge, prompts, self.rules)
            settings = replace(self, threshold=fitted.threshold, calibrator=fitted.calibrator)
        return settings if threshold is None else replace(settings, threshold=threshold)


class CriteriaJudge:
    """One judge of one run. `verdicts(case)` gives one verdict per criterion, in order.

    In a cascade `cascade` decides what this judge leaves open: by default the same model, asked to reason.
    """

    def __init__(
        self, caller: Caller, settings: JudgeSettings, prompts: Prompts, cascade: Caller | None = None
    ) -> None:
        self.caller, self.settings, self.prompts = caller, settings, prompts
        self.schemas = SchemaFallback(caller, settings.structured)
        self.reasoning_judge = self  # nobody else, unless this is a cascade
        if settings.level == "cascade":
            # What is handed on was measured already.
            alone = replace(settings, level="rubric", rules="off")
            self.reasoning_judge = CriteriaJudge(cascade or caller.in_role("cascade"), alone, prompts)
            self.settings = replace(settings, votes=1)  # only the reasoning judge draws several

    async def verdicts(self, case: Case, draw: int = 0) -> tuple[Verdict, ...]:
        """Judge every criterion of a case; with several votes the majority, a tie being None. Without any ask nothing.

        What rules decide is not asked. Another `draw` asks the same anew: the ledger takes none of its answers for one
        of an earlier draw.
        """
        by_rules, votes = ruled(case, self.settings.rules), self.settings.votes
        if not by_rules.rest.criteria:
            return by_rules.joined(())
        level = _LEVELS[self.settings.level]
        samples = range(draw * votes, (draw + 1) * votes)
        draws = await asyncio.gather(*(level(self, by_rules.rest, sample) for sample in samples))
        if votes == 1:
            return by_rules.joined(draws[0])
        return by_rules.joined([majority(ballots) for ballots in zip(*draws, strict=True)])

    async def one_by_one(self, case: Case) -> AsyncGenerator[tuple[Verdict, ...], None]:
        """The verdicts so far, growing to all of them, for somebody who watches.

        At checklist level one call decides all criteria, so they come together; at every other level each is asked alone.
        """
        if self.settings.level == "checklist":
            yield await self.verdicts(case)
            return
        done: tuple[Verdict, ...] = ()
        for criterion in case.criteria:
            done += await self.verdicts(replace(case, criteria=(criterion,)))
            yield done

    async def by_text(
        self, prompt: str, criteria: Sequence[Criterion], values: Mapping[str, Any], sample: int = 0
    ) -> tuple[Verdict, ...]:
        """The verdicts that the judge writes when asked by the prompt of that name, filled with `values`."""
        settings, plain = self.settings, self.prompts.is_plain(prompt)
        tag = None if plain else str(values["tag"])

        def request(structured: bool) -> ChatRequest:
            text = self.prompts.render(prompt, **values, structured=structured, reasoning=settings.reasoning)
            schema = verdict_schema(tag, len(criteria), settings.reasoning) if structured else None
            example = verdict_example(tag, len(criteria), structured, settings.reasoning)
            return ChatRequest((Message("user", text),), settings.sampling, sample, schema, example=example)

        return await self.schemas.ask(
            request, lambda filled: ask_verdicts(self.caller, filled, criteria, values, self.prompts, plain=plain)
        )

    async def by_probability(
        self, criteria: Sequence[Criterion], texts: Sequence[str], state: str, sample: int = 0
    ) -> tuple[Verdict, ...]:
        """The verdicts on what `state` shows, each criterion a typed yes/no question; no text is generated.

        `texts` are the criteria as `sections` has them.
        """
        name, settings, verdicts = self.caller.model.spec, self.settings, []
        questions = tuple(self.prompts.render("decision_question", criterion=text) for text in texts)
        try:
            decision = await self.caller.decide(DecisionRequest(state, questions, sample))
        except RequestFailed as error:
            return tuple(Verdict(criterion, None, f"the judge gave no answer: {error}", name) for criterion in criteria)
        for criterion, probability in zip(criteria, decision.probabilities, strict=True):
            if probability is None:
                verdicts.append(Verdict(criterion, None, "the judge declined this question", name))
                continue
            share = probability if settings.calibrator is None else settings.calibrator.apply(probability)
            label: Label | None = "yes" if share >= settings.threshold else "no"
            reason = f"P(yes) = {share:.3f}"
            if settings.band and settings.band[0] <= share <= settings.band[1]:
                label, reason = None, f"{reason} lies in the band {settings.band[0]} to {settings.band[1]}"
            verdicts.append(Verdict(criterion, label, reason, name, probability=share))
        return tuple(verdicts)


async def _checklist(judge: CriteriaJudge, case: Case, sample: int) -> tuple[Verdict, ...]:
    """All criteria of a turn in one call (TRUEBench section 3.1, listing 5)."""
    return await judge.by_text("checklist", case.criteria, sections(case), sample)


async def _rubric(judge: CriteriaJudge, case: Case, sample: int) -> tuple[Verdict, ...]:
    """One call per criterion (RubricEval section 5.1), issued together and in order so that prefix caches work."""
    alone = [replace(case, criteria=(single,)) for single in case.criteria]
    calls = [judge.by_text("rubric", single.criteria, sections(single), sample) for single in alone]
    return tuple(verdict for verdicts in await asyncio.gather(*calls) for verdict in verdicts)


async def _decision(judge: CriteriaJudge, case: Case, sample: int) -> tuple[Verdict, ...]:
    """All criteria as typed yes/no questions, answered by a probability each."""
    values = sections(case)
    state = judge.prompts.render("decision", **values)
    return await judge.by_probability(case.criteria, values["criteria"], state, sample)


async def _cascade(judge: CriteriaJudge, case: Case, sample: int) -> tuple[Verdict, ...]:
    """By probability where the judge is sure of itself, by reasoning elsewhere. None of the five papers has this.

    The reasoning judge sees a case with the undecided criteria alone (within the band, declined, or a request that
    failed), and is not asked where there are none. Its verdicts say why they were handed on, and keep its name.
    """
    verdicts = list(await _decision(judge, case, sample))
    undecided = [i for i, verdict in enumerate(verdicts) if verdict.label is None]
    if not undecided:
        return tuple(verdicts)
    rest = await judge.reasoning_judge.verdicts(replace(case, criteria=tuple(case.criteria[i] for i in undecided)))
    for i, verdict in zip(undecided, rest, strict=True):
        why = f"handed on ({verdicts[i].reason})"
        verdicts[i] = replace(verdict, reason=f"{why}: {verdict.reason}" if verdict.reason else why)
    return tuple(verdicts)


_LEVELS: dict[str, Callable[[CriteriaJudge, Case, int], Awaitable[tuple[Verdict, ...]]]] = {
    "checklist": _checklist,
    "rubric": _rubric,
    "decision": _decision,
    "cascade": _cascade,
}
LEVELS = tuple(_LEVELS)


def prompts_used(settings: JudgeSettings) -> tuple[str, ...]:
    """The names of the prompts that shape the verdicts of such a judge."""
    decision = DECISION_PROMPTS if settings.level in ("decision", "cascade") else ()
    text = {"decision": None, "cascade": "rubric"}.get(settings.level, settings.level)
    return (*decision, text, "repair") if text else decision


@dataclass(frozen=True)
class Calibrated:
    """What `truebench study calibrate` leaves for other runs: a judge's calibrator, and the threshold behind it.

    `rules` says what the judge was told of measurements, and what it was not asked.
    """

    judge: str
    calibrator: Calibrator
    threshold: float
    rules: str = "off"


def calibration_json(calibrated: Calibrated, prompts: Prompts) -> dict[str, Any]:
    """The part of `calibration.json` that `read_calibration` needs."""
    hashes = {name: prompts.hash(name) for name in DECISION_PROMPTS}
    more = {"prompts": hashes, "content": of_spec(calibrated.judge)}
    return json.loads(json.dumps(asdict(calibrated) | more))  # type: ignore[no-any-return]


def read_calibration(path: str, judge: str, prompts: Prompts, rules: str = "off") -> Calibrated:
    """Read a `calibration.json`, or the one in a folder, for a run with `judge`, `prompts` and this mode of rules.

    A judge in a local folder is the same wherever it was copied to with the times of its files, and another once they
    were written anew (`models.loading`). Raises UserError when it cannot be read, or was fitted for another judge,
    other prompts or another mode: probabilities of those mean something else.
    """
    file = Path(path) / "calibration.json" if Path(path).is_dir() else Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        calibrated = Calibrated(
            content["judge"], Calibrator.of_fields(content["calibrator"]), float(content["threshold"]), content["rules"],
        )  # fmt: skip
        fitted = {name: content[name] for name in ("judge", "content", "rules", "prompts")}
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"--calibration {path}: cannot be read ({type(error).__name__}: {error})"
        raise UserError(f"{message}; give the calibration.json that `truebench study calibrate` wrote") from error
    here = calibration_json(replace(calibrated, judge=judge, rules=rules), prompts)
    same_kind = judge.partition(":")[0] == calibrated.judge.partition(":")[0]
    if here["content"] and here["content"] == fitted["content"] and same_kind:
        fitted["judge"] = judge  # a copy
    hint = f" ({COPIES})" if here["content"] and fitted["content"] else ""
    reasons = {
        "judge": f"for the judge {calibrated.judge}, not for {judge}; calibrate it{hint}",
        "content": f"before the files of {judge} were changed, or written anew; calibrate it again",
        "rules": f"with --rules {calibrated.rules}, not {rules}; calibrate it so",
        "prompts": f"with other prompts than now ({', '.join(DECISION_PROMPTS)}); calibrate again",
    }
    for name, reason in reasons.items():
        if fitted[name] != here[name]:
            raise UserError(f"--calibration {path}: was fitted {reason}")
    return calibrated


RULES = ("majority", "unanimous", "weighted")
OPEN = "no judge: only what can be counted is decided"


class CaseJudge(Protocol):
    """Anything that judges a case: a `Judge`, or a panel."""

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """One verdict per criterion of the case, in order."""
        ...


@dataclass(frozen=True)
class Panel:
    """Judges that decide together. `weights` (for `weighted`) has a positive number per judge.

    A tie is None. Raises UserError on an unknown rule, and on weights that do not go with the rule.
    """

    members: Sequence[CaseJudge]
    rule: str = "majority"
    weights: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_panel_rule(self.rule, self.weights, len(self.members))

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """Ask every judge, then combine what they say on each criterion."""
        ballots = await asyncio.gather(*(member.verdicts(case) for member in self.members))
        return tuple(combine(votes, self.rule, self.weights) for votes in zip(*ballots, strict=True))


class NoJudge:
    """Judges by rules alone and asks no model."""

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """One verdict per criterion of the case, in order; what no rule decides has no label."""
        outcome = ruled(case, "decide")
        return outcome.joined([Verdict(criterion, None, OPEN, NOBODY) for criterion in outcome.rest.criteria])


def check_panel_rule(rule: str, weights: Sequence[float], members: int) -> None:
    """Raise UserError where a rule is unknown, or weights do not go with it."""
    if rule not in RULES:
        raise unknown("panel rule", rule, RULES)
    if members < 2:
        raise UserError("a panel needs at least two judges")
    if rule == "weighted" and (len(weights) != members or not all(0 < weight < inf for weight in weights)):
        raise UserError(f"a weighted panel needs a weight above 0 for each of its {members} judges, e.g. weighted:2,1")
    if rule != "weighted" and weights:
        raise UserError(f"weights only go with the weighted rule, not with {rule}")


def rule_in_words(rule: str, weights: Sequence[float]) -> str:
    """Return a rule with its weights, if it has any: `weighted 2,1`."""
    return f"{rule} {','.join(f'{weight:g}' for weight in weights)}".rstrip()


def combine(votes: Sequence[Verdict], rule: str = "majority", weights: Sequence[float] = ()) -> Verdict:
    """One verdict from the judges' verdicts on one criterion; `votes` of the result keeps every label.

    Majority and weighted go by the decided votes and are None on a tie; unanimous is None unless all judges decided,
    and alike: an undecided judge makes nothing unanimous. What a rule decided it decided for all.
    """
    if all(vote.judge == JUDGE for vote in votes):
        return votes[0]
    labels = tuple(vote.label for vote in votes)
    sums: dict[Label, float] = {}  # the weight of decided votes
    for decided, weight in zip(labels, weights or [1.0] * len(votes), strict=True):
        if decided is not None:
            sums[decided] = sums.get(decided, 0.0) + weight
    leaders = [decided for decided, weight in sums.items() if isclose(weight, max(sums.values()))]
    label = leaders[0] if len(leaders) == 1 else None
    if rule == "unanimous" and len(set(labels)) > 1:
        label = None
    trouble = _trouble(votes)
    judge = f"{' + '.join(vote.judge for vote in votes)} ({rule_in_words(rule, weights)})"
    if label is not None:
        agreeing = next(vote for vote in votes if vote.label == label)
        return replace(agreeing, judge=judge, probability=None, votes=labels, **trouble)
    what = "is tied" if rule != "unanimous" and leaders else "does not agree" if leaders else "decided nothing"
    reasons = "" if leaders else f" ({votes[0].reason})"
    why = f"the panel {what}: {_tally(labels)}{reasons}"
    return Verdict(votes[0].criterion, None, why, judge, votes=labels, **trouble)


def majority(votes: Sequence[Verdict]) -> Verdict:
    """The label most decided votes carry (maj@k, TICK section 3.2); None on a tie or when none is decided.

    Reason and probability come from the first vote that agrees; `votes` keeps every label.
    """
    labels, trouble = tuple(vote.label for vote in votes), _trouble(votes)
    label = counted.majority(labels)
    agreeing = next((vote for vote in votes if vote.label == label), votes[0])
    if label is not None or not any(labels):
        return replace(agreeing, votes=labels, **trouble)
    tied = f"the votes are tied: {_tally(labels)}"
    return replace(votes[0], label=None, reason=tied, probability=None, votes=labels, **trouble)


def _trouble(votes: Sequence[Verdict]) -> dict[str, Any]:
    """What happened to any of the votes happened to the verdict."""
    return {name: any(getattr(vote, name) for vote in votes) for name in ("conflicting", "refused")}


def _tally(labels: Sequence[str | None]) -> str:
    """A count of votes as text, the most frequent first: `2 yes, 1 no, 1 undecided`."""
    return ", ".join(f"{count} {label or 'undecided'}" for label, count in Counter(labels).most_common())
