"""Work that takes long: updates, refits and purges, in a child process of low priority."""
