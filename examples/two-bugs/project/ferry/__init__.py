"""Tickets for a ferry: what a crossing costs and when it arrives."""
