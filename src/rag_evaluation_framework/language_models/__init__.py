"""Language models behind one interface: what they are asked, how replies are read, what is remembered."""
