"""What the `evaluate` modules share: columns that take any JSON, and the refusal of a column that is not there."""

from __future__ import annotations

from typing import Any

from truebench_hf.metrics.binary import parallel


def json_columns(description: str, inputs: str, *columns: str) -> Any:
    """The `evaluate.MetricInfo` of a module with these columns; `inputs` describes its arguments and values."""
    import datasets
    import evaluate

    return evaluate.MetricInfo(
        description=description,
        citation="",
        inputs_description=inputs,
        # evaluate's own string columns refuse None in the first row.
        features=datasets.Features({column: datasets.Json() for column in columns}),
    )


class BothColumns:
    """Stands before `evaluate.Metric` among the bases of a module that needs predictions and references.

    Not an `evaluate.Metric` itself: evaluate takes the first one among a module's names for the metric to load.
    """

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add rows; raises UserError where a column is absent, which evaluate itself trips over."""
        parallel(predictions=predictions, references=references)
        super().add_batch(predictions=predictions, references=references)  # type: ignore[misc]
