"""Datasets: validation against the jsonschema package, then building splits against a plain loop."""

from __future__ import annotations

from benchmarks import dataset_build, dataset_validation


def main() -> None:
    dataset_validation.main()
    print()
    dataset_build.main()


if __name__ == "__main__":
    main()
