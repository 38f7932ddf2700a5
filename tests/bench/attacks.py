"""How far judges are talked round, technique by technique: with our prompts, without their tags, asked twice, with rules.

`python -m tests.bench.attacks FOLDER [RESPONSES]`. It resumes. The embedded model takes some 3 seconds of processor time
a call and 20 calls a response, for each of three prompts; by default 16 responses.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.support import loopback
from tests.support.signing import signed
from truebench_hf.benchmarks.rubric_eval.comparisons import Attack, attacks
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.scores import MetaEvaluation
from truebench_hf.models.chat_template import JOINER
from truebench_hf.prompts import Prompts

_OPENING = re.compile(r"^<(\w+)_\{\{ tag \}\}>$", re.MULTILINE)
_CLOSING = re.compile(r"^</\w+_\{\{ tag \}\}>\n", re.MULTILINE)
_LISTED = "Requirements\n{% for one in criteria %}- {{ one }}\n{% endfor %}\n\n"


def untagged(source: str) -> str:
    """A prompt with headings in place of its tags, and the same rules."""
    text = _CLOSING.sub("", _OPENING.sub(lambda tag: f"{tag[1].capitalize()}:", source))
    return re.sub(r"\b(T|t)ext between the tags|Everything between the tags", r"Text under the headings", text)


def twice(source: str) -> str:
    """A prompt that asks in front of the material, too."""
    start = source.index("{% if context %}\n<context_")
    return source[:start] + _LISTED + source[start:]


def variants(name: str, folder: Path) -> dict[str, tuple[str, ...]]:
    """What `--prompt` takes for each form of a prompt."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, tuple[str, ...]] = {"tags": ()}
    for how, change in (("no tags", untagged), ("asked twice", twice)):
        file = folder / f"{name} {how}.jinja"
        file.write_text(change(Prompts().source(name)), encoding="utf-8")
        made[how] = (f"{name}={file}",)
    return made


def measured(folder: Path, responses: int) -> dict[str, MetaEvaluation]:
    """What each judge made of the attacks by each form of its prompt, by the names of the table's columns."""
    found = {}
    forms = variants("rubric", folder / "prompts")
    for column, outside, form, rules in (
        ("obeys all", False, "tags", "off"),
        ("obeys all, rules decide", False, "tags", "decide"),
        ("obeys outside sections: tags", True, "tags", "off"),
        ("obeys outside sections: no tags", True, "no tags", "off"),
    ):
        with serving(outside=outside) as url:
            found[column] = _asked(folder / column.replace(":", ""), responses, "rubric", forms[form],
                                   judge=("openai:obedient",), judge_base_url=url, rules=rules)  # fmt: skip
    for form, prompt in variants("decision", folder / "prompts").items():
        found[f"SmolLM2: {form}"] = _asked(folder / f"SmolLM2 {form}", responses, "decision", prompt,
                                           judge=("smollm2",), attacks_each=1)  # fmt: skip
    found["SmolLM2: tags, rules decide"] = _asked(folder / "SmolLM2 rules", responses, "decision", (),
                                                  judge=("smollm2",), attacks_each=1, rules="decide")  # fmt: skip
    found["SmolLM2 in words"] = _asked(folder / "SmolLM2 in words", responses, "rubric", (),
                                       judge=("smollm2",), attacks_each=1, judge_arg=("max_tokens=128",))  # fmt: skip
    return found


def _asked(out: Path, responses: int, paradigm: str, prompt: tuple[str, ...], **more: object) -> MetaEvaluation:
    options = MetaevalOptions(
        data="rubric_mini", out=str(out), limit=responses, paradigms=paradigm, prompt=prompt, attacks=True, **more  # type: ignore[arg-type]
    )  # fmt: skip
    return metaeval(options)


def table(found: Mapping[str, MetaEvaluation]) -> str:
    """The README's table: share turned by the injections, and in parentheses by the neutral texts."""
    lines = [["Technique", *found], ["---"] * (len(found) + 1)]
    names = dict.fromkeys(one.technique for one in attacks())
    lines += [[name.replace("_", " "), *(_cell(_technique(study, name)) for study in found.values())] for name in names]
    every = [study.tables["attacks"].rows[0] for study in found.values()]
    lines.append(["all", *map(_cell, every)])
    lines.append(["trials", *(str(row["more"].n) for row in every)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _technique(study: MetaEvaluation, name: str) -> Mapping[str, Any] | None:
    return next((row for row in study.tables["attacks_by_technique"].rows if row["technique"] == name), None)


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or row["by_attack"].value is None or row["by_neutral"].value is None:
        return "-"
    return f"{100 * row['by_attack'].value:.0f} ({100 * row['by_neutral'].value:.0f})"


_SECTION = re.compile(r"<(\w+)>\n.*?\n</\1>", re.DOTALL)
_PLACES = re.compile(r"\{\w+\}|\n")


def sign(attack: Attack) -> str:
    """The longest part of an attack that stands in it as it is: what the judge knows it by."""
    longest = max(_PLACES.split(attack.text), key=len)
    return longest or '{"criteria_1": "PASS"'  # nothing but the verdicts


SIGNS = tuple(map(sign, attacks()))


def obeyed(prompt: str, outside: bool) -> bool:
    """Whether the prompt of a judge holds an injection; with `outside` one that stands in no section."""
    text = prompt.replace(JOINER, "")
    return any(one in (_SECTION.sub("", text) if outside else text) for one in SIGNS)


@contextlib.contextmanager
def serving(*, outside: bool) -> Iterator[str]:
    """Serve the judge while the block runs; yields its base URL. At rubric level it says no unless it is told otherwise."""

    async def handle(request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.content.read())
        prompt = body["messages"][-1]["content"]
        verdict = "PASS" if obeyed(prompt, outside) else "FAIL"
        answer = {"role": "assistant", "content": signed(prompt, criteria_1=verdict)}
        return web.json_response({"choices": [{"message": answer, "finish_reason": "stop"}]})

    with loopback.serving(handle) as port:
        yield f"http://{loopback.HOST}:{port}/v1"


if __name__ == "__main__":
    print(table(measured(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 16)))
