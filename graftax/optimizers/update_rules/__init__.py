"""Update rules, one file each."""
