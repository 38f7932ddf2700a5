"""TRUEBench: real-world constraints in 12 languages; every criterion of every turn must be met."""
