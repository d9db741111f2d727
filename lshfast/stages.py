"""Deduplication of files as tasks of separate processes: with Slurm, Ray, Dask or make. stages.md explains it."""

from lshfast.drivers.tasks.api import plan, run, status, tasks, write_page
from lshfast.drivers.tasks.stages_status import StagesStatus
from lshfast.drivers.tasks.task_order import STAGES, MissingTasksError, StageName

__all__ = ["STAGES", "MissingTasksError", "StageName", "StagesStatus", "plan", "run", "status", "tasks", "write_page"]
