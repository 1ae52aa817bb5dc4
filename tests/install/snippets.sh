#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016  # hooks are for mmdebstrap's shell
#
# snippets.sh SOURCE VTAC [SERVER…]: the snippets for build servers and the action (github, gitlab, action), typed as they stand, each in a
# Debian 12 that has nothing else: from `apt-get` over the clone of this tree's commit and `./run install` to the regression of a suite of
# two networks on fsim and tsim. It fetches packages of Debian and builds all of vtac for each: too slow for each commit. As root, or
# where user namespaces are allowed. VTAC_CCACHE names a folder of ccache's that lets it build again quickly; the snippets do not see it.
set -eu
source=$(cd "$1" && pwd)
vtac=$2
shift 2
[ $# -gt 0 ] || set -- github gitlab action
command -v mmdebstrap >/dev/null || { echo "no mmdebstrap: 'apt-get install mmdebstrap'"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT INT TERM
fail() { echo "snippets: $*"; exit 1; }

# A user's repository: a suite, and the cycles that were recorded when it was right.
mkdir -p "$work/workspace"
(
    cd "$work/workspace"
    "$vtac" zoo tiny_ad --int8 -o first.onnx >/dev/null
    "$vtac" zoo tiny_kws --int8 -o second.onnx >/dev/null
    echo '{"models": [{"file": "first.onnx", "name": "first"}, {"file": "second.onnx", "name": "second"}],
 "configs": ["tiny"], "devices": ["fsim", "tsim"], "seeds": [3, 4]}' >suite.json
    "$vtac" regress suite.json --baseline cycles.json --update >/dev/null
)
git clone -q --bare "$source" "$work/vtac.git" # the commit that stands there, not what is not committed
mkdir "$work/typed"
/usr/bin/python3 -B "$source/tests/install/snippets.py" "$source" "$work/typed" "$@"
cat >"$work/typed/inside.sh" <<'X'
printf '[safe]\n\tdirectory = *\n' >/etc/gitconfig # the clone's source is another user's
if [ -d /ccache ]; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache OBJCACHE=ccache CCACHE_DIR=/ccache CCACHE_BASEDIR=/opt \
        CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime
fi
for step in /typed/"$1".*.sh; do
    echo "== $step"
    sh -e "$step" </dev/null || exit
done
# The README's words about `./run install`: MPI for mpirun and XGBoost for --tuner xgb are beside it.
cd /workspace
vtac compile first.onnx --target vta --config tiny -o first.so
mpirun --allow-run-as-root --oversubscribe -n 2 vtac run first.so --device tsim:tiny >ranks.txt
vtac run first.so --device tsim:tiny | grep cycles >alone.txt
grep -qxf alone.txt ranks.txt || { echo "ranks: $(cat ranks.txt) instead of $(cat alone.txt)"; exit 1; }
vtac zoo tiny_ad -o floats.onnx
vtac tune floats.onnx --tuner xgb --trials 4 --repeat 1 --log tuned.jsonl
cat /workspace/regress.xml
test -s /workspace/regress.html
X

# The clean Debian has nothing of this machine's environment but the way to the network.
clean="HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8"
for name in http_proxy https_proxy no_proxy; do
    eval "value=\${$name:-}"
    [ -z "$value" ] || clean="$clean $name='$value'"
done

for server in "$@"; do
    begin=$(date +%s)
    set -- --variant=minbase
    if [ -n "${VTAC_CCACHE:-}" ]; then
        mkdir -p "$VTAC_CCACHE"
        set -- "$@" --include=ccache --customize-hook='mkdir "$1/ccache"' --customize-hook="sync-in $VTAC_CCACHE /ccache"
    fi
    for folder in workspace vtac.git typed; do set -- "$@" --customize-hook="copy-in $work/$folder /"; done
    set -- "$@" --customize-hook="chroot \"\$1\" env -i $clean sh /typed/inside.sh $server >'$work/$server.log' 2>&1"
    [ -z "${VTAC_CCACHE:-}" ] || set -- "$@" --customize-hook="sync-out /ccache $VTAC_CCACHE"
    mmdebstrap "$@" bookworm /dev/null >"$work/mmdebstrap.log" 2>&1 ||
        { tail -n 40 "$work/mmdebstrap.log" "$work/$server.log" 2>/dev/null; fail "$server: not as it stands"; }
    grep -q '4 passed, 0 failed' "$work/$server.log" || { tail -n 40 "$work/$server.log"; fail "$server: not all passed"; }
    grep -q 'tests="4" failures="0"' "$work/$server.log" || fail "$server: JUnit says otherwise"
    echo "snippets: $server: as it stands in a clean Debian 12, 4 cases passed, $(($(date +%s) - begin)) s"
done
