"""The headings of `truebench --help`, under which its commands stand."""

from __future__ import annotations

SCORE = "Score models"
ANY = "Any prompt, document or instruction"
JUDGES = "Measure judges, and label by them"
REST = "Data, the Hub and the Space"
