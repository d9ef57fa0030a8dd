"""Where rows come from: files, arrays, records, or a function that builds a Dataset."""
