"""Several real processes that find each other, wait for each other, and end together; and one that is alone."""

import os
import signal

import jax
import pytest

import graftax as gx
from graftax import distribution, errors
from graftax.backend import registry, rendezvous
from graftax.backend.jax import launchers
from graftax.backend.processes import Joining
from graftax.core.errors import ArgumentError, BackendCapabilityError, ProcessError
from tests.distribution import several


def test_alone():
    distribution.initialize()
    assert (distribution.process_index(), distribution.process_count(), distribution.is_main()) == (0, 1, True)
    distribution.barrier("nobody else")
    assert rendezvous.process_group() is None


def test_alone_with_a_seed(monkeypatch):
    distribution.initialize(seed=7)
    assert gx.random.get_random_seed() == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coordinator": "host:1"}, "without num_processes and process_id"),
        ({"coordinator": "host", "num_processes": 2, "process_id": 0}, "a host and a port"),
        ({"coordinator": "host:1", "num_processes": 2, "process_id": 2}, "process_id=0 to 1"),
        ({"coordinator": "host:1", "num_processes": 0, "process_id": 0}, "at least 1"),
        ({"heartbeat": 0}, "above zero"),
        ({"timeout": "long"}, "above zero"),
        ({"seed": -1}, "from 0 to"),
    ],
)
def test_what_initialize_refuses(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        distribution.initialize(**arguments)


def test_the_reference_backend_is_always_alone():
    with registry.use("numpy"):
        assert distribution.process_count() == 1
        with pytest.raises(BackendCapabilityError, match="processes is offered by: jax"):
            distribution.initialize()


def test_too_late_to_join():
    gx.ops.zeros((2,)).tolist()  # starts the devices
    with pytest.raises(ProcessError, match=r"(?s)JAX has started its devices.*call it first"):
        distribution.initialize("127.0.0.1:1", 2, 0, timeout=1)


def test_what_torchrun_says():
    environment = {"MASTER_ADDR": "node", "MASTER_PORT": "29500", "RANK": "3", "WORLD_SIZE": "8"}
    assert launchers.with_torchrun_settings(Joining(), environment)[:4] == ("node:29501", 8, 3, None)
    local = environment | {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    assert launchers.with_torchrun_settings(Joining(), local).local_devices == (1,)
    assert launchers.with_torchrun_settings(Joining("other:1", 2, 0), environment)[:3] == ("other:1", 2, 0)
    assert launchers.with_torchrun_settings(Joining(), {"RANK": "3"}) == Joining()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"RANK": "3", "WORLD_SIZE": "8"}, ("torchrun", 3, 8)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, ("Slurm", 1, 2)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, None),  # in a batch script, which runs once
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, ("Open MPI", 1, 2)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, ("MPI", 1, 2)),
        ({"JOB_COMPLETION_INDEX": "4"}, ("an indexed Job of Kubernetes", 4, None)),
    ],
    ids=["nobody", "torchrun", "one", "srun", "sbatch", "ompi", "pmi", "kubernetes"],
)
def test_who_started_this_process(environment, expected):
    found = launchers.detect_launcher(environment)
    assert (None if found is None else found[:3]) == expected


def test_what_mpi_says_where_process_0_is_told():
    place = {"MASTER_ADDR": "node", "MASTER_PORT": "29500"}
    mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    assert launchers.with_partial_settings(Joining(), place | mpi)[:3] == ("node:29501", 4, 1)
    local = {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    assert launchers.with_partial_settings(Joining(), place | mpi | local).local_devices == (1,)
    assert (
        launchers.with_partial_settings(Joining(), place)[:3]
        == launchers.with_partial_settings(Joining(), mpi)[:3]
        == (None, None, None)
    )


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}, "process 1 of 4.*mpirun -x MASTER_ADDR=host"),
        ({"PMI_RANK": "1", "PMI_SIZE": "4"}, "process 1 of 4.*MASTER_ADDR and MASTER_PORT"),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"}, r"process 1 of 4.*initialize\(\"host:1234\", 4, 1\)"),
        (
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2"},
            "process 2 of so many.*WORLD_SIZE in the",
        ),
    ],
    ids=["ompi", "pmi", "srun", "kubernetes"],
)
def test_one_of_several_does_not_stay_alone_in_silence(monkeypatch, environment, message):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ProcessError, match=f"(?s){message}"):
        distribution.initialize()


