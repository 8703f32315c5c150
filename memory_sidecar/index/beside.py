"""Threads for what a search does beside its keyword arm: nearly all outside of Python's lock.

Few, and shared by all kinds of search. What is submitted may wait for what was submitted before.
"""

from concurrent.futures import ThreadPoolExecutor

BESIDE = ThreadPoolExecutor(4, thread_name_prefix="question")
