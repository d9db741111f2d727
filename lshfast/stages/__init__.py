"""Deduplication of files as tasks of separate processes: with Slurm, Ray, Dask or make. docs/stages.md explains it."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.stages.api import plan, run, status, tasks
    from lshfast.stages.stages_status import StagesStatus
    from lshfast.stages.task_order import STAGES, MissingTasksError, StageName

__all__ = ["STAGES", "MissingTasksError", "StageName", "StagesStatus", "plan", "run", "status", "tasks"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "api": "plan run status tasks",
            "stages_status": "StagesStatus",
            "task_order": "STAGES MissingTasksError StageName",
        },
    )
