#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

vtac devices
exits 0
holds "fsim is there" grep -qE "^fsim +available" out
vtac devices --json
exits 0
good_json out
says out '"scheme": "fsim"'
vtac devices --runnable
exits 0
holds "fsim can be run" grep -qx fsim out
vtac devices --runnable
holds "each line is a scheme" sh -c '! grep -qv "^[a-z]*$" out'
vtac devices all
refused 2 "vtac devices: unexpected 'all'; expected no operand"
vtac devices --runable
refused 2 "vtac devices: unknown option '--runable'; did you mean '--runnable'?"
finish
