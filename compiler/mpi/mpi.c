/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI for vtac/work.h, in a module of its own. Built where an MPI is found (-DVTAC_MPI=OFF: not at all).
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { TAG = 1 };

static int begin_mpi(int *rank, int *size)
{
    return MPI_Init(NULL, NULL) != MPI_SUCCESS ||
           MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
           MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS ||
           MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS;
}

/* A long message waits for whoever takes it, and he may be no more. Rank 0 sends nothing while it waits for a
 * result, but the word that all is over: then nobody takes it. From rank 0, a message that nobody takes for
 * so long is given up. */
static const double patience_s = 60.0;

static int given_up(int to, double begin)
{
    int over = 0;
    return to != 0 ? MPI_Wtime() - begin > patience_s
                   : MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0;
}

static int send_message(int to, const void *bytes, size_t size)
{
    MPI_Request request;
    int done = 0;
    const double begin = MPI_Wtime();
    char *own = malloc(size + 1); /* it stays where the message is given up */
    if (own == NULL) {
        return 1;
    }
    memcpy(own, bytes, size);
    if (MPI_Isend(own, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS) {
        free(own);
        return 1;
    }
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
        if (given_up(to, begin)) {
            return 1;
        }
    }
    if (done != 0) {
        free(own);
    }
    return done == 0;
}

static int probe_message(int *from, size_t *size)
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

static int receive_message(int from, void *bytes, size_t size)
{
    return MPI_Recv(bytes, (int)size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static void end_mpi(void)
{
    (void)MPI_Finalize();
}

__attribute__((visibility("default"))) const void *vtac_mpi(void);

const void *vtac_mpi(void)
{
    static const vtac_work_mpi calls = {WORK_MPI_EDITION, begin_mpi,       send_message,
                                        probe_message,    receive_message, end_mpi};
    return &calls;
}
