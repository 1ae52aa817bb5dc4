# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced behind begin.sh: a network in 8 bits beside the host's integers, and beside a reference in double. Input N is runN.npz, the
# reference's answer to it realN.npy.

# agree MODEL DEVICE LEVEL RUN CONFIG: the integers of the host.
agree() {
    # shellcheck disable=SC2154  # begin.sh sets it
    "$vtac" diff "$1" -O "$3" --config "$5" --a "$2" --b llvm --input "run$4.npz" > said || { cat said; exit 1; }
    grep -q 'agree on all' said || { cat said; exit 1; }
}

# near LIBRARY BOUND RUN: answers are off from those in double by at most so much of their range in the mean.
near() {
    rm -rf out && mkdir out
    "$vtac" run "$1" --input "run$3.npz" --output-dir out > run.log
    /usr/bin/python3 - "$2" "$3" <<'END'
import glob, sys
import numpy as np
real, got = np.load("real%s.npy" % sys.argv[2]), np.load(glob.glob("out/*.npy")[0])
off = float(np.abs(real - got).mean() / (real.max() - real.min()))
print("off by %.5f %% of the range in the mean" % (100 * off))
assert off < float(sys.argv[1]) and np.unique(got).size > 50, off
END
}
