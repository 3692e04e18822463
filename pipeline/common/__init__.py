"""What every room stands on: files, parameters, ids, seeds, devices, weights."""
