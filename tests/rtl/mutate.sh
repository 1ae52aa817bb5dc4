#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mutate.sh BUILD [--matrix | --stale | --drawn COUNT SEED [--of FOLDER]] [--near] [NAME...]: would the suite notice if the RTL were wrong?
#
# Each line of mutations.txt breaks a copy of hw/ in one small way; then the suite's own tests run on that copy, the
# nearest first: benches that judge the module (benched.sh), random programs with fixed seeds and a shipped program on the
# simulator built from it, all other benches, proofs, and `vtac bench hw`. Prints which of them noticed it first. Fails if a mutation survives, is
# stale (its text does not occur exactly once) or does not build, or if the test that noticed fails on the unbroken RTL
# as well. NAME: only these.
#
# --matrix: each mutant meets every layer by itself: the benches that judge its module, its proof, and random programs alone, on what is
# simulated and, if they say nothing there, on what is built. A table, and how many each layer caught; status 0 unless a mutant is
# caught by none.
#
# --drawn COUNT SEED: mutants that draw_mutants.py draws by class over all modules, or with --of over those of hw/FOLDER (rtl or soc), instead of
# those of the table. Modules of hw/soc are judged by the tests of the machine (ctest -R soc_). What nobody notices, Yosys
# tries to prove equal to the module as it is, in the form that is synthesized. Those that cannot be built count for nothing. Status 0 if
# 97 of 100 are caught or equal; the others are listed again at the end. What was caught, or proved, stands in BUILD/mutants, and is not judged again by
# the same call while hw/ is the same: a run that was cut goes on. Ctrl-C ends it with the numbers so far.
#
# LIMIT in the environment: seconds that a mutant of --drawn may take (1200); on which it runs out, nothing is known of it.
#
# --near: the benches and proofs that judge the module itself alone, which takes minutes where all tests take hours; of modules of hw/soc the
# parts of tests that take seconds.
#
# --stale: no test at all; only that no mutation is stale and that every module has one (but vta_array, which only chooses a form). Seconds.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country

