"""What some sets have beside columns: a function from a row to its items each, with what is particular to the set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.data.judged import category_shown
from truebench_hf.data.rows import MaybeLabel, Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources import forms
from truebench_hf.data.sources.forms import SetForm, item_of, joined, messages_of, name_of
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.votes import majority
from truebench_hf.types import Criterion, Label, Message

_LEVELS = tuple(f"score{level}_description" for level in range(1, 6))
_CATEGORY = re.compile(r"\s*(Essential|Important|Optional|Pitfall) Criteria:\s*(?=\S)")
_THEME, _RESPONSE, _LABEL = "theme:", "_response", "_fulfilment"


def advancedif(form: SetForm, record: Record) -> list[Item]:
    """An instruction, with the response where one was generated. Licence CC-BY-NC-4.0: for research."""
    category = forms.one_of(record, "benchmark_name", forms.tables()["advancedif_categories"])
    messages = messages_of(form, record)
    if category == "system" and messages[0].role == "user":
        raise record.wrong(form.messages, f"must start with the system prompt in {record.row['benchmark_name']}")
    response = None
    if record.row.get("response") and record.decoded("response"):
        spoken = record.messages("response")
        if len(spoken) != 1 or spoken[0].role != "assistant":
            raise record.wrong("response", "must be a list of one assistant message")
        response = spoken[0].content
    return [item_of(form, record, messages=messages, category=category, response=response)]


def biggen(form: SetForm, record: Record) -> list[Item]:
    """Ratings become one yes/no criterion that asks for the highest level: the rubric's question and its level 5.

    The fact `levels` keeps all five. Tasks of the capability `multilingual` are in a language that no field names.
    """
    rubric = record.part("score_rubric", None, record.decoded("score_rubric"))
    levels, capability = tuple(map(rubric.text, _LEVELS)), record.maybe("capability")
    criterion = Criterion(f"{rubric.text('criteria')} Answered yes by no less than this: {levels[-1]}", capability)
    language = "UND" if capability == "multilingual" else form.language
    return [item_of(form, record, [criterion], language=language, facts={"levels": levels})]


def cfbench(form: SetForm, record: Record) -> list[Item]:
    """Criteria are [text, priority, type, sub-type]; the right answer is shown to judges, as the set's own judge is."""
    criteria, priorities = [], []
    for number, value in enumerate(record.items("criteria")):
        if not isinstance(value, list) or len(value) != 4 or not all(isinstance(part, str | int) for part in value):
            raise record.wrong(f"criteria[{number}]", "must be [text, priority, constraint type, sub-type]")
        text, priority, *kinds = map(str, value)
        if not text.strip():
            raise record.wrong(f"criteria[{number}]", "has a blank text")
        criteria.append(Criterion(text, "/".join(filter(str.strip, kinds)) or None))
        priorities.append(priority)
    domain = record.maybe("doamin")  # the set's own spelling
    facts = {"priorities": tuple(priorities), "domain": domain, "isanswer": record.row.get("isanswer")}
    return [item_of(form, record, criteria, facts=facts)]


def complexbench(form: SetForm, record: Record) -> list[Item]:
    """The questions that a question depends on (`dep`) become its condition, in words: they decide whether it binds.

    The facts `depends_on` and `rules` keep the places of those questions and the verification rule, which the set holds
    against a part of a response that a model cuts out for it. Raises UserError on a question that depends on one that
    does not exist.
    """
    questions = record.parts("scoring_questions")
    text_column = "question_en" if form.texts[0].endswith("_en") else "question"
    texts = [question.text(text_column) for question in questions]
    places = {question.id("point_id"): place for place, question in enumerate(questions)}
    criteria, depends = [], []
    for text, question in zip(texts, questions, strict=True):
        needed = question.row.get("dep") or []
        if not isinstance(needed, list):
            raise question.wrong("dep", "must be a list of point ids")
        for point in needed:
            if str(point) not in places or places[str(point)] == places[question.id("point_id")]:
                raise question.wrong("dep", f"names {point!r}, which is no other question of this instruction")
        depends.append(tuple(places[str(point)] for point in needed))
        kind = joined(question.words("constraint_dimensions") + question.words("composition_types"))
        condition = " / ".join(texts[place] for place in depends[-1]) or None
        criteria.append(Criterion(text, kind, condition))
    composed = record.words("composition_types")
    facts = {
        "rules": tuple(question.maybe("rule") for question in questions), "depends_on": tuple(depends),
        "composition_types": composed, "category": record.words("category"), "task_types": record.words("task_types"),
        "group": record.row.get("group"), "idx_in_group": record.row.get("idx_in_group"),
    }  # fmt: skip
    # All demands joined by And alone are RubricEval's "constrained", any branch or chain makes it "compositional".
    category = "compositional" if set(composed) - {"And"} else "constrained"
    return [item_of(form, record, criteria, category=category, facts=facts)]


