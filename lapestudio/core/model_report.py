"""What is known of a model before its weights are loaded; made by the engine, shown by the window."""

from pydantic import BaseModel, ConfigDict, Field


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DeviceReport(_Report):
    """A place where a job can compute."""

    name: str = Field(description="cpu, cuda:0, mps")
    description: str = Field(description="the product's name")
    total_bytes: int
    free_bytes: int


class MemoryEstimate(_Report):
    """Memory that a stage needs, by part."""

    parts: dict[str, int] = Field(description="bytes by part: weights, activations, gradients, optimiser, counts ...")
    total_bytes: int
    device: str
    fits: bool


class ModelReport(_Report):
    """Facts about a model; `reason` says in one sentence why it is not supported."""

    source: str
    form: str = Field(description="folder, gguf or hub")
    model_type: str
    architecture: str
    supported: bool
    reason: str = ""
    fingerprint: str = ""
    num_layers: int = 0
    intermediate_size: int = 0
    hidden_size: int = 0
    vocab_size: int = 0
    max_positions: int = 0
    num_parameters: int = 0
    num_ffn_parameters: int = 0
    dtype: str = ""
    size_bytes: int = 0
    adds_bos: bool | None = Field(
        default=None, description="whether texts begin with a special token; None: not looked"
    )
    devices: tuple[DeviceReport, ...] = ()
    identification: MemoryEstimate | None = None
    training: MemoryEstimate | None = None
