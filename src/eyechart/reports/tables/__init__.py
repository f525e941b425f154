"""Tables by name: their definition, selection of cases, and rendering."""
