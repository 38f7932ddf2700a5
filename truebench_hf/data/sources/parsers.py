"""What each set has beside columns: a function from a row to its items, with what is particular to the set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources.forms import (
    SetForm,
    asked,
    category_of,
    item_of,
    joined,
    one_of,
    source_item,
    tables,
    weighted,
)
from truebench_hf.data.sources.pairs import if_rewardbench, ifbench, judgebench, openrubrics, rubricbench
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.votes import majority
from truebench_hf.rules import Contains, Count, EndsWith, Excludes, Rule, StartsWith, stored_text
from truebench_hf.types import Criterion, Message

_LEVELS = tuple(f"score{level}_description" for level in range(1, 6))
_CATEGORY = re.compile(r"\s*(Essential|Important|Optional|Pitfall) Criteria:\s*(?=\S)")
_PLAIN = re.compile(r"(?:model_)?(length|length_word|keyword|forbidden_word|startswith|endswith):\s*(\S[^\n]*)")
_THEME, _RESPONSE, _LABEL = "theme:", "_response", "_fulfilment"


def advancedif(form: SetForm, record: Record) -> list[Item]:
    """An instruction, with the response where one was generated. Licence CC-BY-NC-4.0: for research."""
    category = one_of(record, "benchmark_name", tables()["advancedif_categories"])
    messages = asked(record, form.messages)
    if category == "system" and messages[0].role == "user":
        raise record.wrong(form.messages, f"must start with the system prompt in {record.row['benchmark_name']}")
    response = None
    if record.row.get("response") and record.decoded("response"):
        spoken = record.messages("response")
        if len(spoken) != 1 or spoken[0].role != "assistant":
            raise record.wrong("response", "must be a list of one assistant message")
        response = spoken[0].content
    # Inside this JSON the list is itself written as JSON text, which `texts` reads as well.
    rubrics = record.part("prompt_metadata", None, record.decoded("prompt_metadata")).texts("rubrics")
    name = f"{form.prefix}-{record.number:04d}"
    return [
        item_of(
            form,
            record,
            tuple(map(Criterion, rubrics)),
            name=name,
            messages=messages,
            category=category,
            response=response,
        )
    ]


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
    criteria = [_of_four(record, number, value) for number, value in enumerate(record.items("criteria"))]
    facts = {
        "priorities": tuple(priority for _, priority in criteria),
        "domain": record.maybe("doamin"),  # the set's own spelling
        "isanswer": record.row.get("isanswer"),
    }
    return [item_of(form, record, [one for one, _ in criteria], facts=facts)]


def _of_four(record: Record, number: int, value: object) -> tuple[Criterion, str]:
    if not isinstance(value, list) or len(value) != 4 or not all(isinstance(part, str | int) for part in value):
        raise record.wrong(f"criteria[{number}]", "must be [text, priority, constraint type, sub-type]")
    text, priority, kind, sub_kind = map(str, value)
    if not text.strip():
        raise record.wrong(f"criteria[{number}]", "has a blank text")
    return Criterion(text, "/".join(part for part in (kind, sub_kind) if part.strip()) or None), priority


def complexbench(form: SetForm, record: Record) -> list[Item]:
    """The questions that a question depends on (`dep`) become its condition, in words: they decide whether it binds.

    The facts `depends_on` and `rules` keep the places of those questions and the verification rule, which the set holds
    against a part of a response that a model cuts out for it. The plain ones become the `rule` of their criterion, so
    that they measure and decide nothing; in Chinese alone, since the translation has other words and lengths.
    """
    english = form.texts[0].endswith("_en")
    questions = record.parts("scoring_questions")
    texts = [question.text("question_en" if english else "question") for question in questions]
    depends = _dependencies(questions)
    criteria = [
        Criterion(
            text, joined(question.words("constraint_dimensions") + question.words("composition_types")),
            " / ".join(texts[i] for i in needed) or None,
            rule=None if english else _measured(question.maybe("rule")),
        )
        for text, question, needed in zip(texts, questions, depends, strict=True)
    ]  # fmt: skip
    composed = record.words("composition_types")
    facts = {
        "rules": tuple(question.maybe("rule") for question in questions), "depends_on": depends,
        "composition_types": composed, "category": record.words("category"), "task_types": record.words("task_types"),
        "group": record.row.get("group"), "idx_in_group": record.row.get("idx_in_group"),
    }  # fmt: skip
    # All demands joined by And alone are RubricEval's "constrained", any branch or chain makes it "compositional".
    category = "compositional" if set(composed) - {"And"} else "constrained"
    return [item_of(form, record, criteria, category=category, facts=facts)]


def _dependencies(questions: list[Record]) -> tuple[tuple[int, ...], ...]:
    """Per question the places of those it depends on. Raises UserError on one that does not exist."""
    places = {question.id("point_id"): place for place, question in enumerate(questions)}
    found = []
    for question in questions:
        needed = question.row.get("dep") or []
        if not isinstance(needed, list):
            raise question.wrong("dep", "must be a list of point ids")
        for point in needed:
            if str(point) not in places or places[str(point)] == places[question.id("point_id")]:
                raise question.wrong("dep", f"names {point!r}, which is no other question of this instruction")
        found.append(tuple(places[str(point)] for point in needed))
    return tuple(found)


def _measured(rule: str | None) -> str | None:
    """What a verification rule measures of a whole response; None where it is none of the plain ones."""
    found = _PLAIN.fullmatch((rule or "").strip())
    typed = _typed(found[1], found[2]) if found else None
    return stored_text((typed,), complete=False) if typed else None


def _typed(name: str, value: str) -> Rule | None:
    if name in ("startswith", "endswith"):
        return StartsWith(value=value) if name == "startswith" else EndsWith(value=value)
    parts = tuple(part for one in value.strip("[]").split(",") if (part := one.strip(" '\"")))
    if name in ("keyword", "forbidden_word"):
        return None if not parts else Contains(values=parts) if name == "keyword" else Excludes(values=parts)
    if len(parts) != 2 or not all(part.isdecimal() for part in parts) or int(parts[0]) > int(parts[1]):
        return None
    return Count(unit="words" if name == "length_word" else "characters", min=int(parts[0]), max=int(parts[1]))


def healthbench(form: SetForm, record: Record) -> list[Item]:
    """Physicians' rubrics with negative points for faults; tags are kinds of criteria."""
    tags = record.words("example_tags")
    theme = next((tag.removeprefix(_THEME) for tag in tags if tag.startswith(_THEME)), None)
    ideal = record.row.get("ideal_completions_data")
    example = ideal and record.part("ideal_completions_data", None, ideal).maybe("ideal_completion")
    facts = {"theme": theme, "example_tags": tags}
    return [item_of(form, record, weighted(record, "rubrics", "tags"), example=example, facts=facts)]


