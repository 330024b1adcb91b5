"""From graph to graph (derivatives, rewriting, fusion) and from graph to machine code."""
