"""Whether a Ray cluster answers at an address, asked in a process of its own: left alone, Ray would end this one."""

from __future__ import annotations

import socket
import subprocess
import sys

from truebench_hf.errors import UserError

# Seconds for a connection, and for an answer; left alone, Ray would try for two minutes.
_CONNECTS, _ANSWERS = 5.0, 15.0
_NO_TOKEN = "InvalidAuthToken"


def check_answers(address: str) -> None:
    """Raise UserError where no cluster answers at HOST:PORT within seconds, or none that lets this process in."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise UserError(
            f"--ray-address (or RAY_ADDRESS) {address}: write it as HOST:PORT, that of the head of the cluster, or auto"
        )
    asked = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECTS).close()
        done = subprocess.run(asked, capture_output=True, timeout=_ANSWERS, check=False)
    except (OSError, OverflowError, subprocess.TimeoutExpired) as error:
        raise no_cluster(
            address, error.strerror if isinstance(error, OSError) and error.strerror else "no answer"
        ) from error
    if done.returncode and _NO_TOKEN in done.stderr.decode(errors="replace"):
        # Ray sends its token to an address only where it is told to, and so do we.
        raise UserError(
            f"--engine ray: the cluster at {address} asks for its token; export RAY_AUTH_MODE=token, with that token in "
            "RAY_AUTH_TOKEN or ~/.ray/auth_token"
        )
    if done.returncode:
        raise no_cluster(address, "what answers there is no cluster of this version of Ray")


def no_cluster(address: str, why: str) -> UserError:
    """What to say where there is none."""
    return UserError(
        f"--engine ray: no cluster at {address}: {why}; start one with `ray start --head`, check --ray-address, or leave "
        "it out for one of its own"
    )
