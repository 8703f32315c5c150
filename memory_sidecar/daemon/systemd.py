"""The protocols of systemd for passing sockets to a service and for hearing its state.

https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html
https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

_FIRST_FD = 3


def passed_socket(environ: Mapping[str, str]) -> socket.socket | None:
    """Return the socket that systemd listens on for this process, if any."""
    if environ.get("LISTEN_PID") != str(os.getpid()) or environ.get("LISTEN_FDS") != "1":
        return None
    os.set_inheritable(_FIRST_FD, False)
    return socket.socket(fileno=_FIRST_FD)


def is_service(environ: Mapping[str, str]) -> bool:
    """Whether systemd has started this very process, with a socket or a watchdog."""
    return str(os.getpid()) in (environ.get("LISTEN_PID"), environ.get("WATCHDOG_PID"))


def notify(state: str, environ: Mapping[str, str]) -> None:
    """Send `state`, for example `READY=1`, to systemd, if it listens."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying:
            notifying.sendto(state.encode(), address)
    except OSError:
        pass  # systemd is restarting; it will ask again


def watchdog_period_s(environ: Mapping[str, str]) -> float | None:
    """Return how often to send `WATCHDOG=1`, with time to spare; `None` if systemd wants none."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    for_us = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 3e6 if for_us and microseconds.isdecimal() else None
