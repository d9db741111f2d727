"""Deduplication of files as tasks of separate processes: with Slurm, Ray, Dask or make.

The page stages.md of the documentation explains it.

`plan` writes a work folder, `tasks` says how many tasks a stage has, and `run` runs one of them,
wherever it is started:

>>> from lshfast import stages
>>> "sketch" in stages.STAGES, stages.STAGES[-1]
(True, 'apply')

`status` says which tasks are missing, and has the figures of the run at its end.
"""

from lshfast.stages.api import plan, run, status, tasks, write_page
from lshfast.stages.stages_status import StagesStatus
from lshfast.stages.task_order import STAGES, MissingTasksError, StageName

__all__ = [
    "STAGES",
    "MissingTasksError",
    "StageName",
    "StagesStatus",
    "plan",
    "run",
    "status",
    "tasks",
    "write_page",
]
