#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The operator table of compiler/OPERATORS.md is what the tables in the code say: `vtac ops --markdown`.
#
# usage: ops_table.sh VTAC OPERATORS.md
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
wanted=$("$1" ops --markdown)
found=$(sed -n '/^| domain | operators | types | /,/^$/p' "$2")
[ -n "$found" ] || { echo "$2: no operator table in it"; exit 1; }
[ "$found" = "$wanted" ] || { echo "$2: its operator table is not what 'vtac ops --markdown' prints; put that there"; exit 1; }
rows=$(printf '%s\n' "$wanted" | wc -l)
echo "ok: $rows lines"
