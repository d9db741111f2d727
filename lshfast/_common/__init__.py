"""Modules that every other package may import.

Files:

- types.py, checks.py, choices.py, errors.py: types of arrays; checks of arguments; the values that
  options may take; errors.
- arrow_columns.py, column_paths.py, value_codes.py, growing.py, rows.py: columns of Arrow from
  outside, checked; names of columns and of values inside them; codes of the values of a column;
  arrays that grow by rows; numbers and runs of rows.
- elements.py, mixing.py, exact_keys.py: integers as elements of sets; a mixer of words; hashes of
  the values of a column whose equal values mark copies.
- atomic_files.py, container.py, private_files.py, locks.py: files that appear whole; files with
  checksums; folders of one user; lock files.
- threads.py, progress.py, run_key.py: an ordered map over Python threads; callbacks; secret keys.
- display.py, nearest.py, visible.py: tables of figures; the nearest names for errors; text and
  paths without control characters.
- extras.py, lazy.py: packages of extras and names that are imported when they are used.
- stop_words.py, decimal_codes.py, hex_codes.py, image_hashes.py, urls.py: stop words; codes that
  may be decimal numbers; hexadecimal codes; hashes of images by name and version; URLs as hosts and
  paths.
- version.py, code_version.py, startup.py: the version, and a digest of the code; what runs before
  all other imports.
"""
