"""What a case leaves: record, estimates, evidence, sample table and run folder."""
