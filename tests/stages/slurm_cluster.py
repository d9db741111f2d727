"""A Slurm cluster of one node on the loopback interface, in a folder of its own."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")

# Arrays of at most three tasks, so that a run of few tasks needs several.
SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MaxArraySize=4
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=1000,bf_interval=1
MinJobAge=2
CompleteWait=0
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program(name):
    """Return the path of a program of Slurm, which may be outside of PATH; None if there is none."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@contextmanager
def slurm_cluster(folder: Path):
    """Start a cluster; yield the environment in which its commands find it."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    settings = folder / "slurm.conf"
    settings.write_text(
        SETTINGS.format(
            host=host,
            controller=free_port(),
            node=free_port(),
            user=getpass.getuser(),
            folder=folder,
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(settings)}
    munge = ["munged", "--foreground", "--force", f"--key-file={key}"]
    munge += [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
    munge.append(f"--socket={folder}/munge.socket")
    commands = [munge, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", host]]
    with ExitStack() as stack:
        for command in commands:
            process = subprocess.Popen(
                [program(command[0]), *command[1:]],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
        deadline = time.monotonic() + 30
        state = ""
        while state not in ("idle", "mix", "alloc"):
            if time.monotonic() > deadline:
                logs = [
                    path.read_text(errors="replace")[-2000:]
                    for path in folder.glob("*.log")
                ]
                raise RuntimeError("\n".join(["Slurm does not start", state, *logs]))
            time.sleep(0.2)
            with suppress(OSError):
                state = subprocess.run(
                    [program("sinfo"), "-h", "-o", "%t"],
                    env=environment,
                    capture_output=True,
                    text=True,
                ).stdout.strip()
        yield environment
