"""`--log otel`: an event per verdict, by OpenTelemetry's conventions for generative AI, to the collector that OTEL_* names.

The event is `gen_ai.evaluation.result`. What is not judged has no score but an `error.type`. Events have a name of their
own, and `telemetry.txt` in the folder has those that a collector took: a study that goes on sends no event twice.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.listening import Decided
from truebench_hf.text import anonymous, redaction
from truebench_hf.text.redaction import without_login
from truebench_hf.text.terminal import warn
from truebench_hf.version import __version__

SENT = "telemetry.txt"
EVENT = "gen_ai.evaluation.result"
NOT_JUDGED = "not_judged"
_QUEUE = 1_000_000  # events that may wait: a study of answers that are there finishes faster than any collector
_PATIENCE, _HURRY = 30.0, 4.0  # seconds for the last events: of a collector that takes some, and else
Attributes = dict[str, str | float]


def check() -> None:
    """Raise UserError where events could not be sent: the extra is missing, or the variables ask for another protocol."""
    need("otel", "opentelemetry.sdk._logs", "opentelemetry.exporter.otlp.proto.http", what="--log otel")
    for name in ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if (asked := os.environ.get(name)) and asked != "http/protobuf":
            raise UserError(f"{name}={asked}: --log otel speaks http/protobuf; set it to that, with the port for it")


@contextmanager
def opened(log: str | None, kind: str, folder: Path) -> Iterator[Telemetry | None]:
    """Telemetry of a study while a block runs; None without `log`. At its end the last events are sent, or given up.

    Says in one line how many events no collector took. Never fails: the study is worth more than its telemetry.
    """
    if log is None or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield None
        return
    silent = logging.NullHandler()  # of the library, which would say a line per try; handlers of an application hear it
    logging.getLogger("opentelemetry").addHandler(silent)
    try:
        telemetry, hurry = Telemetry(kind, folder, _exporter()), True
    except ValueError as error:
        raise UserError(f"--log otel: {error}; mend the OTEL_ variable that says so") from error
    try:
        yield telemetry
        hurry = False
    finally:
        telemetry.close(hurry)
        logging.getLogger("opentelemetry").removeHandler(silent)


class Telemetry:
    """The events of one study on their way to a collector."""

    def __init__(self, kind: str, folder: Path, exporter: Any) -> None:
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        self._shared: Attributes = {"truebench.study": kind, "truebench.run": folder.resolve().name}
        self._sent = set(_lines(folder / SENT))
        self._seen: Counter[str] = Counter()
        self._count = 0
        self._exporter = _Noting(exporter, folder / SENT)
        self._provider = LoggerProvider(_resource(), shutdown_on_exit=False)
        self._provider.add_log_record_processor(BatchLogRecordProcessor(self._exporter, max_queue_size=_QUEUE))
        self._logger = self._provider.get_logger("truebench_hf", __version__)

    def send(self, item: str, decided: Decided) -> None:
        """Send an event, unless an earlier session did."""
        from opentelemetry._logs import SeverityNumber

        told = self._shared | {"truebench.item": str(item)} | attributes(decided)
        told = {name: _clean(value) if isinstance(value, str) else value for name, value in told.items()}
        same = digest(canonical(told))
        self._seen[same] += 1  # two draws may say the same in the same words, and are two events
        name = digest(f"{same} {self._seen[same]}")[:32]
        if name in self._sent:
            return
        self._count += 1
        self._logger.emit(
            event_name=EVENT, timestamp=time.time_ns(), severity_number=SeverityNumber.INFO,
            attributes=told | {_NAME: name},
        )  # fmt: skip

    def close(self, hurry: bool) -> None:
        """Send what is left, and say how many events were not taken. In a `hurry` it soon gives up."""
        self._exporter.closing = True
        ending = threading.Thread(target=self._provider.shutdown, name="telemetry", daemon=True)
        ending.start()
        ending.join(_HURRY)
        if ending.is_alive() and self._exporter.taken and not hurry:
            ending.join(_PATIENCE)
        if missing := self._count - self._exporter.taken:
            harm = "" if hurry else "the results are whole, and "
            told = f"{missing:,} of {self._count:,} events were not taken by {_endpoint()}"
            warn(f"--log otel: {told}; {harm}the same command sends them again")


_NAME = "truebench.event"


class _Noting:
    """An exporter whose successes are noted in a file. While `closing` a failure is the last try."""

    def __init__(self, exporter: Any, file: Path) -> None:
        self._exporter, self._file = exporter, file
        self._failed, self.closing, self.taken = False, False, 0

    def export(self, batch: Sequence[Any]) -> Any:
        from opentelemetry.sdk._logs.export import LogRecordExportResult

        if self.closing and self._failed:
            return LogRecordExportResult.FAILURE
        result = self._exporter.export(batch)
        if result is not LogRecordExportResult.SUCCESS:
            self._failed = self.closing
        else:
            self.taken += len(batch)
            # What cannot be noted, on a full disk, is sent again.
            with contextlib.suppress(OSError), self._file.open("a", encoding="ascii") as file:
                file.writelines(f"{record.log_record.attributes[_NAME]}\n" for record in batch)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def attributes(decided: Decided) -> Attributes:
    """What an event says of a verdict, without local paths, addresses and keys."""
    open_ = decided.label is None and decided.score is None
    found: Mapping[str, str | float | None] = {
        "gen_ai.evaluation.name": decided.name,
        "gen_ai.evaluation.score.value": decided.score,
        "gen_ai.evaluation.score.label": decided.label,
        "gen_ai.evaluation.explanation": anonymous.text(decided.reason) if open_ else decided.reason,
        "error.type": NOT_JUDGED if open_ else None,
        "truebench.judge": anonymous.name(decided.judge),
        "truebench.criterion.weight": None if decided.weight == 1 else decided.weight,
        "truebench.probability": decided.probability,
        # Which answer it is about, without saying it.
        "truebench.response": digest(decided.response)[:16] if decided.response else None,
    }
    return {name: value for name, value in found.items() if value is not None and value != ""}


def _clean(text: str) -> str:
    """A text without known secrets, and without half characters, for which a whole batch would be refused."""
    return redaction.known(text).encode("utf-8", "replace").decode()


def _exporter() -> Any:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    return OTLPLogExporter()


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if named else {"service.name": "truebench"})


def _endpoint() -> str:
    names = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    return without_login(next(filter(None, map(os.environ.get, names)), "http://localhost:4318"))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("ascii", errors="replace").splitlines()
    except OSError:
        return []  # none was sent from here yet
