"""HTTP: from bytes on a socket to a handler and back."""
