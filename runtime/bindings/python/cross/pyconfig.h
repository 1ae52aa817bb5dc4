/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that CPython's headers ask of a machine, for a module of the limited interface that is compiled for
 * another one: the compiler knows them all.
 */
#define HAVE_STDINT_H    1
#define HAVE_SSIZE_T     1
#define HAVE_LONG_LONG   1
#define HAVE_SYS_TIME_H  1
#define HAVE_WCHAR_H     1
#define STDC_HEADERS     1
#define SIZEOF_INT       __SIZEOF_INT__
#define SIZEOF_LONG      __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_SHORT     __SIZEOF_SHORT__
#define SIZEOF_SIZE_T    __SIZEOF_SIZE_T__
#define SIZEOF_TIME_T    __SIZEOF_LONG__
#define SIZEOF_VOID_P    __SIZEOF_POINTER__
#define SIZEOF_WCHAR_T   __SIZEOF_WCHAR_T__
