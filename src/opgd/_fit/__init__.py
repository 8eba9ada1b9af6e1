"""From validated arrays to a fitted projection."""
