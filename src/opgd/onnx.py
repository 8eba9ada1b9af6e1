"""Conversion of fitted estimators to ONNX graphs.

Importing this module registers the converters with skl2onnx.
"""

from opgd._onnx.export import import_part, to_onnx

__all__ = ["to_onnx"]

import_part("registration").register()
