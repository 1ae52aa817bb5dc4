# SPDX-License-Identifier: Apache-2.0
#
# Writes OUT, a C file with the texts of the JSON files in FOLDER, without the keys that KEYS, config.def, has the values of:
# cmake -D FOLDER=... -D KEYS=... -D OUT=... -P embed_configs.cmake
file(GLOB files ${FOLDER}/*.json)
list(SORT files)
file(READ ${KEYS} keys)
string(REGEX MATCHALL "VTA_CONFIG\\([a-z0-9_]+, *\"[A-Z0-9_]+\", *[0-9]+" rows "${keys}") # what is left out is the default
set(names "")
set(texts "")
set(count 0)
foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REGEX REPLACE " *\n *" "" text "${text}") # they are parsed; what makes them readable stays out of a board's library
    string(REPLACE " : " ":" text "${text}")
    string(REPLACE "\\\"HW_VER\\\":\\\"0.0.2\\\"," "" text "${text}") # the default, as in the rows
    foreach(row IN LISTS rows)
        string(REGEX MATCH "\"(.*)\", *([0-9]+)" row "${row}")
        set(default "\\\"${CMAKE_MATCH_1}\\\":${CMAKE_MATCH_2}")
        string(REPLACE "${default}," "" text "${text}")
        string(REPLACE ",${default}}" "}" text "${text}")
    endforeach()
    string(APPEND names "    \"${name}\",\n")
    string(APPEND texts "    \"${text}\",\n")
    math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT}.new "/* SPDX-License-Identifier: Apache-2.0
 * The shipped configurations, from isa/configs. Generated: do not edit. */
#include \"config_shipped.h\"

const uint32_t vta_shipped_count = ${count};
const char *const vta_shipped_names[] = {
${names}};
const char *const vta_shipped_texts[] = {
${texts}};
")
file(RENAME ${OUT}.new ${OUT})
