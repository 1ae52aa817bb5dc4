#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The rules that hold for the tree itself: what lies at the top, includes that run one way, a README in each folder,
# a licence line in each source, nothing generated, no machine's paths.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
cd "$1"
failed=0
fail() { echo "tree: $*"; failed=1; }

if git rev-parse --git-dir >/dev/null 2>&1; then
    files=$(git ls-files --cached --others --exclude-standard)
else
    files=$(find . -path ./build -prune -o -type f -print | sed 's|^\./||')
fi

for top in $(printf '%s\n' "$files" | sed 's|/.*||' | sort -u); do
    case $top in
    .* | CMakeLists.txt | CMakePresets.json | README.md | LICENSE | CHANGELOG.md | SECURITY.md | CONTRIBUTING.md | run | hw | sim | driver | compiler | runtime | isa | tests | fpga) ;;
    *) fail "'$top' does not belong at the top level" ;;
    esac
done

for folder in hw sim driver compiler runtime isa tests fpga; do
    [ -f "$folder/README.md" ] || fail "$folder/README.md is missing"
done

# A header belongs to the folder whose include/ holds it; a folder may include from those listed after it.
may_include() {
    case $1 in
    isa) echo isa ;;
    sim) echo sim isa ;;
    driver) echo driver sim isa ;;
    runtime) echo runtime driver sim isa ;;
    compiler) echo compiler runtime driver sim isa ;;
    esac
}
for folder in isa sim driver runtime compiler; do
    allowed=$(may_include $folder)
    for header in $(printf '%s\n' "$files" | grep "^$folder/.*\.[ch]$" | xargs sed -n 's|^#.*include "\(vtac\{0,1\}/[^"]*\)".*|\1|p' | sort -u); do
        owner=$(printf '%s\n' "$files" | grep "/include/$header\$" | sed 's|/.*||' | head -n 1)
        [ -n "$owner" ] || { fail "$folder includes '$header', which no folder publishes"; continue; }
        case " $allowed " in
        *" $owner "*) ;;
        *) fail "$folder includes '$header' of $owner: includes run compiler, runtime, driver, sim, isa" ;;
        esac
    done
done

for file in $(printf '%s\n' "$files" | grep -E '\.([ch]|cc|v|vh|sh|def)$'); do
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || fail "$file has no licence line"
done

for file in $(printf '%s\n' "$files" | grep -E '\.(o|a|so|bin|out|vcd|fst|pyc)$'); do
    fail "$file looks generated"
done
for file in $files; do
    [ "$(wc -c <"$file")" -le 1048576 ] || fail "$file is larger than 1 MiB"
done

# Each verb that the front door lists is one that it takes: a copy of it that goes no further.
front=$(mktemp)
trap 'rm -f "$front"' EXIT
# shellcheck disable=SC2016  # as it stands there
sed 's/^    "do_$verb" "$@"$/    echo taken/' run >"$front"
verbs=$(sh run | sed -n 's/^  \([a-z][^ ]*\)  .*/\1/p; s/^  \([a-z][^ ]*\) [^ ].*/\1/p')
[ "$(echo "$verbs" | wc -l)" -gt 10 ] || fail "./run lists few verbs"
for verb in $verbs; do
    [ "$(sh "$front" "$verb" 2>&1)" = taken ] || fail "./run lists '$verb' and does not take it"
done
exit $failed
