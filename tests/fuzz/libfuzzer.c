/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer's entry point.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input(data, size);
    return 0;
}
