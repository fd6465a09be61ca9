"""The identity of a content."""


def digest(data: bytes, size: int = 16) -> str:
    """The identity of a content: BLAKE2b of so many bytes, as hex."""
    try:
        # That of hashlib, which would load OpenSSL on every start.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=size).hexdigest()
