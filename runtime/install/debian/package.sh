#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# package.sh BUILD FOLDER: Debian packages of what the build installs, in FOLDER: libvta1, libvtac1, libvta-dev, vtac, python3-vta,
# golang-vta-dev, libvta-onnxruntime, libvta-tflite, libvta-java and vtac-mpi (where Java and MPI are), vta-board; and a wheel for Python. Each package lists its contents (usr/share/doc/PACKAGE/sbom.spdx.json). The same tree gives the same bytes: times are the last commit's, owners root, files in the order of their names.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
umask 022
arch=$(dpkg --print-architecture)
version=$(sed -n 's/^project(vtac VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
date=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
maintainer='vtac maintainers <maintainers@vtac.invalid>'

fail() { echo "package: $*" >&2; exit 1; }

DESTDIR=$work/all cmake --install "$build" --prefix /usr >"$work/log" 2>&1 || { cat "$work/log" >&2; fail 'the build does not install'; }
all=$work/all/usr
find "$work/all" -name '*.so*' -type f -exec strip --remove-section=.comment --remove-section=.note {} +
# shellcheck disable=SC2086  # VTAC_PREBUILT: names of configurations whose simulators the package has; all that are shipped unless told
"$here/../simulators.sh" "$build" "$all" ${VTAC_PREBUILT:-} >"$work/log" 2>&1 || { cat "$work/log" >&2; fail 'the simulators do not build'; }
python3 -B "$here/../wheel.py" vta "$work/all" "$version" "$out" >/dev/null

# take PACKAGE PATH…: moves installed files to a package; an empty pattern is a mistake.
take() {
    package=$1
    shift
    for path in "$@"; do
        mkdir -p "$work/$package/usr/$(dirname "$path")"
        mv "$all/$path" "$work/$package/usr/$path"
    done
}
(cd "$all" && find lib -name 'libvta.so.*' -o -name libvta_gpu.so) >"$work/runtime"
# shellcheck disable=SC2046  # names without blanks
take libvta1 $(cat "$work/runtime")
(cd "$all" && find lib -name 'libvtac.so.*' -o -name libvtac_llvm.so) >"$work/compiler"
# shellcheck disable=SC2046
take libvtac1 $(cat "$work/compiler")
take libvta-onnxruntime lib/vtac/libvta-onnxruntime.so
take libvta-tflite lib/vtac/libvta-tflite.so
take libvta-dev include lib/libvta.so lib/libvtac.so lib/libvta.a lib/pkgconfig lib/cmake
take python3-vta lib/python3
take vta-board bin/vtac-agent bin/vta-run bin/vta-mem
take golang-vta-dev share/gocode
[ ! -d "$all/share/java" ] || take libvta-java lib/jni share/java
[ ! -f "$all/lib/vtac/libvtac_mpi.so" ] || take vtac-mpi lib/vtac/libvtac_mpi.so
take vtac bin/vtac lib/vtac/simulators share
[ -z "$(find "$all" -type f)" ] || fail "installed, and in no package: $(find "$all" -type f)"
if [ -d "$work/vtac-mpi" ]; then # what it calls is MPI's alone
    mkdir -p "$work/vtac-mpi/usr/share/lintian/overrides"
    echo 'vtac-mpi: library-not-linked-against-libc [usr/lib/vtac/libvtac_mpi.so]' >"$work/vtac-mpi/usr/share/lintian/overrides/vtac-mpi"
fi
mkdir -p "$work/vtac/usr/share/lintian/overrides" # a simulator is what its manifest says, to the byte
echo 'vtac: unstripped-binary-or-object [usr/lib/vtac/simulators/*]' >"$work/vtac/usr/share/lintian/overrides/vtac"
mkdir -p "$work/vta-board/usr/lib/udev/rules.d"
cp "$root/driver/install/70-vta.rules" "$work/vta-board/usr/lib/udev/rules.d/"

# A manual page of what a program says of itself.
page() { # PACKAGE NAME WHAT COMMAND…
    package=$1
    name=$2
    what=$3
    shift 3
    mkdir -p "$work/$package/usr/share/man/man1"
    "$here/man.sh" "$name" "$what" "$version" "$SOURCE_DATE_EPOCH" "$@" | gzip -9n >"$work/$package/usr/share/man/man1/$name.1.gz"
}
"$here/manuals.sh" "$work/vtac/usr/bin/vtac" "$work/vtac/usr/share/man/man1" "$version" "$SOURCE_DATE_EPOCH"
page vta-board vta-run "run a compiled model from a board's shell" "$work/vta-board/usr/bin/vta-run" --help
page vta-board vtac-agent 'the other end of ssh:// devices' "$work/vta-board/usr/bin/vtac-agent" --help

# Stripped as Debian has it: programs and libraries whole, the archive and modules of what only a debugger reads.
find "$work" \( -path "$work/all" -o -path '*/lib/vtac/simulators' \) -prune -o -type f \( -path '*/usr/bin/*' -o -name '*.so*' \) -print | while read -r file; do
    strip --remove-section=.comment --remove-section=.note "$file"
    chmod 644 "$file"
    case $file in */usr/bin/*) chmod 755 "$file" ;; esac
done
strip --strip-debug --enable-deterministic-archives "$work/libvta-dev/usr/lib/libvta.a"

# depends FILE…: the Debian packages that own the libraries they need.
depends() {
    for file in "$@"; do objdump -p "$file"; done | sed -n 's/^ *NEEDED *//p' | sort -u | while read -r library; do
        case $library in
        libvta.so.*) echo "libvta1 (= $version-1)"; continue ;;
        libvtac.so.*) echo "libvtac1 (= $version-1)"; continue ;;
        esac
        path=$(ldconfig -p | sed -n "s|^\t$library (.*x86-64.*) => ||p; s|^\t$library (libc6,AArch64.*) => ||p" | head -n 1)
        [ -n "$path" ] || fail "no package has $library"
        owner=$(dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "$(readlink -f "$path")") || fail "no package has $path"
        name=$(echo "$owner" | head -n 1 | cut -d : -f 1)
        echo "$name (>= $(dpkg-query -W -f '${Version}' "$name:$arch" | sed 's/[+~].*//; s/-[^-]*$//'))"
    done | sort -u | paste -sd , - | sed 's/,/, /g'
}

