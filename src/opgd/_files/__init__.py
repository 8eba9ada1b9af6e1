"""Tables in files: readers of batches, and copies of features on disk."""
