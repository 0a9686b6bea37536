// Python with the book's kernels, beside a page: it takes {id, code} and answers {id, html, failed}.
// Before that it tells how much of its files it has loaded. Everything comes from this site.
importScripts("live/pyodide.js");
const live = new URL("live/", self.location);

// NumPy asks for the C function `backtrace`, which Pyodide lacks, to see who calls it: a library
// with one that finds nobody, so that NumPy reuses no temporary array.
const START = `
import ctypes, os, sys
LIBRARY = bytes.fromhex(
    "0061736d01000000"  # WebAssembly, version 1
    "000f0864796c696e6b2e30010400000000"  # a library for Emscripten, without memory
    "01070160027f7f017f03020100"  # a function of two numbers with one result
    "070d01096261636b74726163650000"  # whose name is backtrace
    "0a0601040041000b")  # and which gives 0
with open("/tmp/backtrace.so", "wb") as file:
    file.write(LIBRARY)
ctypes.CDLL("/tmp/backtrace.so", ctypes.RTLD_GLOBAL)
os.environ.update(ANYWARP_NVRTC="none", ANYWARP_CACHE="none")
sys.path[:0] = ["/numpy", "/book"]
import kernels.page
names = {"kernels": kernels}
`;

async function start() {
  const about = await (await fetch(new URL("files.json", live))).json();
  const counts = ([name]) => !name.endsWith(".js"); // of scripts nobody hears before they run
  const total = Object.entries(about.bytes).filter(counts).reduce((sum, [, size]) => sum + size, 0);
  let loaded = 0;
  const count = (bytes) => postMessage({ loaded: (loaded += bytes), total });
  const plain = self.fetch;
  self.fetch = async (address) => {
    const packed = String(address).endsWith(".wasm");
    const { body, headers, status } = await plain(packed ? `${address}.gz` : address);
    if (status !== 200) throw new Error(`${address} cannot be loaded: ${status}`);
    const counted = new TransformStream({
      transform(chunk, out) {
        count(chunk.byteLength);
        out.enqueue(chunk);
      },
    });
    const read = body.pipeThrough(counted);
    if (!packed) return new Response(read, { headers });
    const type = { headers: { "Content-Type": "application/wasm" } };
    return new Response(read.pipeThrough(new DecompressionStream("gzip")), type);
  };
  const of = (name) => new URL(name, live).href;
  const archive = async (name) => (await fetch(of(name))).arrayBuffer();
  const [python, numpy, book] = await Promise.all([
    loadPyodide({ indexURL: live.href }),
    archive("numpy.zip"),
    archive("book.zip"),
  ]);
  self.fetch = plain;
  python.unpackArchive(numpy, "zip", { extractDir: "/numpy" });
  python.unpackArchive(book, "zip", { extractDir: "/book" });
  python.FS.mkdirTree("/book/kernels/compiled");
  for (const name of about.compiled)
    python.FS.createLazyFile("/book/kernels/compiled", name, of(`compiled/${name}`), true, false);
  python.runPython(START);
  return python.runPython("lambda code: kernels.page.run(code, names)");
}

const ready = start();
ready.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ broken: String(error).split("\n").at(-2) ?? String(error) }),
);
onmessage = async ({ data: { id, code } }) => {
  const run = await ready;
  const begun = performance.now();
  const result = JSON.parse(run(code));
  postMessage({ id, ms: performance.now() - begun, ...result });
};
