/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

_Noreturn void fuzz_broken(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, condition);
    abort();
}
