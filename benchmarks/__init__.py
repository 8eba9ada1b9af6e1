"""How fast, how large and how good: one harness, cases as data, ratios within one run.

``python -m benchmarks`` measures everything, ``python -m benchmarks kernel memory`` some of it, and
``python -m benchmarks.paper`` only fits the paper's data sets.
"""
