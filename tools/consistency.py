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
HIGH_RATE = "--learning_rate.base=0.2"
MOMENTUM = ["--optimizer.name=nesterov", "--learning_rate.base=0.005"]
SEEDS = range(1, 7)
SEEDS_OF_TUNING = range(101, 103)  # others, so that what is chosen by them is not judged by them


def workers(count, *flags):
    return ["--workers=%d" % count, "--global_batch=%d" % (32 * count), *flags]


# Name -> (spec, seeds, what the others are compared with, {variant: flags}).
EXPERIMENTS = {
    "workers": ("consistency_workers", SEEDS, "1 worker ps_async", {
        "1 worker": workers(1, "--comparison.strategies=ps_async"),
        **{"%d workers" % n: workers(n) for n in (16, 32, 64)}}),
    "slow_worker": ("consistency_slow_worker", SEEDS, "alike ps_sync", {
        "alike": ["--straggler.rank=-1", "--straggler.factor=1"],
        "for ever": [],
        "in bursts": BURSTS}),
    "rules": ("consistency_rules", SEEDS, "32 workers ps_sync", {
        "32 workers": [],
        "32 workers, outer optimizer": [
            "--comparison.strategies=local_sgd", "--local_sgd.outer_learning_rate=0.7",
            "--local_sgd.outer_momentum=0.9"],
        "32 workers, a tenth of the rate": [
            "--comparison.strategies=ps_elastic,local_sgd", "--learning_rate.base=0.02"]}),
    "high_rate": ("consistency_workers", SEEDS, "1 worker ps_async", {
        "1 worker": workers(1, "--comparison.strategies=ps_async", HIGH_RATE),
        **{"%d workers" % n: workers(n, "--comparison.strategies=ps_async,ps_async_scaled", HIGH_RATE)
           for n in (16, 32)}}),
    "momentum": ("consistency_workers", SEEDS, "1 worker ps_async", {
        "1 worker": workers(1, "--comparison.strategies=ps_async", *MOMENTUM),
        **{"%d workers" % n: workers(n, *MOMENTUM) for n in (16, 32)}}),
    "tune": ("consistency_workers", SEEDS_OF_TUNING, "16 workers, lambda 0 ps_async", {
        **{"1 worker, rate %s" % rate: workers(
            1, "--comparison.strategies=ps_async", "--learning_rate.base=%s" % rate)
           for rate in (0.02, 0.05, 0.1, 0.2)},
        "16 workers, lambda 0": workers(16, "--comparison.strategies=ps_async"),
        **{"16 workers, lambda %s" % value: workers(
            16, "--comparison.strategies=ps_async_dc", "--ps.delay_compensation=%s" % value)
           for value in (0.04, 0.4, 2, 5, 10)}}),
}


def spread(values):
    """(low, high): statistics.h's SpreadOf."""
    if len(values) < 6:
        return min(values), max(values)
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(2000))
    return medians[49], medians[1949]


def shown(values):
    return "%.1f (%.1f to %.1f)" % (statistics.median(values), *spread(values))


def read(path):
    """{(experiment, variant, seed): lines}."""
    lines = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in map(json.loads, file):
                key = line["experiment"], line["variant"], line["seed"]
                lines.setdefault(key, []).append(line)
    return lines


def simulate(experiment, variant, seed):
    spec, _, _, variants = EXPERIMENTS[experiment]
    command = [SIMULATE, os.path.join(ROOT, "experiments/specs", spec + ".textproto"),
               "--seed=%d" % seed, "--comparison.repetitions=1", *variants[variant]]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [{"experiment": experiment, "variant": variant, **json.loads(line)}
            for line in output.splitlines()]


def run_missing(experiments, path, jobs):
    done = read(path)
    keys = [(name, variant, seed) for name in experiments for seed in EXPERIMENTS[name][1]
            for variant in EXPERIMENTS[name][3]]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, \
            open(path, "a", encoding="utf-8") as file:
        for lines in pool.map(lambda key: simulate(*key), [key for key in keys if key not in done]):
            file.writelines(json.dumps(line) + "\n" for line in lines)
            file.flush()


def by_row(experiment, lines):
    """{row's name: {seed: line}}, in the experiment's order."""
    rows = {}
    _, seeds, _, variants = EXPERIMENTS[experiment]
    for key in [(experiment, variant, seed) for variant in variants for seed in seeds]:
        for line in lines.get(key, []):
            variant = line["variant"]
            rows.setdefault("%s %s" % (variant, line["strategy"]), {})[line["seed"]] = line
    return rows


def difference(runs, other):
    """Of accuracies in points, paired by seed; nothing of a row with itself."""
    if runs is other or not runs.keys() & other.keys():
        return ""
    return shown([100 * (runs[seed]["accuracy"] - other[seed]["accuracy"])
                  for seed in runs if seed in other])


def table(experiment, lines):
    rows = by_row(experiment, lines)
    base = rows.get(EXPERIMENTS[experiment][2], {})
    yield "| %s | accuracy, %% | less %s | less ps_async beside it | 1000 samples/s | staleness | " \
          "held, ms | ceased to learn |" % (experiment, EXPERIMENTS[experiment][2])
    yield "|" + "---|" * 8
    for name, runs in rows.items():
        values = list(runs.values())
        beside = rows.get(name.rsplit(" ", 1)[0] + " ps_async", {})
        yield "| %s | %s | %s | %s | %s | %.1f | %.1f | %d of %d |" % (
            name, shown([100 * run["accuracy"] for run in values]), difference(runs, base),
            difference(runs, beside), shown([run["samples_per_s"] / 1000 for run in values]),
            statistics.median(run["staleness_mean"] for run in values),
            1e3 * statistics.median(statistics.mean(run["held_s"]) for run in values),
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
