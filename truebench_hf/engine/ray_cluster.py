"""Beyond one machine: blocks of requests worked through by Ray Data, with actors on the machines of a cluster."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from truebench_hf.engine.ray_address import check_answers, no_cluster
from truebench_hf.engine.ray_waiting import told_if_silent
from truebench_hf.errors import UserError

_FILTERS = threading.Lock()  # a process has one list of them, and several rounds may begin at once
_LOG = logging.getLogger("ray.data")
_BLOCK = 8  # requests to a task of Ray: their answers are there, and in the ledger, together


@dataclass(frozen=True)
class Seat:
    """What a model needs: `calls` under way, of a `local` one with every worker, else with all workers together.

    A worker with a local model has `gpus` of one machine to itself, or all its processors.
    """

    calls: int
    local: bool = False
    gpus: int = 0


class Cluster:
    """The Ray cluster of a study, joined before its first round: that at `address` (HOST:PORT, or auto for the one that
    this machine is part of), else that of RAY_ADDRESS, else one of its own on this machine.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._joined = self._ours = False
        self._level = logging.NOTSET
        self._lock = threading.Lock()
        # Linux ends what a thread started together with that thread: Ray's processes are started by one that stays.
        self._starter = ThreadPoolExecutor(1, "ray")

    def put(self, value: Any) -> Any:
        """A reference to a value, which no log of Ray shows. Raises UserError as `join` does."""
        self.join()
        import ray

        return ray.put(value)

    def has_gpus(self) -> bool:
        """Whether any machine has one."""
        return any(node.get("GPU", 0) for node in _nodes())

    def run(
        self, requests: Sequence[str], holder: type, arguments: Sequence[Any], seat: Seat
    ) -> Iterator[tuple[int, str]]:
        """Answers by place as they come; those of a worker that dies are left out.

        `holder` is a class made of `arguments`, whose call answers a block (columns `place` and `request`) by columns
        `place` and `reply`. Raises UserError where no machine has room for it, and where no worker can start.
        """
        import pyarrow  # type: ignore[import-untyped]
        import ray.data

        places = range(len(requests))
        blocks = [
            pyarrow.table({"place": places[at : at + _BLOCK], "request": requests[at : at + _BLOCK]})
            for at in places[::_BLOCK]
        ]
        room, cpus = self._room(seat)
        workers, each = shared(seat, min(room, len(blocks)))
        tasks = -(-2 * each // _BLOCK)  # so that what is slow in one block holds up no slot
        data = ray.data.from_arrow(blocks)
        _configure(data.context)  # its own: the pipelines of whoever else uses Ray in this process must lose nothing
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that Ray will one day name its options otherwise
            data = data.map_batches(
                holder, fn_constructor_args=(*arguments, each), batch_size=_BLOCK, num_cpus=cpus, num_gpus=seat.gpus,
                compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=tasks),
                max_concurrency=tasks, max_restarts=-1, max_task_retries=0,
            )  # fmt: skip
        arrived = False
        try:
            with told_if_silent(cpus, seat.gpus) as answered:
                for row in data.iter_rows():
                    arrived = True
                    answered.set()
                    yield row["place"], row["reply"]
        except (ray.exceptions.RayError, RuntimeError) as error:
            if not arrived:
                told = (str(error).strip() or type(error).__name__).splitlines()[-1][:300]
                raise UserError(
                    f"--engine ray: no worker answered: {told}; is this version of truebench-hf installed on every machine?"
                ) from error

    def join(self) -> None:
        """Be part of the cluster, once. Raises UserError where there is none."""
        with self._lock:
            if self._joined:
                return
            os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # or every round would warn of its own retries
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send statistics home
            import ray
            import ray.data  # which sets up its log

            if not ray.is_initialized():  # else the caller's own, in a notebook say
                if self.address not in ("local", "auto"):
                    check_answers(self.address)
                own = {"include_dashboard": False} if self.address == "local" else {}
                given = {"address": self.address, "log_to_driver": False, "logging_level": "ERROR", **own}
                try:
                    self._starter.submit(_silently, ray.init, **given).result()
                except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                    raise no_cluster(self.address, " ".join(str(error).split())[:200]) from error
                self._ours = True
            self._level = _LOG.level
            _LOG.setLevel(logging.CRITICAL)
            self._joined = True

    def leave(self) -> None:
        """Give all workers back; nothing where it was not joined."""
        with self._lock:
            if self._joined:
                _LOG.setLevel(self._level)
            if self._ours:
                import ray

                ray.shutdown()
            self._joined = self._ours = False
            self._starter.shutdown()

    def _room(self, seat: Seat) -> tuple[int, float]:
        """How many workers the cluster holds at once, and the processors each takes."""
        nodes = [node for node in _nodes() if node.get("CPU", 0) >= 1]
        if not seat.gpus:
            least = min((node["CPU"] for node in nodes), default=0)
            found, cpus = (len(nodes), least) if seat.local else (min(len(nodes), seat.calls), 0.1)
        else:
            found, cpus = sum(int(node.get("GPU", 0)) // seat.gpus for node in nodes), 1
        if not found:
            what = f"{seat.gpus} GPUs" if seat.gpus else "a processor"
            raise UserError(f"--engine ray: no machine of the cluster at {self.address} has {what}; add one that has")
        return found, cpus


def _silently(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call a function while what libraries of C++ print goes nowhere; what it raises is raised as ever."""
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        return function(**arguments)
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


def _nodes() -> list[dict[str, float]]:
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def shared(seat: Seat, most: int) -> tuple[int, int]:
    """How many workers, at most so many, and the calls each has under way: all together never more than `seat` allows."""
    if seat.local:
        return most, seat.calls
    workers = max(range(1, most + 1), key=lambda count: (seat.calls // count * count, count))
    return workers, seat.calls // workers


def _configure(context: Any) -> None:
    """How Ray Data works through one round: what is lost is left out, since it is counted, and repeated, here."""
    context.max_errored_blocks = -1
    context.execution_options.preserve_order = False
    context.enable_progress_bars = False
