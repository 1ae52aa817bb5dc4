#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# A model's run by the library in C, as a program of a user has it: the inputs are afterwards what they were, whatever came of the run,
# and a run that failed may be tried again.
#
# usage: intact.py LIBVTA MODEL DEVICE SEED   (prints what the library says; exit status 1: it failed, 3: the inputs have changed)
import ctypes
import sys

import numpy


class Options(ctypes.Structure):
    """vta_model_options, of release 1.0."""

    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_uint32), ("device", ctypes.c_char_p), ("progress", ctypes.c_void_p),
                ("timeout_s", ctypes.c_double), ("shared", ctypes.c_void_p), ("priority", ctypes.c_int32)]


class Diag(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("rank", ctypes.c_uint32),
                ("dim", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


def must(status, diag):
    if status != 0:
        print(diag.text.decode())
        sys.exit(1)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.vta_model_input.restype = Tensor
    library.vta_model_input.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.vta_model_input_data.restype = ctypes.c_void_p
    library.vta_model_input_data.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.vta_model_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    model, diag = ctypes.c_void_p(), Diag()
    options = Options(size=ctypes.sizeof(Options), device=sys.argv[3].encode())
    must(library.vta_model_load(sys.argv[2].encode(), ctypes.byref(options), ctypes.byref(model), ctypes.byref(diag)), diag)
    size = library.vta_model_input(model, 0).bytes
    given = numpy.random.default_rng(int(sys.argv[4])).integers(0, 63, size, dtype=numpy.uint8).tobytes()
    ctypes.memmove(library.vta_model_input_data(model, 0), given, size)
    first, again = Diag(), Diag()
    failed = [library.vta_model_run(model, ctypes.byref(d)) != 0 for d in (first, again)]
    if ctypes.string_at(library.vta_model_input_data(model, 0), size) != given:
        sys.exit(3)
    if failed[0]:
        print(first.text.decode())
    sys.exit(1 if failed == [True, True] else 0 if failed == [False, False] else 4)


main()
