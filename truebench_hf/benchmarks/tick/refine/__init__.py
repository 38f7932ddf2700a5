"""Self-refinement: a model answers, judges its answer, and rewrites it, several times over (paper 004, section 4.1)."""
