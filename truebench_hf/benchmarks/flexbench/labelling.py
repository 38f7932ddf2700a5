"""Judged conversations to people, who see no verdict; their labels are what judges are held against."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truebench_hf.benchmarks.flexbench.agreement import OPTIONS, agree, key_of, labels_of, question_id, sections
from truebench_hf.benchmarks.flexbench.judgments import read_judged
from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import Judged
from truebench_hf.engine.sample import sample
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.study.labelling import Draw, LabelInOptions, Labelling, LabelOutOptions, Taken, open_notes


class FlexLabels(Labelling):
    """Every dimension of every judged conversation: yes, no or unknown."""

    answers = OPTIONS

    def draw(self, options: LabelOutOptions) -> Draw:
        """All conversations, or `n` of them, in the shares of the models."""
        procedure, judged = read_judged(self.place)
        chosen = sample(judged, options.n, _name, lambda conversation: (conversation.talk.model,), options.seed)
        return Draw([question for conversation in chosen for question in questions(procedure, conversation)])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`; `value` is the agreement of the judge with them."""
        procedure, judged = read_judged(self.place)
        known = {
            question_id(conversation, name): key_of(conversation, name)
            for conversation in judged
            for name in conversation.labels
        }
        file = Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, known)
        labels.write_rows(file, settled.rows)
        experts = {known[name]: label for name, label in settled.labels.items()}
        agreement = agree(procedure, experts, labels_of(judged))  # type: ignore[arg-type]
        among = labels.agreement(settled.annotations)
        shown = [labels.agreement_section(among), *sections({"judge": agreement})]
        return Taken(agreement, among, shown, notes=open_notes(settled), files=[file])


def questions(procedure: Procedure, judged: Judged) -> list[Question]:
    """The questions about a conversation: its numbered messages, and one dimension each."""
    read = "\n\n".join(f"{n} {m.role}: {m.content}" for n, m in enumerate(judged.talk.messages, 1))
    return [
        Question(
            question_id(judged, dimension.id), f"{dimension.question} (unknown: it did not apply, or the step was never begun)",
            {"conversation": read} | ({"condition": dimension.condition} if dimension.condition else {}), OPTIONS,
            group=question_id(judged), blind=key_of(judged, dimension.id),
        )
        for dimension in procedure.dimensions
    ]  # fmt: skip


def _name(judged: Judged) -> str:
    return f"{judged.talk.model} {judged.talk.seed} {judged.talk.id}"
