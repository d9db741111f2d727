"""Deduplication of files as tasks of separate processes: with Slurm, Ray, Dask or make.

The page stages.md of the documentation explains it.

`plan` writes a work folder, and `run_all` runs its tasks: in processes of this machine, or as jobs
of Slurm, Ray or Dask. Where something else starts the tasks, `tasks` says how many tasks a stage
has, and `run` runs one of them:

>>> from lshfast import stages
>>> "sketch" in stages.STAGES, stages.STAGES[-1]
(True, 'apply')

`status` says which tasks are missing, and has the figures of the run at its end.

Files
-----
- `api` has the public functions; `planning` makes a plan, `stage_plan` is it, `stages_status` says
  what is done.
- The stages in order (`task_order`): `counting`, `sketching`, `joining`, `grouping` with
  `row_parts`, `collecting`, `verifying` and `applying`; `ordering` with `string_ranks`,
  `value_counts`, `earlier`, `pairing` and `page_notes` carry order values, values of a column, rows
  similar to entries of an index, pairs and notes for the `page` through them.
- `execution` runs all tasks: in a `worker` process, on `slurm`, Ray or Dask.
"""

from lshfast.stages.api import plan, run, run_all, status, tasks, watch, write_page
from lshfast.stages.execution import TasksFailedError
from lshfast.stages.stages_status import StagesStatus
from lshfast.stages.task_order import STAGES, MissingTasksError, StageName

__all__ = [
    "STAGES",
    "MissingTasksError",
    "StageName",
    "StagesStatus",
    "TasksFailedError",
    "plan",
    "run",
    "run_all",
    "status",
    "tasks",
    "watch",
    "write_page",
]
