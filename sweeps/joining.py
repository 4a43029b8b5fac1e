"""Say at once why a Ray cluster cannot be joined; Ray itself would try for minutes and then not say."""

import socket

from mulex.errors import UserError
from sweeps.ray_token import REFUSED, current_token

PATIENCE = 10.0  # seconds
ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"  # a question that every head answers, and only to who has its token


def check_cluster(address: str) -> None:
    """Somebody listens at HOST:PORT, and takes our token."""
    host, _, port = address.rpartition(":")
    try:
        if not host or not port.isdigit():
            raise ValueError("needed is auto, or the head's HOST:PORT, for example 10.0.0.1:6379")
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
