"""Loopback servers the tests talk to with the real clients: a stub of the Hub and an OpenAI-compatible server."""
