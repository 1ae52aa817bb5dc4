# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by `NAME.sh VTAC CONFIGS`, in the folder of this file: the program and the folder of configurations, an empty folder to
# work in that is gone at the end, and the seed of the test e2e_NAME.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
# shellcheck disable=SC2034  # for the scripts that source this
vtac=$1 configs=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
name=e2e_$(basename "$0" .sh)
seed=$("$here/../lib/seed.sh" "$name")
echo "seed $seed"
