/* SPDX-License-Identifier: Apache-2.0
 *
 * What the platform needs of its server: the client's memory, and the loop that answers requests.
 */
#ifndef VTA_SYSTEMC_SERVER_H
#define VTA_SYSTEMC_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bursts from and to the client's memory; false: it has none there. */
bool server_load(uint64_t addr, uint8_t *data, uint64_t size);
bool server_store(uint64_t addr, const uint8_t *data, uint32_t size, const uint64_t *strobes, uint32_t beats);

/* Serves requests until the client closes the socket. */
int server_run(void);

#ifdef __cplusplus
}
#endif
#endif
