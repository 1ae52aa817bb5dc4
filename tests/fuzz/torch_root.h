/* SPDX-License-Identifier: Apache-2.0
 *
 * Pickles that the target `torch` puts into its archives, and begins with.
 */
#ifndef FUZZ_TORCH_ROOT_H
#define FUZZ_TORCH_ROOT_H

/* A name, and a tensor of floats of these sizes and strides in storage KEY. */
#define FUZZ_TENSOR(name, key, elements, sizes, strides)                                                     \
    "X\x01\0\0\0" name "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storage"                             \
    "ctorch\nFloatStorage\nX\x01\0\0\0" key "X\x03\0\0\0"                                                    \
    "cpuK" elements "tQK\0(" sizes "t(" strides "t\x89"                                                      \
    "ccollections\nOrderedDict\n)RtR"
/* w [4][2][3][3] and b [4] */
#define FUZZ_TENSORS                                                                                         \
    FUZZ_TENSOR("w", "0", "\x48", "K\x04K\x02K\x03K\x03", "K\x12K\x09K\x03K\x01")                            \
    FUZZ_TENSOR("b", "1", "\x04", "K\x04", "K\x01")

/* An object of class Net, and a dictionary. */
static const char fuzz_root[] = "\x80\x02"
                                "c__torch__\nNet\n)\x81}(" FUZZ_TENSORS "ub.";
static const char fuzz_state[] = "\x80\x02}(" FUZZ_TENSORS "u.";

#endif