def healthbench(form: SetForm, record: Record) -> list[Item]:
    """Physicians' rubrics with negative points for faults; tags are kinds of criteria."""
    tags = record.words("example_tags")
    theme = next((tag.removeprefix(_THEME) for tag in tags if tag.startswith(_THEME)), None)
    ideal = record.row.get("ideal_completions_data")
    example = ideal and record.part("ideal_completions_data", None, ideal).maybe("ideal_completion")
    return [item_of(form, record, example=example, facts={"theme": theme, "example_tags": tags})]


def healthbench_meta(record: Record) -> Mapping[str, Any]:
    """A line of the meta-evaluation (one criterion of a response, with the labels of several physicians) in the columns
    of rubric_eval: the label is that of more than half of them, and none where they are divided."""
    messages = messages_of(forms.sets()["healthbench"], record)
    rubric, response = record.text("rubric"), record.id("completion_id")
    return {
        "id": f"{response}-{digest(canonical(rubric))[:12]}",
        "instruction_id": f"healthbench-{record.id('prompt_id')}",
        "response_id": response,
        "instruction_category": category_shown(messages[:-1]) or "constrained",
        "source_benchmark": "HealthBench",
        "language": "UND",
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "response": record.text("completion"),
        "rubric": rubric,
        "label": majority(_labels(record, "binary_labels")),
        "source_label": record.maybe("category") or "",
    }


def _labels(record: Record, name: str) -> list[Label | None]:
    """A list of labels in any spelling."""
    votes = enumerate(record.items(name))
    return [record.part(name, place, {"label": vote}).value("label", MaybeLabel) for place, vote in votes]


def ifbench(form: SetForm, record: Record) -> Iterator[Item]:
    """The chosen and the rejected response with a label for every constraint: those listed as unsatisfied are not met.

    Raises UserError on an unsatisfied constraint that is none of the row's.
    """
    columns = ("llm_constraints_used", "code_constraints_used")
    constraints = [part for column in columns if record.decoded(column) for part in record.parts(column)]
    criteria = [Criterion(part.text("constraint"), part.maybe("constraint_type")) for part in constraints]
    if not criteria:
        raise record.wrong("llm_constraints_used", "is empty, and so is 'code_constraints_used'")
    for which in ("chosen", "rejected"):
        answer = record.part(which, None, record.decoded(which))
        faults = answer.decoded("unsatisfied_constraints") or []
        unmet = {str(fault.get("constraint", "") if isinstance(fault, dict) else fault) for fault in faults}
        if unknown := unmet - {criterion.text for criterion in criteria}:
            raise answer.wrong("unsatisfied_constraints", f"names {min(unknown)!r}, which is no constraint of the row")
        labels: list[Label] = ["no" if criterion.text in unmet else "yes" for criterion in criteria]
        name, facts = f"{name_of(form, record)}-{which}", {"preferred": which == "chosen"}
        yield item_of(
            form, record, criteria, facts=facts, labels=labels, response=answer.text("content"), response_id=name
        )


def if_rewardbench(form: SetForm, record: Record) -> Iterator[Item]:
    """An item for each response, with people's label for every constraint of the checklist."""
    parts = record.parts("constraint_type")
    kinds = {part.text("item").strip(): part.words("constraint_categories") for part in parts}
    criteria = [Criterion(text, joined(kinds.get(text.strip(), ()))) for text in record.texts("checklist")]
    model = record.maybe("response_generation_model") or ""
    for response in record.parts("responses"):
        labels = _labels(response, "labels")
        if len(labels) != len(criteria):
            raise response.wrong("labels", f"must have one label for each of the {len(criteria)} constraints")
        name, text = f"{name_of(form, record)}-{response.id('response_id')}", response.text("response")
        yield item_of(form, record, criteria, labels=labels, response=text, model=model, response_id=name)


