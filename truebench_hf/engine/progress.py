"""Progress on stderr, by kind of work: bars on a terminal and in a notebook, and elsewhere a line a minute."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from truebench_hf.text.terminal import console, how_many, printable, warn

_EVERY = 60.0  # seconds from line to line
_LOOKED_BACK = 5  # lines: what is left is told by these; answers that were there already come all at once
Step = Callable[[str], None]


@contextmanager
def progress(
    totals: Mapping[str, int], *, clock: Callable[[], float] = time.monotonic, ended: threading.Event | None = None
) -> Iterator[Step]:
    """Show how far each name of `totals` is; the yielded function moves one on by one.

    What is left of the work is reckoned by `clock`; `ended` is waited on from one line to the next.
    """
    ipython = sys.modules.get("IPython")
    in_notebook = getattr(ipython.get_ipython() if ipython else None, "kernel", None) is not None
    display = _bars if sys.stderr.isatty() else _widgets if in_notebook else None
    with display(totals) if display else _lines(totals, clock, ended or threading.Event()) as step:
        yield step


@contextmanager
def _bars(totals: Mapping[str, int]) -> Iterator[Step]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    title = TextColumn("{task.description:>10}", markup=False)
    columns = (title, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(sys.stderr), refresh_per_second=4) as bars:
        tasks = {name: bars.add_task(printable(name), total=total) for name, total in totals.items()}
        yield lambda name: bars.advance(tasks[name])


@contextmanager
def _widgets(totals: Mapping[str, int]) -> Iterator[Step]:
    """Bars of ipywidgets; where those are not installed, of characters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to install them
        from tqdm.auto import tqdm
    with ExitStack() as open_:
        bars = {name: open_.enter_context(tqdm(total=total, desc=printable(name))) for name, total in totals.items()}
        yield lambda name: bars[name].update()


@contextmanager
def _lines(totals: Mapping[str, int], clock: Callable[[], float], ended: threading.Event) -> Iterator[Step]:
    done = dict.fromkeys(totals, 0)
    seen = deque([(clock(), dict(done))], maxlen=_LOOKED_BACK)

    def step(name: str) -> None:
        done[name] += 1

    def tell() -> None:
        while not ended.wait(_EVERY):
            now, (before, then) = clock(), seen[0]
            seen.append((now, dict(done)))
            minutes = (now - before) / 60
            lines = [_line(name, done[name], total, done[name] - then[name], minutes) for name, total in totals.items()]
            warn(f"truebench: {'; '.join(lines)}")

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield step
    finally:
        ended.set()
        teller.join()


def _line(name: str, done: int, total: int, lately: int, minutes: float) -> str:
    """`answers 412 of 3,000, 14 %, about 38 minutes left`, as `lately` so many came in so many minutes."""
    if done >= total:
        return f"{name} {done:,} of {total:,}"
    so_far = f"{name} {done:,} of {total:,}, {min(99, round(100 * done / total))} %"
    minutes = (total - done) * minutes / lately if lately else minutes
    lasting = f"{minutes / 60:,.0f} hours" if minutes >= 120 else how_many(max(1, round(minutes)), "minute")
    return f"{so_far}, about {lasting} left" if lately else f"{so_far}, nothing new for {lasting}"
