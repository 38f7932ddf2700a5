"""Labels by their names: `datasets` keeps the number of a class in the rows, and the names in the features beside them.

Features are in the form that `Features.to_dict` gives and that Parquet files carry in their metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from truebench_hf.errors import UserError

_LISTS = ("List", "LargeList", "Sequence")


def named(value: Any, feature: Any) -> Any:
    """Return the value with the name of each class in place of its number, however deep the `ClassLabel` stands.

    -1 is None: so `datasets` spells a label that is missing. Raises UserError on a number that no class has.
    """
    feature = element(feature)
    if isinstance(value, list):
        return [named(item, feature) for item in value]
    if isinstance(value, Mapping) and isinstance(feature, Mapping):
        return {name: named(inner, feature.get(name)) for name, inner in value.items()}
    if not is_class(feature) or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value == -1:
        return None
    names = feature["names"]
    if value not in range(len(names)):
        classes = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        raise UserError(f"label {value!r} is not one of the classes: {classes}")
    return names[int(value)]


def element(feature: Any) -> Any:
    """Return what the lists of a feature hold, the innermost ones; a feature that is no list as it is."""
    while isinstance(feature, list) or (isinstance(feature, Mapping) and feature.get("_type") in _LISTS):
        feature = feature[0] if isinstance(feature, list) else feature["feature"]
    return feature


def is_class(feature: Any) -> bool:
    """Return whether a feature is a `ClassLabel` whose names are known."""
    return isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel" and bool(feature.get("names"))


def with_classes(features: Any) -> dict[str, Any]:
    """Return the columns that hold a `ClassLabel` somewhere, by name."""
    return {name: feature for name, feature in features.items() if '"ClassLabel"' in json.dumps(feature)}


def of_parquet(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return the columns with classes of a Parquet file that `datasets` wrote, by the metadata of its schema."""
    try:
        return with_classes(json.loads((metadata or {})[b"huggingface"])["info"]["features"])
    except (KeyError, ValueError, TypeError, AttributeError):  # no features there, or what another tool wrote
        return {}
