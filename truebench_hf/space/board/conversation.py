"""A judged conversation as HTML, without what would name the machine behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from truebench_hf.records import Judged, public, public_verdict
from truebench_hf.report.conversation import conversation
from truebench_hf.report.page import fragment, inert
from truebench_hf.report.sections import Exchange, exchanges
from truebench_hf.types import Criterion, Verdict


def render(item: Judged | None, missing: str = "") -> str:
    """One conversation as HTML, with bare criteria where no model had it; `missing` is said where there is none."""
    if item is None:
        return f'<article class="tb-conversation"><p class="tb-soft">{inert(missing)}</p></article>'
    shown = replace(conversation(public(item), item.passed), who=public(item).response.model)
    if not item.response.model:
        bare = [[verdict.criterion for verdict in turn] for turn in item.verdicts]
        shown = replace(shown, exchanges=exchanges(item.response.messages, bare), outcome="", error="")
    return fragment(shown)


def verdict_list(verdicts: Sequence[Verdict], waiting: Sequence[str] = ()) -> str:
    """Verdicts as an HTML list, with the criteria still waiting after them."""
    return fragment(Exchange((), (*map(public_verdict, verdicts), *map(Criterion, waiting))))
