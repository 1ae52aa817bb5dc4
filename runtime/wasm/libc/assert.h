/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_ASSERT_H
#define VTA_LIBC_ASSERT_H

#define assert(what) ((what) ? (void)0 : __builtin_trap())
#define static_assert _Static_assert

#endif
