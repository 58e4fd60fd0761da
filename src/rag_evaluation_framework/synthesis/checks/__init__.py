"""The checks of quality control, one by one."""
