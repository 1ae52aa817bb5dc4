#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The notebook, executed by Debian's nbconvert with the installed module on the functional simulator, the RTL's and a virtual board:
# no cell fails, the pictures, the scores and the table of cycles are in what comes out, the cycles of layers sum to those told, and all
# three name the same classes. Arguments: BUILD CC SHAPES
set -eu
shapes=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
/usr/bin/python3 -c 'import nbconvert, ipykernel, numpy, PIL' 2>/dev/null ||
    { echo "no nbconvert: 'apt-get install jupyter-nbconvert python3-ipykernel python3-numpy python3-pil'"; exit 77; }
# shellcheck source=tests/install/lib.sh
. "$source/tests/install/lib.sh"
# With sanitizers the module is loaded into a Python that has none: their library comes first.
case " ${CFLAGS:-} " in *-fsanitize*) sanitized=$($cc -print-file-name=libasan.so) ;; *) sanitized= ;; esac
limit=250
[ -z "$sanitized" ] || limit=2500
cd "$work"
mkdir shapes home
cp -r "$source/compiler/demo/shapes.onnx" "$source/compiler/demo/pictures" shapes/
"$shapes" draw --pictures 8 --seed 2 -o shapes/calibration >/dev/null
"$shapes" names >shapes/names.txt
PYTHONPATH=$(dirname "$(dirname "$(find "$prefix" -name '_vta.abi3.so')")")
export PYTHONPATH LD_LIBRARY_PATH="$libdir" PYTHONDONTWRITEBYTECODE=1 VTA_FOLDER="$work/shapes" HOME="$work/home" IPYTHONDIR="$work/home"
: >board.log
"$prefix/bin/vtac" board --dir board --config pynq >board.log 2>&1 &
board=$!
trap 'kill $board 2>/dev/null; rm -rf "$work"' EXIT INT TERM
until grep -q ready board.log; do
    kill -0 "$board" || { cat board.log; exit 1; }
    sleep 0.1
done
for device in fsim tsim uio:board; do
    cp "$source/runtime/bindings/python/from_model_to_board.ipynb" notebook.ipynb
    VTA_DEVICE=$device LD_PRELOAD=$sanitized ASAN_OPTIONS=detect_leaks=0 \
        timeout $limit /usr/bin/python3 -m nbconvert --to notebook --execute --output executed.ipynb notebook.ipynb >log 2>&1 ||
        { tail -n 30 log; exit 1; }
    /usr/bin/python3 - "$device" executed.ipynb <<'PYTHON'
import json, re, sys
device, path = sys.argv[1:]
cells = json.load(open(path))["cells"]
code = [cell for cell in cells if cell["cell_type"] == "code"]
assert code and all(cell["execution_count"] for cell in code), "a cell was not executed"
assert cells[0]["cell_type"] == "markdown" and len(cells) > len(code) + 5, "the story between the cells is gone"
data = [output["data"] for cell in code for output in cell["outputs"] if "data" in output]
text = "".join("".join(output.get("text", [])) for cell in code for output in cell["outputs"])
pages = ["".join(kinds["text/html"]) for kinds in data if "text/html" in kinds]
assert sum("image/png" in kinds for kinds in data) == 1, [list(kinds) for kinds in data]
*scores, table = pages
assert len(scores) == 2 and scores[0].count("data:image/png") == scores[1].count("data:image/png") == 5, len(scores)
columns = [[int(n) for n in re.findall(r"<td align=right>(\d+)", row)] for row in table.split("<tr>")[2:]]
predicted, cycles = (sum(column) for column in zip(*columns))
told = int(re.search(r"(\d+) cycles on " + device, text).group(1))
assert predicted > 1000 and len(columns) > 3, columns
assert told == 0 if device == "fsim" else told > 1000, (device, told)
assert device != "tsim" or cycles == told and "array" in table, (cycles, told)
error, kept, count = re.search(r"largest error ([0-9.]+) % of the range; (\d+) of (\d+) classes as before", text).groups()
assert 0 < float(error) < 10 and kept == count, (error, kept, count)
answers = re.search(r"the same answers: (.*)", text).group(1)
assert answers == "arrow, bolt, heart, pentagon, star", answers
print("notebook: %s: %d cells, %d layers, %d cycles, error %s %%" % (device, len(code), len(columns), told, error))
PYTHON
done
