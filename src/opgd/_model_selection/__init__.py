"""Selection of hyperparameters on held-out samples."""
