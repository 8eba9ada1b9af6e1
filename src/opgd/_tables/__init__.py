"""Rules by which a table encoder reads, classifies and encodes columns."""
