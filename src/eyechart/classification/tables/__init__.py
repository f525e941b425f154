"""Tables and figures of classification: arXiv 2603.06578 and Mill."""
