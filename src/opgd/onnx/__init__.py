"""Conversion of fitted estimators to ONNX graphs.

Importing this module registers the converters with skl2onnx.
"""

try:
    from opgd.onnx._export import to_onnx
except ImportError as error:
    if error.name is None or error.name.split(".")[0] not in ("onnx", "skl2onnx"):
        raise
    raise ImportError(
        f'to_onnx needs {error.name}; install it with: pip install "opgd[onnx]"', name=error.name
    ) from None

__all__ = ["to_onnx"]
