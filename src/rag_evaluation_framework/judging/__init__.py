"""Text to claims to verdicts: offline methods and language-model judges behind one interface."""
