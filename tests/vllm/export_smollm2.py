"""Export the embedded model once as a plain safetensors folder: `export_smollm2.py FOLDER`.

vLLM and `transformers serve` want such a folder. A model that was loaded from a GGUF file refuses to be saved, so a
fresh one is built from its config and given the dequantised weights.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from truebench_hf.models.loading import locate


def embedded() -> tuple[Any, Any]:
    """(model, tokenizer): as loaded from a plain checkpoint, to be saved or trained."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, gguf = locate()
    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf, dtype=torch.float32)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    fresh = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    fresh.load_state_dict(loaded.state_dict())
    fresh.generation_config = loaded.generation_config
    return fresh, AutoTokenizer.from_pretrained(source, gguf_file=gguf)


def export(target: Path) -> None:
    """Write weights, config and tokenizer into `target`; nothing where a whole export is there already."""
    if (target / "tokenizer_config.json").exists():
        return
    model, tokenizer = embedded()
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)  # last, so that its presence says that the export is whole


if __name__ == "__main__":
    export(Path(sys.argv[1]))
