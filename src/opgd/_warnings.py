"""The one warning of our own."""


class DataWarning(UserWarning):
    """The data leave something undetermined, and the fit says how it decided.

    Constant or collinear columns, a class without variance in some directions, fewer rows than
    columns: the fit goes on, and this names the columns or classes concerned.
    """
