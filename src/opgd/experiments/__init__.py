"""The paper's experiments: settings in, one tidy file of raw results out, tables from it."""
