"""Numbers to numbers: intervals, paired tests, effect sizes, power, corrections, agreement."""
