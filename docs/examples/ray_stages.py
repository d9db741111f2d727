"""Deduplication in stages on a Ray cluster: python ray_stages.py INPUT WORK OUTPUT [SHARDS [TASKS]].

WORK, and all files, are on a file system that all nodes share. Run it again after an interruption: tasks that are done
are not repeated.
"""

import os
import sys

from lshfast import stages


def run_tasks(batch: dict, work: str, stage: str) -> dict:
    """Run the tasks whose numbers are in a batch."""
    return {"ran": [stages.run(work, stage, int(task)) for task in batch["id"]]}


def main(source: str, work: str, output: str, shards: int | None = None, tasks: int | None = None) -> None:
    """Plan a run if there is none, and run the tasks of all stages."""
    import ray

    if not os.path.exists(os.path.join(work, "plan.json")):
        stages.plan(source, work, output, shards=shards, tasks=tasks)
    for stage in stages.STAGES:
        count = stages.tasks(work, stage)
        numbers = ray.data.range(count, override_num_blocks=count)  # so each task is scheduled by itself
        numbers.map_batches(run_tasks, batch_size=1, fn_kwargs={"work": work, "stage": stage}).materialize()
    print(stages.status(work).summary)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]))
