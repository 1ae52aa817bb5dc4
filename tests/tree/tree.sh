#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The rules that hold for the tree itself: what lies at the top, includes that run one way, a README in each folder,
# a licence line in each source, nothing generated, no machine's paths, tables in comments that are tables.
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
owners=$(printf '%s\n' "$files" | sed -n 's|^\([^/]*\)/\(.*/\)\{0,1\}include/\(vtac\{0,1\}/.*\)|\3 \1|p')
for folder in isa sim driver runtime compiler; do
    wrong=$(printf '%s\n' "$files" | grep "^$folder/.*\.[ch]$" | xargs sed -n 's|^#.*include "\(vtac\{0,1\}/[^"]*\)".*|\1|p' | sort -u |
        awk -v owners="$owners" -v allowed=" $(may_include $folder) " -v folder="$folder" '
            BEGIN {
                rows = split(owners, row, "\n")
                for (i = 1; i <= rows; i++) { split(row[i], word, " "); if (!(word[1] in owner)) owner[word[1]] = word[2] }
            }
            !($0 in owner) { print folder " includes \047" $0 "\047, which no folder publishes"; next }
            !index(allowed, " " owner[$0] " ") {
                print folder " includes \047" $0 "\047 of " owner[$0] ": includes run compiler, runtime, driver, sim, isa"
            }')
    [ -z "$wrong" ] || fail "$wrong"
done

wrong=$(printf '%s\n' "$files" | grep -E '\.([ch]|cc|v|vh|sh|def)$' |
    xargs awk 'FNR <= 3 && /SPDX-License-Identifier: Apache-2.0/ { has[FILENAME] = 1 } FNR == 3 { nextfile }
        END { for (i = 1; i < ARGC; i++) if (!has[ARGV[i]]) print ARGV[i] " has no licence line" }')
[ -z "$wrong" ] || fail "$wrong"

# A row of a table or a list in a comment that is too long, which the formatter has then made into prose with the row below it.
wrong=$(printf '%s\n' "$files" | grep -E '\.([ch]|cc)$' | xargs awk '
    FNR > 1 && row && /^ \* [a-z(+[]/ { print FILENAME ":" FNR ": it was a row of its own, and follows upon another" }
    { row = length($0) > 85 && /^ \*   *[^ ]/ && !/^ \* [^ ]/ }')
[ -z "$wrong" ] || fail "$wrong"

for file in $(printf '%s\n' "$files" | grep -E '\.(o|a|so|bin|out|vcd|fst|pyc)$'); do
    fail "$file looks generated"
done
wrong=$(printf '%s\n' "$files" | tr '\n' '\0' | xargs -0 wc -c | awk '$1 > 1048576 && $2 != "total" { print $2 " is larger than 1 MiB" }')
[ -z "$wrong" ] || fail "$wrong"

# Names out of models, agents and files reach a terminal by cli_print, cli_put and cli_say alone, which make them fit for it.
wrong=$(printf '%s\n' "$files" | grep '^compiler/cli/.*\.c$' | grep -v '^compiler/cli/terminal/\(ground\|ticker\)\.c$' |
    xargs grep -nE '[^a-z_](v?printf|puts|putchar|perror)\(|[^a-z_](v?[df]printf|f?putc|fputs|fwrite|write)\([^;]*(stdout|stderr|STD(OUT|ERR)_FILENO)' || true)
[ -z "$wrong" ] || fail "printed past ground.h: $wrong"
wrong=$(printf '%s\n' "$files" | grep '^compiler/cli/.*\.c$' | grep -v '^compiler/cli/terminal/' | xargs grep -n 'cli_put_made(' || true)
[ -z "$wrong" ] || fail "only the terminal's own files may print what has been made fit: $wrong"

# Files get their names in one way: vta_writer and vta_file_publish. Others append to a log, write a file that only a run of
# their own reads, or make a folder of the cache.
wrong=$(printf '%s\n' "$files" | grep -E '^(isa|driver|runtime|sim|compiler)/.*\.c$' | grep -vE '^(isa/base/src/writer|sim/tsim/(build_cache|timeline)|'\
'runtime/src/seal|compiler/cli/(workers/self|regress/suite))\.c$' | xargs grep -nE '[^a-z_]rename\(|fopen\([^"]*"[wa]' || true)
[ -z "$wrong" ] || fail "written past vta/file.h: $wrong"

# Each verb that the front door lists is one that it takes: a copy of it that goes no further.
front=$(mktemp)
trap 'rm -f "$front"' EXIT
# shellcheck disable=SC2016  # as it stands there
sed 's/^    "do_$verb" "$@"$/    echo taken/' run >"$front"
verbs=$(sh run | sed -n 's/^  \([a-z][^ ]*\)  .*/\1/p; s/^  \([a-z][^ ]*\) [^ ].*/\1/p')
[ "$(echo "$verbs" | wc -l)" -gt 10 ] || fail "./run lists few verbs"
[ "$(echo "$verbs" | tr - _ | sort)" = "$(sed -n 's/^do_\([a-z0-9_]*\)().*/\1/p' run | sort)" ] || fail "./run does not list each of its verbs"
for verb in $verbs; do
    [ "$(sh "$front" "$verb" 2>&1)" = taken ] || fail "./run lists '$verb' and does not take it"
    sh run "$verb" --help | head -n 1 | grep -qE "^  $verb( |\$)" || fail "'./run $verb --help' does not say what it is"
done
wrong=$(cd tests && sh ../run site --help 2>&1) || fail "./run from another folder: $wrong"
for words in 'fuzz all 0' 'fuzz 0 all' 'fuzz all'; do # the number of seconds stands first or last
    # shellcheck disable=SC2086
    sh run $words 2>&1 | grep -q "is not a number above 0" || fail "'./run $words' does not say that it needs a number"
done
exit $failed
