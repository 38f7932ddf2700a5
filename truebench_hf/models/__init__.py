"""Where texts come from: servers, transformers, vLLM, classifiers, and a scripted test double."""