def infobench(form: SetForm, record: Record) -> list[Item]:
    """Decomposed questions; the fact `subset` tells Easy_set and Hard_set apart (RubricEval uses Hard_set)."""
    criteria = forms.criteria_of(form.criteria, record)
    labels = record.decoded("question_label") or [[]] * len(criteria)
    lists = isinstance(labels, list) and all(isinstance(names, list) for names in labels)
    if not lists or len(labels) != len(criteria):
        raise record.wrong("question_label", "must be a list of lists, one per question")
    typed = [replace(criterion, kind=joined(kinds)) for criterion, kinds in zip(criteria, labels, strict=True)]
    return [item_of(form, record, typed)]


def llmbar(form: SetForm, record: Record) -> list[Item]:
    """Two items per pair, one for each output, under the same single rubric, since the set has none of its own.

    The fact `preferred` says whether annotators chose this output; a preferred output need not meet the rubric.
    """
    subset = record.text("subset")
    pair = f"{form.prefix}-{subset.lower()}-{record.row['place']:03d}"
    items = forms.paired(form, record, forms.criteria_of(form.criteria, record), pair, pair=pair, subset=subset)
    return [replace(item, facts={**item.facts, "output": place}) for place, item in enumerate(items, 1)]


def multichallenge(form: SetForm, record: Record) -> list[Item]:
    """One question on the last answer, which passes as `PASS_CRITERIA` says; where that is NO it is after a fault."""
    wanted = record.text("PASS_CRITERIA").strip().casefold()
    if wanted not in ("yes", "no"):
        raise record.wrong("PASS_CRITERIA", f"is {record.row['PASS_CRITERIA']!r}, which is neither YES nor NO")
    criterion = Criterion(record.text("TARGET_QUESTION"), weight=1.0 if wanted == "yes" else -1.0)
    return [item_of(form, record, [criterion])]


def profbench(form: SetForm, record: Record) -> list[Item]:
    """A labelled item for each report that the task ships, or one without a response. Weights are words."""
    rubrics, criteria = record.parts("rubrics"), forms.criteria_of(form.criteria, record)
    items, name = [], name_of(form, record)
    for model in (field.removesuffix(_RESPONSE) for field in record.row if field.endswith(_RESPONSE)):
        if (report := record.maybe(f"{model}{_RESPONSE}")) is not None:
            labels = [rubric.label(f"{model}{_LABEL}") for rubric in rubrics]
            about: dict[str, Any] = {"labels": labels, "response_id": f"{name}-{model}", "model": model}
            items.append(item_of(form, record, criteria, response=report, **about))
    return items or [item_of(form, record, criteria)]


def rar(form: SetForm, record: Record) -> list[Item]:
    """Each description begins with its category (`Essential Criteria: ...`), which becomes the kind.

    Pitfalls have negative weights. Some say what a bad answer does, others what a good one avoids, and a program cannot
    tell which: they are faults here, as their weights say, and `rar_without_pitfalls` leaves them out. Rows have no id,
    so that it is made of the question.
    """
    criteria = []
    for criterion in forms.criteria_of(form.criteria, record):
        if category := _CATEGORY.match(criterion.text):
            criterion = replace(criterion, text=criterion.text[category.end() :], kind=category[1])
        if form.holds != "points" or criterion.weight > 0:
            criteria.append(criterion)
    if not criteria:
        raise record.wrong(form.criteria.column, "holds nothing but pitfalls")
    name = f"{form.prefix}-{digest(canonical(record.text('question')))[:12]}"
    return [item_of(form, record, criteria, name=name)]


def rubrichub(form: SetForm, record: Record) -> list[Item]:
    """The documented row has `question`, `id` and `rubrics`; the published files `prompt` (messages) and `Rubrics`."""
    row = record.row
    columns = {
        "id": form.id if row.get(form.id) is not None else "",
        "messages": "" if isinstance(row.get("question"), str) else "prompt",
        "criteria": {"column": "rubrics" if row.get("rubrics") is not None else "Rubrics", "weighted": True},
    }
    return [item_of(SetForm(**dict(form) | columns), record)]


Turns = Iterable[tuple[str, str, Sequence[Criterion], Mapping[str, Any]]]