build=$(cd "$1" && pwd)
shift
matrix='' stale='' drawn='' near_alone=''
case ${1:-} in
--matrix) matrix=yes && shift ;;
--stale) stale=yes && shift ;;
--drawn)
    [ $# -ge 3 ] || { echo "mutate.sh: --drawn takes a count and a seed" >&2; exit 2; }
    drawn="$2 $3"
    shift 3
    [ "${1:-}" != --of ] || { drawn="$drawn ${2:-}" && shift 2; }
    ;;
esac
[ "${1:-}" != --near ] || { near_alone=yes && shift; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
table=$here/mutations.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'ended_early; exit 1' HUP INT TERM
limit=${LIMIT:-1200} deadline=0
export VTAC_CACHE="$work/cache" VTAC_CXXFLAGS=-O1
mkdir "$work/sound"

# The RTL ($VTAC_HW or ours) and the scripts that test it, as they are now; each mutant is a copy of them.
mkdir -p "$work/good/tests"
cp -R "${VTAC_HW:-$root/hw}" "$work/good/hw"
cp -R "$here" "$work/good/tests/rtl"
cp -R "$root/tests/soc" "$work/good/tests/soc"
for needed in runtime driver isa fpga tests/lib; do ln -s "$root/$needed" "$work/good/$needed"; done

# replace FILE OLD NEW: fails unless OLD occurs exactly once.
replace() {
    OLD=$2 NEW=$3 awk '
        { text = text $0 "\n" }
        END {
            old = ENVIRON["OLD"]
            at = index(text, old)
            rest = substr(text, at + length(old))
            if (at == 0 || index(rest, old) > 0) exit 1
            printf "%s%s%s", substr(text, 1, at - 1), ENVIRON["NEW"], rest
        }' "$1" > "$work/replaced" && cp "$work/replaced" "$1"
}

# The table, its separators as a character that shells split at.
bar=$(printf '\037')
if [ -n "$drawn" ]; then
    table=$work/drawn.txt
    # shellcheck disable=SC2086  # two words or three
    python3 -B "$here/draw_mutants.py" "$work/good/hw" $drawn > "$table"
fi
sed -n "/^#/d; s/ :: /$bar/gp" "$table" > "$work/table"

if [ -n "$stale" ]; then
    status=0
    while IFS=$bar read -r name _ file old new _; do
        cp "$work/good/hw/rtl/$file" "$work/mutant.v"
        replace "$work/mutant.v" "$old" "$new" || { echo "$name: STALE: the text does not occur exactly once in $file"; status=1; }
        ! cmp -s "$work/mutant.v" "$work/good/hw/rtl/$file" || { echo "$name: changes nothing in $file"; status=1; }
    done < "$work/table"
    sed -n "/^#/d; s/ :: /$bar/gp" "$here/mutants_alike.txt" > "$work/alike"
    while IFS=$bar read -r file old new _; do
        cp "$work/good/hw/rtl/$file" "$work/mutant.v"
        replace "$work/mutant.v" "$old" "$new" || { echo "mutants_alike.txt: STALE: '$old' does not occur exactly once in $file"; status=1; }
    done < "$work/alike"
    for file in $(cd "$work/good/hw/rtl" && find . -name '*.v' ! -name vta_array.v | sort); do
        grep -qF "$bar${file#./}$bar" "$work/table" || { echo "${file#./}: no mutation breaks it"; status=1; }
    done
    echo "$(wc -l < "$work/table") mutations"
    exit $status
fi

# Benches and proofs as CTest knows them, the long ones last, and then the speed that each row of `vtac bench hw` asks for, since
# some of the RTL is there for speed alone: a file each, with the words of the command, one a line.
ctest --test-dir "$build" --show-only=json-v1 | python3 -c '
import json, sys
for test in sorted(json.load(sys.stdin)["tests"], key=lambda test: (test["name"] == "bench_hw", "_top_" in test["name"])):
    if test["name"].startswith(("rtl_tb_", "rtl_unit_", "formal", "soc_")) or test["name"] == "bench_hw":
        open(sys.argv[1] + "/" + test["name"], "w").write("\n".join(test["command"]) + "\n")
        print(test["name"])' "$work" > "$work/benches"
benches=$(grep -v '^soc_' "$work/benches")
"$here/benched.sh" > "$work/judges"

# limited SECONDS COMMAND...: at most so long, and no longer than the mutant may take.
limited() {
    seconds=$1
    shift
    if [ "$deadline" -gt 0 ]; then
        left=$((deadline - $(date +%s)))
        [ "$left" -gt 0 ] || { : > "$work/no time"; return 1; }
        [ "$left" -ge "$seconds" ] || seconds=$left
    fi
    status=0
    timeout "$seconds" "$@" &
    echo $! > "$work/pid"
    wait $! || status=$?
    [ "$status" != 124 ] || [ "$deadline" = 0 ] || [ "$(date +%s)" -lt "$deadline" ] || : > "$work/no time"
    return "$status"
}

# registered TEST[@PART] COPY: a bench or proof, or a part of it that takes seconds, with a fixed seed.
registered() {
    test=${1%@*} copy=$2 SOC_PART=${1#"${1%@*}"}
    SOC_PART=${SOC_PART#@}
    if [ -n "$SOC_PART" ]; then export SOC_PART; else unset SOC_PART; fi
    set --
    while read -r word; do
        case $word in
        "$root/tests/rtl/"* | "$root/tests/soc/"* | "$root/hw/"*) word=$work/$copy/${word#"$root"/} ;;
        "$root") word=$work/$copy ;;
        esac
        set -- "$@" "$word"
    done < "$work/$test"
    case $test in rtl_*) set -- "$@" +seed=1 ;; esac
    limited 600 "$@"
}

# file_of CONFIG: a shipped one by its name, one of the tests' by its file.
file_of() {
    if [ -f "$root/isa/configs/$1.json" ]; then echo "$1"; else echo "$root/tests/lib/configs/$1.json"; fi
}

random_programs() {
    limited 300 "$build/bin/test_conformance_random" --config "$(file_of "$config")" --seed 1 --shrink 0 --out "$work" "$@"
}

# runs TEST COPY: quietly. A device that hangs is found out by its watchdog, within moments.
runs() {
    export VTAC_HW="$work/$2/hw"
    case $1 in
    builds) random_programs --count 1 --length 1 --device tsim ;;
    random) random_programs --count 800 --device 'tsim?watchdog=20000' ;;
    built) random_programs --count 200 --device 'tsim?form=built&watchdog=20000' ;;
    stalls) random_programs --count 200 --device 'tsim?watchdog=20000&stall=30&seed={seed}' ;;
    *_proof) limited 600 "$work/$2/hw/formal/prove.sh" "$build/vh" "${1%_proof}" ;;
    program) limited 60 "$build/bin/vtac" exec "$root/isa/programs/tiny.vasm" --device 'tsim?watchdog=20000' ;;
    *) registered "$1" "$2" ;;
    esac > "$work/log" 2>&1
}

