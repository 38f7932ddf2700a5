"""Data sets: one builder per corpus, and their export as Parquet folders that `load_dataset` reads and the Hub takes.

`corpora` has them by name (`truebench_hf.data.catalogue` says what there is, without importing datasets); a corpus' own
module holds its columns and row functions;
`export.export` writes a folder, `prepare.load` gives the rows at once; `sources` reads the corpora rubrics come from.
"""
