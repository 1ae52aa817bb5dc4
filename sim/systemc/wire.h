/* SPDX-License-Identifier: Apache-2.0
 *
 * SystemC keeps its simulation in global variables, so a process holds one platform. Each instance of the
 * `systemc` simulator is therefore a process of its own; these are the messages between it (server.c) and the
 * shared object that the driver loads (client.c), on one stream socket between the two.
 *
 * The client sends a request and then serves the platform's memory accesses until the reply comes.
 */
#ifndef VTA_SYSTEMC_WIRE_H
#define VTA_SYSTEMC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axi_mem.h"

enum { WIRE_SOCKET = 3 /* the server's descriptor */, WIRE_TEXT = 1024 };

typedef enum wire_op {
    /* client to server */
    WIRE_CREATE,  /* followed by a wire_options */
    WIRE_READ,    /* a: offset */
    WIRE_WRITE,   /* a: offset, b: value */
    WIRE_STEP,    /* a: cycles */
    WIRE_ACCOUNT, /* the reply's result: instructions, 0: none are known; then their numbers */
    WIRE_DRAM,    /* the reply's result: whether there is one; then a vta_dram_counts */
    /* server to client */
    WIRE_REPLY, /* a: result, b: interrupt line; followed by WIRE_TEXT bytes: the failure, or empty */
    WIRE_LOAD,  /* a: address, b: bytes; the client answers with a byte (1: it exists) and the bytes */
    WIRE_STORE  /* a: address, b: bytes; followed by bytes and strobes; answered with a byte */
} wire_op;

typedef struct wire_message {
    uint64_t op, a, b;
} wire_message;

/* vta_rtlsim_options without pointers: an empty text is NULL. */
typedef struct wire_options {
    uint32_t latency, bandwidth, shared_bytes, shared_cycles, stall_percent, traffic_percent;
    uint64_t seed, trace_begin, trace_end;
    vta_dram_kind dram;
    uint32_t clock_mhz;
    char trace_file[WIRE_TEXT], trace_scope[WIRE_TEXT], timeline_file[WIRE_TEXT], memory_model[WIRE_TEXT];
} wire_options;

enum { WIRE_BURST = VTA_AXI_BEATS * VTA_AXI_MAX_BYTES };

/* Bytes behind the reply to WIRE_ACCOUNT. */
static inline size_t wire_account_size(uint64_t insn_count)
{
    return (size_t)insn_count * VTA_CYCLE_CLASSES * sizeof(uint64_t);
}

/* Whole transfers; false: the other side is gone. */
bool wire_send(int socket, const void *bytes, size_t size);
bool wire_receive(int socket, void *bytes, size_t size);

#endif
