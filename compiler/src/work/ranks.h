/* SPDX-License-Identifier: Apache-2.0
 *
 * What the module with MPI in it offers (compiler/mpi): it is loaded in ranks alone, so that the program
 * itself needs no MPI. All give 0 where it went well.
 */
#ifndef VTAC_WORK_MPI_H
#define VTAC_WORK_MPI_H

#include <stddef.h>

enum { WORK_MPI_EDITION = 1 };

typedef struct vtac_work_mpi {
    int edition;
    int (*begin)(int *rank, int *size);
    int (*send)(int to, const void *bytes, size_t size);
    int (*poll)(int *from, size_t *size); /* 1: nothing is there */
    int (*take)(int from, void *bytes, size_t size);
    void (*end)(void); /* by all ranks, or by none */
} vtac_work_mpi;

/* "vtac_mpi" of the module. */
const void *vtac_mpi(void);

#endif