def _by_turn(form: SetForm, record: Record, name: str, system: Sequence[Message], turns: Turns) -> Iterator[Item]:
    """An item for each turn (user, answer, criteria, facts) of a conversation, after the set's own answers to those
    before it; the answer to the turn itself is its example."""
    history = [*system]
    for number, (user, answer, criteria, facts) in enumerate(turns, 1):
        history.append(Message("user", user))
        about = {"turn": number, **facts}
        yield item_of(form, record, criteria, name=f"{name}-{number}", messages=history, example=answer, facts=about)
        history.append(Message("assistant", answer))


def structflowbench(form: SetForm, record: Record) -> Iterator[Item]:
    """One item per turn. Turns count by place: one real conversation starts its names over at c1 half-way."""
    facts = {
        "conversation": record.number, "structure": record.decoded("structure"),
        "conv_topic": record.maybe("conv_topic"), "conv_task": record.maybe("conv_task"),
    }  # fmt: skip
    turns = []
    for turn in record.parts("whole_conv"):
        user, answer = turn.text("user prompt"), turn.text("assistant answer")
        criteria = [Criterion(part.text("content"), part.text("type")) for part in turn.parts("constraints")]
        turns.append((user, answer, criteria, facts | {"name": turn.text("name")}))
    return _by_turn(form, record, f"{form.prefix}-{record.number:03d}", (), turns)


def sysbench(form: SetForm, record: Record) -> Iterator[Item]:
    """One item per turn of a dialogue.

    The documentation does not fix every container: `prompt_infos` may be a list in the order of the turns or an object
    by user message, and `criteria` a list or an object of texts or of objects with `criteria_content`.
    """
    messages = [message for message in record.messages("messages") if message.role != "system"]
    if [message.role for message in messages] != ["user", "assistant"] * (len(messages) // 2):
        raise record.wrong("messages", "must be user and assistant in turn, the reference answer last")
    users, answers = [[message.content for message in messages[first::2]] for first in (0, 1)]
    infos, name = record.decoded("prompt_infos"), record.id("system_id")
    if isinstance(infos, dict):
        infos = [infos.get(user) for user in users]
    if not isinstance(infos, list) or len(infos) != len(users):
        raise record.wrong("prompt_infos", f"must have one entry for each of the {len(users)} user messages")
    turns = []
    for number, (user, answer) in enumerate(zip(users, answers, strict=True)):
        info = record.part("prompt_infos", number, infos[number])
        held = info.decoded("criteria")
        values = list(held.values()) if isinstance(held, dict) else held
        if not isinstance(values, list) or not values:
            raise info.wrong("criteria", "must be a list or an object that is not empty")
        objects = [value if isinstance(value, dict) else {"criteria_content": value} for value in values]
        parts = [info.part("criteria", place, value) for place, value in enumerate(objects)]
        criteria = [Criterion(part.text("criteria_content"), part.maybe("criteria_type")) for part in parts]
        turns.append((user, answer, criteria, {"system_id": name, "alignment": info.row.get("alignment")}))
    system = [Message("system", record.text("system_prompt"))]
    return _by_turn(form, record, f"{form.prefix}-{name}", system, turns)


def wildbench(form: SetForm, record: Record) -> list[Item]:
    """Real users' conversations, in the language that the last message names; UND where it names none of one form."""
    named = record.parts(form.messages)[-1].row.get("language")
    language = forms.tables()["languages"].get(named.casefold(), "") if isinstance(named, str) else ""
    return [item_of(form, record, language=language)]


PARSERS: dict[str, Callable[[SetForm, Record], Iterable[Item]]] = {
    "advancedif": advancedif, "biggen": biggen, "cfbench": cfbench, "complexbench": complexbench,
    "complexbench_en": complexbench, "healthbench": healthbench, "if_rewardbench": if_rewardbench, "ifbench": ifbench,
    "infobench": infobench, "judgebench": forms.plain, "llmbar": llmbar, "multichallenge": multichallenge, "openrubrics": forms.plain,
    "profbench": profbench, "rar": rar, "rar_without_pitfalls": rar, "rubricbench": forms.plain,
    "rubrichub": rubrichub, "structflowbench": structflowbench, "sysbench": sysbench, "wildbench": wildbench,
}  # fmt: skip
