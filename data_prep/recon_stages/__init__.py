"""The stages by which ``data_prep.recon`` makes a test set from prompts, one a file."""