def healthbench_meta(record: Record) -> Mapping[str, Any]:
    """A line of the meta-evaluation (one criterion of a response, with the labels of several physicians) in the columns
    of rubric_eval: the label is that of more than half of them, and none where they are divided."""
    messages = asked(record, "prompt")
    votes = [
        record.part("binary_labels", place, {"label": vote}).label("label")
        for place, vote in enumerate(record.items("binary_labels"))
    ]
    rubric, response = record.text("rubric"), record.id("completion_id")
    return {
        "id": f"{response}-{digest(canonical(rubric))[:12]}",
        "instruction_id": f"healthbench-{record.id('prompt_id')}",
        "response_id": response,
        "instruction_category": category_of(messages),
        "source_benchmark": "HealthBench",
        "language": "UND",
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "response": record.text("completion"),
        "rubric": rubric,
        "label": majority(votes).label,
        "source_label": record.maybe("category") or "",
    }


def infobench(form: SetForm, record: Record) -> list[Item]:
    """Decomposed questions; the fact `subset` tells Easy_set and Hard_set apart (RubricEval uses Hard_set)."""
    questions = record.texts("decomposed_questions")
    labels = record.decoded("question_label") or [[]] * len(questions)
    if (
        not isinstance(labels, list)
        or len(labels) != len(questions)
        or not all(isinstance(names, list) for names in labels)
    ):
        raise record.wrong("question_label", "must be a list of lists, one per question")
    criteria = [Criterion(text, joined(kinds)) for text, kinds in zip(questions, labels, strict=True)]
    return [item_of(form, record, criteria)]


