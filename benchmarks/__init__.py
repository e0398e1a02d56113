"""How fast, beside what: `python -m benchmarks`, or `make bench`. Numbers are ratios within one run."""
