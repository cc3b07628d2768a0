"""Models as ONNX files, with their reasons: for programs without Python, or without whyodd."""

from whyodd.onnx.exporting import export

__all__ = ["export"]
