"""The file that a study lives in: Optuna's journal, with finished trials only.

A trial is one line, written when it is done. So whatever stops a run, the file has every finished
trial, and nothing of the one that was under way. Optuna's own tools read it (study "xorec").
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from xorec.core.errors import OptionError, XorecError
from xorec.core.files import cannot_write

_NAME = "xorec"
_ABOUT = "about"


class StudyFile:
    """Finished trials (Optuna's FrozenTrial), in a file or, without a path, in memory."""

    def __init__(self, study: Any, path: Path | None = None) -> None:
        self._study, self._path = study, path

    @property
    def trials(self) -> list[Any]:
        """All finished trials, the oldest first."""
        return list(self._study.get_trials(deepcopy=False))

    def add(self, trial: Any) -> None:
        """Keep a finished trial."""
        with _written_to(self._path):
            self._study.add_trial(trial)


@contextmanager
def open_study(path: Path | None, about: dict[str, Any]) -> Iterator[StudyFile]:
    """The study at `path`, new or continued; no other run may work on it meanwhile.

    about: what the study is of (data, model, space, ...). A file that is about something else is
    refused, and the message says in what it differs.
    """
    import optuna

    if path is None:
        yield StudyFile(optuna.create_study(direction="maximize"))
        return
    with _alone(path) as handle:
        _mend(path, handle)
        with _written_to(path):
            study = _load(path, json.loads(json.dumps(about)))
        yield StudyFile(study, path)


@contextmanager
def _written_to(path: Path | None) -> Iterator[None]:
    """A line that could not be written: what was, stays, and the same command goes on from it."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path or Path(), error) from None


def _load(path: Path, about: dict[str, Any]) -> Any:
    import optuna
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=_Held()))
        known = _NAME in optuna.get_all_study_names(storage)
        begin = optuna.load_study if known else partial(optuna.create_study, direction="maximize")
        study = begin(storage=storage, study_name=_NAME)
    except (ValueError, KeyError, TypeError) as error:
        text = f"the study {path} is damaged ({error}): remove it and begin again."
        raise OptionError(text) from None
    if _ABOUT not in study.user_attrs and not study.get_trials(deepcopy=False):
        study.set_user_attr(_ABOUT, about)
    before = {"at_once": 1, **study.user_attrs.get(_ABOUT, {})}  # older files do not say
    differs = [name for name in about if before.get(name) != about[name]]
    if differs:
        raise OptionError(
            f"the study {path} is of another run ({', '.join(differs)} differ): name another file "
            "with --study, or remove this one."
        )
    return study


class _Held:
    """Optuna's lock around each line that it writes: `_alone` holds the file for the whole run."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


@contextmanager
def _alone(path: Path) -> Iterator[int]:
    """The file, opened and locked (where the platform has flock)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise XorecError(
            f"cannot write the study {path}: {error.strerror}. Name another place with --study."
        ) from None
    try:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield handle
    except BlockingIOError:
        raise OptionError(f"another run is at work on the study {path}: wait for it.") from None
    finally:
        os.close(handle)


def _mend(path: Path, handle: int) -> None:
    """Cut a last line that was never finished; refuse a file that is no journal."""
    content = path.read_bytes()
    if content and not content.startswith(b'{"op_code":'):
        raise OptionError(f"{path} is not a study of xorec: name another file with --study.")
    if not content.endswith(b"\n"):
        os.ftruncate(handle, content.rfind(b"\n") + 1)
