#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# libvtac in a host of its own: what it makes is what the program makes, to the byte; it prints nothing. The header as C99
# and C++17. Arguments: BUILD CC CXX
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export cxx="$3" # `eval` below reads it
# shellcheck source=tests/install/lib.sh
. "$here/lib.sh"
cd "$work"
flags=$(pkg-config --cflags --libs vtac)
eval "\$cc -std=c17 -D_DEFAULT_SOURCE -Wall -Wextra -Werror ${CFLAGS:-} -rdynamic -o host \"\$here/compiler.c\" $flags -lpthread"
eval "\$cxx -x c++ -std=c++17 -fsyntax-only -Wall -Wextra -Werror $flags -include vtac.h /dev/null"
"$prefix/bin/vtac" zoo tiny_ad -o ad.onnx >/dev/null
"$prefix/bin/vtac" zoo tiny_ic -o ic.onnx >/dev/null
"$prefix/bin/vtac" zoo tiny_ad --int8 -o adq.onnx >/dev/null
"$prefix/bin/vtac" compile adq.onnx --target vta -o program.so >/dev/null
"$prefix/bin/vtac" quantize ad.onnx -o program.onnx >/dev/null 2>&1
/usr/bin/python3 - <<'X'
import os, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as n
import numpy as np
os.makedirs("case/test_data_set_0")
g = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "g", [h.make_tensor_value_info("x", T.FLOAT, [2, 3])], [h.make_tensor_value_info("y", T.FLOAT, [2, 3])])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("", 13)], ir_version=8), "case/model.onnx")
x = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
for name, a in (("input_0", x), ("output_0", np.maximum(x, 0))):
    open("case/test_data_set_0/%s.pb" % name, "wb").write(n.from_array(a, name[0] == "i" and "x" or "y").SerializeToString())
X
mkdir tmp
LD_LIBRARY_PATH=$libdir TMPDIR=$work/tmp ./host ad.onnx adq.onnx case ic.onnx 3>said >out 2>err || { cat said out err; exit 1; }
if [ -s out ] || [ -s err ]; then echo "compiler: the library printed:"; cat out err; exit 1; fi
for file in once.so ./-again.so thread0.so thread1.so child.so; do
    cmp program.so "$file" || { echo "compiler: $file is not what the program makes"; exit 1; }
done
cmp program.onnx q.onnx
cat said
