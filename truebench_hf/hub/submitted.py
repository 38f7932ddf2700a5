"""What became of runs that were submitted to a results data set: its pull requests, as the Hub tells of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from truebench_hf.hub.repository import hub_api
from truebench_hf.text.terminal import shortened

State = Literal["waiting", "merged", "refused"]
_STATES: dict[str, State] = {"open": "waiting", "draft": "waiting", "merged": "merged", "closed": "refused"}
# Titles as `results.submit` writes them; what else is asked of the data set, as by `publish --create-pr`, is no submission.
_OURS = re.compile(r"Submission: ([a-z0-9-]+)--([a-z0-9-]+)--[0-9a-f]{10} \(")
_LOOKED = 300  # pull requests that are looked through, newest first
_LONGEST = 300  # characters of a reason


@dataclass(frozen=True, slots=True)
class Submitted:
    """A pull request with a run; model and judge as a folder's name has them. `reason` is that of a refusal, if one was given."""

    num: int
    model: str
    judge: str
    state: State
    url: str
    opened: datetime
    reason: str = ""


def submissions(repo_id: str, most: int, known: Sequence[Submitted] = ()) -> tuple[Submitted, ...]:
    """The newest submissions to a data set, at most so many. The Hub is not asked again for reasons that are `known`.

    Raises whatever the Hub's client raises, and waits for the Hub as long as that does: for ever.
    """
    told = {one.num: one.reason for one in known if one.reason}
    return tuple(
        replace(one, reason=told.get(one.num) or _reason(repo_id, one.num)) if one.state == "refused" else one
        for one in islice(_listed(repo_id), most)
    )


def _listed(repo_id: str) -> Iterator[Submitted]:
    found = hub_api().get_repo_discussions(repo_id, repo_type="dataset", discussion_type="pull_request")
    for pull in islice(found, _LOOKED):
        if pull.is_pull_request and (named := _OURS.match(pull.title)) and (state := _STATES.get(pull.status)):
            yield Submitted(pull.num, named[1], named[2], state, pull.url, pull.created_at)


def _reason(repo_id: str, num: int) -> str:
    """The last thing that was said by whoever closed a pull request, beside its description; "" for nothing.

    Others may say what they like below a public pull request: that is no reason.
    """
    from huggingface_hub import DiscussionComment, DiscussionStatusChange

    told = hub_api().get_discussion_details(repo_id, num, repo_type="dataset")
    events: list[Any] = told.events
    closed = [one.author for one in events if isinstance(one, DiscussionStatusChange) and one.new_status == "closed"]
    comments = [one for one in events if isinstance(one, DiscussionComment)]
    if comments and comments[0].author == told.author:
        del comments[0]  # the description
    said = [c.content for c in comments if closed and c.author == closed[-1] and not c.hidden and c.content.strip()]
    return shortened(said[-1], _LONGEST) if said else ""
