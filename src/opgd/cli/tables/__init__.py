"""Tables: read from files, encoded as numbers and labels, written."""
