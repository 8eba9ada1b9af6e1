"""What displays share: drawing on axes of the user or of a new figure."""

from typing import Any, Self

from opgd.plotting._drawing import get_or_make_axes, get_or_make_panels


class SingleDisplay:
    """A display on one axes, drawn by `_draw`."""

    def _get_size(self) -> tuple[float, float]:
        """Return width and height of a new figure, in inches."""
        raise NotImplementedError

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure is created.

        Returns
        -------
        self : the display
            With the attributes `ax_` and `figure_`.
        """
        ax = get_or_make_axes(ax, self._get_size())
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_if(self, draw: bool, ax: Any) -> Self:
        return self.plot(ax) if draw else self


class PanelsDisplay:
    """A display of one or several panels, drawn by `_draw`."""

    def _get_layout(self) -> tuple[int, tuple[float, float], int]:
        """Return the number of panels, the size of one in inches, and the number of columns."""
        raise NotImplementedError

    def _draw(self, panels: list[Any]) -> None:
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on, one per panel; by default a new figure is created.

        Returns
        -------
        self : the display
            With the attributes `axes_` (one per panel), `ax_` (the first of them) and `figure_`.
        """
        panels = get_or_make_panels(ax, *self._get_layout())
        self._draw(panels)
        self.axes_, self.ax_, self.figure_ = panels, panels[0], panels[0].figure
        return self

    def _plot_if(self, draw: bool, ax: Any) -> Self:
        return self.plot(ax) if draw else self