def multichallenge(form: SetForm, record: Record) -> list[Item]:
    """One question on the last answer, which passes as `PASS_CRITERIA` says; where that is NO it is after a fault."""
    wanted = record.text("PASS_CRITERIA").strip().casefold()
    if wanted not in ("yes", "no"):
        raise record.wrong("PASS_CRITERIA", f"is {record.row['PASS_CRITERIA']!r}, which is neither YES nor NO")
    criterion = Criterion(record.text("TARGET_QUESTION"), weight=1.0 if wanted == "yes" else -1.0)
    return [item_of(form, record, [criterion])]


def profbench(form: SetForm, record: Record) -> list[Item]:
    """A labelled item for each report that the task ships, or one without a response. Weights are words."""
    rubrics = record.parts("rubrics")
    criteria = [
        Criterion(
            rubric.text("criterion_description"), joined(rubric.words("criterion_type")),
            weight=one_of(rubric, "criterion_weight", tables()["profbench_points"]),
        )
        for rubric in rubrics
    ]  # fmt: skip
    name = f"{form.prefix}-{record.id(form.id)}"
    reports = {
        field.removesuffix(_RESPONSE): text
        for field in record.row
        if field.endswith(_RESPONSE) and (text := record.maybe(field)) is not None
    }
    return [
        item_of(
            form, record, criteria, labels=[rubric.label(f"{model}{_LABEL}") for rubric in rubrics], response=text,
            response_id=f"{name}-{model}", model=model,
        )
        for model, text in reports.items()
    ] or [item_of(form, record, criteria)]  # fmt: skip


def rar(form: SetForm, record: Record) -> list[Item]:
    """Each description begins with its category (`Essential Criteria: ...`), which becomes the kind.

    Pitfalls have negative weights. Some say what a bad answer does, others what a good one avoids, and a program cannot
    tell which: they are faults here, as their weights say, and `rar_without_pitfalls` leaves them out. Rows have no id,
    so that it is made of the question.
    """
    criteria = list(map(_categorised, weighted(record, "rubric")))
    if form.holds == "points":
        criteria = [criterion for criterion in criteria if criterion.weight > 0]
    if not criteria:
        raise record.wrong("rubric", "holds nothing but pitfalls")
    name = f"{form.prefix}-{digest(canonical(record.text('question')))[:12]}"
    return [item_of(form, record, criteria, name=name)]


def _categorised(criterion: Criterion) -> Criterion:
    if (found := _CATEGORY.match(criterion.text)) is None:
        return criterion
    return replace(criterion, text=criterion.text[found.end() :], kind=found[1])


def rubrichub(form: SetForm, record: Record) -> list[Item]:
    """The documented row has `question`, `id` and `rubrics`; the published files `prompt` (messages) and `Rubrics`."""
    plain = isinstance(record.row.get("question"), str)
    messages = (Message("user", record.text("question")),) if plain else asked(record, "prompt")
    name = record.id(form.id) if record.row.get(form.id) is not None else f"{record.number:06d}"
    criteria = weighted(record, "rubrics" if record.row.get("rubrics") is not None else "Rubrics")
    return [item_of(form, record, criteria, name=f"{form.prefix}-{name}", messages=messages)]


def structflowbench(form: SetForm, record: Record) -> list[Item]:
    """One item per turn: the conversation so far with the set's own answers; that to the turn itself is its example."""
    history: list[Message] = []
    found = []
    # Turns count by place: one real conversation starts its names over at c1 half-way.
    for number, turn in enumerate(record.parts("whole_conv"), 1):
        history.append(Message("user", turn.text("user prompt")))
        answer = turn.text("assistant answer")
        facts = {
            "conversation": record.number, "turn": number, "name": turn.text("name"), "structure": record.decoded("structure"),
            "conv_topic": record.maybe("conv_topic"), "conv_task": record.maybe("conv_task"),
        }  # fmt: skip
        criteria = [Criterion(part.text("content"), part.text("type")) for part in turn.parts("constraints")]
        name = f"{form.prefix}-{record.number:03d}-{number}"
        found.append(source_item(form, name, history, criteria, example=answer, facts=facts))
        history.append(Message("assistant", answer))
    return found


