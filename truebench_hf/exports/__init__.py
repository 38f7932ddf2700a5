"""Finished runs in the forms of neighbours: Every Eval Ever, logs of inspect, rubrics of verifiers, tables."""