# nearest FILE: what judges the module: its own bench first, as CTest calls it, then others, then its proof.
nearest() {
    module=$(basename "$1" .v)
    case $module in
    soc_cpu | soc_fetch | soc_alu | soc_muldiv | soc_csr) echo soc_cpu@6 soc_cpu soc_machine | tr ' ' '\n' && return ;;
    soc_cache | soc_host | soc_join) printf '%s\n' "soc_units@${module}_tb" soc_machine && return ;;
    soc_devices | soc_uart) printf '%s\n' soc_units@soc_devices_tb soc_machine && return ;;
    soc_boot) printf '%s\n' soc_units@soc_boot_tb soc_board && return ;;
    soc_sdram) printf '%s\n' soc_board@sdram soc_board && return ;;
    soc_board) printf '%s\n' soc_board@machine soc_board && return ;;
    soc_*) echo soc_machine && echo soc_board && return ;;
    esac
    sed -n "s/^$module //p" "$work/judges" | tr -s ' ' '\n' | sed '/^$/d' > "$work/near"
    {
        grep -x "${module}_tb" "$work/near" || true
        grep '_tb$' "$work/near" | grep -vx "${module}_tb" || true
    } | while read -r judge; do
        for test in $benches; do
            ! grep -qx "$judge" "$work/$test" || echo "$test"
        done
    done
    sed -n 's/_formal$/ proof/p' "$work/near" | tr ' ' '_'
}

