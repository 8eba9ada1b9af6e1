"""Find the files of a table by their extensions."""

from pathlib import Path

PARQUET = (".parquet", ".pq")
DELIMITED = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
"""Extensions of delimited text, and the separators that they imply."""
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")


def split_ending(path: Path) -> tuple[str, str]:
    """Return the extensions of format and compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    return (suffixes[-1] if suffixes else ""), compression


def is_supported(path: Path) -> bool:
    """Return whether the name of a file has the extension of a table."""
    ending, compression = split_ending(path)
    return ending in DELIMITED or (ending in PARQUET and not compression)


def list_files(path: Path) -> list[Path]:
    """Return the files of a table in order: the file itself, or all tables in a folder."""
    if not path.exists():
        raise FileNotFoundError(f"{str(path)!r} does not exist.")
    if not path.is_dir():
        if not is_supported(path):
            endings = ", ".join([*PARQUET, *DELIMITED])
            raise ValueError(
                f"{str(path)!r} has an unsupported extension. Supported are {endings}, and text "
                f"that is compressed ({', '.join(COMPRESSED)})."
            )
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and is_supported(file)]
    files = [file for file in files if not _is_hidden(file.relative_to(path))]
    if not files:
        raise ValueError(f"The folder {str(path)!r} has no Parquet or CSV files.")
    for file in files:
        parts = [part for part in file.relative_to(path).parts[:-1] if "=" in part]
        if parts:
            raise ValueError(
                f"The folder {parts[0]!r} in {str(path)!r} is a partition whose column is not in "
                "its files. Open each partition by itself, or write the column into the files."
            )
    kinds = {split_ending(file)[0] in PARQUET for file in files}
    if len(kinds) > 1:
        raise ValueError(f"The folder {str(path)!r} has both Parquet and CSV files.")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)
