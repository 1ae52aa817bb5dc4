# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034  # for the scripts that source this
#
# Sourced: installs the build that is the script's first argument into $prefix, a fresh one below $work, with its
# libraries in $libdir, where pkg-config finds it. The second argument is the C compiler, $cc.
export LC_ALL=C.UTF-8 # ranges, orders and decimal points are those of no country
build=$1
cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name vta.pc)")
libdir=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
