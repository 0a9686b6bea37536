import hashlib, os, pathlib, runpy, shutil, tempfile, urllib.request
ARCHIVE = ""
SHA256 = ""  # of what runs in it
NAME = "sgemm-book"  # the book's folder, here or above; else from ARCHIVE
def digest(root):
    files = [f for part in ("anywarp", "kernels", "requirements")
             for f in (root / part).rglob("*") if f.is_file()]
    sums = sorted(f"{f.relative_to(root).as_posix()} "
                  f"{hashlib.sha256(f.read_bytes()).hexdigest()}\n"
                  for f in files if f.suffix != ".pyc")
    return hashlib.sha256("".join(sums).encode()).hexdigest()
here = pathlib.Path.cwd()
places = [q for p in (here, *here.parents) for q in (p, p / NAME)]
root = next((p for p in places if (p / "kernels/prepare.py").is_file()), None)
if root is None:
    try:
        with tempfile.TemporaryDirectory(dir=here) as part:
            file, _ = urllib.request.urlretrieve(ARCHIVE, f"{part}/zip")
            shutil.unpack_archive(file, f"{part}/all", "zip")
            inside = pathlib.Path(part, "all").glob("*/kernels/prepare.py")
            book = next((path.parents[1] for path in inside), None)
            if book is None or digest(book) != SHA256:
                raise ValueError("it is not the book of this notebook")
            root = book.rename(here / NAME)
    except Exception as why:
        lost = f"no {NAME} here, nor from {ARCHIVE or 'any address'}"
        raise OSError(f"{lost}: {why}") from why
code = root / "kernels/prepare.py"
owners = {path.stat().st_uid for path in (root, code.parent, code)}
if hasattr(os, "getuid") and owners - {0, os.getuid()}:
    raise PermissionError(f"{root} is another user's: copy it, as your own")
runpy.run_path(str(code))["prepare"](NAME)
