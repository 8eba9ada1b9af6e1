"""Parts of the model file format."""
