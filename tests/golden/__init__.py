"""What users get from every command on fixed inputs, held as files in `expected/`: one folder a case.

A case is inputs and steps (`cases/`): commands, or calls of the Python API. What of a folder is held, and what is left
out because it is bound to time, machine or version, stands in `held.py`; how it is compared in `compare.py`.

    python -m pytest tests/golden                     what users see is what it was, but for the last digits of fits
    GOLDEN=strict python -m pytest tests/golden       the same without any tolerance
    python -m tests.golden --renew [CASE...]          write what there is now as what is expected

A commit that moves or merges code and shall change nothing runs the strict mode before and after, and says "golden
strict: equal". Fits may differ in their last digits between machines: where strict fails before the change, renew first
(without committing that), then change, then run strict. A commit that changes what users see renews the cases, and the
difference of the expected files is read like code.
"""
