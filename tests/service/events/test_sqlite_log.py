from __future__ import annotations

from pathlib import Path

from xorec.service.events.log import EventLog
from xorec.service.events.reader import LogReader
from xorec.testing.event_logs import EventLogTests


class TestSqliteLog(EventLogTests):
    def open_log(self, folder: Path) -> EventLog:
        return EventLog(folder / "events.db")

    def open_reader(self, folder: Path) -> LogReader:
        return LogReader(folder / "events.db")
