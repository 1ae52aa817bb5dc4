/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks that stand in files of their own. Each adds its input and all outputs but the one that it returns.
 */
#ifndef VTAC_ZOO_NETS_H
#define VTAC_ZOO_NETS_H

#include "build.h"

/* An inverted residual: wider, depthwise, narrower; with Relu6. */
vtac_zoo_value vtac_zoo_inverted(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                 int64_t stride, int64_t expand);

/* mobile.c */
vtac_zoo_value vtac_zoo_shufflenet_v2(vtac_zoo *z);
vtac_zoo_value vtac_zoo_mobilenet_v3_small(vtac_zoo *z);
vtac_zoo_value vtac_zoo_efficientnet_lite0(vtac_zoo *z);

/* detect.c */
vtac_zoo_value vtac_zoo_yolov5n(vtac_zoo *z);
vtac_zoo_value vtac_zoo_ssd_mobilenet_v2(vtac_zoo *z);

/* dense.c */
vtac_zoo_value vtac_zoo_unet(vtac_zoo *z);
vtac_zoo_value vtac_zoo_deeplab(vtac_zoo *z);
vtac_zoo_value vtac_zoo_vit_tiny(vtac_zoo *z);
vtac_zoo_value vtac_zoo_deit_tiny(vtac_zoo *z);
vtac_zoo_value vtac_zoo_tcn(vtac_zoo *z);
vtac_zoo_value vtac_zoo_c3d(vtac_zoo *z);

/* tokens.c */
vtac_zoo_value vtac_zoo_bert(vtac_zoo *z);
vtac_zoo_value vtac_zoo_minilm(vtac_zoo *z);
vtac_zoo_value vtac_zoo_gpt(vtac_zoo *z);
vtac_zoo_value vtac_zoo_llama(vtac_zoo *z);
vtac_zoo_value vtac_zoo_whisper(vtac_zoo *z);
vtac_zoo_value vtac_zoo_whisper_decoder(vtac_zoo *z);
vtac_zoo_value vtac_zoo_conformer(vtac_zoo *z);
vtac_zoo_value vtac_zoo_mobilevit(vtac_zoo *z);
vtac_zoo_value vtac_zoo_swin(vtac_zoo *z);

/* Its pieces: a number, x by the root of its mean square, columns of the last axis, a size or the usual one.
 */
#define VTAC_ZOO_FAR (-3.4028234663852886e38F) /* what PyTorch masks with */
vtac_zoo_value vtac_zoo_number(vtac_zoo *z, const char *role, float value);
vtac_zoo_value vtac_zoo_rms_norm(vtac_zoo *z, vtac_zoo_value x);
vtac_zoo_value vtac_zoo_slice_last(vtac_zoo *z, vtac_zoo_value x, int64_t begin, int64_t end);
int64_t vtac_zoo_chosen(int64_t given, int64_t usual);

/* recurrent.c */
vtac_zoo_value vtac_zoo_lstm(vtac_zoo *z);
vtac_zoo_value vtac_zoo_gru(vtac_zoo *z);
vtac_zoo_value vtac_zoo_bilstm(vtac_zoo *z);
vtac_zoo_value vtac_zoo_crnn(vtac_zoo *z);
vtac_zoo_value vtac_zoo_vad(vtac_zoo *z);

/* decoder.c */
vtac_zoo_value vtac_zoo_cached_llama(vtac_zoo *z);

#endif
