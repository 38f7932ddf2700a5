"""A visitor without a browser: does over HTTP what the page does on a click, step by step."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from gradio_client.utils import apply_diff

T = TypeVar("T")


def launched(launch: Callable[[], T]) -> T:
    """Launch a page. gradio looks once whether it answers within three seconds, which tells of the machine."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gradio.networking.url_ok", lambda url: True)
        return launch()


class Visitor:
    """One session at a running app. `shown` is what its page shows: (element id, property) -> value.

    Parts without an id of ours have their number for one.
    """

    def __init__(self, url: str) -> None:
        self._api, self._session = f"{url.rstrip('/')}/gradio_api", uuid.uuid4().hex
        config = json.loads(urllib.request.urlopen(f"{url.rstrip('/')}/config", timeout=30).read())
        self._names = {part["id"]: part["props"].get("elem_id") or str(part["id"]) for part in config["components"]}
        self.shown = {
            (self._names[part["id"]], name): value
            for part in config["components"]
            for name, value in part["props"].items()
        }
        self.events: dict[int, dict[str, Any]] = {event["id"]: event for event in config["dependencies"]}
        self._event_id = ""

    def on(self, name: str, kind: str = "click") -> list[dict[str, Any]]:
        """The events that a click (or another act) starts, in order."""
        return [
            event
            for event in self.events.values()
            if (name, kind) in [(self._names.get(part), act) for part, act in event["targets"]]
        ]

    def after(self, event: dict[str, Any]) -> dict[str, Any]:
        """The event that follows one, however that ends."""
        (found,) = (e for e in self.events.values() if e["trigger_after"] == event["id"])
        assert not found["trigger_only_on_success"]
        assert not found["trigger_only_on_failure"]
        return found

    def at_once(self, event: dict[str, Any]) -> None:
        """Run an event that does not queue, and show what comes of it."""
        assert event["queue"] is False, "this event waits behind the model"
        self._show(event, self._post("run/predict", self._body(event))["data"])

    def join(self, event: dict[str, Any]) -> None:
        """Get in line. Raises HTTPError where the queue is full."""
        assert event["queue"] is not False
        self._event_id = self._post("queue/join", self._body(event))["event_id"]

    def leave(self, event: dict[str, Any]) -> None:
        """Cancel what `join` began."""
        body = {"session_hash": self._session, "fn_index": event["id"], "event_id": self._event_id}
        assert self._post("cancel", body) == {"success": True}

    def heard(self, event: dict[str, Any]) -> str:
        """Listen until the event is over, and show what comes. Returns all that came."""
        told, values = "", list[Any]()
        request = f"{self._api}/queue/data?session_hash={self._session}"
        with urllib.request.urlopen(request, timeout=60) as stream:
            for line in stream:
                if not line.startswith(b"data:"):
                    continue
                told += line.decode()
                message = json.loads(line[5:])
                data = message.get("output", {}).get("data") or []
                if message["msg"] == "process_generating":  # whole at first, from then on what changes
                    values = [apply_diff(*pair) for pair in zip(values, data, strict=True)] if values else data
                    self._show(event, values)
                elif message["msg"] == "process_completed":
                    self._show(event, data)
                    break
        return told

    def whole(self, name: str) -> str:
        """Press the button that starts work and stay until it is over. Returns all that came meanwhile."""
        (work,) = self.on(f"{name}-start")
        self.join(work)
        told = self.heard(work)
        self.at_once(self.after(work))
        return told

    def typed(self, name: str, text: str) -> None:
        """Type a text into a field, and show what the server says at once."""
        self.shown[name, "value"] = text
        for event in self.on(name, "change"):
            if event["backend_fn"]:
                self.at_once(event)

    def _body(self, event: dict[str, Any]) -> dict[str, Any]:
        data = [self.shown.get((self._names[part], "value")) for part in event["inputs"]]
        return {"fn_index": event["id"], "data": data, "session_hash": self._session}

    def _show(self, event: dict[str, Any], values: list[Any]) -> None:
        for part, value in zip(event["outputs"], values, strict=False):
            update = value if isinstance(value, dict) and value.get("__type__") == "update" else {"value": value}
            for name, new in update.items():
                if name != "__type__":
                    self.shown[self._names[part], name] = new

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self._api}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        return json.loads(urllib.request.urlopen(request, timeout=30).read())
