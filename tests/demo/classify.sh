#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# The classifier of the demo, quantized and compiled as the demo does it: what it says of the shipped pictures, the
# same numbers on every device, and how often it is right.
# Arguments: VTAC SOURCE SHAPES
shapes=$3
. "$(dirname "$0")/../cli/lib.sh"
demo=$source/compiler/demo

# verdicts FILE: "ok" where the answers of `classify` fit, otherwise what does not: all classifiers have the class that
# the picture's name says (with `names`), the accelerator's numbers are those of the host, and tsim counts cycles.
verdicts() {
    python3 - "$1" "$2" <<'END'
import json, sys
pictures = json.load(open(sys.argv[1]))
wrong = []
for picture in pictures:
    real, host, fsim, tsim = picture["results"]
    expected = picture["picture"].split("_")[0]
    said = [result["top"][0]["class"] for result in picture["results"]]
    if sys.argv[2] == "names" and said != [expected] * 4:
        wrong.append(f"{picture['picture']} is taken for {said}")
    if not (fsim["same_numbers"] and tsim["same_numbers"]):
        wrong.append(f"{picture['picture']}: the devices differ")
    if tsim["cycles"] < 1000 or host["cycles"] != 0:
        wrong.append(f"{picture['picture']}: {tsim['cycles']} cycles")
print("; ".join(wrong) if wrong else "ok" if len(pictures) >= 4 else "too few pictures")
END
}

# rights FILE: how many each got right.
rights() {
    python3 -c 'import json, sys; print(*(m["right"] for m in json.load(open(sys.argv[1]))["models"]))' "$1"
}

"$shapes" draw --pictures 64 --seed 2 -o calibration || wrong "shapes draw failed"
vtac quantize "$demo/shapes.onnx" --calib calibration --preprocess tf -o int8.onnx
exits 0
says out "over 64 samples"
silent err
vtac quantize "$demo/shapes.onnx" --calib calibration --preprocess tf --per-tensor --max-loss 0 -o coarse.onnx
exits 1
one_line err
says err "8 bits spoil output 'scores'"
says err "try --equalize, or leave out --per-tensor"
vtac compile "$demo/shapes.onnx" -o float.so
exits 0
vtac compile int8.onnx -o host.so
exits 0
vtac compile int8.onnx --target vta -o vta.so
exits 0
vtac explain int8.onnx --json
holds "the network is one region" python3 -c 'import json; assert json.load(open("out"))["regions"] == 1'

"$shapes" classify float.so host.so vta.so@fsim vta.so@tsim "$demo"/pictures/*.png --json >shipped
holds "shipped pictures: $(verdicts shipped names)" test "$(verdicts shipped names)" = ok
seed=$(sh "$source/tests/lib/seed.sh" demo_classify)
echo "seed $seed"
"$shapes" draw --seed "$seed" -o drawn || wrong "shapes draw failed"
"$shapes" classify float.so host.so vta.so@fsim vta.so@tsim drawn/*.png --json >new
holds "new pictures: $(verdicts new any)" test "$(verdicts new any)" = ok
"$shapes" classify float.so vta.so@tsim drawn/heart_1.png >text
holds "a line of text for each" test "$(wc -l <text)" = 3


vtac run vta.so --device tsim --layers
exits 0
# shellcheck disable=SC2016  # awk's
holds "the shares of each layer sum to its cycles" awk '
    $5 ~ /%$/ { rows++; sum = 0; for (i = 6; i <= NF; i++) sum += $i; wrong += sum != $4 }
    END { exit wrong > 0 || rows < 10 }' out

for seed in 3 "$seed"; do
    "$shapes" score float.so vta.so --pictures 600 --seed "$seed" --json >score.json
    cat score.json
    for right in $(rights score.json); do
        holds "right on 600 pictures of seed $seed" test "$right" -ge 560
    done
done

# Broken things.
vtac zoo tiny_ad -o other.onnx
vtac compile other.onnx -O 0 -o other.so
exits 0
"$shapes" score other.so 2>err
holds "a model of something else" test $? = 1
one_line err
says err "no classifier of these pictures"
head -c 100 drawn/heart_1.png >broken.png
"$shapes" classify vta.so broken.png >out 2>err
holds "a broken picture" test $? = 1
one_line err
says err broken.png
"$shapes" classify vta.so@nothing drawn/heart_1.png >out 2>err
holds "a device that is not there" test $? = 1
one_line err
finish
