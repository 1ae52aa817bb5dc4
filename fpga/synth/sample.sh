# shellcheck shell=sh disable=SC2154
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by what counts or times samples of configurations; `samples` is the folder of isa/configs.

# configuration FOLDER KEY=VALUE...: pynq with other values, as FOLDER/sample.json, whose part is in parts.txt; its path in $file.
configuration() {
    mkdir -p "$1"
    file=$1/sample.json
    shift
    cp "$samples/pynq.json" "$file"
    for change in "$@"; do
        key=${change%%=*} value=${change#*=}
        sed "s/\"$key\" : [0-9]*/\"$key\" : $value/" "$file" >"$file.new"
        grep -q "\"$key\" : $value" "$file.new" || sed "s/^{/{\n  \"$key\" : $value,/" "$file" >"$file.new"
        mv "$file.new" "$file"
    done
    sed 's/"NAME" : "pynq"/"NAME" : "sample"/' "$file" >"$file.new"
    mv "$file.new" "$file"
}

# value KEY DEFAULT: of the configuration in $file.
value() {
    found=$(sed -n "s/.*\"$1\" : \([0-9]*\).*/\1/p" "$file")
    echo "${found:-$2}"
}
