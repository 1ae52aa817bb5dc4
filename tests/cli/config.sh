#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

vtac config list
exits 0
silent err
for name in tiny pynq pynq512 pynq_lm ultra96 ultra96_lm kv260 wide; do
    says out "$name"
done
says out "MHz"
says out "entries of each memory"
cp out listed
vtac config
holds "'config' is 'config list'" cmp out listed
vtac config list --json
exits 0
good_json out

vtac config show pynq
exits 0
good_json out
says out '"LOG_BLOCK_IN" : 4'
says out '"CLOCK_FROM" : "'
cp out mine.json
vtac config check ./mine.json
exits 0
says out "1x16x16"
vtac config check mine.json --json
exits 0
good_json out

sed 's/"LOG_BLOCK_IN" : 4/"LOG_BLOCK_IN" : 7/' mine.json >bad.json
vtac config check bad.json
exits 1
silent out
says err "bad.json"
says err "LOG_BLOCK_IN"
vtac config check bad.json --json
exits 1
good_json err
sed 's/LOG_BLOCK_IN/LOG_BLOK_IN/' mine.json >odd.json
vtac config check odd.json
refused 1 "LOG_BLOK_IN"
echo '{' >torn.json
vtac config check torn.json
exits 1
says err "torn.json"
vtac config show pinq
refused 1 "no configuration is called 'pinq'"
vtac config check ./none.json
refused 1 "none.json"
vtac config shwo pynq
refused 2 "vtac config: unknown word 'shwo'; did you mean 'show'? (try"
vtac config show
refused 2 "vtac config: expected a configuration's name or file (try 'vtac config --help')"
vtac config list now
refused 2 "vtac config: unexpected 'now'"
vtac config --jsn
refused 2 "vtac config: unknown option '--jsn'; did you mean '--json'?"
vtac config --json=yes
refused 2 "vtac config: option '--json' takes no value"

# The schema says the same of a file's keys as the reader.
vtac config schema
exits 0
silent err
good_json out
holds "the schema and the reader agree" /usr/bin/python3 "$source/tests/cli/config_schema.py" "$("$source/tests/lib/seed.sh" cli_config)" \
    "$vtac_program" "$source/isa/configs"
vtac config schema more
refused 2 "unexpected 'more'"
finish
