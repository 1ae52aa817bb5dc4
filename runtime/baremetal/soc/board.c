/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine of hw/soc: from reset to main, text over the serial line, and where its accelerator is.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../example/board.h"
#include "soc.h"
#include "vta/baremetal.h"

int main(void);
void board_main(void);
void board_trapped(void);

enum {
    UART = 0x10000000,
    UART_DATA = 0,
    UART_STATE = 4,
    UART_BUSY = 1,
    TIMER = 0x10001000,
    ACCELERATOR = 0x40000000,
    END_OF_TRANSMISSION = 4, /* ends a simulation */
};

extern uint32_t bss_begin[], bss_end[];
extern uint8_t shared_begin[], shared_end[];

static volatile uint32_t *device(uintptr_t base, uintptr_t offset)
{
    return (volatile uint32_t *)(base + offset);
}

/* ---- Text */

static void send(char byte)
{
    while ((*device(UART, UART_STATE) & UART_BUSY) != 0) {
    }
    *device(UART, UART_DATA) = (uint8_t)byte;
}

void board_say(const char *text)
{
    for (; *text != '\0'; text++) {
        send(*text);
    }
}

/* Names that picolibc asks for: stdout and stderr are the serial line, and there are no files. */
static int put_byte(char byte, FILE *file)
{
    (void)file;
    send(byte);
    return 0;
}

static FILE line = FDEV_SETUP_STREAM(put_byte, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &line;
FILE *const stderr = &line;
FILE *const stdin = NULL;

int open(const char *path, int flags, ...);
int close(int file);
ssize_t read(int file, void *to, size_t bytes);
ssize_t write(int file, const void *from, size_t bytes);
off_t lseek(int file, off_t by, int from);

int open(const char *path, int flags, ...)
{
    (void)path;
    (void)flags;
    errno = ENOENT;
    return -1;
}

static int no_file(void)
{
    errno = EBADF;
    return -1;
}

int close(int file)
{
    (void)file;
    return no_file();
}

ssize_t read(int file, void *to, size_t bytes)
{
    (void)file;
    (void)to;
    (void)bytes;
    return no_file();
}

ssize_t write(int file, const void *from, size_t bytes)
{
    (void)file;
    (void)from;
    (void)bytes;
    return no_file();
}

off_t lseek(int file, off_t by, int from)
{
    (void)file;
    (void)by;
    (void)from;
    return no_file();
}

_Noreturn void board_end(int status)
{
    board_say(status == 0 ? "done\n" : "ended by an error\n");
    send(END_OF_TRANSMISSION);
    for (;;) {
        __asm__ volatile("wfi");
    }
}

/* ---- The accelerator, which shares main memory. The core's writes go through its cache; what the
 * accelerator wrote is read after a FENCE, which drops the cache. */

static void drop_cache(const void *begin, size_t bytes)
{
    (void)begin;
    (void)bytes;
    __asm__ volatile("fence" ::: "memory");
}

uint64_t board_cycles(void)
{
    uint32_t upper, lower;
    do {
        upper = *device(TIMER, 4);
        lower = *device(TIMER, 0);
    } while (upper != *device(TIMER, 4));
    return (uint64_t)upper << 32 | lower;
}

static double seconds(void)
{
    return (double)board_cycles() * (1.0 / BOARD_CLOCK_HZ); /* a division takes three times as long */
}

const vta_model_options *board_accelerator(void)
{
    static const vta_model_options options = {.size = sizeof options, .device = "baremetal"};
    vta_baremetal_clock(seconds);
    vta_baremetal_trust(true);
    vta_baremetal_setup(&(vta_baremetal){
        .registers = device(ACCELERATOR, 0),
        .memory = shared_begin,
        .memory_addr = (uintptr_t)shared_begin,
        .memory_bytes = (size_t)(shared_end - shared_begin),
        .invalidate = drop_cache,
        .watchdog = 1000000,
    });
    return &options;
}

/* ---- From reset to main */

void board_trapped(void)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t words[3];
    __asm__ volatile("csrr %0, mcause\n\tcsrr %1, mepc\n\tcsrr %2, mtval"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]));
    board_say("failed: a trap; cause, address, value:");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        send(' ');
        for (int shift = 28; shift >= 0; shift -= 4) {
            send(digits[words[i] >> shift & 15]);
        }
    }
    send('\n');
    board_end(1);
}

void board_main(void)
{
    for (uint32_t *word = bss_begin; word < bss_end; word++) {
        *word = 0;
    }
    board_end(main());
}

__asm__(".section .start, \"ax\"\n"
        ".globl board_start\n"
        "board_start:\n"
        "    .option push\n"
        "    .option norelax\n"
        "    la gp, __global_pointer$\n"
        "    .option pop\n"
        "    la tp, tls_begin\n"
        "    la sp, stack_top\n"
        "    la t0, trapped\n"
        "    csrw mtvec, t0\n"
        "    j board_main\n"
        "    .align 2\n"
        "trapped:\n"
        "    la sp, stack_top\n"
        "    j board_trapped\n"
        ".text\n");
