"""Signed model files: a detached Ed25519 signature beside the file, over all its bytes.

The digest inside a file shows accidents; an attacker who alters a file can write a new one. A
signature shows that the holder of the private key has seen these bytes. What is signed is the
BLAKE3 hash of the file behind a line that says what it is for, so that a signature of something
else never fits.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.core.errors import MissingExtraError, ModelFileError, OptionError
from xorec.core.files import replacing
from xorec.core.threads import available_threads
from xorec.recommender import storage
from xorec.recommender.storage import OpenFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Key = str | os.PathLike[str]
"""The path of a key file, PEM."""
_PURPOSE = b"xorec model file, BLAKE3, signature 1\n"
_FIRST_LINE = "xorec signature 1 ed25519"
_LONGEST = 10_000
"""Bytes of a key or a signature, at most: nothing longer is read."""


@dataclass(frozen=True)
class Signature:
    """What MODEL.sig says: the public key that it names, and the signature. Both may be false."""

    public_key: bytes
    value: bytes

    @property
    def fingerprint(self) -> str:
        """The first bytes of the named key: enough to tell one's own keys apart."""
        return self.public_key.hex()[:16]


def new_key(name: str | Path) -> tuple[Path, Path]:
    """A new pair of keys in NAME.key (private, for its owner alone) and NAME.pub (public)."""
    kinds, encoding, forms = _library()
    private, public = Path(f"{name}.key"), Path(f"{name}.pub")
    for path in (private, public):
        if path.exists():
            raise OptionError(f"there is {path} already: choose another name.")
    made = kinds.Ed25519PrivateKey.generate()
    content = made.private_bytes(encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    try:
        private.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(private, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode=0o600)
        with os.fdopen(number, "wb") as file:
            file.write(content)
    except OSError as error:
        raise OptionError(f"cannot write {private}: {error.strerror}.") from None
    with replacing(public) as temporary:
        shown = forms.PublicFormat.SubjectPublicKeyInfo
        temporary.write_bytes(made.public_key().public_bytes(encoding.PEM, shown))
    return private, public


def sign(model: Path, key: Key, threads: int | None = None) -> Path:
    """Write MODEL.sig beside a model file that is whole; the model's own bytes stay as they are."""
    private = _read_key(key, private=True)
    with storage.opened(model) as file:
        storage.check_digest(file, threads)
        value = private.sign(_message(file, threads))
    _, encoding, forms = _library()
    public = private.public_key().public_bytes(encoding.Raw, forms.PublicFormat.Raw)
    lines = (_FIRST_LINE, *(base64.b64encode(part).decode() for part in (public, value)))
    with replacing(signature_path(model)) as temporary:
        temporary.write_text("\n".join(lines) + "\n")
    return signature_path(model)


def check_signature(file: OpenFile, key: Key, threads: int | None = None) -> None:
    """Refuse a file whose very bytes, as they are mapped, are not signed by the public `key`."""
    public = _read_key(key, private=False)
    found = read_signature(file.path)
    if found is None:
        raise ModelFileError(
            f"{file.path} is not signed: there is no {signature_path(file.path)}. "
            "Its maker can sign it with `xorec sign`."
        )
    if not _fits(public, found, file, threads):
        raise ModelFileError(
            f"{file.path} is not signed by the key {os.fspath(key)}: the file, its signature or "
            "the key is another one. Do not trust it; get all three from its maker again."
        )


def signature_state(file: OpenFile, threads: int | None = None) -> str:
    """In words: whether a signature lies beside the file, and fits the key that it names itself."""
    found = read_signature(file.path)
    if found is None:
        return "none"
    try:
        public = _library()[0].Ed25519PublicKey.from_public_bytes(found.public_key)
    except MissingExtraError as error:
        return f"there, not checked: {error}"
    if not _fits(public, found, file, threads):
        return "there, but not of these bytes"
    return f"of the key {found.fingerprint}...; whose that is, `xorec verify` can tell"


def signature_path(model: Path) -> Path:
    """MODEL.sig."""
    return model.with_name(f"{model.name}.sig")


def read_signature(model: Path) -> Signature | None:
    """What lies beside a model file; None where nothing does."""
    path = signature_path(model)
    if not path.exists():
        return None
    try:
        first, public, value, *_ = _read_small(path).decode("ascii").splitlines()
        found = Signature(*(base64.b64decode(part, validate=True) for part in (public, value)))
    except ValueError:
        first, found = "", Signature(b"", b"")
    if first != _FIRST_LINE or (len(found.public_key), len(found.value)) != (32, 64):
        raise ModelFileError(f"{path} is not a signature of xorec: sign the model again.")
    return found


def _fits(public: Ed25519PublicKey, found: Signature, file: OpenFile, threads: int | None) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(found.value, _message(file, threads))
    except InvalidSignature:
        return False
    return True


def _message(file: OpenFile, threads: int | None) -> bytes:
    from blake3 import blake3

    total = blake3(max_threads=threads or available_threads())
    return _PURPOSE + total.update(file.data.data).digest()


def _read_key(key: Key, *, private: bool) -> Any:
    """The Ed25519 key in a PEM file."""
    kinds, _, forms = _library()
    path, content = Path(key), _read_small(Path(key))
    kind = kinds.Ed25519PrivateKey if private else kinds.Ed25519PublicKey
    try:
        found = (
            forms.load_pem_private_key(content, password=None)
            if private
            else forms.load_pem_public_key(content)
        )
    except Exception:  # whatever a library of cryptography says of what is no key
        found = None
    if not isinstance(found, kind):
        what = "private key: give NAME.key" if private else "public key: give NAME.pub"
        raise OptionError(f"{path} is no Ed25519 {what}, as `xorec sign --new-key NAME` made it.")
    return found


def _read_small(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise OptionError(f"there is no file {path}: check the path.")
        with path.open("rb") as file:
            return file.read(_LONGEST)
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}.") from None


def _library() -> tuple[Any, Any, Any]:
    """Kinds of keys, encodings, and forms of writing them."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError(
            "signatures need the package cryptography: pip install 'xorec[sign]'."
        ) from None
    return ed25519, serialization.Encoding, serialization
