"""Records as rows of CSV, Parquet and HDF5 files, without loss and without trust."""
