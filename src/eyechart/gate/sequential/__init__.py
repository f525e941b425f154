"""The sequential gate: when a case may stop early."""
