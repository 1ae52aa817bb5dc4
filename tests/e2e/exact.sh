#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A network, quantized, gives the same integers on devices as on the host; with `twice`, for two images at a time, too, at that level
# or at another: `twice=1`.
#
#     exact.sh BUILD LEVEL REGIONS once|twice[=LEVEL] "DEVICE:CONFIG ..." NAME...
#
# CONFIG: a shipped configuration, or ./FILE.json of tests/lib/configs.
# NAME: a network of the zoo, or a model; one of floats is quantized first. A model that is not there is left out, if any is there.
set -eu
build=$(cd "$1" && pwd)
configs=$(cd "$(dirname "$0")/../lib/configs" && pwd)
level=$2 regions=$3 often=$4 devices=$5
shift 5
case $often in twice=*) two_level=${often#*=} ;; *) two_level=$level ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# make NAME FILE: the network with 8-bit integers.
make() {
    case $1 in
    *.onnx)
        # what has integers is refused, and stays as it is
        "$build/bin/vtac" quantize "$1" -o "$2" >"$work/said" 2>&1 || cp "$1" "$2"
        ;;
    *) "$build/bin/vtac" zoo "$1" --int8 -o "$2" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; } ;;
    esac
}

# double FILE FILE: the same for two images; fails where a model has no axis for them.
double() {
    /usr/bin/python3 - "$@" <<'PYTHON'
import sys
import onnx
from onnx import numpy_helper

model = onnx.load(sys.argv[1])
constants = {c.name: c for c in model.graph.initializer}
for value in model.graph.input:
    dims = value.type.tensor_type.shape.dim
    if value.name not in constants:
        if len(dims) == 0 or (dims[0].dim_value or 1) != 1:
            sys.exit(1)
        dims[0].dim_value = 2
for node in model.graph.node:
    if node.op_type == "Reshape" and node.input[1] in constants:
        shape = numpy_helper.to_array(constants[node.input[1]]).copy()
        if len(shape) > 1 and shape[0] == 1:
            shape[0] = 0  # as in what it reads
            constants[node.input[1]].CopyFrom(numpy_helper.from_array(shape, node.input[1]))
for value in model.graph.output:
    value.type.tensor_type.shape.dim[0].dim_value = 2
del model.graph.value_info[:]
onnx.save(model, sys.argv[2])
PYTHON
}

tried=
for name in "$@"; do
    case $name in
    *.onnx) [ -e "$name" ] || { echo "     $name is not there"; continue; } ;;
    esac
    tried=yes
    one=$work/$(basename "$name" .onnx).onnx
    make "$name" "$one"
    # shellcheck disable=SC2086  # a list
    (cd "$configs" && "$build/bin/same_integers" "$one" "$level" "$regions" $devices)
    if [ "$often" != once ]; then
        two=${one%.onnx}.two.onnx
        double "$one" "$two" || { echo "     $name: one image at a time only"; continue; }
        # shellcheck disable=SC2086
        (cd "$configs" && "$build/bin/same_integers" "$two" "$two_level" "$regions" $devices)
    fi
    rm -f "$work"/*.onnx
done
[ -n "$tried" ] || { echo "none of these is there: $*"; exit 1; }
