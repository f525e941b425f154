"""Exported models: files of ONNX and OpenVINO."""
