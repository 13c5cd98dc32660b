"""Pictures of one recorded translation, each from the numbers themselves; imports no torch.

theme, fonts      colours by role, fonts for every script
canvas, cells     a page in points; vectors and matrices on it; every number says which cell it is
pictures          all of them by number; `draw` draws one
animate, gallery  those that move; all of them in a folder, with a page that shows them
The other files draw: a function a picture.
"""

from __future__ import annotations

from .animate import Animation, save_figure
from .gallery import gallery
from .pictures import PICTURES, Picture, draw

__all__ = ["PICTURES", "Animation", "Picture", "draw", "gallery", "save_figure"]
