# SPDX-License-Identifier: Apache-2.0
#
# libvta-generate and libvta as Python calls them: what the tests of tokenizers, samplers and the loop share.
import ctypes
import json
import os


class Diag(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class Sampler(ctypes.Structure):
    _fields_ = [("temperature", ctypes.c_double), ("top_k", ctypes.c_uint32), ("top_p", ctypes.c_double),
                ("state", ctypes.c_uint64), ("scratch", ctypes.c_void_p), ("room", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("max_tokens", ctypes.c_uint64), ("temperature", ctypes.c_double),
                ("top_k", ctypes.c_uint32), ("top_p", ctypes.c_double), ("seed", ctypes.c_uint64),
                ("ends", ctypes.POINTER(ctypes.c_uint32)), ("end_count", ctypes.c_size_t), ("ignore_end", ctypes.c_int)]


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Library:
    def __init__(self, folder):
        self.vta = ctypes.CDLL(os.path.join(folder, "libvta.so.1"), mode=ctypes.RTLD_GLOBAL)
        self.generate = ctypes.CDLL(os.path.join(folder, "libvta-generate.so.1"))
        self.libc = ctypes.CDLL(None)
        self.libc.free.argtypes = [ctypes.c_void_p]

    def call(self, name, *words):
        diag = Diag()
        status = getattr(self.generate, name)(*words, ctypes.byref(diag))
        if status != 0:
            raise Refused(status, diag.text.decode())


class Tokenizer:
    """Of the library, from what a tokenizer.json says."""

    def __init__(self, library, content):
        self.library, self.handle = library, ctypes.c_void_p()
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        library.call("vta_tokenizer_parse", text, ctypes.c_size_t(len(text)), ctypes.byref(self.handle))

    def close(self):
        self.library.generate.vta_tokenizer_destroy(self.handle)
        self.handle = None

    def encode(self, text, begin=False):
        ids, count = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_size_t()
        data = text if isinstance(text, bytes) else text.encode()
        self.library.call("vta_tokenizer_encode", self.handle, data, ctypes.c_size_t(len(data)), int(begin),
                          ctypes.byref(ids), ctypes.byref(count))
        out = ids[:count.value]
        self.library.libc.free(ids)
        return out

    def decode(self, ids):
        text, size = ctypes.POINTER(ctypes.c_char)(), ctypes.c_size_t()
        self.library.call("vta_tokenizer_decode", self.handle, (ctypes.c_uint32 * len(ids))(*ids), ctypes.c_size_t(len(ids)),
                          ctypes.byref(text), ctypes.byref(size))
        out = text[:size.value]
        self.library.libc.free(text)
        return out

    def stream(self, ids):
        """The text that is whole after each token, and what is left at the end."""
        handle, text, size = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_char)(), ctypes.c_size_t()
        self.library.call("vta_text_stream_create", self.handle, ctypes.byref(handle))
        pieces = []
        for token in list(ids) + [None]:
            if token is None:
                self.library.call("vta_text_stream_end", handle, ctypes.byref(text), ctypes.byref(size))
            else:
                self.library.call("vta_text_stream_add", handle, ctypes.c_uint32(token), ctypes.byref(text), ctypes.byref(size))
            pieces.append(text[:size.value])
        self.library.generate.vta_text_stream_destroy(handle)
        return pieces