def sysbench(form: SetForm, record: Record) -> list[Item]:
    """One item per turn of a dialogue, with the reference answers of the turns before it as history.

    The documentation does not fix every container: `prompt_infos` may be a list in the order of the turns or an object
    by user message, and `criteria` a list or an object of texts or of objects with `criteria_content`.
    """
    messages = [message for message in record.messages("messages") if message.role != "system"]
    roles = [message.role for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2):
        raise record.wrong("messages", "must be user and assistant in turn, the reference answer last")
    history = [Message("system", record.text("system_prompt"))]
    found = []
    infos = _infos(record, messages[::2])
    for number, (user, answer, info) in enumerate(zip(messages[::2], messages[1::2], infos, strict=True), 1):
        history.append(user)
        facts = {"system_id": record.id("system_id"), "turn": number, "alignment": info.row.get("alignment")}
        name = f"{form.prefix}-{record.id('system_id')}-{number}"
        found.append(source_item(form, name, history, _listed(info), example=answer.content, facts=facts))
        history.append(answer)
    return found


def _infos(record: Record, asked_: list[Message]) -> list[Record]:
    """One `prompt_infos` entry per turn."""
    infos = record.decoded("prompt_infos")
    if isinstance(infos, dict):
        infos = [infos.get(message.content) for message in asked_]
    if not isinstance(infos, list) or len(infos) != len(asked_):
        raise record.wrong("prompt_infos", f"must have one entry for each of the {len(asked_)} user messages")
    return [record.part("prompt_infos", number, info) for number, info in enumerate(infos)]


def _listed(info: Record) -> list[Criterion]:
    held = info.decoded("criteria")
    values = list(held.values()) if isinstance(held, dict) else held
    if not isinstance(values, list) or not values:
        raise info.wrong("criteria", "must be a list or an object that is not empty")
    parts = (value if isinstance(value, str) and value.strip() else info.part("criteria", number, value)
             for number, value in enumerate(values))  # fmt: skip
    return [
        Criterion(part)
        if isinstance(part, str)
        else Criterion(part.text("criteria_content"), part.maybe("criteria_type"))
        for part in parts
    ]


def wildbench(form: SetForm, record: Record) -> list[Item]:
    """Real users' conversations, in the language that the last message names; UND where it names none of one form."""
    criteria = tuple(map(Criterion, record.texts("checklist")))
    named = record.parts(form.messages)[-1].row.get("language")
    language = tables()["languages"].get(named.casefold(), "") if isinstance(named, str) else ""
    return [item_of(form, record, criteria, language=language)]


def llmbar(form: SetForm, record: Record) -> list[Item]:
    """Two items per pair, one for each output, under the same single rubric, since the set has none of its own.

    The fact `preferred` says whether annotators chose this output; a preferred output need not meet the rubric.
    """
    label = record.row.get("label")
    if isinstance(label, bool) or label not in (1, 2):
        raise record.wrong("label", "must be 1 or 2")
    subset = record.text("subset")
    pair = f"{form.prefix}-{subset.lower()}-{record.row['place']:03d}"
    messages = (Message("user", record.text("input")),)
    return [
        source_item(
            form, pair, messages, (_FOLLOWS,), response=record.text(f"output_{output}"), response_id=f"{pair}-{output}",
            facts={"pair": pair, "subset": subset, "output": output, "preferred": output == label},
        )
        for output in (1, 2)
    ]  # fmt: skip


_FOLLOWS = Criterion(
    "Does the response do what the instruction asks, all of it, and not something that merely looks like it?",
    "task_completion",
)
PARSERS: dict[str, Callable[[SetForm, Record], list[Item]]] = {
    "advancedif": advancedif, "biggen": biggen, "cfbench": cfbench, "complexbench": complexbench,
    "complexbench_en": complexbench, "healthbench": healthbench, "if_rewardbench": if_rewardbench, "ifbench": ifbench,
    "infobench": infobench, "judgebench": judgebench, "multichallenge": multichallenge, "openrubrics": openrubrics,
    "profbench": profbench, "rar": rar, "rar_without_pitfalls": rar, "rubricbench": rubricbench, "rubrichub": rubrichub,
    "structflowbench": structflowbench, "sysbench": sysbench, "wildbench": wildbench,
}  # fmt: skip
