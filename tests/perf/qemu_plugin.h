/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plugins here use of qemu-plugin.h, which Debian's packages do not have.
 */
#ifndef VTAC_TESTS_QEMU_PLUGIN_H
#define VTAC_TESTS_QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void on_end(qemu_plugin_id_t id, void *data);
typedef void on_access(unsigned cpu, uint32_t info, uint64_t address, void *data);
typedef void on_call(qemu_plugin_id_t id, unsigned cpu, int64_t call, uint64_t, uint64_t, uint64_t, uint64_t,
                     uint64_t, uint64_t, uint64_t, uint64_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, on_block *call);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *at,
                                              uint64_t by);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, on_access *call, int flags, int way,
                                      void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, on_call *call);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, on_end *call, void *data);
void qemu_plugin_outs(const char *text);

#define EXPORT __attribute__((visibility("default")))
EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments);

enum { ADD = 0, ANY_WAY = 3 }; /* what to do in line; reads and writes */

#endif
