/* SPDX-License-Identifier: Apache-2.0
 *
 * A program for the machine of hw/soc that says what its core, caches and devices did, for machine_test.py to
 * compare: it draws from SEED, in ROUNDS rounds. With ECHO it says first what it is sent. At last it reads
 * NOWHERE.
 */
#include <stdint.h>
#include <stdio.h>

#include "../../runtime/baremetal/example/board.h"

enum {
    WORDS = 2048,
    PAGE = 0x40000000,
#define VTA_REG(name, offset, access, doc) REGISTER_##name = offset,
#include "vta/regs.def"
};

int main(void);

static uint32_t words[WORDS];
static uint32_t state = SEED;

static uint32_t draw(void)
{
    state = state * 1664525U + 1013904223U;
    return state >> 8;
}

/* Reads and writes of all widths over more memory than a cache holds. */
static uint32_t exercise_memory(void)
{
    volatile uint8_t *bytes = (volatile uint8_t *)words;
    uint32_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const uint32_t at = draw() % WORDS, value = draw();
        switch (draw() % 3) {
        case 0: ((volatile uint32_t *)words)[at] = value; break;
        case 1: ((volatile uint16_t *)words)[2 * at + value % 2] = (uint16_t)value; break;
        default: bytes[4 * at + value % 4] = (uint8_t)value; break;
        }
        const uint32_t where = draw() % (4 * WORDS);
        sum = sum * 31 + bytes[where] + ((volatile uint32_t *)words)[at];
    }
    return sum;
}

static uint32_t exercise_arithmetic(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < ROUNDS / 8; i++) {
        const uint32_t x = draw() * draw(), y = draw() >> draw() % 24;
        const uint64_t product = (uint64_t)x * (y + 1);
        sum = sum * 31 + x / (y + 1) + x % (y + 1) + (uint32_t)(product >> 32) +
              (uint32_t)((int32_t)x / ((int32_t)y + 1));
    }
    return sum;
}

/* Waits for the timer's interrupt without taking it; 1 if it came when it was to come. */
static unsigned wait_for_timer(void)
{
    volatile uint32_t *timer = (volatile uint32_t *)0x10001000;
    const uint32_t due = timer[0] + 400;
    timer[3] = 0;
    timer[2] = due;
    __asm__ volatile("csrs mie, %0\n\twfi" ::"r"(0x80));
    return timer[0] - due < 100;
}

static void echo(void)
{
    volatile uint32_t *line = (volatile uint32_t *)0x10000000;
    char byte;
    do {
        (void)putchar(5); /* asks for the next */
        while ((line[1] & 2) == 0) {
        }
        byte = (char)line[0];
        (void)putchar(byte);
    } while (byte != '.');
    (void)putchar('\n');
}

int main(void)
{
    const volatile uint32_t *page = (const volatile uint32_t *)PAGE;
    if (ECHO) {
        echo();
    }
    (void)printf("memory %08lx\n", (unsigned long)exercise_memory());
    (void)printf("arithmetic %08lx\n", (unsigned long)exercise_arithmetic());
    (void)printf("timer %u\n", wait_for_timer());
    (void)printf("accelerator %08lx %08lx\n", (unsigned long)page[REGISTER_HASH_LO / 4],
                 (unsigned long)page[REGISTER_HASH_HI / 4]);
    (void)printf("%lu\n", (unsigned long)*(volatile uint32_t *)NOWHERE); /* nothing is there */
    return 0;
}
