"""Sets whose rows hold several responses to one instruction: pairs of which one is preferred, and labelled ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources.forms import SetForm, asked, item_of, joined, one_of
from truebench_hf.types import Criterion, Label, Message

# A line that begins a criterion: "1. ...", "2) ...", "- ...".
_BULLET = re.compile(r"\s*(?:\(?\d{1,3}[.):]|[-*•])\s+(?=\S)")
_KIND = re.compile(r"\s*\[(Hard Rule|Principle)\]\s*\Z", re.IGNORECASE)
_CORRECT = Criterion("Is the response correct: does it reach the right result by sound steps?", "task_completion")


def rubricbench(form: SetForm, record: Record) -> list[Item]:
    """An item for each response of a pair under the experts' rubric. `label` 0 says that response A is preferred."""
    criteria = [Criterion(text) for text in criteria_of_text(record, "rubrics")]
    preferred = record.row.get("label")
    if isinstance(preferred, bool) or preferred not in (0, 1):
        raise record.wrong("label", "must be 0 (response_a is preferred) or 1")
    return _pair(form, record, criteria, ("response_a", "response_b"), preferred)


def openrubrics(form: SetForm, record: Record) -> list[Item]:
    """An item for each response of a pair under its generated rubric; one without a response where the row has none.

    "[Hard Rule]" and "[Principle]" behind a criterion become its kind.
    """
    criteria = []
    for text in criteria_of_text(record, "rubric"):
        kind = _KIND.search(text)
        criteria.append(Criterion(text[: kind.start()], kind[1].title()) if kind and kind.start() else Criterion(text))
    if record.maybe("response_a") is None:
        return [item_of(form, record, criteria, name=f"{form.prefix}-{record.number:06d}")]
    winner = record.maybe("winner")
    preferred = None if winner is None else one_of(record, "winner", {"A": 0, "B": 1, "a": 0, "b": 1})
    return _pair(form, record, criteria, ("response_a", "response_b"), preferred)


def judgebench(form: SetForm, record: Record) -> list[Item]:
    """An item for each response of a pair of which exactly one is correct; the criterion is ours, the set has none.

    Being preferred is being correct here, so that the preference is the label of the criterion.
    """
    preferred = one_of(record, "label", {"A>B": 0, "B>A": 1})
    return _pair(form, record, [_CORRECT], ("response_A", "response_B"), preferred, labelled=True)


def ifbench(form: SetForm, record: Record) -> list[Item]:
    """The chosen and the rejected response with a label for every constraint: those listed as unsatisfied are not met.

    Raises UserError on an unsatisfied constraint that is none of the row's.
    """
    constraints = [
        part for name in ("llm_constraints_used", "code_constraints_used")
        for part in (record.parts(name) if record.decoded(name) else [])
    ]  # fmt: skip
    criteria = [Criterion(part.text("constraint"), part.maybe("constraint_type")) for part in constraints]
    if not criteria:
        raise record.wrong("llm_constraints_used", "is empty, and so is 'code_constraints_used'")
    items = []
    for name in ("chosen", "rejected"):
        answer = record.part(name, None, record.decoded(name))
        unmet = {_constraint_text(value) for value in answer.decoded("unsatisfied_constraints") or []}
        if unknown := unmet - {criterion.text for criterion in criteria}:
            raise answer.wrong("unsatisfied_constraints", f"names {min(unknown)!r}, which is no constraint of the row")
        labels: list[Label] = ["no" if criterion.text in unmet else "yes" for criterion in criteria]
        items.append(
            _answered(form, record, criteria, answer.text("content"), name, labels, {"preferred": name == "chosen"})
        )
    return items


def if_rewardbench(form: SetForm, record: Record) -> list[Item]:
    """An item for each response, with people's label for every constraint of the checklist."""
    texts = record.texts("checklist")
    kinds = {part.text("item").strip(): part.words("constraint_categories") for part in record.parts("constraint_type")}
    criteria = [Criterion(text, joined(kinds.get(text.strip(), ()))) for text in texts]
    messages = asked(record, form.messages)
    items = []
    for response in record.parts("responses"):
        labels = [response.part("labels", k, {"label": label}).label("label")
                  for k, label in enumerate(response.items("labels"))]  # fmt: skip
        if len(labels) != len(criteria):
            raise response.wrong("labels", f"must have one label for each of the {len(criteria)} constraints")
        facts = {"instruction_type": record.maybe("instruction_type")}
        model = record.maybe("response_generation_model") or ""
        items.append(
            item_of(
                form, record, criteria, messages=messages, labels=labels, response=response.text("response"),
                response_id=f"{form.prefix}-{record.id(form.id)}-{response.id('response_id')}", model=model, facts=facts,
            )
        )  # fmt: skip
    return items


def criteria_of_text(record: Record, name: str) -> list[str]:
    """Return the criteria of a rubric that is one text: a JSON list, or lines of which each bullet begins one.

    Without bullets every line is a criterion. Raises UserError where nothing is left.
    """
    text = record.text(name).strip()
    if text.startswith("["):
        try:
            return record.part(name, None, {name: json.loads(text)}).texts(name)
        except ValueError:
            pass  # a text in square brackets
    lines = [line for line in text.splitlines() if line.strip()]
    bulleted = any(map(_BULLET.match, lines))
    criteria: list[str] = []
    for line in lines:
        bullet = _BULLET.match(line)
        if not bulleted or bullet:
            criteria.append(line[bullet.end() if bullet else 0 :].strip())
        elif criteria:  # goes on with the one before; words before the first bullet are a heading
            criteria[-1] += f" {line.strip()}"
    return criteria


def _pair(
    form: SetForm,
    record: Record,
    criteria: Sequence[Criterion],
    columns: tuple[str, str],
    preferred: int | None,
    labelled: bool = False,
) -> list[Item]:
    """The two items of a pair, with the fact `preferred` where it is known."""
    items = []
    for place, column in enumerate(columns):
        facts = {} if preferred is None else {"preferred": place == preferred}
        labels: list[Label] = ["yes" if place == preferred else "no"] if labelled else []
        items.append(_answered(form, record, criteria, record.text(column), "ab"[place], labels, facts))
    return items


def _answered(
    form: SetForm,
    record: Record,
    criteria: Sequence[Criterion],
    response: str,
    which: str,
    labels: Sequence[Label],
    facts: Mapping[str, object],
) -> Item:
    name = f"{form.prefix}-{record.id(form.id) if form.id else f'{record.number:06d}'}"
    return item_of(
        form, record, criteria, name=name, response=response, response_id=f"{name}-{which}", labels=labels, facts=facts,
        messages=(Message("user", record.text(form.texts[0])),),
    )  # fmt: skip


def _constraint_text(value: object) -> str:
    """The text of an unsatisfied constraint, which is a text or an object with one."""
    return str(value.get("constraint", "")) if isinstance(value, dict) else str(value)
