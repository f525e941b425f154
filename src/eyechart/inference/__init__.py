"""Requests and their stored answers: each question is asked once, whatever needs the answer."""
