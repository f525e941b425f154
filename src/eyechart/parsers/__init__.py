"""Parsers of answers: one module per kind of answer, each with a VERSION that is recorded.

`letter`, `class_name`, `json_answers`, `yes_no` and `number` return a `ParseResult` with a strict value, for an answer
in exactly the requested form, and a lenient value, for an answer that a person would understand. None means unparsed;
a parser never raises and never guesses. `compat` reproduces published scorers, which do guess; it is never a default.
"""
