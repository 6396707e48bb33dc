"""Galleries: one image under several corruptions, as one sheet or as a page.

`gallery` makes them; ``page.html.j2`` is the template of the page.
"""
