"""Texts on their way out: without secrets, without what strangers need not see, whole, and safe on a terminal."""
