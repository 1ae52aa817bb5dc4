#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# What the verbs say to values of options and to files of inputs that they cannot use; the scripts of the verbs have the rest.
. "$(dirname "$0")/lib.sh"

"$vtac_program" zoo tiny_ic --int8 -o net.onnx >/dev/null || exit 1
"$vtac_program" zoo tiny_ic -o float.onnx >/dev/null || exit 1
"$vtac_program" compile net.onnx -o net.so >/dev/null || exit 1

# ---- options: status 2
misused() { # TEXT WORD...
    text=$1
    shift
    vtac "$@"
    refused 2 "vtac $1: $text (try 'vtac $1 --help')"
}
misused "expected MODEL.so" run
misused "--repeat takes a number up to 1000000, not 'x'" run net.so --repeat x
misused "--threads takes a number up to 1000000, not '0'" run net.so --threads 0
misused "--timeout takes seconds, not 'x'" run net.so --timeout x
misused "--fill takes zeros, ones or random, not 'twos'" run net.so --fill twos
misused "--seed takes a number, not 'x'" run net.so --seed x
misused "--preprocess: no 'tff'; there are imagenet, tf, mobilenet, caffe, unit, raw, uint8, int8, mean=, std=, scale=, crop=, \
order= and layout=" run net.so --preprocess tff
misused "a model is missing" compile
misused "a model is missing" inspect
misused "a graph is missing" opt
for verb in compile explain verify; do
    misused "-O takes 0 to 3, not '4'" $verb net.onnx -O 4
done
misused "-O takes 0 to 3, not 'fast'" diff net.onnx --a fsim --b llvm -O fast
misused "--rtol takes a number, not 'x'" verify net.onnx --rtol x
misused "--atol takes a number, not '-1'" verify net.onnx --atol=-1
misused "--inline takes a number, not 'x'" inspect net.onnx --inline x
misused "--seed takes a number, not 'x'" zoo tiny_ic --seed x
misused "'x' is not a number of seconds" bench hw --timeout x
misused "'--memory 0': expected MiB from 1 to 1024" board --dir b --memory 0
misused "--disable-pass: there is no pass 'wxyz'; --list-passes shows them" compile net.onnx --disable-pass wxyz
misused "--pass: there is no pass 'wxyz'; --list-passes shows them" opt net.ir --pass wxyz
misused "it writes ONNX, and nothing else: name a file that ends in .onnx with -o, not 'x.tflite'" convert net.onnx -o x.tflite
misused "--method takes minmax, percentile, mse, entropy or room, not 'x'" quantize float.onnx --calib . --method x -o q.onnx

# ---- files that cannot be written: status 1, at once and in one line that says what to do; each option that names such a file
unwritable() { # OPTION WORD...
    option=$1
    shift
    vtac "$@" "$option" none/file.html
    refused 1 "vtac: cannot write 'none/file.html': there is no folder 'none'; make it, or name another file"
    vtac "$@" "$option" .
    refused 1 "vtac: cannot write '.': it is a folder; name a file in it"
}
echo finish >program.vasm
"$vtac_program" asm program.vasm --config tiny -o program.vta >/dev/null || exit 1
"$vtac_program" inspect float.onnx -o float.ir >/dev/null || exit 1
echo '{"models": ["net.onnx"]}' >suite.json
for words in "-o compile net.onnx" "-o compile float.onnx --target vta" "-o quantize float.onnx" "-o zoo tiny_ic" "-o convert net.onnx" \
    "-o inspect net.onnx" "--html inspect net.onnx" "-o opt float.ir" "-o asm program.vasm --config tiny" "-o disasm program.vta" \
    "--profile run net.so" "--html tune float.onnx" "--trace replay net.so --layer none" "--junit regress suite.json" \
    "--html regress suite.json"; do
    # shellcheck disable=SC2086  # words
    unwritable $words
done
holds "nothing is made" test ! -e none

# ---- files that may grow no more: one line, and no file
for limit in 1 8 64; do
    for words in "compile net.onnx -o limited.so" "convert net.onnx -o limited.onnx"; do
        ran="vtac $words, under ulimit -f $limit"
        # shellcheck disable=SC2086  # words
        (ulimit -f $limit; exec "$vtac_program" $words) >out 2>err
        status=$?
        if [ $limit != 64 ] || [ $status != 0 ]; then refused 1 "File too large"; fi
        [ $status = 0 ] || holds "nothing is left" sh -c '! ls -A | grep -q "^limited\|^\.new-"'
        rm -f limited.*
    done
done

# ---- inputs: status 1, and nothing of the model runs
python3 - <<'END'
import struct, zipfile

def npy(shape, descr="<f4", order=False, data=b""):
    head = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data

def save(name, content):
    with open(name, "wb") as f:
        f.write(content)

