"""RubricEval: meta-evaluation of judges, one rubric judgment at a time."""
