"""Pictures of one recorded translation, drawn from its numbers; this package imports no torch.

theme, fonts      colours by role; fonts for every script
canvas, cells     a page in points; vectors and matrices on it; every number names its cell
pictures          the table of all pictures by number; `draw` draws one
animate, gallery  animations; all pictures in a folder, with a page that shows them

Every other file draws pictures, one function for each picture.
"""

from __future__ import annotations

from .animate import Animation, save_figure
from .gallery import gallery
from .pictures import PICTURES, Picture, draw

__all__ = ["PICTURES", "Animation", "Picture", "draw", "gallery", "save_figure"]
