"""The base of everything that a user can set, in jobs and in projects."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Immutable, and strict about names: a misspelt field must not train for a night."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
