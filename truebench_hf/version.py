"""The version of the package, for every floor: runs, files and requests name it."""

__version__ = "0.1.0"
