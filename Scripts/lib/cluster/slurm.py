"""Slurm on this machine: one node, with a configuration, a key and directories of its own."""

import contextlib
import dataclasses
import os
import re
import secrets
import socket
import subprocess
import time

import harness
from interop import programs

# So many tasks run at once, whatever the machine has.
PROCESSORS = 32

CONFIGURATION = """
ClusterName=haul
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
# A job that is requeued waits until the credentials of its last run have expired: 120 s by default.
AuthInfo=socket={home}/munge.socket,cred_expire=5
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
# Neither cgroups nor accounting.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,batch_sched_delay=0
ReturnToService=2
KillWait=30
MinJobAge=86400
{more}
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE",
         "OUT_OF_MEMORY", "PREEMPTED"}


@dataclasses.dataclass
class Task:
    """A task of an array, as `scontrol show job` has it."""

    index: str
    state: str
    restarts: int
    status: int  # of its last run
    reason: str


class Slurm:
    def __init__(self, home, environment):
        self.home = home
        self.environment = {**environment, "SLURM_CONF": str(home / "slurm.conf")}

    def ask(self, *command, environment=None, may_fail=False):
        run = subprocess.run(
            [str(word) for word in command], check=False, capture_output=True, text=True,
            cwd=self.home, env={**self.environment, **(environment or {})})
        if run.returncode != 0 and not may_fail:
            raise RuntimeError(f"{command[0]}: {run.stderr.strip() or run.stdout.strip()}")
        return run.stdout

    def submit(self, *command, environment=None):
        """Its number. What the tasks print goes to NUMBER_TASK.log."""
        return self.ask("sbatch", "--parsable", "--output", self.home / "%A_%a.log", *command,
                        environment=environment).strip()

    def tasks(self, job):
        tasks = []
        for line in self.ask("scontrol", "show", "job", "--oneliner", job).splitlines():
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            tasks.append(Task(fields.get("ArrayTaskId", ""), fields["JobState"],
                              int(fields["Restarts"]), int(fields["ExitCode"].split(":")[0]),
                              fields["Reason"]))
        return tasks

    def wait(self, job, seconds=300):
        """The tasks, once all have ended for good."""

        def ended():
            tasks = self.tasks(job)
            return tasks if all(task.state in ENDED for task in tasks) else None

        return harness.wait_until(ended, f"the end of job {job}", seconds=seconds, pause=0.3)

    def printed(self, job):
        """What the tasks have printed, for a check that failed."""
        return "\n".join(f"{path.name}: {path.read_text(errors='replace').strip()[-600:]}"
                         for path in sorted(self.home.glob(f"{job}_*.log")))


@contextlib.contextmanager
def one_node(home, environment, more=""):
    """Runs munge, the controller and the node; `more` lines are in the configuration."""
    home.mkdir()
    home.chmod(0o755)
    for name in ("state", "spool"):
        (home / name).mkdir()
    (home / "munge.key").write_bytes(secrets.token_bytes(128))
    (home / "munge.key").chmod(0o400)
    host = socket.gethostname().split(".")[0]
    (home / "slurm.conf").write_text(CONFIGURATION.format(
        home=home, host=host, controller=harness.free_port(), node=harness.free_port(),
        processors=PROCESSORS, more=more))
    slurm = Slurm(home, {**environment, "PATH": environment["PATH"] + ":/usr/local/sbin:/usr/sbin"})
    munged = ["munged", "--foreground", "--force"]
    for name in ("socket", "key-file", "pid-file", "log-file", "seed-file"):
        munged.append(f"--{name}={home}/munge.{name.split('-')[0]}")
    with contextlib.ExitStack() as stack:
        for command in (munged, ["slurmctld", "-D", "-i"], ["slurmd", "-D"]):
            log = stack.enter_context(open(home / f"{command[0]}.out", "wb"))
            process = harness.start([*programs.KEEPER, *command], cwd=home, env=slurm.environment,
                                    stdout=log, stderr=log)
            stack.callback(harness.stop, process)
            if command is munged:
                harness.wait_until((home / "munge.socket").exists, "munged")
        harness.wait_until(
            lambda: "idle" in slurm.ask("sinfo", "--noheader", "--format=%T", may_fail=True),
            f"Slurm's node, see {home}", seconds=60, pause=0.2)
        stack.callback(_cancel_all, slurm)
        yield slurm


def _cancel_all(slurm):
    """Slurm's tasks do not end with its programs."""
    slurm.ask("scancel", "--user", str(os.getuid()), may_fail=True)
    deadline = time.monotonic() + 40
    while slurm.ask("squeue", "--noheader", may_fail=True).strip() and time.monotonic() < deadline:
        time.sleep(0.3)
