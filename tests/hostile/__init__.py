"""Hostile input: containers, hard data, interruptions, threads, kill and the network."""
