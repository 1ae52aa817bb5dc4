#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The walkthrough of compiler/src/tensorflow/README.md, word for word, from an installed prefix: its commands, its program in C
# and its program in Python compile a frozen MobileNetV1, which is written here with seeded weights, save it, load it, run it,
# and name the class that the same network in NumPy names, for two networks and three pictures each.
# Arguments: BUILD CC SOURCE   (exit status 77: no numpy)
set -eu
source=$3
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "no numpy"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/install/lib.sh
. "$here/lib.sh"
cd "$work"
fail() { echo "tensorflow: $*"; exit 1; }

# block FENCE FILE: what the page has in that language.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```$/ { if (on) exit } on' "$source/compiler/src/tensorflow/README.md" >"$2"
    [ -s "$2" ] || fail "no block of $1"
}
block sh commands.sh
block c classify.c
block python classify.py
eval "\$cc -std=c17 -Wall -Wextra -Werror ${CFLAGS:-} classify.c $(pkg-config --cflags --libs vtac vta) -o classify"
PYTHONPATH=$(dirname "$(dirname "$(find "$prefix" -name '_vta.abi3.so')")")
export PYTHONPATH LD_LIBRARY_PATH="$libdir" PATH="$prefix/bin:$PATH" PYTHONDONTWRITEBYTECODE=1

for seed in 11 12; do
    PYTHONPATH=$source/tests/compiler /usr/bin/python3 - "$seed" <<'X'
import sys
import numpy
from tensorflow_file import mobilenet
random = numpy.random.default_rng(int(sys.argv[1]))
graph, reference = mobilenet(random, 64, 0.25, 20)
with open("mobilenet.pb", "wb") as f:
    f.write(graph.graph_def())
for i in range(3):
    x = random.uniform(-1, 1, (1, 64, 64, 3)).astype("float32")
    y = reference(x)[0]
    x.tofile("picture%d.raw" % i)
    numpy.save("picture.npy", x)
    with open("picture%d.class" % i, "w") as f:
        f.write("class %d, score %.3f" % (y.argmax(), y.max()))
X
    for i in 0 1 2; do
        ./classify mobilenet.pb "picture$i.raw" >said 2>err || { cat err; fail "the program in C"; }
        /usr/bin/python3 classify.py mobilenet.pb "picture$i.raw" >said.python 2>err || { cat err; fail "the program in Python"; }
        cmp said said.python || fail "C and Python differ"
        case $(cat said) in "$(cut -d. -f1 "picture$i.class")."*) ;; *) fail "$(cat said), expected $(cat "picture$i.class")" ;; esac
    done
    sh -eu commands.sh >out 2>err || { cat out err; fail "the commands"; }
    grep -q "^ *$(sed 's/class \([0-9]*\),.*/\1/' picture2.class) " out || { cat out; fail "vtac run does not name the class"; }
done
if ./classify none.pb picture0.raw 2>err; then fail "a missing model runs"; fi
grep -q 'none\.pb' err || { cat err; fail "a missing model is not named"; }
echo "tensorflow: 6 pictures"