save("negative.npy", npy("(1, -3, 32, 32)"))
save("axes.npy", npy("(1, 1, 1, 1, 1, 1, 1, 1, 1)"))
save("big_endian.npy", npy("(1, 3, 32, 32)", descr=">f4"))
save("complex.npy", npy("(1, 3, 32, 32)", descr="<c8"))
save("head.npy", npy("(1, 3, 32, 32)")[:30])
save("ones.npy", npy("(1, 3, 32, 32)", data=struct.pack("<f", 1.0) * (3 * 32 * 32)))
def floats(name, numbers):
    save(name + ".npy", npy("(1, 3, 32, 32)", "<f8", data=struct.pack("<3072d", *numbers)))
    save(name + ".f4.npy", npy("(1, 3, 32, 32)", data=struct.pack("<3072f", *numbers)))

floats("doubles", [(i * 7 % 101) / 101 - 0.3 for i in range(3072)])
floats("exact", [(i * 5 % 64) / 64 - 0.5 for i in range(3072)])
halves = [(i * 3 % 32) / 32 for i in range(3072)]
save("halves.npy", npy("(1, 3, 32, 32)", "<f2", data=struct.pack("<3072e", *halves)))
save("halves.f4.npy", npy("(1, 3, 32, 32)", data=struct.pack("<3072f", *halves)))
spoilt = halves[:]
spoilt[7] = spoilt[9] = spoilt[3071] = float("nan")
spoilt[8], spoilt[100] = float("inf"), -float("inf")
save("spoilt.npy", npy("(1, 3, 32, 32)", data=struct.pack("<3072f", *spoilt)))
save("text.npy", b"these are words, no numbers")

# One picture in printing colours: what stands before the pixels is enough to tell.
adobe = b"\xff\xee" + struct.pack(">H5sHHHB", 14, b"Adobe", 100, 0, 0, 0)
frame = b"".join(bytes((i, 0x11, 0)) for i in range(1, 5))
frame = b"\xff\xc0" + struct.pack(">HBHHB", 8 + len(frame), 8, 32, 32, 4) + frame
scan = b"".join(bytes((i, 0)) for i in range(1, 5))
scan = b"\xff\xda" + struct.pack(">HB", 6 + len(scan), 4) + scan + b"\x00\x3f\x00"
save("print.jpg", b"\xff\xd8" + adobe + frame + scan + b"\0" * 64 + b"\xff\xd9")

with zipfile.ZipFile("packed.npz", "w", zipfile.ZIP_BZIP2) as archive:
    archive.writestr("input.npy", npy("(1, 3, 32, 32)", data=bytes(4 * 3 * 32 * 32)))
# A directory whose members claim, all together, what no machine has.
huge = bytearray(open("packed.npz", "rb").read())
begin, end = huge.index(b"PK\1\2"), huge.index(b"PK\5\6")
entry = bytearray(huge[begin:end])
entry[24:28] = b"\xff" * 4
count = 60000
save("huge.npz", bytes(huge[:begin]) + bytes(entry) * count + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, count * len(entry), begin, 0))
# States of another network, of another type, and under other names; and a network that begins with one of the wrong shape.
for name, state, kind, size in (("wide", "h", "<f4", 64), ("bytes", "h", "|i1", 128), ("named", "state", "<f4", 128)):
    with zipfile.ZipFile(name + ".npz", "w") as archive:
        for member, shape, descr in (("input", (1, 129, 4), "<f4"), (state, (1, 1, size), kind), ("c", (1, 1, 128), "<f4")):
            count = shape[0] * shape[1] * shape[2] * int(descr[2])
            archive.writestr(member + ".npy", npy(str(shape), descr=descr, data=bytes(count)))
gates = [f"const %{n}: f32[1,12,{k}] = [{', '.join(['0.25'] * 12 * k)}]\n" for n, k in (("w", 4), ("r", 3))]
save("state.ir", ('graph "state"\ninput %x: f32[1,1,4]\ninput %h: f32[1,1,2]\n' + "".join(gates) +
                  "%y: f32[1,1,1,3] = LSTM(%x, %w, %r, _, _, %h) {hidden_size = 3}\noutput %y\n").encode())
# An input that no picture is for.
words = ", ".join(str((i % 7 - 3) / 8) for i in range(16))
weights = f"const %w: f32[4,4] = [{words}]\n"
save("flat.ir", f'graph "flat"\ninput %a: f32[1,4]\n{weights}%y: f32[1,4] = MatMul(%a, %w)\noutput %y\n'.encode())
END
unusable() { # FILE TEXT
    vtac run net.so --input "$1"
    refused 1 "vtac: $1: $2"
}
# Floats of another width are rounded as astype does it, and that is told where it costs digits; NaN and infinities are told, too.
for name in doubles exact halves; do
    vtac run net.so --input $name.npy --output-dir $name
    exits 0
    cp err $name.err
    vtac run net.so --input $name.f4.npy --output-dir $name.f4
    silent err
    holds "$name are those of f32" diff -r $name $name.f4
