"""Networks run by onnxruntime."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

# For all foreign networks together: one that asks for more fails, and nothing else does.
_MOST_MEMORY = 4 << 30


def open_session(model: bytes, *, is_bounded: bool = False) -> Any:
    """A session for an ONNX file in memory, on the processor's cores; memory is bounded for foreign ones."""
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised; other messages are not for people
    # Threads that wait by spinning take the cores from whatever else runs, such as BLAS between two images.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if is_bounded:
        _bound_memory()
        options.add_session_config_entry("session.use_env_allocators", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@lru_cache(maxsize=1)
def _bound_memory() -> None:
    """Make the allocator that sessions share, one per process."""
    onnxruntime = _onnxruntime()
    kind = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    # Grows by what is requested, not by powers of two.
    limits = onnxruntime.OrtArenaCfg({"max_mem": _MOST_MEMORY, "arena_extend_strategy": 1})
    onnxruntime.create_and_register_allocator(kind, limits)


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Features of a network need onnxruntime. Run: pip install 'whyodd[deep]'"
        ) from error
    return onnxruntime
