"""Samples on a Dask cluster."""
