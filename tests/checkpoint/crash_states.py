"""Power loss at every moment, on the weakest file system that POSIX allows.

`Disk` records what a save does. For every prefix of that record, what a later fsync made certain has happened; anything
else may have happened or not, in any combination, and writes may be torn. `explore` puts each such state on a real disk
and lets a judge look at it.
"""

import itertools
import random

from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.verify import verify
from graftax.core.errors import CheckpointError

ROOT = 1


class Disk(FileSystem):
    """A file system in memory that logs operations by inode."""

    def __init__(self, exchanges=True):
        self.log = []
        self.names = {"/c": ROOT}
        self.sizes = {}
        self.exchanges = exchanges
        self.next = ROOT

    def split(self, path):
        folder, _, name = path.rpartition("/")
        return self.names[folder], name

    def exists(self, path):
        return path in self.names

    def is_directory(self, path):
        return path in self.names

    def listdir(self, path):
        return [p.rpartition("/")[2] for p in self.names if p.rpartition("/")[0] == path]

    def free(self, path):
        return 1 << 40

    def _link(self, path, kind):
        self.next += 1
        self.log.append(("link", *self.split(path), self.next, kind))
        self.names[path] = self.next
        return self.next

    def mkdir(self, path):
        self._link(path, "directory")

    def hide(self, path):
        return 0o755

    def reveal(self, path, mode):
        pass

    def create(self, path):
        inode = self._link(path, "file")
        self.sizes[inode] = path
        return inode

    def allocate(self, inode, size):
        self.log.append(("extend", inode, size))

    def pwritev(self, inode, buffers, offset):
        data = b"".join(buffers)
        self.log.append(("write", inode, offset, data))
        return len(data)

    def fsync(self, inode):
        self.log.append(("fsync", inode))

    def close(self, inode):
        pass

    def fsync_dir(self, path):
        self.log.append(("fsync", self.names[path]))

    def _moved(self, source, target):
        return {
            target + p[len(source) :]: i for p, i in self.names.items() if p == source or p.startswith(source + "/")
        }

    def rename(self, source, target):
        self.log.append(("rename", *self.split(source), *self.split(target), self.names[source]))
        moved = self._moved(source, target)
        self._forget(source)
        self.names |= moved

    def _forget(self, path):
        self.names = {p: i for p, i in self.names.items() if p != path and not p.startswith(path + "/")}

    def exchange(self, one, other):
        if not self.exchanges:
            return False
        (folder, a), (_, b) = self.split(one), self.split(other)
        # two entries of a directory; a crash may keep the change of one and not that of the other
        self.log.append(("entry", folder, a, self.names[other]))
        self.log.append(("entry", folder, b, self.names[one]))
        moved = self._moved(one, other) | self._moved(other, one)
        self._forget(one)
        self._forget(other)
        self.names |= moved
        return True

    def modified(self, path):
        return 0.0 if path in self.names else self.missing(path)

    def read(self, path):
        return b"{}" if path in self.names else self.missing(path)

    def missing(self, path):
        raise FileNotFoundError(path)

    def unlink(self, path):
        self.log.append(("unlink", *self.split(path)))
        del self.names[path]

    rmdir = unlink

    def mark(self, what):
        self.log.append(("mark", what))


def needs(op):
    """The inodes that must be synced for an operation to be certain."""
    return {op[1], op[3]} if op[0] == "rename" else {op[1]}


def build(log, kept, torn):
    """Directories and files after the operations that happened."""
    folders, files = {ROOT: {}}, {}
    for i, op in enumerate(log):
        if i not in kept:
            continue
        match op:
            case ("link", folder, name, inode, kind):
                folders.setdefault(folder, {})[name] = inode
                (folders if kind == "directory" else files).setdefault(
                    inode, {} if kind == "directory" else bytearray()
                )
            case ("extend", inode, size):
                data = files.setdefault(inode, bytearray())
                data.extend(bytes(max(0, size - len(data))))
            case ("write", inode, offset, content):
                content = content[: torn.get(i, len(content))]
                data = files.setdefault(inode, bytearray())
                data.extend(bytes(max(0, offset + len(content) - len(data))))
                data[offset : offset + len(content)] = content
            case ("rename", source, old, target, new, inode):
                folders.setdefault(source, {}).pop(old, None)
                folders.setdefault(target, {})[new] = inode
            case ("entry", folder, name, inode):
                folders[folder][name] = inode
            case ("unlink", folder, name):
                folders.get(folder, {}).pop(name, None)
    return folders, files


def states(log, rng, limit):
    certain, open_ = set(), []
    for i, op in enumerate(log):
        if op[0] not in ("fsync", "mark"):
            later = {other[1] for other in log[i + 1 :] if other[0] == "fsync"}
            certain.add(i) if needs(op) <= later else open_.append(i)
    if len(open_) <= 6:
        choices = [c for r in range(len(open_) + 1) for c in itertools.combinations(open_, r)]
    else:
        choices = [open_[:k] for k in range(len(open_) + 1)]
        choices += [[i for i in open_ if rng.random() < 0.5] for _ in range(limit)]
    for choice in choices:
        kept = certain | set(choice)
        yield build(log, kept, {})
        for i in [i for i in choice if log[i][0] == "write"]:
            for _ in range(12):
                yield build(log, kept, {i: rng.randrange(len(log[i][3]))})


class Look:
    """Puts states on a real disk and reads them; equal states once."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = {}

    def __call__(self, state, inode):
        folders, files = state
        content = tuple(sorted((name, bytes(files.get(i, b""))) for name, i in folders.get(inode, {}).items()))
        if content not in self.seen:
            path = self.folder / str(len(self.seen))
            path.mkdir()
            for name, data in content:
                (path / name).write_bytes(data)
            try:
                found = verify(path)
                good = not found.problems and not found.strangers
                self.seen[content] = found.contents.meta["name"] if good else "damaged"
            except CheckpointError:
                self.seen[content] = "damaged"
        return self.seen[content]


def explore(look, disk, begin, judge, limit=40):
    rng = random.Random(0)
    count, wrong = 0, []
    for end in range(begin, len(disk.log) + 1):
        log = disk.log[:end]
        done = {op[1] for op in log if op[0] == "mark"}
        for state in states(log, rng, limit):
            count += 1
            whole = {name: look(state, inode) for name, inode in state[0][ROOT].items()}
            if complaint := judge(whole, done):
                wrong.append(complaint)
                return count, wrong
    return count, wrong


def put_on_disk(state, folder):
    """A state as a real folder."""
    folders, files = state
    folder.mkdir()
    for name, inode in folders[ROOT].items():
        if inode in folders:
            (folder / name).mkdir()
            for inner, i in folders[inode].items():
                (folder / name / inner).write_bytes(bytes(files.get(i, b"")))
        else:
            (folder / name).write_bytes(bytes(files.get(inode, b"")))


def judge_replaced(whole, done):
    """What is wrong with an overwrite of ``c``."""
    here = whole.get("c", "absent")
    if "new" in done:
        return None if here == "new" else f"after the return there is {here}"
    if here in ("old", "new"):
        return None
    displaced = [state for name, state in whole.items() if name.startswith(".c.old-")]
    return None if here == "absent" and displaced == ["old"] else f"before the return there is {here}, {displaced}"
