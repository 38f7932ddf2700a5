"""The life of every command that asks models."""
