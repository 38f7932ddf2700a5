"""What became of submitted runs, as a list for visitors: read from the Hub when it is looked at, never waited for long."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence

from markupsafe import Markup

from truebench_hf.hub.queue import State, Submitted, submissions
from truebench_hf.models.spec import kinds
from truebench_hf.report.page import inert
from truebench_hf.report.spoken import spoken
from truebench_hf.text.terminal import warn

_MOST = 30
_FRESH, _PATIENCE = 60.0, 10.0  # seconds
_PROVIDED = re.compile("^(?:" + "|".join(kinds() | {"smollm2"}) + ")-")
_WORDS: dict[State, str] = {"waiting": "open", "merged": "yes", "refused": "no"}  # by the colours of verdicts


class Submissions:
    """The list of a results data set, kept between looks. A Hub that does not answer leaves the old one, and says so."""

    def __init__(self, repo_id: str) -> None:
        self._repo = repo_id.partition("@")[0]
        self._kept: tuple[Submitted, ...] = ()
        self._read_at = 0.0  # seconds since 1970, of what is kept
        self._silent_since = 0.0  # 0: the Hub answered when it was last asked
        self._asking: threading.Thread | None = None
        self._lock = threading.Lock()

    def renew(self, *, now: bool = False) -> None:
        """Ask the Hub unless it was asked a minute ago (or `now`). Waits for ten seconds, and never raises."""
        with self._lock:
            asking = self._asking
            if asking is None or not asking.is_alive():
                if not now and time.time() - self._read_at < _FRESH:
                    return
                # The Hub's client waits without end: one that hangs is left behind, and no second one is sent after it.
                asking = self._asking = threading.Thread(target=self._ask, name="submissions", daemon=True)
                asking.start()
            elif self._silent_since:
                return
        asking.join(_PATIENCE)
        if asking.is_alive():
            self._silent_since = self._silent_since or time.time()

    def _ask(self) -> None:
        try:
            self._kept = submissions(self._repo, _MOST, self._kept)
        except Exception as error:  # the client has many of its own; all mean: keep what there is
            if not self._silent_since:
                warn(f"submissions of {self._repo}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
            self._silent_since = self._silent_since or time.time()
        else:
            self._read_at, self._silent_since = time.time(), 0.0

    def html(self) -> str:
        """The list as it is known, without asking."""
        if self._silent_since:
            since = time.strftime("%H:%M UTC on %Y-%m-%d", time.gmtime(self._silent_since))
            line = f"Nothing could be had from the Hub since {since}" + (
                "; what stands here is older." if self._read_at else "."
            )
        elif not self._read_at:
            line = "Asking the Hub …"
        else:
            line = "" if self._kept else "Nothing was submitted yet."
        told = Markup('<p class="tb-soft" role="status">{}</p>').format(line) if line else ""
        return Markup('<h3>Submitted so far</h3>{}<ul class="tb-submitted">{}</ul>').format(told, _lines(self._kept))


def _lines(found: Sequence[Submitted]) -> Markup:
    return Markup("").join(
        Markup(
            '<li><b class="tb-word tb-{}">{}</b><span><a href="{}" target="_blank" rel="noopener">{}</a>, judged by {}'
            ' <span class="tb-soft">on {:%Y-%m-%d}</span>{}</span></li>'
        ).format(
            _WORDS[one.state], one.state, one.url, _name(one.model), _name(one.judge), one.opened, _reason(one),
        )
        for one in found
    )  # fmt: skip


def _name(slug: str) -> str:
    """A name without who provides it, as the leaderboard has it."""
    return _PROVIDED.sub("", slug, count=1) or slug


def _reason(one: Submitted) -> Markup | str:
    if one.state != "refused":
        return ""
    reason = inert(one.reason or "No reason was given.")
    return Markup('<br><span dir="auto"{}>{}</span>').format(spoken(one.reason), reason)
