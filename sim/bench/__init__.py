"""Benchmarks: figures against named rivals, measured in one run."""
