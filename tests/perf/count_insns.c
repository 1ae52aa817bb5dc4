/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin of qemu-user for grid_counted.py: prints the instructions that ran between the last two calls of
 * getppid().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "qemu_plugin.h"

int qemu_plugin_version = 1;
static int64_t mark; /* the number of getppid */
static uint64_t count, last, between;

static void see_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &count, qemu_plugin_tb_n_insns(block));
}

static void see_call(qemu_plugin_id_t id, unsigned cpu, int64_t call, uint64_t a, uint64_t b, uint64_t c,
                     uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (call == mark) {
        between = count - last;
        last = count;
    }
}

static void see_end(qemu_plugin_id_t id, void *data)
{
    char text[64];
    (void)id, (void)data;
    (void)snprintf(text, sizeof text, "%" PRIu64 "\n", between);
    qemu_plugin_outs(text);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int number, char **arguments)
{
    (void)info;
    mark = number == 1 ? strtol(arguments[0] + sizeof "getppid=" - 1, NULL, 10) : -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, see_block);
    qemu_plugin_register_vcpu_syscall_cb(id, see_call);
    qemu_plugin_register_atexit_cb(id, see_end, NULL);
    return 0;
}
