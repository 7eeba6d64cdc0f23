"""A text to 64 bits that equal texts share: what duplicates are found by."""

import xxhash


def text_key(text: str) -> int:
    """Return 64 bits; case and spacing make no difference, and the same text gives the same key everywhere."""
    return xxhash.xxh3_64_intdigest(" ".join(text.split()).casefold().encode("utf-8", "surrogatepass"))