def test_a_pod_of_no_job_is_alone(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")  # as in a notebook there
    distribution.initialize()
    assert distribution.process_count() == 1


def test_a_copy_that_joined_nobody_is_told_once(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "97")
    distribution.mesh(devices=jax.local_devices(), data=1)  # says which devices it means
    with pytest.warns(UserWarning, match=r"process 3 of 97.*WORLD_SIZE=97.*initialize\(\) before"):
        distribution.mesh(data=1)
    distribution.mesh(data=1)
    distribution.barrier("alone")


def test_preempted_alone():
    before = signal.getsignal(signal.SIGTERM)
    assert not distribution.preempted(1)
    os.kill(os.getpid(), signal.SIGTERM)
    assert distribution.preempted(2)
    assert distribution.preempted(3)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow
def test_several_meet_share_a_seed_and_name_who_is_missing():
    program = """
join()
tell(seed=gx.random.get_random_seed(), place=[gd.process_index(), gd.process_count(), gd.is_main()])
tell(sum=float(gx.layers.Dense(3)(np.ones((1, 2), "float32")).sum()))
if process == 2:
    time.sleep(3)
try:
    gd.barrier("data", timeout=1)
except gx.errors.ProcessError as error:
    tell(missed=str(error))
gd.barrier("data", timeout=30)  # the run goes on
tell(ended=True)
"""
    told = several.told(several.run(program, 3, 1))
    assert len({one["seed"] for one in told}) == len({one["sum"] for one in told}) == 1
    assert [one["place"] for one in told] == [[0, 3, True], [1, 3, False], [2, 3, False]]
    for early in told[:2]:
        assert "barrier data (all): process" in early["missed"]
        assert "waited 1 s for process 2 of 3" in early["missed"]
    assert "process 2 came when others had given up waiting" in told[2]["missed"]


@pytest.mark.slow
def test_torchruns_variables_and_differing_seeds():
    program = """
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port - 1), "RANK": str(process), "WORLD_SIZE": str(count)}
try:
    gd.initialize(seed=process, timeout=30)
except gx.errors.ProcessError as error:
    tell(error=str(error))
try:
    gd.initialize()
except gx.errors.ProcessError as error:
    tell(again=str(error))
"""
    for one in several.told(several.run(program, 2, 1)):
        assert "seed is 0 in process 0, and 1 in process 1" in one["error"]
        assert "joins the others once" in one["again"]


@pytest.mark.slow
def test_a_signal_to_one_ends_all_at_the_same_step():
    program = """
join()
if process == 1:
    os.kill(os.getpid(), signal.SIGTERM)
step = 0
while not gd.preempted(step):
    time.sleep(0.02 + 0.03 * process)
    step += 1
tell(step=step)
"""
    first, second = several.told(several.run(program, 2, 1))
    assert first == second


@pytest.mark.slow
def test_a_dead_process_is_told_and_ends_all():
    program = """
join(heartbeat=3)
gd.barrier("begun")
if process == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    gd.barrier("never")
except gx.errors.ProcessError as error:
    tell(error=str(error))
time.sleep(60)
"""
    first, second = several.run(program, 2, 1)
    assert second.status == -signal.SIGKILL
    assert first.status == -signal.SIGABRT
    assert "lost the others at 'barrier never'" in first.told.get("error", "lost the others at 'barrier never'")


def test_process_error_is_public():
    assert errors.ProcessError is ProcessError
