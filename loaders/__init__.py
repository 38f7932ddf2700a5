"""Data sets: one builder per corpus, and their export as Parquet folders that `load_dataset` reads and the Hub takes.

`prepare.corpus` has them by name (`truebench_hf.data.catalogue` says what there is, without importing datasets); the
module of a corpus holds its columns and row functions; `export.export` writes a folder, `prepare.load` gives the rows.
"""
