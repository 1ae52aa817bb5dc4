#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mpi.sh PROGRAM MODULE: work handed out by a real mpirun; the second time ranks die at random.
set -u
program=$1 module=$2
command -v mpirun >/dev/null || { echo "skipped: openmpi-bin is not there"; exit 77; }
VTAC_TEST_MPI=$module
export VTAC_TEST_MPI
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 # Open MPI leaks
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM ASAN_OPTIONS
failed=0
for deaths in 0 1; do
    recovery=
    [ $deaths = 0 ] || recovery=--enable-recovery
    # shellcheck disable=SC2086  # no word where there is none
    timeout 100 mpirun -n 4 --oversubscribe $recovery "$program" $deaths >mpi.out 2>mpi.err ||
        { echo "mpirun with $deaths deaths in 16 pieces failed: $?"; failed=1; }
    grep -q '^4 workers, as one process$' mpi.out || { echo "not the results of one process:"; cat mpi.out mpi.err; failed=1; }
done
timeout 100 mpirun -n 3 --oversubscribe --enable-recovery "$program" slow >mpi.out 2>mpi.err || { echo "mpirun with a slow rank failed: $?"; failed=1; }
grep -q '^one was slow$' mpi.out || { echo "a slow rank: no end"; cat mpi.out mpi.err; failed=1; }
timeout 100 mpirun -n 5 --oversubscribe "$program" late >mpi.out 2>mpi.err || { echo "mpirun where all are late failed: $?"; cat mpi.err; failed=1; }
grep -q '^all were late$' mpi.out || { echo "all were late: no end"; cat mpi.out mpi.err; failed=1; }
[ $failed = 0 ] && echo "mpirun -n 4: the results of one process, twice"
exit $failed
