/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two sources of vta._vta have in common.
 */
#ifndef VTA_PYTHON_GENERATE_H
#define VTA_PYTHON_GENERATE_H

#include <Python.h>

#include <vta/status.h>

/* An exception of the class of its status, with the library's sentence and `code`; NULL. */
PyObject *vta_python_raise(const vta_diag *diag, vta_status status);

/* The type Speaker; NULL with an exception. */
PyObject *vta_python_speaker(void);

#endif
