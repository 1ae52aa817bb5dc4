/* SPDX-License-Identifier: Apache-2.0
 *
 * The provider's factory: what ONNX Runtime calls when it loads the library, and for each session.
 */
#include <stdlib.h>

#include "ort_provider.h"
#include "vta/fail.h"

#define EXPORTED __attribute__((visibility("default")))

static const char *get_name(const OrtEpFactory *factory)
{
    (void)factory;
    return VTAC_ORT_NAME;
}

static const char *get_vendor(const OrtEpFactory *factory)
{
    (void)factory;
    return "vtac";
}

static uint32_t get_vendor_id(const OrtEpFactory *factory)
{
    (void)factory;
    return 0; /* no number of the PCI register */
}

static const char *get_version(const OrtEpFactory *factory)
{
    (void)factory;
    return vta_version();
}

/* The accelerator is named by an option of the session, so the provider stands beside the processor. */
static OrtStatus *get_devices(OrtEpFactory *factory, const OrtHardwareDevice *const *devices, size_t count,
                              OrtEpDevice **out, size_t max, size_t *out_count)
{
    *out_count = 0;
    for (size_t i = 0; i < count && *out_count < max; i++) {
        if (vtac_ort_host.HardwareDevice_Type(devices[i]) == ORT_DEVICE_CPU) {
            OrtStatus *status =
                vtac_ort_host.GetEpApi()->CreateEpDevice(factory, devices[i], NULL, NULL, &out[*out_count]);
            *out_count += status == NULL;
            return status;
        }
    }
    return NULL;
}

static OrtStatus *create_ep(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *metadata, size_t count,
                            const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **out)
{
    vta_diag diag = {0};
    (void)factory;
    (void)devices;
    (void)metadata;
    (void)count;
    *out = NULL;
    const vta_status status = vtac_ort_provider_create(options, logger, out, &diag);
    return vtac_ort_status(status, &diag);
}

static void release_ep(OrtEpFactory *factory, OrtEp *ep)
{
    (void)factory;
    if (ep != NULL) {
        vtac_ort_provider_destroy(ep);
    }
}

/* ---- memory and streams: those of the processor. Hosts of later releases call these without a look. */

static OrtStatus *create_allocator(OrtEpFactory *factory, const OrtMemoryInfo *memory,
                                   const OrtKeyValuePairs *options, OrtAllocator **out)
{
    (void)factory;
    (void)memory;
    (void)options;
    *out = NULL;
    return NULL;
}

static void release_allocator(OrtEpFactory *factory, OrtAllocator *allocator)
{
    (void)factory;
    (void)allocator;
}

static OrtStatus *create_transfer(OrtEpFactory *factory, OrtDataTransferImpl **out)
{
    (void)factory;
    *out = NULL;
    return NULL;
}

static bool is_stream_aware(const OrtEpFactory *factory)
{
    (void)factory;
    return false;
}

static OrtStatus *create_stream(OrtEpFactory *factory, const OrtMemoryDevice *memory,
                                const OrtKeyValuePairs *options, OrtSyncStreamImpl **out)
{
    (void)factory;
    (void)memory;
    (void)options;
    *out = NULL;
    return NULL;
}

/* A model that another provider compiled is none of ours. */
static OrtStatus *validate_compiled(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                                    size_t count, const char *info, int *out)
{
    (void)factory;
    (void)devices;
    (void)count;
    (void)info;
    *out = 0;
    return NULL;
}

static OrtEpFactory table = {.ort_version_supported = ORT_VERSION,
                             .GetName = get_name,
                             .GetVendor = get_vendor,
                             .GetSupportedDevices = get_devices,
                             .CreateEp = create_ep,
                             .ReleaseEp = release_ep,
                             .GetVendorId = get_vendor_id,
                             .GetVersion = get_version,
                             .ValidateCompiledModelCompatibilityInfo = validate_compiled,
                             .CreateAllocator = create_allocator,
                             .ReleaseAllocator = release_allocator,
                             .CreateDataTransfer = create_transfer,
                             .IsStreamAware = is_stream_aware,
                             .CreateSyncStreamForDevice = create_stream};

/* An older host has no table of this version, and so no way to say why: the host reports the missing
 * factory. */
EXPORTED OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                      OrtEpFactory **factories, size_t max, size_t *count)
{
    (void)name;
    (void)logger;
    *count = 0;
    const OrtApi *api = base->GetApi(ORT_VERSION);
    if (api == NULL) {
        return NULL;
    }
    vtac_ort_calls_of(api, &vtac_ort_host);
    if (max < 1) {
        return vtac_ort_host.CreateStatus(ORT_INVALID_ARGUMENT, "no room for the factory of " VTAC_ORT_NAME);
    }
    factories[(*count)++] = &table;
    return NULL;
}

EXPORTED OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
    (void)factory;
    return NULL;
}
