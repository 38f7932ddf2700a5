"""Which packages are installed: those of `truebench_hf/`, and `loaders/` inside it. All else stands in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["truebench_hf", "truebench_hf.*"]),
        *(f"truebench_hf.{name}" for name in find_packages(include=["loaders", "loaders.*"])),
    ],
    package_dir={"truebench_hf": "truebench_hf", "truebench_hf.loaders": "loaders"},
)
