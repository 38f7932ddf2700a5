"""The Rubric Arbitration Framework: labels by coarse pass, fine pass and meta-judges (RubricEval section 3.3)."""
