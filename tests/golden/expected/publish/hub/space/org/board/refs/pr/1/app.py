"""The Space. All of it is in the library: see `truebench_hf.space`."""

from __future__ import annotations

import os
from contextlib import suppress

from truebench_hf.space.app import serve
from truebench_hf.space.options import from_environment

if __name__ == "__main__":
    os.environ.setdefault("GRADIO_SERVER_NAME", "0.0.0.0")  # a container is reached from outside
    with suppress(KeyboardInterrupt):
        serve(from_environment())
