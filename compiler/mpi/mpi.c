/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI for vtac/work.h, in a module of its own. Built where an MPI is found (-DVTAC_MPI=OFF: not at all).
 */
#include <mpi.h>

#include "ranks.h"

enum { TAG = 1 };

static int begin(int *rank, int *size)
{
    return MPI_Init(NULL, NULL) != MPI_SUCCESS ||
           MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
           MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS ||
           MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS;
}

static int give(int to, const void *bytes, size_t size)
{
    return MPI_Send(bytes, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD) != MPI_SUCCESS;
}

static int look(int *from, size_t *size)
{
    int there = 0;
    int count = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || there == 0 ||
        MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS) {
        return 1;
    }
    *from = status.MPI_SOURCE;
    *size = (size_t)count;
    return 0;
}

static int take(int from, void *bytes, size_t size)
{
    return MPI_Recv(bytes, (int)size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static void end(void)
{
    (void)MPI_Finalize();
}

__attribute__((visibility("default"))) const void *vtac_mpi(void);

const void *vtac_mpi(void)
{
    static const work_mpi calls = {WORK_MPI_EDITION, begin, give, look, take, end};
    return &calls;
}
