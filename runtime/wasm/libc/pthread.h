/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_PTHREAD_H
#define VTA_LIBC_PTHREAD_H

/* A page has one thread: locks are nothing. */
typedef int pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER 0
static inline int pthread_mutex_init(pthread_mutex_t *lock, const void *how)
{
    (void)how;
    *lock = 0;
    return 0;
}
static inline int pthread_mutex_destroy(pthread_mutex_t *lock)
{
    (void)lock;
    return 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t *lock)
{
    (void)lock;
    return 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *lock)
{
    (void)lock;
    return 0;
}

#endif
