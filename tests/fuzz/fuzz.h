/* SPDX-License-Identifier: Apache-2.0
 *
 * A fuzz target is one file with one function. libFuzzer calls it through libfuzzer.c; the test suite calls
 * it through replay.c on the corpus and on deterministic mutations of it.
 */
#ifndef VTA_TEST_FUZZ_H
#define VTA_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds any bytes to the code under test. Ends the process by FUZZ_REQUIRE when a promise is broken. */
void fuzz_input(const uint8_t *data, size_t size);

/* States a promise; in every build. */
#define FUZZ_REQUIRE(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fuzz_broken(#condition, __FILE__, __LINE__);                                                     \
        }                                                                                                    \
    } while (0)

_Noreturn void fuzz_broken(const char *condition, const char *file, int line);

#endif
