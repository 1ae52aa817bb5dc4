#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
#
# What a user does first: a model, pictures, the right names. `vtac run` on pictures that the demo drew gives their classes, from the
# file alone, on the host and on the accelerator. Where published models are there, the same on photographs, whose classes the
# README beside them lists; on the reference inputs, the top class of the reference output. Arguments: VTAC SOURCE SHAPES SHARED.
shapes=$3
shared=$4
. "$(dirname "$0")/../cli/lib.sh"

# The demo's classifier, and pictures that neither its training nor the quantizer has seen: at least 38 of 40 are told right.
seed=$("$source/tests/lib/seed.sh" e2e_pictures)
echo "seed $seed"
ran=shapes
holds "names" sh -c '"$1" names >names.txt' sh "$shapes"
holds "pictures" "$shapes" draw --pictures 40 --seed "$seed" -o drawn
holds "others for the quantizer" "$shapes" draw --pictures 40 --seed "$((seed + 1))" -o others
vtac quantize "$source/compiler/demo/shapes.onnx" --calib others --preprocess tf -o shapes8.onnx
exits 0
cat >drawn.py <<'END'
import json, os
report = json.load(open('out'))['results']
names = [r['outputs'][0]['top'][0]['label'] for r in report]
wrong = [(r['input'], n) for r, n in zip(report, names) if os.path.basename(r['input']).rsplit('_', 1)[0] != n]
assert len(report) == 40 and len(wrong) <= 2, wrong
print(40 - len(wrong), 'of 40 right', wrong)
END
for target in llvm vta; do
    vtac compile shapes8.onnx --host host --target $target -o m.so
    exits 0
    set --
    for file in drawn/*.png; do set -- "$@" --input "$file"; done
    vtac run m.so "$@" --preprocess tf --labels names.txt --top 1 --json
    exits 0
    holds "drawn pictures, $target: their classes" python3 drawn.py
    cat held
done

[ -d "$shared" ] || finish
ln -s "$shared" models # a name without a blank, wherever they are
models=models

# The list in the shared README: "goldfish 1, …, dog and dog2 207, …", to lines of file and class.
sed -n 's/.*ImageNet classes (\([^)]*\)).*/\1/p' "$models/README.md" | tr ',' '\n' | awk '{ for (i = 1; i < NF; i++) if ($i != "and") print $i, $NF }' |
    while read -r name class; do
        file=$(find "$models/images/" -name "$name.jpg" -o -name "$name.png")
        [ -f "$file" ] && echo "$file $class"
    done >classes
holds "the list has pictures" test "$(wc -l <classes)" -ge 10

cat >judge.py <<'END'
import json, sys
wanted = [line.split() for line in open('classes')]
first, least = int(sys.argv[1]), int(sys.argv[2])  # the index of class 0; how many must be right
report = json.load(open('out'))['results']
assert [r['input'] for r in report] == [w[0] for w in wanted]
wrong = [(w[0].split('/')[-1], r['outputs'][0]['top'][0]) for w, r in zip(wanted, report)
         if r['outputs'][0]['top'][0]['index'] - first != int(w[1])]
assert len(wanted) - len(wrong) >= least, wrong
for r in report:
    top = r['outputs'][0]['top'][0]
    assert top['label'].startswith('n'), top
    if r['input'].endswith('goldfish.jpg'):
        assert 'goldfish' in top['label'], top
print(f'{len(wanted) - len(wrong)} of {len(wanted)} right', wrong)
END
# top_class FILE: the index of the largest float of a .npy file.
cat >top.py <<'END'
import array, sys
data = open(sys.argv[1], 'rb').read()
values = array.array('f')
values.frombytes(data[10 + (data[8] | data[9] << 8):])
print(max(range(len(values)), key=values.__getitem__))
END

# look MODEL PREPROCESS FIRST LEAST TARGET...
look() {
    model=$1 how=$2 first=$3 least=$4
    shift 4
    inputs=
    while read -r file class; do inputs="$inputs --input $file"; done <classes
    for target; do
        vtac compile "$models/$model.onnx" --host host --target "$target" -o m.so
        exits 0
        # shellcheck disable=SC2086
        vtac run m.so $inputs --preprocess "$how" --labels "$models/images/imagenet_labels.txt" --top 1 --json
        exits 0
        holds "$model, $target: the classes of the pictures" python3 judge.py "$first" "$least"
        cat held
        for golden in "$models/golden/$model"/*_in.npy; do
            vtac run m.so --input "$golden" --top 1 --json
            exits 0
            want=$(python3 top.py "${golden%_in.npy}_out0.npy")
            holds "$model, $target: $(basename "$golden") is class $want" grep -q "\"index\": $want," out
        done
    done
}
all=$(wc -l <classes)
look mobilenetv2-12-int8 imagenet 0 "$all" llvm vta
look coral_tf2_mobilenet_v2_1.0_224_int8pc_qdq tf 1 "$all" llvm vta
look squeezenet1.1_fp32_from_fp16 caffe 0 $((all - 1)) llvm # it takes the horse cart for an ox cart
# A digit, raw and grey.
vtac compile "$models/mnist-8/model.onnx" --host host -o m.so
vtac run m.so --input "$models/images/mnist_28.png" --preprocess raw --top 1 --json
exits 0
says out '"index": 8,'
finish
