"""How results look: numbers, texts, tables in the terminal, charts, images and HTML pages.

Nothing here knows a model, a record or a metric; packages that do compose their own views from it.
"""
