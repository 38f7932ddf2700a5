"""The ledger and the cache of calls, work in bounded numbers, retries, prices, and the folder of a run."""
