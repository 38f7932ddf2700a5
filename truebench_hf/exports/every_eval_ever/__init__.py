"""Every Eval Ever 0.3 (evaleval): one JSON of scores per model, and a JSONL of judged responses beside it."""
