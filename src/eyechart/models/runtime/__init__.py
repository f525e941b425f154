"""What backends of torch share: devices, precision, batches and spans."""
