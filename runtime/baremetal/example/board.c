/* SPDX-License-Identifier: Apache-2.0
 *
 * The least that a Cortex-M7 needs before main: a vector table, its floating-point unit, cleared and copied
 * memory; and a debugger's console (semihosting) for text and the end.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "board.h"

void board_start(void);
int main(void);

extern uint32_t stack_top[], data_begin[], data_end[], data_load[], bss_begin[], bss_end[];

/* ---- semihosting */

enum { SYS_WRITE0 = 4, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_say(const char *text)
{
    semihost(SYS_WRITE0, text);
}

_Noreturn void board_end(int status)
{
    const uint32_t block[] = {APPLICATION_EXIT, (uint32_t)status};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

const vta_model_options *board_accelerator(void)
{
    return NULL;
}

/* ---- from reset to main */

static void fault(void)
{
    board_say("failed: the processor took a fault\n");
    board_end(1);
}

typedef void handler(void);
extern handler *const vectors[16];
handler *const vectors[16] __attribute__((section(".vectors"), used)) = {
    (handler *)stack_top, board_start, fault, fault, fault, fault, fault};

void board_start(void)
{
    volatile uint32_t *const access = (volatile uint32_t *)0xe000ed88; /* CPACR: coprocessors 10 and 11 */
    *access |= 0xfU << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    memcpy(data_begin, data_load, (size_t)((uint8_t *)data_end - (uint8_t *)data_begin));
    memset(bss_begin, 0, (size_t)((uint8_t *)bss_end - (uint8_t *)bss_begin));
    board_end(main());
}
