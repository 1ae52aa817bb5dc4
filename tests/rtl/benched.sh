#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# benched.sh: which bench or proof judges each module of the RTL. One that instantiates it, or one that says in a line
# "// parts: MODULE ..." that it judges the module as a part of what it instantiates. Fails if a module has none, or if
# a bench names a part that its units do not have.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
cd "$(dirname "$0")/../../hw"
benches=$(find tb -maxdepth 1 -name '*_tb.v' | sort; find tb/compute -name '*_tb.v' | sort; find formal -name '*_formal.v' | sort)

# instances FILE...: the modules that they instantiate.
instances() {
    sed -n 's/^ *\(vta_[a-z0-9_]*\) *\(#(.*\|[a-z][a-z0-9_]* (.*\)$/\1/p' "$@" | sort -u
}

# within MODULE...: these and all that they are made of.
within() {
    found=$*
    more=$found
    while [ -n "$more" ]; do
        files=
        for module in $more; do
            files="$files $(find rtl -name "$module.v")"
        done
        # shellcheck disable=SC2086  # lists
        below=$(instances $files)
        more=
        for module in $below; do
            case " $found " in *" $module "*) ;; *) more="$more $module" found="$found $module" ;; esac
        done
    done
    echo "$found"
}

status=0
for bench in $benches; do
    parts=$(sed -n 's,^// parts: ,,p' "$bench")
    [ -n "$parts" ] || continue
    # shellcheck disable=SC2046
    all=$(within $(instances "$bench"))
    for part in $parts; do
        case " $(echo "$all" | tr '\n' ' ') " in *" $part "*) ;; *) echo "$bench: $part is no part of what it judges"; status=1 ;; esac
    done
done

# One line a bench: its name, and the modules that it judges.
pairs=$(for bench in $benches; do
    echo "$(basename "$bench" .v)" "$(instances "$bench" | tr '\n' ' ')" "$(sed -n 's,^// parts: ,,p' "$bench")"
done)

{
    find rtl -name '*.v' | sort | sed 's,.*/\(.*\)\.v$,\1,'
    echo --
    echo "$pairs"
} | awk '
    $1 == "--"   { benches = 1; next }
    !benches     { modules[++count] = $1; next }
                 { for (i = 2; i <= NF; i++) judges[$i] = judges[$i] " " $1 }
    END {
        for (m = 1; m <= count; m++) {
            printf "%-18s%s\n", modules[m], modules[m] in judges ? judges[modules[m]] : " has neither bench nor proof"
            if (!(modules[m] in judges)) missing = 1
        }
        print count " modules"
        exit missing
    }' || status=1
exit $status
