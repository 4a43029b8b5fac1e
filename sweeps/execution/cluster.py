"""Which Ray cluster trains a sweep: an embedded one on this machine, or one that is joined by its address."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mulex.errors import UserError
from sweeps.execution.private_folder import private_ray_folder
from sweeps.execution.token import REFUSED, current_token, use_token

NO_OTHER_NODES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
PATIENCE = 10.0  # seconds
ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"  # every head answers this call, but only with its token


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster by its address, or an embedded one on this machine."""

    address: str | None = None
    cpus: int | None = None  # cores of the embedded Ray; None is all
    dashboard: bool = False


@contextmanager
def connected(cluster: Cluster) -> Iterator[str | None]:
    """Join a Ray cluster, or start an embedded one, for the time of a block; yields the dashboard's URL if asked for.

    A Ray that this process has already joined is used as it is, and left running.
    """
    import ray

    if ray.is_initialized():
        yield None
        return
    context = _start_ray(cluster) if cluster.address is None else _join_ray(cluster.address)
    try:
        yield f"http://{context.dashboard_url}" if cluster.dashboard and context.dashboard_url else None
    finally:
        ray.shutdown()


def cores_of(cluster: Cluster) -> float:
    """Count the cores of a cluster, without starting an embedded one."""
    if cluster.address is None:
        return float(cluster.cpus or os.cpu_count() or 1)
    import ray

    with connected(cluster):
        return float(ray.cluster_resources().get("CPU", 1.0))


def _start_ray(cluster: Cluster) -> Any:
    """Start a Ray that only this user can reach: on loopback, with a token, and with a private folder."""
    use_token(make=True)
    folder = private_ray_folder()
    with _on_loopback():
        return _init_ray(
            "local", num_cpus=cluster.cpus, include_dashboard=cluster.dashboard, _temp_dir=str(folder / "ray")
        )


def _join_ray(address: str) -> Any:
    use_token(make=address == "local")
    if address not in ("auto", "local"):
        check_address(address)
    return _init_ray(address)


def _init_ray(address: str, **settings: Any) -> Any:
    import ray

    # failures are recorded, and printed in one line each; Ray would print a traceback for every attempt
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    try:
        with _own_signals():
            return ray.init(address=address, **quiet, **settings)
    except Exception as error:  # what Ray raises where it cannot start has no class of its own
        if address == "local":
            raise UserError(f"Ray cannot be started on this machine: {error}") from None
        raise UserError(f"--address {address}: no Ray cluster answers there ({error})") from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the reaction to SIGTERM: Ray's own would end this process before any pack leaves a checkpoint.

    SIGHUP is blocked in this thread, and thereby in the processes that Ray starts in this block, so that workers
    outlive a closed terminal long enough to leave checkpoints. This process hears it in another thread, or afterwards.
    """
    from ray._private import utils

    is_main = threading.current_thread() is threading.main_thread()
    reaction = signal.getsignal(signal.SIGTERM)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        with _replaced(utils, "set_sigterm_handler", lambda _: None):
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if is_main:
            signal.signal(signal.SIGTERM, reaction)  # Ray's C++ code sets one, too


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Bind every port of a Ray that is started in this block to loopback, those for metrics included.

    On Linux Ray does this only if it is told that there are no other nodes, in the words of its Windows port.
    """
    from ray._private import ray_constants

    os.environ[NO_OTHER_NODES] = "0"  # for the processes that Ray starts
    try:
        with _replaced(ray_constants, "ENABLE_RAY_CLUSTER", False):
            yield
    finally:
        del os.environ[NO_OTHER_NODES]


@contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def check_address(address: str) -> None:
    """Check that somebody listens at HOST:PORT and takes our token; Ray itself would try for minutes, then not say."""
    host, _, port = address.rpartition(":")
    try:
        if not host or not port.isdigit():
            raise ValueError("expected auto, or the head's HOST:PORT, for example 10.0.0.1:6379")
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"--address {address}: no Ray cluster answers there ({error})") from None
    if _is_refused(address):
        raise UserError(f"--address {address}: {REFUSED}")


def _is_refused(address: str) -> bool:
    import grpc  # type: ignore[import-untyped]

    token = current_token()
    metadata = [("authorization", f"Bearer {token}")] if token else None
    with grpc.insecure_channel(address) as channel:
        try:
            channel.unary_unary(ALIVE)(b"", timeout=PATIENCE, metadata=metadata, wait_for_ready=True)
        except grpc.RpcError as error:
            return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return False
