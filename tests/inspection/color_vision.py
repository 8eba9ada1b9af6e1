"""Differences of colors (CIEDE2000) as seen with color vision deficiencies."""

import numpy as np

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def to_linear(colors):
    """Return hexadecimal sRGB colors as linear RGB, (n, 3)."""
    values = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast ratio of two colors (WCAG 2)."""
    low, high = sorted(0.05 + to_linear([one, other]) @ TO_XYZ[1])
    return high / low


def to_lab(linear):
    """Return CIELAB coordinates of linear RGB colors, (n, 3)."""
    t = np.clip(linear, 0, 1) @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


def compute_differences(colors, vision):
    """Return the differences of all pairs of colors, (n, n)."""
    lab = to_lab(to_linear(colors) @ VISIONS[vision].T)
    return ciede2000(lab[:, None], lab[None])


def ciede2000(one, other):
    """Return the differences of CIELAB colors after Sharma, Wu and Dalal (2005)."""
    (L1, a1, b1), (L2, a2, b2) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    C1, C2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = np.arctan2(b1, stretch * a1), np.arctan2(b2, stretch * a2)
    turn = (h2 - h1 + np.pi) % (2 * np.pi) - np.pi
    L, C, h = (L1 + L2) / 2, (C1 + C2) / 2, (h1 + turn / 2) % (2 * np.pi)
    T = (
        1 - 0.17 * np.cos(h - np.pi / 6) + 0.24 * np.cos(2 * h)
        + 0.32 * np.cos(3 * h + np.pi / 30) - 0.20 * np.cos(4 * h - np.radians(63))
    )  # fmt: skip
    lightness = (L2 - L1) / (1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2))
    chroma = (C2 - C1) / (1 + 0.045 * C)
    hue = 2 * np.sqrt(C1 * C2) * np.sin(turn / 2) / (1 + 0.015 * C * T)
    angle = np.radians(60 * np.exp(-(((np.degrees(h) - 275) / 25) ** 2)))
    rotation = -2 * np.sqrt(C**7 / (C**7 + 25.0**7)) * np.sin(angle)
    return np.sqrt(lightness**2 + chroma**2 + hue**2 + rotation * chroma * hue)
