#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh FOLDER: Debian's kernel for ARM, unpacked and not installed: FOLDER/vmlinuz, uio.ko, uio_pdrv_genirq.ko and
# busybox. Debian's configuration leaves uio_pdrv_genirq out; it is built from the source of the same kernel, as it stands.
# apt keeps lists of its own in FOLDER, so that this machine's architectures stay what they are; needs no root.
set -eu
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
folder=$1
tools=arm-linux-gnueabihf
die() { echo "fetch.sh: $*" >&2; exit 1; }

[ ! -e "$folder/ready" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder/lists/partial" "$folder/archives/partial" "$folder/packages" "$folder/module"
folder=$(cd "$folder" && pwd)
own=$(dpkg --print-architecture)
: >"$folder/status"
cat >"$folder/apt.conf" <<X
APT::Architectures { "$own"; "armhf"; };
APT::Sandbox::User "";
Dir::State "$folder";
Dir::State::status "$folder/status";
Dir::Cache "$folder";
X
export APT_CONFIG="$folder/apt.conf"

# One list that cannot be had is no harm while the others name the packages.
apt-get update -q >"$folder/log" 2>&1 || true
image=$(apt-cache depends linux-image-armmp:armhf 2>>"$folder/log" | sed -n 's/^ *Depends: \([^:]*\).*/\1/p' | head -n 1)
[ -n "$image" ] || die "apt knows no linux-image-armmp for armhf; $folder/log says more"
release=${image#linux-image-}                             # 6.1.0-50-armmp
series=$(echo "$release" | cut -d . -f 1,2)               # 6.1
common=${release%-armmp}-common
version=$(apt-cache show "$image:armhf" | sed -n 's/^Version: //p' | head -n 1)
(cd "$folder/packages" && apt-get download -q "$image:armhf=$version" "linux-headers-$release:armhf=$version" \
    "linux-headers-$common=$version" "linux-kbuild-$series=$version" "linux-source-$series=$version" busybox-static:armhf) \
    >>"$folder/log" 2>&1 || die "cannot fetch the packages of $image $version; $folder/log says more"
(cd "$folder" && apt-get download -q "linux-kbuild-$series:armhf=$version") >>"$folder/log" 2>&1 || die "no linux-kbuild for armhf"

# Everything but the source, which is large and needed for one file.
for package in "$folder"/packages/*.deb; do
    case $package in */linux-source-*) ;; *) dpkg-deb -x "$package" "$folder/root" ;; esac
done
dpkg-deb -x "$folder"/linux-kbuild-*.deb "$folder/there"
{ dpkg-deb --fsys-tarfile "$folder"/packages/linux-source-*.deb 2>/dev/null || true; } |
    tar -xO "./usr/src/linux-source-$series.tar.xz" |
    tar -C "$folder/module" -xJ --strip-components=3 "linux-source-$series/drivers/uio/uio_pdrv_genirq.c"

# The headers look for each other below /usr; modpost for another word size is that architecture's own.
headers=$folder/root/usr/src/linux-headers-$release
sed -i "s#/usr/src/#$folder/root/usr/src/#" "$headers/Makefile"
modpost=usr/lib/linux-kbuild-$series/scripts/mod/modpost
cat >"$folder/root/$modpost" <<X
#!/bin/sh
exec qemu-arm -L /usr/$tools "$folder/there/$modpost.real-lsb-32" "\$@"
X
echo 'obj-m := uio_pdrv_genirq.o' >"$folder/module/Makefile"
make -C "$headers" ARCH=arm CROSS_COMPILE=$tools- M="$folder/module" modules >>"$folder/log" 2>&1 ||
    { tail -n 5 "$folder/log" >&2; die "uio_pdrv_genirq does not build"; }

cp "$folder/module/uio_pdrv_genirq.ko" "$folder/root/bin/busybox" "$folder/"
cp "$folder/root/boot/vmlinuz-$release" "$folder/vmlinuz"
cp "$folder/root/lib/modules/$release/kernel/drivers/uio/uio.ko" "$folder/"
rm -rf "$folder/root" "$folder/there" "$folder/packages" "$folder/module" "$folder/lists" "$folder/archives" "$folder"/*.deb "$folder"/*cache.bin
echo "$release $version" >"$folder/ready"
echo "kernel: $release of Debian, $version"
