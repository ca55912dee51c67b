#!/usr/bin/env python3
"""Runs the simulated experiments of docs/CONSISTENCY.md and prints its tables.

Usage: tools/consistency.py [--jobs=N] [--results=FILE] [EXPERIMENT...]
  --jobs      simulations at a time (default 1)
  --results   where lines are added, and those that are there not made again (default consistency.jsonl)
  EXPERIMENT  of those in EXPERIMENTS below; default all but `tune`

A value is the median over the seeds, with the 95% percentile bootstrap interval of the median where
there are six or more (2000 resamples), else with the range: what experiments/results/statistics.h
defines for reports. Differences are paired by seed.
"""
import argparse
import concurrent.futures
import json
import os
import random
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIMULATE = os.path.join(ROOT, "bazel-bin/worker/simulation/simulate")
BURSTS = ["--straggler.burst_steps=2", "--straggler.burst_share=0.2", "--straggler.wanders"]
MOMENTUM = ["--optimizer.name=nesterov", "--learning_rate.base=0.005"]
SEEDS_OF_TUNING = ["--seed=101", "--comparison.repetitions=2"]


def workers(count, *flags):
    return ["--workers=%d" % count, "--global_batch=%d" % (32 * count), *flags]


# Name -> (spec, what the reader compares with, {variant: flags}).
EXPERIMENTS = {
    "workers": ("consistency_workers", "1 worker ps_async", {
        "1 worker": workers(1, "--comparison.strategies=ps_async"),
        **{"%d workers" % n: workers(n) for n in (16, 32, 64)}}),
    "momentum": ("consistency_workers", "1 worker ps_async", {
        "1 worker": workers(1, "--comparison.strategies=ps_async", *MOMENTUM),
        **{"%d workers" % n: workers(n, *MOMENTUM) for n in (16, 32, 64)}}),
    "rules": ("consistency_rules", "32 workers ps_sync", {
        "32 workers": [],
        "32 workers, outer optimizer": [
            "--comparison.strategies=local_sgd", "--local_sgd.outer_learning_rate=0.7",
            "--local_sgd.outer_momentum=0.9"]}),
    "slow_worker": ("consistency_slow_worker", "alike ps_sync", {
        "alike": ["--straggler.rank=-1", "--straggler.factor=1"],
        "for ever": [],
        "in bursts": BURSTS}),
    "tune": ("consistency_workers", "1 worker ps_async", {
        **{"1 worker, rate %s" % rate: workers(
            1, "--comparison.strategies=ps_async", "--learning_rate.base=%s" % rate, *SEEDS_OF_TUNING)
           for rate in (0.02, 0.05, 0.1, 0.2)},
        **{"32 workers, lambda %s" % value: workers(
            32, "--comparison.strategies=ps_async_dc", "--ps.delay_compensation=%s" % value,
            *SEEDS_OF_TUNING)
           for value in (0.04, 1, 10, 100)}}),
}


def spread(values):
    """(low, high): statistics.h's SpreadOf."""
    if len(values) < 6:
        return min(values), max(values)
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(2000))
    return medians[49], medians[1949]


def shown(values, scale, digits):
    low, high = spread(values)
    return "%.*f (%.*f to %.*f)" % (
        digits, scale * statistics.median(values), digits, scale * low, digits, scale * high)


def read(path):
    """{(experiment, variant): lines}."""
    lines = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in map(json.loads, file):
                lines.setdefault((line["experiment"], line["variant"]), []).append(line)
    return lines


def simulate(experiment, variant):
    spec, _, variants = EXPERIMENTS[experiment]
    command = [SIMULATE, os.path.join(ROOT, "experiments/specs", spec + ".textproto"),
               *variants[variant]]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [{"experiment": experiment, "variant": variant, **json.loads(line)}
            for line in output.splitlines()]


def run_missing(experiments, path, jobs):
    done = read(path)
    missing = [(e, v) for e in experiments for v in EXPERIMENTS[e][2] if (e, v) not in done]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, \
            open(path, "a", encoding="utf-8") as file:
        for lines in pool.map(lambda key: simulate(*key), missing):
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.flush()


def by_row(experiment, lines):
    """{row's name: {seed: line}}, in the experiment's order."""
    rows = {}
    for variant in EXPERIMENTS[experiment][2]:
        for line in lines.get((experiment, variant), []):
            rows.setdefault("%s %s" % (variant, line["strategy"]), {})[line["seed"]] = line
    return rows


def table(experiment, lines):
    rows = by_row(experiment, lines)
    base = rows.get(EXPERIMENTS[experiment][1], {})
    yield "| %s | accuracy, %% | less the base's, points | virtual samples/s | staleness | held, ms | " \
          "late | stopped learning |" % experiment
    yield "|" + "---|" * 8
    for name, runs in rows.items():
        values = list(runs.values())
        paired = [runs[seed]["accuracy"] - base[seed]["accuracy"] for seed in runs if seed in base]
        held_s = [statistics.mean(run["held_s"]) for run in values]
        yield "| %s | %s | %s | %.0f | %.1f | %.1f | %.0f | %d of %d |" % (
            name, shown([run["accuracy"] for run in values], 100, 2),
            shown(paired, 100, 2) if paired and runs is not base else "",
            statistics.median(run["samples_per_s"] for run in values),
            statistics.median(run["staleness_mean"] for run in values),
            1e3 * statistics.median(held_s),
            statistics.median(run["late_pushes"] for run in values),
            sum(run["divergence"] != "" for run in values), len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", default="consistency.jsonl")
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT")
    arguments = parser.parse_args()
    experiments = arguments.experiments or [name for name in EXPERIMENTS if name != "tune"]
    for name in experiments:
        if name not in EXPERIMENTS:
            sys.exit("no experiment %s; allowed: %s" % (name, ", ".join(EXPERIMENTS)))
    if not os.path.exists(SIMULATE):
        sys.exit("no %s; fix: bazel build //worker/simulation:simulate" % SIMULATE)
    run_missing(experiments, arguments.results, arguments.jobs)
    for name in experiments:
        print("\n".join(table(name, read(arguments.results))) + "\n")


if __name__ == "__main__":
    main()
