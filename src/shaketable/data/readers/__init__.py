"""Readers of data sets as others publish them: files, folders and objects of other libraries.

Each module declares its readers in `reader.READERS`; copy `idx_files` to add one.
"""
