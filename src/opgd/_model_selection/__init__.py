"""Choosing settings on held-out samples."""
