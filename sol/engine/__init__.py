"""What runs any program: the protocol of one, the pure step, the session, and the loop. Import its modules."""
