import pathlib, runpy, shutil, tempfile, urllib.request
ARCHIVE = ""
NAME = "sgemm-book"  # the book's folder, here or above; else from ARCHIVE
here = pathlib.Path.cwd()
places = [q for p in (here, *here.parents) for q in (p, p / NAME)]
root = next((p for p in places if (p / "kernels/prepare.py").is_file()), None)
if root is None:
    try:
        file, _ = urllib.request.urlretrieve(ARCHIVE)
        with tempfile.TemporaryDirectory(dir=here) as part:
            shutil.unpack_archive(file, part, "zip")
            root = next(pathlib.Path(part).iterdir()).rename(here / NAME)
    except (OSError, ValueError) as why:
        raise OSError(f"no book found: unpack {ARCHIVE or NAME} here") from why
runpy.run_path(str(root / "kernels/prepare.py"))["prepare"](NAME)
