"""What benchmarks of local judging judge: whole responses of `rubric_mini`, and the requests that this takes."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows
from truebench_hf.data.judged import Case
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Criterion, Message


def responses(count: int, language: str = "EN") -> list[Case]:
    """`count` answers of different instructions, each with its whole checklist."""
    by_case = groupby((row for row in rows() if row["language"] == language), lambda row: row["instruction_id"])
    firsts = [next(group) for _, group in by_case]
    return [_case(row) for row in firsts[:count]]


def rubric_requests(case: Case, max_tokens: int) -> list[ChatRequest]:
    """The requests of the rubric level for one response, as `judging.judge` words them."""
    prompts = Prompts()
    alone = [replace(case, criteria=(criterion,)) for criterion in case.criteria]
    texts = [prompts.render("rubric", **sections(one), structured=False, reasoning=False) for one in alone]
    return [ChatRequest((Message("user", text),), Sampling(max_tokens=max_tokens)) for text in texts]


def decision_request(case: Case) -> DecisionRequest:
    """The request of the decision level for one response."""
    prompts, values = Prompts(), sections(case)
    questions = tuple(prompts.render("decision_question", criterion=text) for text in values["criteria"])
    return DecisionRequest(prompts.render("decision", **values), questions)


def _case(row: dict) -> Case:
    messages = tuple(Message(message["role"], message["content"]) for message in row["messages"])
    criteria = tuple(map(Criterion, row["checklist"]))
    category = row["instruction_category"]
    return Case(messages[-1].content, row["response"], criteria, messages[:-1], category=category)
