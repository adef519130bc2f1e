"""What is done to checkpoints to break them, in the order of the table in docs/checkpoints_on_disk.md.

Tests note with the fixture ``attack`` how often they did it; ``tools/make_faults_table.py`` adds that up.
"""

SAVE = "power loss in a save, all states that POSIX allows"
OVERWRITE = "power loss in an overwrite, with and without an exchange"
BESIDE = "power loss in an overwrite beside the program"
DELETION = "power loss in a deletion"
PRUNE = "power loss in a save and the prune after it"
SWEEP = "power loss in a sweep"
AFTERWARDS = "a sweep after a power loss in an overwrite"
MISSING = "protocols with a step missing, which must be caught"
FAILING = "a call of the system fails, with every errno: saves, overwrites, deletions, sweeps, managers"
KILLED = "kill −9 at random moments: overwrites, managers, beside the program, with references"
DAMAGE = "flips and cuts of the index, of chunk tables, of headers and data"
FULL = "full and read-only disks, forged sizes, sparse files"

ROWS = (SAVE, OVERWRITE, BESIDE, DELETION, PRUNE, SWEEP, AFTERWARDS, MISSING, FAILING, KILLED, DAMAGE, FULL)
