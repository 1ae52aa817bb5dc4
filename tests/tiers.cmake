# SPDX-License-Identifier: Apache-2.0
#
# The labels of tests. `quick`: what `./run check` runs, the lines of quick.txt. `wide`: what `./run test` leaves to `./run wide`,
# the lines of wide.txt. `threads`: what PRESET=tsan runs, the lines of threads.txt. `simulators`: what runs the RTL's simulators,
# the lines of simulators.txt; these wait until they are built.
# `unsanitized`: what `./run sanitized` leaves out, the lines of unsanitized.txt.
# `random`: what VTAC_SEED decides, found by reading what a test is made of; `./run test` runs these
# once more with a new seed.
#
# costs.txt says which tests take long: those begin first, so that none is left alone at the end.
set(vta_tiers quick wide threads simulators unsanitized)
foreach(tier ${vta_tiers})
    file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/${tier}.txt vta_${tier} REGEX "^[^#]")
    list(TRANSFORM vta_${tier} REPLACE " +\\|.*$" "") # a reason
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${tier}.txt)
endforeach()
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/costs.txt vta_costs REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/costs.txt)
set(vta_tests_folder ${CMAKE_CURRENT_LIST_DIR})
set(vta_draws_seeds "test_seed\\(|seed\\.sh|onnx_cases")

# vta_label(NAME LABEL): the test has this label, too.
function(vta_label name label)
    set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
endfunction()

# Sets `out` if a word of a test's command is a script, or a program made of a source, that draws a seed.
function(vta_is_random out)
    set(files "")
    foreach(word ${ARGN})
        string(REGEX REPLACE "^\\$<TARGET_FILE:(.*)>$" "\\1" word "${word}")
        if(TARGET "${word}")
            get_target_property(folder ${word} SOURCE_DIR)
            cmake_path(IS_PREFIX vta_tests_folder "${folder}" ours)
            if(NOT ours)
                continue()
            endif()
            get_target_property(sources ${word} SOURCES)
            foreach(source ${sources})
                cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
                list(APPEND files ${source})
            endforeach()
        elseif(IS_ABSOLUTE "${word}" AND "${word}" MATCHES "\\.(sh|py)$")
            list(APPEND files ${word})
        endif()
    endforeach()
    foreach(file ${files})
        if(EXISTS ${file})
            set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
            file(STRINGS ${file} found LIMIT_COUNT 1 REGEX "${vta_draws_seeds}")
            if(found)
                set(${out} TRUE PARENT_SCOPE)
            endif()
        endif()
    endforeach()
endfunction()

# Every test goes through here: it gets its labels.
function(add_test)
    set(words "") # each in brackets, since one may hold a list
    math(EXPR last "${ARGC} - 1")
    foreach(i RANGE ${last})
        string(APPEND words " [==[${ARGV${i}}]==]")
    endforeach()
    cmake_language(EVAL CODE "_add_test(${words})")
    set_property(GLOBAL APPEND PROPERTY vta_tests ${ARGV1})
    foreach(tier ${vta_tiers})
        foreach(pattern ${vta_${tier}})
            if(ARGV1 MATCHES "^(${pattern})$")
                vta_label(${ARGV1} ${tier})
                set_property(GLOBAL APPEND PROPERTY vta_${tier}_used ${pattern})
                if(tier STREQUAL "simulators")
                    set_property(TEST ${ARGV1} APPEND PROPERTY FIXTURES_REQUIRED rtl_simulators)
                endif()
                break()
            endif()
        endforeach()
    endforeach()
    foreach(row ${vta_costs})
        if(row MATCHES "^([0-9]+) (.*)$" AND ARGV1 STREQUAL CMAKE_MATCH_2)
            set_property(TEST ${ARGV1} PROPERTY COST ${CMAKE_MATCH_1})
        endif()
    endforeach()
    set(random FALSE)
    vta_is_random(random ${ARGN})
    if(random)
        vta_label(${ARGV1} random)
    endif()
endfunction()

# A line that names no test is a test that is gone, or was renamed; not every machine has all that costs.
function(vta_check_tiers)
    foreach(tier ${vta_tiers})
        get_property(used GLOBAL PROPERTY vta_${tier}_used)
        foreach(pattern ${vta_${tier}})
            if(NOT "${pattern}" IN_LIST used)
                message(FATAL_ERROR "tests/${tier}.txt: no test is named '${pattern}'; remove the line or correct it")
            endif()
        endforeach()
    endforeach()
endfunction()
