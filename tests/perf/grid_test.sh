#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# grid_test.sh BIN: what grid.sh makes of measurements, with programs in the place of model_bench and of the peer that say
# what a list tells them. Fails where an outlier counts, where only one of the two is measured again, or where a layer that
# stays slow passes.
set -eu
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/peer/node_modules/onnxruntime-node"
ln -s "$bin/vtac" "$bin/grid_models" "$work/bin"
for name in ours peer; do
    cat >"$work/say_$name" <<END
#!/bin/sh
line=\$(head -n 1 "$work/$name.list")
[ "\$(wc -l <"$work/$name.list")" = 1 ] || sed -i 1d "$work/$name.list"
echo "\$line" >>"$work/$name.said"
echo "\$line \$line \$line \$line"
END
    chmod +x "$work/say_$name"
done
ln -s "$work/say_ours" "$work/bin/model_bench"
ln -s "$work/say_peer" "$work/bin/node"
failed=0
fail() { echo "FAILED: $*"; cat "$work/out"; failed=1; }

# grid STATUS "OURS..." "PEER...": the times of the rounds; the last one stays.
# shellcheck disable=SC2086  # lists of words
grid() {
    rm -f "$work"/*.said
    printf '%s\n' $2 >"$work/ours.list"
    printf '%s\n' $3 >"$work/peer.list"
    status=0
    PATH="$work/bin:$PATH" VTAC_PEER="$work/peer" VTAC_GRID_HOSTS=host VTAC_GRID_THREADS="${threads:-1}" VTAC_GRID_ROUNDS=2 VTAC_GRID_AGAIN=3 \
        "$here/grid.sh" --check "$work/bin" softmax_21 >"$work/out" 2>&1 || status=$?
    [ "$status" = "$1" ] || fail "'$2' beside '$3': exit status $status, not $1"
}
said() { grep -qE -e "$1" "$work/out" || fail "'$1' is not said"; }
rounds() {
    for name in ours peer; do
        [ "$(wc -l <"$work/$name.said")" = "$1" ] || fail "$name was measured $(wc -l <"$work/$name.said") times, not $1"
    done
}

grid 0 '10 4 2' 7
rounds 2
said 'softmax_21 +1 +4\.0000 +7\.0000 +1\.75$'
grid 0 '10 9 9 4' '6 5' # slow at first: both again, and the best of all rounds of each
rounds 5
said 'softmax_21 +1 +4\.0000 +5\.0000 +1\.25  best of 5$'
said 'all, --host host: +geometric mean 1\.25, least 1\.25 \(softmax_21\), 0 of 1 below 0\.8'
grid 1 '4 5' '3 9' # slow, and stays so, though the peer's later rounds are slow, too
rounds 5
said 'softmax_21 +1 +4\.0000 +3\.0000 +0\.75  best of 5  slow$'
grid 1 4 4 # not slow, but no 1.2 in the mean
rounds 2
threads='1 2' grid 0 '2 2 1 1' '3 3 6 6'
said 'layers, 1 thread: +geometric mean 1\.50, least'
said 'layers, 2 threads: +geometric mean 6\.00, least'
said 'all, --host host: +geometric mean 3\.00, least 1\.50'
exit $failed
