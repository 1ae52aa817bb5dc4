# SPDX-License-Identifier: Apache-2.0
#
# Writes OUT, a C file with the lines of the files in FOLDER: cmake -D FOLDER=... -D OUT=... -P embed_records.cmake
file(GLOB files ${FOLDER}/*.jsonl)
list(SORT files)
set(texts "")
foreach(file IN LISTS files)
    file(STRINGS ${file} lines)
    foreach(line IN LISTS lines)
        string(REPLACE "\\" "\\\\" line "${line}")
        string(REPLACE "\"" "\\\"" line "${line}")
        string(APPEND texts "    \"${line}\",\n")
    endforeach()
endforeach()
file(WRITE ${OUT} "/* SPDX-License-Identifier: Apache-2.0
 * The records of compiler/records. Generated: do not edit. */
extern const char *const vtac_shipped_records[];
const char *const vtac_shipped_records[] = {
${texts}    0,
};
")
