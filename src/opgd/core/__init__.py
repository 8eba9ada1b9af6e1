"""The mathematics: functions over arrays and small frozen dataclasses.

Nothing here validates input, prints, or knows scikit-learn; the estimators do that and call this.
"""
