"""The script of mlsysim submit on a real Slurm of one node, where Debian's packages are installed and it starts."""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest
from conftest import PROGRAM, SLOWER, call

SEARCH = ["optimize", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "batch_size=1..40", "--axis", "tp_size=4,8",
          "--minimize", "cost_per_token", "--strategy", "exhaustive"]
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
PATH = os.environ["PATH"] + ":/usr/sbin"

CONF = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_min_interval=0,sched_interval=1,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment of a cluster of one node."""
    missing = [name for name in NEEDED if not shutil.which(name, path=PATH)]
    if missing or os.geteuid() != 0:
        pytest.skip(f"no Slurm here (missing: {', '.join(missing) or 'root'}): apt-get install slurmctld slurmd slurm-client munge")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "slurm.conf").write_text(CONF.format(host=socket.gethostname().split(".")[0], folder=folder, ports=free_ports(2)))
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{folder}/bin:{PATH}"}
    (folder / "bin").mkdir()
    (folder / "bin" / "mlsysim").symlink_to(pathlib.Path(PROGRAM).resolve())
    munge = [f"--{name}={folder}/munge/{file}" for name, file in
             (("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))]
    commands = [["munged", "--force", "--foreground", *munge], ["slurmctld", "-D"], ["slurmd", "-D"]]
    running = []
    try:
        for command in commands:
            running.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            if command[0] == "munged":  # the others give up without it
                subprocess.run(["sh", "-c", f"for k in $(seq 300); do [ -S {folder}/munge/socket ] && exit; sleep 0.1; done"], check=True)
        # Waits until the node takes a job; ends at once where a daemon did.
        for _ in range(60):
            ready = subprocess.run(["srun", "--immediate=5", "true"], env=environment, capture_output=True, text=True)
            if ready.returncode == 0 or any(p.poll() is not None for p in running):
                break
            subprocess.run(["sleep", "0.5"], check=True)
        if ready.returncode != 0:
            pytest.skip(f"Slurm did not start here: {ready.stderr.strip()[-200:]}")
        yield environment
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait()


def test_the_array_and_the_job_behind_it_give_the_answer_of_one_run(slurm, tmp_path):
    script = call("submit", "--slurm", "--shards", "3", "--folder", tmp_path / "run", "--", *SEARCH)
    assert script.code == 0, script.err
    submitted = subprocess.run(["sh"], input=script.out, text=True, capture_output=True, env=slurm, cwd=tmp_path)
    assert submitted.returncode == 0, submitted.stderr
    merging = submitted.stdout.strip()
    # Ends with the job that merges.
    done = subprocess.run(["srun", f"--dependency=afterany:{merging}", "true"], env=slurm, cwd=tmp_path, capture_output=True, text=True, timeout=300 * SLOWER)
    assert done.returncode == 0, done.stderr
    logs = "".join(path.read_text() for path in tmp_path.glob("slurm-*.out"))
    assert (tmp_path / "run" / "answer.txt").read_text() == call(*SEARCH).out, logs
    assert sorted(path.name for path in (tmp_path / "run").glob("part-*.json")) == ["part-1.json", "part-2.json", "part-3.json"]
