"""Figures said rather than drawn: what is beside what, which numbers, what to see.

style         the design system: inks, sizes of type, spaces
quantity      numbers with the expressions that give them
typesetting   text and formulas, measured
nodes, links  rows, columns, strips, panels, bars; arrows and callouts between named things
plan          the words of a figure, its numbers, and the page around it
scene         what comes of it: marks with places, as JSON
render        a scene drawn with matplotlib
"""
