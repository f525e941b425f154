"""Reading answers: one module per kind of answer, each with a VERSION that goes into records.

`letter`, `class_name`, `json_answers`, `yes_no` and `number` all give a `Reading`: the strict value, in the form that
the prompt asked for, and the lenient one, as a person would read it. None is an answer that was not read; a parser
never raises and never guesses. `compat` reproduces published scorers, which do guess; no protocol uses it by default.
"""