done
holds "lost digits are told" grep -qx "vtac: doubles.npy: numbers of f64 are rounded to f32, as input 'input' takes them" doubles.err
holds "no digits, no word" test ! -s exact.err -a ! -s halves.err
holds "two inputs, two answers" sh -c '! diff -r doubles exact >/dev/null'
vtac run net.so --input spoilt.npy
exits 0
says err "vtac run: warning: spoilt.npy: of the 3072 numbers of input 'input', 3 are NaN and 2 infinite"
one_line err
vtac run net.so --input spoilt.npy --json
exits 0
good_json out
says out '"nan_inputs": 3, "infinite_inputs": 2'
vtac quantize float.onnx --calib spoilt.npy -o q.onnx
says err "vtac quantize: warning: spoilt.npy: of the 3072 numbers of input 'input', 3 are NaN and 2 infinite"
rm -f q.onnx

vtac quantize float.onnx --calib none -o q.onnx
refused 1 "vtac: cannot open 'none': No such file or directory"
: >empty.npy
unusable empty.npy "it is empty"
for verb in compile quantize inspect convert explain; do
    vtac $verb net.so
    refused 1 "net.so: no model of a known kind: it is compiled already, or a program; 'vtac run' runs what is compiled"
done
vtac compile net.onnx --config pynq -o q.so
exits 0
says err "vtac compile: --config is for --target vta; without it all is for the host"
one_line err
vtac compile net.onnx --target vta --config pynq -o q.so
silent err
rm q.so

unusable negative.npy "its shape is negative or has more than 8 axes"
unusable axes.npy "its shape is negative or has more than 8 axes"
unusable big_endian.npy "it is not a little-endian .npy file"
unusable complex.npy "its element type '<c8' is not supported"
unusable head.npy "its header is cut off"
unusable text.npy "it does not begin as a .npy file does"
unusable print.jpg "a picture in printing colours (CMYK); save it as RGB"
ran='vtac ops with a stack of 256 KiB'
prlimit --stack=262144 "$vtac_program" ops >out 2>err
status=$?
refused 1 "vtac: the stack may grow to 256 KiB and must be let grow to 1024; 'ulimit -s 1024' does that"
vtac diff net.onnx --a fsim --b llvm --input a.npy --input b.npy
refused 1 "net.onnx: one file for each input, not 2"
vtac run net.so --input text.npy --input head.npy --profile p.html
refused 1 "--profile takes one run, not the 2 of so many inputs"
vtac compile flat.ir -o flat.so
exits 0
vtac run flat.so --input "$source/compiler/demo/pictures/heart_1.png" --preprocess tf
refused 1 "input 'a' is f32[1,4]: not the shape of a picture; a picture goes into one of 1 or 3 channels"
"$vtac_program" zoo vad -o vad.onnx >/dev/null && "$vtac_program" compile vad.onnx -o vad.so >/dev/null || exit 1
foreign() { # FILE TEXT
    vtac run vad.so --input "$1"
    refused 1 "vtac: $1: $2"
}
foreign wide.npz "it is f32[1,1,64], input 'h' needs f32[1,1,128]"
foreign bytes.npz "it is i8[1,1,128], input 'h' needs f32[1,1,128]; in NumPy: x.astype('float32')"
vtac run vad.so --input huge.npz
refused 1 "bytes of memory are needed for the members of an archive"
foreign named.npz "none of its 3 members is called 'h', as the input is"
vtac compile state.ir -o state.so
refused 1 "initial_h (input 5) is f32[1,1,2], expected f32[1,1,3]"
uncalibrated() { # MODEL FILE TEXT
    vtac quantize "$1" --calib "$2" -o q.onnx
    refused 1 "$3"
    holds "no model is made" test ! -e q.onnx
}
uncalibrated net.onnx packed.npz "vtac: net.onnx: there is nothing to quantize: no Conv, Gemm, MatMul, LSTM, GRU or RNN of floats with constant weights; a model \
of integers is compiled as it is"
uncalibrated float.onnx packed.npz "member 'input.npy' is packed by method 12; stored and deflated can be read"

# ---- a folder in the place of a model, and the other way round
mkdir -p saved bare case
: >saved/saved_model.pb
vtac compile saved -o saved.so
refused 1 "vtac: saved/saved_model.pb: no model of a known kind: it is empty; known are "
vtac inspect bare
refused 1 "vtac: bare: a folder without the file of a model; known are "
vtac verify net.so
exits 1
says out "FAIL net.so: neither a model of a known kind nor a folder with one and its data"
vtac verify net.onnx
exits 1
says out "FAIL net.onnx: ./test_data_set_0 is missing, and so is any NAME_in.npy"
cp float.onnx case/other.onnx
cp net.onnx case/net.onnx
cp ones.npy case/a_in.npy
vtac run net.so --input case/a_in.npy --output-dir made
exits 0
cp made/*.npy case/a_out.npy
vtac verify case/net.onnx
exits 0
says out "PASS case/net.onnx"
cp case/a_in.npy case/a_out.npy
vtac verify case/net.onnx
exits 1
says out "FAIL case/net.onnx: a: output 0 is "

# ---- what a device or a model does not have
vtac bench hw --device fsim --row store
exits 1
says err "'fsim:pynq' counts no cycles; 'tsim' does"
vtac replay net.onnx --layer nothing
exits 1
one_line err
says err "no layer 'nothing' on the accelerator; 'vtac explain' lists them"
finish
