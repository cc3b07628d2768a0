"""Features of images, which windows can look at instead of pixels."""

from whyodd.patches.features.deep import DeepFeatures
from whyodd.patches.features.function import FunctionFeatures
from whyodd.patches.features.given import FEATURES, as_features
from whyodd.patches.features.onnx_file import OnnxFeatures
from whyodd.patches.features.protocol import Features
from whyodd.patches.features.torch_module import TorchFeatures

__all__ = [
    "FEATURES",
    "DeepFeatures",
    "Features",
    "FunctionFeatures",
    "OnnxFeatures",
    "TorchFeatures",
    "as_features",
]
