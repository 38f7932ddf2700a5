"""The judge of grounding: a chat model asked by one of seven templates (paper 002, section 3.1, Table 2)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from truebench_hf.errors import unknown
from truebench_hf.judging.grounding import official
from truebench_hf.judging.grounding.official import ask_signed_or_as_prescribed, read_rating, read_word
from truebench_hf.judging.grounding.places import looked_up, placed, unclaimed
from truebench_hf.judging.grounding.types import (
    LABELS,
    UNGROUNDED,
    Eligibility,
    Grounding,
    RatingLabel,
    Source,
    Unit,
    UnitLabel,
    accurate_by,
    material,
    template_named,
)
from truebench_hf.judging.rules.deciding import measured
from truebench_hf.judging.sentences import claims_nothing, sentence_spans, sentence_texts
from truebench_hf.judging.signed import Labels, ListOf, SignedAnswer, label_of
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING, TEXTS, Entries, problem_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts

ACCURATE: Mapping[str, bool] = {"accurate": True, "inaccurate": False}
_ATTEMPTED: Mapping[str, str] = {word: word for word in ("accurate", "inaccurate", "not_attempted")}
_LABELS: Mapping[str, UnitLabel] = {label: label for label in LABELS}
_VERDICT, _SENTENCES, _ENTAILED, _WHOLE = "verdict", "sentences", "entailed", "final_answer"  # keys of answers
_NO_QUOTES = {"", "null", "none", "n/a", "na", "-"}
_SHOWN = 3  # parts of an answer that a judge is told it left out
_REASON = "The response claims this, and the document says so in its second part. "
Units = tuple[Unit, ...]


class GroundingJudge:
    """One judge with one template of `TEMPLATES`. `structured` is auto, on or off."""

    def __init__(
        self, caller: Caller, template: str, prompts: Prompts, *,
        sampling: Sampling = JUDGE_SAMPLING, structured: str = "auto",
    ) -> None:  # fmt: skip
        self.caller, self.template, self.prompts = caller, template_named(template), prompts
        self._sampling, self._schemas = sampling, SchemaFallback(caller, structured)

    async def verdict(self, source: Source, answer: str) -> Grounding:
        """Whether `answer` is grounded in `source`; undecided, with the reason, where the judge settles nothing.

        An answer without a letter or digit claims nothing: it is accurate without a call (`simpleqa`: not attempted, and
        so inaccurate). Raises what `Caller.complete` raises, but for a request that failed (a window too small, say):
        that is undecided.
        """
        if not any(map(str.isalnum, answer)):
            attempted = False if self.template == "simpleqa" else None
            return self._grounding(attempted is None, "the answer is empty", attempted=attempted)
        match self.template:
            case "response" | "simpleqa":
                words = _ATTEMPTED if self.template == "simpleqa" else ACCURATE
                stated = await self._word(f"grounding_{self.template}", words, source, answer)
                label = stated.labels.get(_VERDICT)
                if label is None:
                    return self._grounding(None, stated.problem)
                attempted = label != "not_attempted" if self.template == "simpleqa" else None
                # What is not attempted is inaccurate.
                return self._grounding(label in (True, "accurate"), stated.reason, attempted=attempted)
            case "span":
                return self._of_units(await self._by_span(source, answer))
            case "implicit_span":
                return self._of_units(await self._by_implicit(source, answer))
            case "json_double_check":  # a call for each supported sentence that shows it with its excerpts alone
                units = await self._by_sentence(source, answer, "grounding_json")
                if not isinstance(units, Problem):
                    units = tuple(await asyncio.gather(*(self.double_checked(source, unit) for unit in units)))
                return self._of_units(units)
            case _:
                return self._of_units(await self._by_sentence(source, answer, f"grounding_{self.template}"))

    async def _ask(
        self, prompt: str, values: Mapping[str, Any], labels: Labels[Any], read: official.Reader, **more: Any
    ) -> SignedAnswer[Any]:
        return await official.ask_signed_or_as_prescribed(
            self._schemas, self.prompts, prompt, values, labels, read, sampling=self._sampling, **more
        )

    async def _word(
        self, prompt: str, words: Mapping[str, Any], source: Source, answer: str, entries: Entries | None = None, **more: Any
    ) -> SignedAnswer[Any]:  # fmt: skip
        """The answer to a prompt about a source and an answer that asks for one of `words`."""
        return await self._ask(
            prompt, material(source, answer) | {"response": answer} | more, {_VERDICT: words}, read_word(_VERDICT, words),
            reason=(3 if entries else 9) * _REASON, entries=entries,
            met=lambda stated: stated.labels[_VERDICT] in (True, "accurate"),
        )  # fmt: skip

    async def _by_span(self, source: Source, answer: str) -> Units:
        """One call a span that claims something, all together: servers read source and answer once, as prompts begin alike."""
        nothing = unclaimed(answer)
        spans = [span for span in sentence_spans(answer) if span not in {(unit.start, unit.end) for unit in nothing}]
        entries: Entries = {"excerpts": (TEXTS, ["The document says so in its second part."])}
        calls = [
            self._word("grounding_span", ACCURATE, source, answer, entries, span=answer[start:end], number=number)
            for number, (start, end) in enumerate(spans, 1)
        ]
        units: list[Unit] = nothing
        for (start, end), stated in zip(spans, await asyncio.gather(*calls), strict=True):
            unit = Unit(answer[start:end], start, end, None, stated.problem or stated.reason)
            if not stated.problem:
                supported = stated.labels[_VERDICT]
                excerpts = looked_up(source, _quotes(stated.fields.get("excerpts")))
                # A span with nothing to verify quotes nothing.
                untraced = supported and not all(excerpt.found for excerpt in excerpts)
                label: UnitLabel = "supported" if supported else "unsupported"
                unit = replace(unit, label=label, excerpts=excerpts, untraced=untraced)
            units.append(unit)
        return _in_order(units)

    async def _by_implicit(self, source: Source, answer: str) -> Units | Problem:
        """One call that labels every sentence and then the whole."""
        example = [{"sentence": part, "label": "accurate"} for part in sentence_texts(answer)]
        stated = await self._ask(
            "grounding_implicit", material(source, answer) | {"response": answer},
            {_SENTENCES: ListOf(ACCURATE), _WHOLE: ACCURATE}, official.read_lines(ACCURATE), long=True,
            entries={_SENTENCES: (_rows_schema(ACCURATE), example)}, check=_disagreement,
            met=lambda stated: stated.labels[_WHOLE],
        )  # fmt: skip
        if stated.problem:
            return Problem(stated.problem)
        rows = stated.labels[_SENTENCES]
        units = []
        for row, span in zip(rows, placed(answer, [row["sentence"] for row in rows])[0], strict=True):
            start, end = span or (None, None)
            label: UnitLabel = "supported" if label_of(row, ACCURATE) else "unsupported"
            units.append(Unit(answer[start:end] if span else row["sentence"], start, end, label))
        return tuple(units)

    async def _by_sentence(self, source: Source, answer: str, prompt: str) -> Units | Problem:
        """One call that labels every sentence; one that leaves a part of the answer out is asked again."""
        usual = {"rationale": "The document says so in these words.", "label": "supported"}
        quoted = [text for _, part in source.parts() for text in sentence_texts(part[:400])[:1]][:1]
        example = [{"sentence": part, "excerpts": quoted} | usual for part in sentence_texts(answer)]
        stated = await self._ask(
            prompt, material(source, answer) | {"response": answer}, {_SENTENCES: ListOf(_LABELS)}, official.read_objects,
            entries={_SENTENCES: (_rows_schema(LABELS, rationale={"type": "string"}, excerpts=TEXTS), example)}, long=True,
            check=lambda stated: problem_of(units_of(stated.labels[_SENTENCES], answer)),
            met=lambda stated: not any(label_of(row, _LABELS) in UNGROUNDED for row in stated.labels[_SENTENCES]),
        )  # fmt: skip
        return Problem(stated.problem) if stated.problem else units_of(stated.labels[_SENTENCES], answer, source)

    async def double_checked(self, source: Source, unit: Unit) -> Unit:
        """A supported sentence is unsupported where its excerpts do not entail it, and undecided where no answer says so.

        Asked about is what stands in the source at the places of the excerpts, never what a judge made up.
        """
        if unit.label != "supported":
            return unit
        denied = replace(unit, label="unsupported", checked=False)
        parts = dict(source.parts())
        quotes = [parts[excerpt.place][excerpt.start : excerpt.end] for excerpt in unit.excerpts if excerpt.found]
        if not quotes:
            missing = "none of its excerpts is in the prompt" if unit.excerpts else "no excerpt is given"
            return replace(denied, reason=f"labelled supported, but {missing}")
        tag = material(Source("", "\n".join(quotes)), unit.text)["tag"]
        words = {"yes": "entailed", "no": ""}
        stated = await self._ask(
            "grounding_double_check", {"sentence": unit.text, "excerpts": quotes, "tag": tag}, {_ENTAILED: words},
            read_word(_ENTAILED, words),
        )  # fmt: skip
        if stated.problem:
            why = f"labelled supported, the double check is undecided: {stated.problem}"
            return replace(unit, label=None, reason=why)
        if stated.labels[_ENTAILED]:
            return replace(unit, checked=True)
        return replace(denied, reason="labelled supported, but the double check says no")

    def _of_units(self, units: Units | Problem) -> Grounding:
        if isinstance(units, Problem):
            return self._grounding(None, units.text)
        reason = f"all {len(units)} are grounded or need no evidence"
        if wrong := [unit for unit in units if unit.label in UNGROUNDED]:
            reason = f"{len(wrong)} of {len(units)} are not grounded: {wrong[0].text!r}"
        elif unclear := [unit for unit in units if unit.label is None]:
            reason = f"{len(unclear)} of {len(units)} are undecided: {unclear[0].text!r} ({unclear[0].reason})"
        return self._grounding(accurate_by(units), reason, units=units)

    def _grounding(self, accurate: bool | None, reason: str, **more: Any) -> Grounding:
        return Grounding(accurate, reason, self.template, self.caller.model.spec, **more)


def units_of(rows: Sequence[Any], answer: str, source: Source | None = None) -> Units | Problem:
    """Return the sentences of an answer as a judge labelled them, in order; a Problem where they do not cover it.

    With a source what they quote is looked up there. A sentence that stands twice in `rows` and once in the answer must
    have one label.
    """
    for number, row in enumerate(rows, 1):
        if label_of(row, _LABELS) is None or not isinstance(row.get("sentence"), str):
            return Problem(f"object {number} of `{_SENTENCES}` has no sentence with one label")
    rows = [row for row in rows if any(map(str.isalnum, row["sentence"]))]
    spans, rest = placed(answer, [row["sentence"] for row in rows])
    units: list[Unit] = []
    labels: defaultdict[str, set[UnitLabel | None]] = defaultdict(set)  # by the letters of what stands in the answer
    for row, span in zip(rows, spans, strict=True):
        if span is not None:
            label = label_of(row, _LABELS)
            excerpts = looked_up(source, _quotes(row.get("excerpts", row.get("excerpt")))) if source else ()
            untraced = label == "supported" and not (excerpts and all(excerpt.found for excerpt in excerpts))
            reason = next((row[key] for key in ("rationale", "reason") if isinstance(row.get(key), str)), "")
            units.append(Unit(answer[slice(*span)], *span, label, reason, excerpts, untraced))
            labels[_letters(row["sentence"])].add(label)
    for number, (row, span) in enumerate(zip(rows, spans, strict=True), 1):
        quoted = repr(row["sentence"][:80])
        if span is None and not (known := labels.get(_letters(row["sentence"]))):
            return Problem(f"sentence {number} is not in the response as it stands there: {quoted}")
        if span is None and known != {label_of(row, _LABELS)}:
            return Problem(f"one sentence is given two labels: {quoted}")
    if missing := [part for part in rest if not claims_nothing(part)]:
        parts = "; ".join(repr(part[:80]) for part in missing[:_SHOWN])
        return Problem(f"these parts of the response have no object: {parts}")
    return _in_order(units)


def _in_order(units: Iterable[Unit]) -> Units:
    return tuple(sorted(units, key=lambda unit: unit.start or 0))


def _quotes(value: Any) -> list[str]:
    """The texts in a string or a list of strings, without what stands for none."""
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts if isinstance(text, str) and text.strip().casefold() not in _NO_QUOTES]


def _letters(sentence: str) -> str:
    return "".join(filter(str.isalnum, sentence.casefold()))


def _disagreement(stated: SignedAnswer[Any]) -> str:
    """What is wrong with the labels of the sentences and the whole together; "" where they agree."""
    rows = stated.labels[_SENTENCES]
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("sentence"), str) for row in rows):
        return f"`{_SENTENCES}` is no list of sentences with a label each"
    if stated.labels[_WHOLE] != all(label_of(row, ACCURATE) for row in rows):
        return "the final answer does not agree with the labels: it is accurate only if every sentence is"
    return ""


def _rows_schema(labels: Iterable[str], **fields: Any) -> dict[str, Any]:
    """The JSON schema of a list of objects on sentences."""
    properties = {"sentence": {"type": "string"}, **fields, "label": {"type": "string", "enum": list(labels)}}
    item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "array", "items": item}


Variant = Literal["request", "full"]
# What the judge sees: the request alone, or the full prompt (Table 4).
VARIANTS: tuple[Variant, ...] = get_args(Variant)
ELIGIBILITY_PROMPTS = ("eligibility",)
_WORDS: Mapping[str, RatingLabel] = {"no issues": "no_issues", "minor issues": "minor", "major issues": "major"}
_ELIGIBILITY_REASON = (
    "The request asks for this; the test response does it in full, the baseline response as well. " * 10
)


class EligibilityJudge:
    """One judge of eligibility. `variant` is request (the paper's choice for all its judges) or full.

    With `rules` on it is told what programs measured: length, and the language and format that the request names.
    """

    def __init__(
        self, caller: Caller, variant: str, prompts: Prompts, *, structured: str = "auto", rules: str = "off"
    ) -> None:
        if variant not in VARIANTS:
            raise unknown("eligibility variant", variant, VARIANTS)
        self.caller, self.variant, self.prompts = caller, variant, prompts
        self.schemas, self.rules = SchemaFallback(caller, structured), rules

    async def rate(self, source: Source, answer: str, baseline: str) -> Eligibility:
        """How well `answer` follows the instructions of the request, with `baseline` as the measure.

        An empty answer has a major issue without a call: a lenient judge would else let it pass as accurate.
        """
        judge = self.caller.model.spec
        if not answer.strip():
            return Eligibility("major", "the answer is empty", judge)
        seen = source if self.variant == "full" else Source(source.request)
        instructions = f"{seen.system}\n{seen.request}".strip()
        values = material(seen, answer, baseline) | {
            "response": answer,
            "baseline": baseline if baseline.strip() else "(the response is empty)",
            "measured": "" if self.rules == "off" else measured(instructions, answer, lengths=True),
        }
        rated = await ask_signed_or_as_prescribed(
            self.schemas, self.prompts, "eligibility", values, {"rating": _WORDS}, read_rating,
            sampling=JUDGE_SAMPLING, reason=_ELIGIBILITY_REASON,
        )  # fmt: skip
        return Eligibility(rated.labels.get("rating"), rated.problem or rated.reason, judge)