# pack PACKAGE SECTION DEPENDS SUMMARY; the rest of the description comes from standard input.
pack() {
    package=$1
    tree=$work/$1
    mkdir -p "$tree/usr/share/doc/$package" "$tree/DEBIAN"
    sed "s/@DATE@/$date/; s/@PACKAGE@/$package/" "$here/copyright" >"$tree/usr/share/doc/$package/copyright"
    {
        printf 'vtac (%s-1) unstable; urgency=medium\n\n  * Release %s; CHANGELOG.md of the source tells what changed.\n\n' "$version" "$version"
        printf ' -- %s  %s\n' "$maintainer" "$date"
    } | gzip -9n >"$tree/usr/share/doc/$package/changelog.Debian.gz"
    python3 -B "$here/../sbom.py" "$tree" "$package" "$version-1" "$SOURCE_DATE_EPOCH" Apache-2.0 "$3" >"$work/sbom"
    mv "$work/sbom" "$tree/usr/share/doc/$package/sbom.spdx.json"
    chmod 644 "$tree/usr/share/doc/$package/sbom.spdx.json"
    {
        printf 'Package: %s\nSource: vtac\nVersion: %s-1\nArchitecture: %s\nMaintainer: %s\n' "$package" "$version" "$arch" "$maintainer"
        printf 'Installed-Size: %s\nSection: %s\nPriority: optional\n' "$(du -sk --apparent-size "$tree/usr" | cut -f 1)" "$2"
        [ -z "$3" ] || printf 'Depends: %s\n' "$3"
        [ "$package" != python3-vta ] || printf 'Recommends: libvtac1 (= %s-1)\n' "$version"
        printf 'Homepage: https://vtac.invalid/\nDescription: %s\n' "$4"
        sed 's/^/ /'
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
    case $package in
    libvta1 | libvtac1)
        echo 'activate-noawait ldconfig' >"$tree/DEBIAN/triggers"
        echo "${package%1} 1 $package (>= $version)" >"$tree/DEBIAN/shlibs"
        ;;
    esac
    find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/${package}_$version-1_$arch.deb" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$package"; }
}
pack libvta1 libs "$(depends "$work"/libvta1/usr/lib/libvta.so.*.*.* "$work"/libvta1/usr/lib/vtac/*.so)" 'runtime of the vtac accelerator' <<'END'
Loads models that vtac compiled and runs them on the host, on simulators of
the accelerator, on a board's accelerator, on devices with OpenCL
or CUDA, or on another machine over ssh.
END
pack libvtac1 libs "lld-19 | lld, $(depends "$work"/libvtac1/usr/lib/libvtac.so.*.*.* "$work"/libvtac1/usr/lib/vtac/*.so)" 'compiler of ONNX models for the vtac accelerator, as a library' <<'END'
What the program vtac does, as functions of C, in the process of their caller;
and the part that both load when they need it, with LLVM.
END
pack libvta-dev libdevel "libvta1 (= $version-1), libvtac1 (= $version-1), libcjson-dev" 'runtime and compiler of the vtac accelerator, for programs' <<'END'
Headers for C and C++, the static library, pkg-config and CMake files.
END
pack vtac devel "libvtac1 (= $version-1), $(depends "$work/vtac/usr/bin/vtac")" 'compiler of ONNX models for the vtac accelerator' <<'END'
Compiles ONNX models to one shared object that runs on an 8-bit accelerator
and on the host, simulates the accelerator functionally or cycle by cycle,
and tells where each cycle went.
END
pack python3-vta python "python3 (>= 3.8), $(depends "$work"/python3-vta/usr/lib/python3/dist-packages/vta/_vta.abi3.so)" 'runtime of the vtac accelerator, for Python' <<'END'
Compiled models as Python objects: buffers and DLPack tensors without a copy,
asyncio, exceptions.
END
pack golang-vta-dev golang "libvta-dev (= $version-1), golang-go (>= 2:1.19~), pkgconf" 'runtime of the vtac accelerator, for Go' <<'END'
Compiled models from Go, by its C interface: slices, errors, contexts.
END
pack libvta-onnxruntime libs "$(depends "$work"/libvta-onnxruntime/usr/lib/vtac/*.so)" 'the vtac accelerator in ONNX Runtime' <<'END'
An execution provider that ONNX Runtime 1.23 and later loads: quantized parts
of a model are compiled and run on the accelerator, on a simulator of it, or
on a board over ssh.
END
pack libvta-tflite libs "$(depends "$work"/libvta-tflite/usr/lib/vtac/*.so)" 'the vtac accelerator in TensorFlow Lite' <<'END'
An external delegate that TensorFlow Lite loads: 8-bit parts of a model are
compiled and run on the accelerator, on a simulator of it, or on a board over
ssh, with the integers of TensorFlow Lite.
END
[ ! -d "$work/libvta-java" ] || pack libvta-java java "default-jre-headless (>= 2:1.17) | java17-runtime-headless, $(depends "$work"/libvta-java/usr/lib/jni/*.so)" \
    'runtime of the vtac accelerator, for Java' <<'END'
Compiled models as Java objects, 17 and later: direct buffers without a copy,
futures, exceptions.
END
[ ! -d "$work/vtac-mpi" ] || pack vtac-mpi devel "vtac (= $version-1), $(depends "$work"/vtac-mpi/usr/lib/vtac/*.so)" \
    'compiler of ONNX models for the vtac accelerator, work over MPI' <<'END'
Hands the work of tuning and exploring to the ranks of an MPI program.
END
pack vta-board misc "$(depends "$work"/vta-board/usr/bin/*)" "what a board with the vtac accelerator runs" <<'END'
The agent that serves the board's accelerator over ssh, a program that runs
compiled models from the shell, and the rules that give the group vta access.
END
(cd "$out" && wc -c ./*_"$version-1_$arch.deb")