# words FILE: what Icarus says of the mutant; a bench must not fail for that.
words() {
    cd "$work/mutant/hw"
    # shellcheck disable=SC2046
    case $1 in
    ../soc/*) iverilog -g2005 -Wall -Wno-timescale -tnull "-I$build/vh" -Iinclude -s soc_board soc/*.v soc/tb/soc_page.v 2>&1 ;;
    *) iverilog -g2005 -Wall -tnull "-I$build/vh" -Iinclude -s vta_top $(find rtl -name '*.v') 2>&1 ;;
    esac
}

# Builds the synthesized forms in place of the simulated ones, so that programs run on them.
build_forms() {
    find "$work/mutant/hw/rtl" -name '*.v' -exec sed -i 's/^`ifdef SYNTHESIS/`ifndef VTA_NEVER/; s/^`ifndef SYNTHESIS/`ifdef VTA_NEVER/' {} +
}

# row FILE: caught (x) or not (.) by benches, by the proof (- without one), by random programs.
row() {
    benches_say=. proof_says=- random_says=.
    for by in $(nearest "$1"); do
        case $by in
        *_proof) proof_says=. && { runs "$by" mutant || proof_says=x; } ;;
        *) [ "$benches_say" = x ] || runs "$by" mutant || benches_say=x ;;
        esac
    done
    if runs builds mutant; then
        runs random mutant || random_says=x
    elif ! grep -q 'the log is' "$work/log"; then
        random_says=x
    fi
    if [ "$random_says" = . ]; then
        build_forms
        runs random mutant || random_says=x
    fi
    echo "$benches_say $proof_says $random_says"
}

# summary: what was found so far of drawn mutants.
summary() {
    judged=$((count - unbuilt))
    [ ! -f "$work/survivors" ] || { echo "what nobody noticed:"; cat "$work/survivors"; }
    echo "$count mutants, seed ${drawn#* }: $unbuilt cannot be built; of $judged, $caught caught and $equal equal"
}

# ended_early: no test goes on, and what was found is said.
ended_early() {
    [ ! -e "$work/pid" ] || kill "$(cat "$work/pid")" 2> "$work/log" || true
    [ -z "${as_it_is:-}" ] || [ -z "$drawn" ] || { echo "ended early:" && summary; }
}

# The first test that fails for the mutant of FILE, or nothing.
noticed_by() {
    near=$(nearest "$1")
    case $near in *@*) [ -z "$near_alone" ] || near=$(echo "$near" | grep @) ;; esac
    case $1 in ../soc/*) ;; *) [ -n "$near_alone" ] || near="$near random built stalls program $benches" ;; esac
    for by in $near; do
        if [ "$by" = random ] && ! runs builds mutant && grep -q 'the log is' "$work/log"; then
            echo 'not built'
            return
        fi
        runs "$by" mutant || { echo "$by"; return; }
        [ ! -e "$work/no time" ] || return 0
    done
}

# is_sound TEST: it holds for the unbroken RTL; asked once.
is_sound() {
    [ -e "$work/sound/$1-$config" ] || { runs "$1" good && : > "$work/sound/$1-$config"; }
}

# equal FILE: Yosys proves the mutant of FILE equal to the module, with its own parameters, from any state that both can be in; and it is
# another one in the form that is read.
equal() {
    module=$(basename "$1" .v)
    ! cmp -s "$work/mutant/hw/rtl/$1" "$work/good/hw/rtl/$1" || return 1
    for side in good mutant; do
        cat <<END > "$work/$side.ys"
read_verilog -DSYNTHESIS -I$build/vh -I$work/$side/hw/include $(find "$work/$side/hw/rtl" -name '*.v' | tr '\n' ' ') $(echo "$work/$side"/hw/soc/*.v)
hierarchy -check -top $module
setattr -mod -unset keep_hierarchy
proc
flatten
opt_clean
memory_map
opt -fast
rename $module $side
write_rtlil $work/$side.il
END
        timeout 60 yosys -q -s "$work/$side.ys" > "$work/log" 2>&1 || return 1
    done
    if cmp -s "$work/good.il" "$work/mutant.il"; then # what is read is the same: so is all, where no text is left out
        if grep -q '^.if' "$work/good/hw/rtl/$1"; then return 1; else return 0; fi
    fi
    timeout 120 yosys -q -p "read_rtlil $work/good.il; read_rtlil $work/mutant.il; equiv_make good mutant both; hierarchy -top both;
        opt_clean; equiv_simple -undef; equiv_induct -undef; equiv_status -assert" > "$work/log" 2>&1
}

# is_alike ROW: a drawn mutant of which mutants_alike.txt says that nothing can tell it.
is_alike() { [ -n "$drawn" ] && ROW=$1 awk 'index($0, ENVIRON["ROW"]) == 1 { found = 1 } END { exit !found }' "$here/mutants_alike.txt"; }

# judge FILE OLD NEW: prints the verdict.
judge() {
    rm -rf "$work/mutant"
    cp -R "$work/good" "$work/mutant"
    replace "$work/mutant/hw/rtl/$1" "$2" "$3" || { echo "STALE: the text does not occur exactly once in $1"; return; }
    ! is_alike "$1 :: $2 :: $3 :: " || { echo "equal, as mutants_alike.txt says why"; return; }
    [ -z "$(words "$1")" ] || { echo "DOES NOT BUILD: $(words "$1" | head -n 1)"; return; }
    [ -z "$matrix" ] || { row "$1"; return; }
    rm -f "$work/no time"
    [ -z "$drawn" ] || deadline=$(($(date +%s) + limit))
    by=$(noticed_by "$1")
    deadline=0
    [ ! -e "$work/no time" ] || { echo "NO TIME: $limit s were over in $by"; return; }
    case $by in
    '') if [ -n "$drawn" ] && equal "$1"; then echo "equal by proof"; else echo "SURVIVED"; fi; return ;;
    'not built') echo "DOES NOT BUILD: $(grep 'the log is' "$work/log")"; return ;;
    esac
    if is_sound "$by"; then echo "caught by $by"; else echo "NO VERDICT: $by fails on the unbroken RTL, too"; fi
}

count=0 caught=0 equal=0 unbuilt=0 by_bench=0 by_proof=0 by_random=0
# The file of verdicts that stay, by a sum of the mutant and of hw/ as it is, but for its benches.
kept=/dev/null
if [ -n "$drawn" ]; then
    mkdir -p "$build/mutants"
    kept=$build/mutants/$(echo "$drawn" | tr ' /' '--')
    touch "$kept"
fi
as_it_is=$(cd "$work/good/hw" && find rtl soc include -type f ! -path '*/tb/*' | sort | xargs cat | cksum)

# known ROW...: the verdict that is kept of it.
known() { sed -n "s/^$(echo "$as_it_is $*" | cksum) //p" "$kept" | tail -n 1; }
keep() {
    verdict=$1
    shift
    case $verdict in caught* | equal* | 'DOES NOT BUILD'*) echo "$(echo "$as_it_is $*" | cksum) $verdict" >> "$kept" ;; esac
}

[ -z "$matrix" ] || printf '%-18s %-26s %-6s %-6s %s\n' mutant module bench proof random
while IFS=$bar read -r name config file old new what <&3; do
    case " $* " in '  ' | *" $name "*) ;; *) continue ;; esac
    verdict=$([ -z "$drawn" ] || known "$config" "$file" "$old" "$new")
    if [ -z "$verdict" ]; then
        verdict=$(judge "$file" "$old" "$new")
        [ -z "$drawn" ] || keep "$verdict" "$config" "$file" "$old" "$new"
    fi
    count=$((count + 1))
    if [ -z "$matrix" ]; then
        printf '%-18s %s (%s)\n' "$name" "$verdict" "$what"
        case $verdict in
        caught*) caught=$((caught + 1)) ;;
        equal*) equal=$((equal + 1)) ;;
        'DOES NOT BUILD'*) unbuilt=$((unbuilt + 1)) ;;
        *) printf '%-18s %s\n    %s\n    %s\n' "$name" "$file ($what)" "$old" "$new" >> "$work/survivors" ;;
        esac
        continue
    fi
    case $verdict in [x.]' '*) ;; *) printf '%-18s %s\n' "$name" "$verdict" && continue ;; esac
    # shellcheck disable=SC2086  # three words
    printf '%-18s %-26s %-6s %-6s %s\n' "$name" "$file" $verdict
    case $verdict in *x*) caught=$((caught + 1)) ;; esac
    case $verdict in x*) by_bench=$((by_bench + 1)) ;; esac
    case $verdict in ??x*) by_proof=$((by_proof + 1)) ;; esac
    case $verdict in *x) by_random=$((by_random + 1)) ;; esac
done 3< "$work/table"

[ -z "$matrix" ] || echo "caught by benches $by_bench, by proofs $by_proof, by random programs $by_random"
if [ -n "$drawn" ]; then
    summary
    [ "$judged" -gt 0 ] && [ $((100 * (caught + equal))) -ge $((97 * judged)) ]
    exit
fi
echo "$count mutations, $caught caught"
[ "$count" -gt 0 ] && [ "$caught" -eq "$count" ]
