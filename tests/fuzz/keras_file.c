/* SPDX-License-Identifier: Apache-2.0
 *
 * A Keras model in an HDF5 file, made in memory: any text as its configuration, weights of some shapes for
 * layers a, b, c, d and m.
 */
#include "keras_file.h"

#include <hdf5.h>
#include <stdlib.h>

typedef struct kind {
    const char *layer;
    unsigned count, rank[4];
    hsize_t dims[4][4];
} kind;

/* a convolution, a normalization, a dense layer, an LSTM, one of convolutions */
static const kind kinds[] = {{"a", 2, {4, 1}, {{3, 3, 2, 4}, {4}}},
                             {"b", 4, {1, 1, 1, 1}, {{4}, {4}, {4}, {4}}},
                             {"c", 2, {2, 1}, {{4, 3}, {3}}},
                             {"d", 3, {2, 2, 1}, {{4, 8}, {2, 8}, {8}}},
                             {"m", 3, {4, 4, 1}, {{3, 3, 2, 4}, {3, 3, 1, 4}, {4}}}};

static void write_text(hid_t place, const char *name, const char *text, size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t one = H5Screate(H5S_SCALAR);
    (void)H5Tset_size(type, size + 1);
    const hid_t attribute = H5Acreate2(place, name, type, one, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(attribute, type, text);
    (void)H5Aclose(attribute);
    (void)H5Sclose(one);
    (void)H5Tclose(type);
}

static void write_layer(hid_t top, const kind *k)
{
    static const float numbers[256] = {0.5F, -0.25F, 0.125F};
    char names[4][8] = {"w0", "w1", "w2", "w3"};
    const hid_t group = H5Gcreate2(top, k->layer, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hsize_t count = k->count;
    const hid_t list = H5Screate_simple(1, &count, NULL);
    (void)H5Tset_size(type, sizeof names[0]);
    const hid_t attribute = H5Acreate2(group, "weight_names", type, list, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(attribute, type, names);
    (void)H5Aclose(attribute);
    (void)H5Sclose(list);
    (void)H5Tclose(type);
    for (unsigned i = 0; i < k->count; i++) {
        const hid_t space = H5Screate_simple((int)k->rank[i], k->dims[i], NULL);
        const hid_t set =
            H5Dcreate2(group, names[i], H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        (void)H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
        (void)H5Dclose(set);
        (void)H5Sclose(space);
    }
    (void)H5Gclose(group);
}

uint8_t *keras_write_file(const char *config, size_t length, size_t *size)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_fapl_core(access, 1 << 16, 0);
    const hid_t file = H5Fcreate("fuzz.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const hid_t top = H5Gcreate2(file, "model_weights", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    write_text(file, "model_config", config, length);
    write_text(file, "keras_version", "2.11.0", 6);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        write_layer(top, &kinds[i]);
    }
    (void)H5Gclose(top);
    (void)H5Fflush(file, H5F_SCOPE_GLOBAL);
    const ssize_t wanted = H5Fget_file_image(file, NULL, 0);
    uint8_t *bytes = wanted > 0 ? malloc((size_t)wanted) : NULL;
    *size = bytes == NULL || H5Fget_file_image(file, bytes, (size_t)wanted) != wanted ? 0 : (size_t)wanted;
    (void)H5Fclose(file);
    (void)H5Pclose(access);
    return bytes;
}
