#!/bin/sh
# Make the environments in which neighbours read what we export: inspect in .venv-inspect, with this package beside it, and
# verifiers in .venv-verifiers. Apart from .venv since their pins collide with ours: inspect wants fsspec up to 2026.6 and
# (by botocore) python-dateutil before 3, verifiers openai before 3.
set -eu
cd "$(dirname "$0")/../.."
for name in inspect verifiers; do
  [ -x .venv-$name/bin/python ] || "${PYTHON:-python3}" -m venv .venv-$name
done
.venv-inspect/bin/python -m pip install --quiet --no-compile --disable-pip-version-check inspect-ai==0.3.285 --editable .
.venv-verifiers/bin/python -m pip install --quiet --no-compile --disable-pip-version-check verifiers==0.4.0
