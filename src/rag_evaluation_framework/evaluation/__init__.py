"""Samples × target × scorers → run: the loop that asks, the journal that keeps, the folder that is a run."""
