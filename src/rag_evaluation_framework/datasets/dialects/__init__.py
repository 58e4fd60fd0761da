"""One way of writing samples down a module, what they share, and how they are told apart."""
