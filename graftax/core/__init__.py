"""Words that everything is written in: errors and messages, names, types, scopes, nested structures, selectors."""
