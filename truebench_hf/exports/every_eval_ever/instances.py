"""Judged responses as Every Eval Ever tells them: a record for the response, and one for each of its criteria.

There is no field for a criterion: its text, label and reason stand in `metadata`, under the id of what was asked.
`is_correct` is a plain yes or no, so that what is undecided has no record; it is counted instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.exports.every_eval_ever.form import (
    VERSION,
    Attribution,
    Evaluation,
    Input,
    InstanceRecord,
    Log,
    Output,
    TokenUsage,
    Turn,
)
from truebench_hf.exports.run import Answered
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.types import Message, Verdict


@dataclass(frozen=True)
class Records:
    """The records of a model, and what has none because nobody decided it."""

    records: Sequence[InstanceRecord]
    unscored_responses: int
    unscored_criteria: int


def records(log: Log, responses: Sequence[Answered], criteria_of: str) -> Records:
    """The records of all responses. Those of responses count under the first score of the log, those of single criteria
    under the one whose name is `criteria_of`, or else under the first as well."""
    main = log.evaluation_results[0]
    part = next((one for one in log.evaluation_results if one.evaluation_name == criteria_of), main)
    found: list[InstanceRecord] = []
    open_responses = open_criteria = 0
    for one in responses:
        shared = _shared(log, one)
        if one.score is None:
            open_responses += 1
        else:
            about = {"record": "response", "score": "as is: is_correct where it is 1"}
            found.append(_record(shared, main, one.score, one.score == 1, about))
        for turn, number, verdict in _verdicts(one):
            label = outcome(verdict.label, verdict.criterion.weight)
            if label not in ("yes", "no"):
                open_criteria += 1
                continue
            found.append(_record(shared, part, float(label == "yes"), label == "yes", _about(verdict, turn, number)))
    return Records(found, open_responses, open_criteria)


def _verdicts(one: Answered) -> Iterator[tuple[int, int, Verdict]]:
    """(turn, number of the criterion in it, verdict), both from 1."""
    for turn, verdicts in enumerate(one.judged.verdicts, 1):
        for number, verdict in enumerate(verdicts, 1):
            yield turn, number, verdict


def _record(shared: dict[str, Any], result: Any, score: float, correct: bool, about: dict[str, str]) -> InstanceRecord:
    turns = shared["turns"]
    return InstanceRecord(
        **shared["fields"],
        evaluation_name=result.evaluation_name,
        evaluation_result_id=result.evaluation_result_id,
        evaluation=Evaluation(score=score, is_correct=correct, num_turns=turns),
        metadata={**shared["metadata"], **about},
    )


def _about(verdict: Verdict, turn: int, number: int) -> dict[str, str]:
    criterion = verdict.criterion
    told = {
        "record": "criterion", "turn": turn, "criterion_number": number, "criterion": criterion.text,
        "kind": criterion.kind, "condition": criterion.condition, "weight": criterion.weight, "label": verdict.label,
        "reason": verdict.reason, "judge": verdict.judge, "probability": verdict.probability,
    }  # fmt: skip
    return {name: str(value) for name, value in told.items() if value not in (None, "")}


def _shared(log: Log, one: Answered) -> dict[str, Any]:
    """What all records of a response have: a single turn with its output, or a conversation with its messages."""
    instance, response = one.judged.instance, one.judged.response
    said = one.messages
    references = [turn.reference for turn in instance.turns if turn.reference is not None]
    raw = "\n\n".join(message.content for message in said if message.role == "user")
    answers = list(response.answers)
    single = len(instance.turns) == 1 and len(said) <= 2 and all(message.role != "system" for message in said)
    place = max((number for number, message in enumerate(said) if message.role == "assistant"), default=0)
    fields: dict[str, Any] = {
        "schema_version": VERSION,
        "evaluation_id": log.evaluation_id,
        "model_id": log.model_info.id,
        "sample_id": one.judged.name,
        "sample_hash": digest(canonical([raw, references])),
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": Input(raw=raw, reference=references),
        "answer_attribution": _attribution(answers, single, place),
        "token_usage": _usage(one),
        "error": response.error,
    }
    if single:
        thinking = [text for text in response.reasoning if text]
        fields["output"] = Output(raw=answers, reasoning_trace=thinking or None)
    else:
        fields["messages"] = _turns(said, response.reasoning)
    names = {"language": instance.language, "category": instance.category, "task": instance.task}
    metadata = {name: value for name, value in names.items() if value}
    return {"fields": fields, "metadata": metadata, "turns": None if single else len(instance.turns)}


def _attribution(answers: Sequence[str], single: bool, place: int) -> list[Attribution]:
    if not answers:
        return []
    source = "output.raw" if single else f"messages[{place}].content"
    return [
        Attribution(
            turn_idx=0 if single else place, source=source, extracted_value=answers[-1], extraction_method="llm_judge",
            is_terminal=True,
        )
    ]  # fmt: skip


def _turns(said: Sequence[Message], reasoning: Sequence[str]) -> list[Turn]:
    # What was said before the first turn is the data's: the model's own answers are the last ones.
    places = [number for number, message in enumerate(said) if message.role == "assistant"][-len(reasoning) :]
    thought = dict(zip(places, reasoning, strict=False)) if reasoning else {}
    return [
        Turn(turn_idx=number, role=message.role, content=message.content, reasoning_trace=thought.get(number) or None)
        for number, message in enumerate(said)
    ]


def _usage(one: Answered) -> TokenUsage | None:
    usage = one.judged.response.usage
    total = usage.input_tokens + usage.output_tokens
    if not total or usage.unknown_calls:
        return None
    return TokenUsage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, total_tokens=total,
        reasoning_tokens=usage.reasoning_tokens,
    )  # fmt: skip
