"""Notes when the servers of the simulated clouds become others: not each of them is a Node."""

import threading
from collections.abc import Callable, Mapping

POLL_S = 0.5


class ServerTimes:
    """Reads the ids of the servers, by name, from `start` to `stop`; a change has its time."""

    def __init__(self, read: Callable[[], Mapping[str, str]], seconds: Callable[[], float]) -> None:
        self.changed: dict[str, float] = {}
        """When a server of this name came, went or was replaced last, by `seconds`."""
        self._read = read
        self._seconds = seconds
        self._last: Mapping[str, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin; what is there now has not changed."""
        self._last = self._read()
        self._thread.start()

    def stop(self) -> None:
        """End; nothing is noted afterwards."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def look(self) -> None:
        """Note what has changed since the last look."""
        now, at_s = self._read(), round(self._seconds(), 1)
        for name in self._last.keys() | now.keys():
            if self._last.get(name) != now.get(name):
                self.changed[name] = at_s
        self._last = now

    def _run(self) -> None:
        while not self._ended.wait(POLL_S):
            self.look()
