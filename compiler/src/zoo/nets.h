/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks that stand in files of their own. Each adds its input and all outputs but the one that it returns.
 */
#ifndef VTAC_ZOO_NETS_H
#define VTAC_ZOO_NETS_H

#include "build.h"

/* An inverted residual: wider, depthwise, narrower; with Relu6. */
zoo_value zoo_inverted(zoo *z, zoo_value x, int64_t channels, int64_t kernel, int64_t stride, int64_t expand);

/* mobile.c */
zoo_value shufflenet_v2(zoo *z);
zoo_value mobilenet_v3_small(zoo *z);
zoo_value efficientnet_lite0(zoo *z);

/* detect.c */
zoo_value yolov5n(zoo *z);
zoo_value ssd_mobilenet_v2(zoo *z);

/* dense.c */
zoo_value unet(zoo *z);
zoo_value deeplab(zoo *z);
zoo_value vit_tiny(zoo *z);
zoo_value tcn(zoo *z);
zoo_value c3d(zoo *z);

#endif
