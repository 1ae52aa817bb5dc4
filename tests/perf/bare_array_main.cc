// SPDX-License-Identifier: Apache-2.0
//
// bare_array_main CYCLES: runs bare_array (translated by Verilator) that long, judges its sums, and prints
// how many cycles it made in a second of this thread's time.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "Vbare_array.h"
#include "verilated.h"

static double thread_seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int8_t byte_of(uint64_t value)
{
    return (int8_t)(uint8_t)value;
}

int main(int argc, char **argv)
{
    const uint64_t cycles = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;
    VerilatedContext context;
    Vbare_array array{&context};
    array.clk = 0;
    array.eval(); // fetches
    const double begin = thread_seconds();
    for (uint64_t n = 0; n < cycles; n++) {
        array.clk = !array.clk;
        array.eval();
    }
    const double took = thread_seconds() - begin;
    uint32_t want[16] = {0};
    for (uint64_t n = 0; n < cycles; n++) {
        for (unsigned k = 0; k < 256; k++) {
            want[k / 16] += (uint32_t)(byte_of(n * 7 + k % 16 * 29) * byte_of(n * 11 + k * 17));
        }
    }
    for (unsigned o = 0; o < 16; o++) {
        if (array.sums[o] != want[o]) {
            fprintf(stderr, "bare_array: sum %u is %" PRIu32 " and not %" PRIu32 "\n", o, array.sums[o],
                    want[o]);
            return 1;
        }
    }
    printf("%.0f\n", (double)cycles / took);
    return 0;
}
