"""What the application says to one client on a connection that the two keep.

The daemon only finds out whether there is to be one; it understands nothing of what is said.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class Conversation(Protocol):
    """Agreed on with one client."""

    async def hold(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stopping: asyncio.Event
    ) -> None:
        """Talk until the client hangs up, or, once `stopping` is set, until nothing is under way.

        Raises nothing of its own: what goes wrong is said to the client or logged.
        """
