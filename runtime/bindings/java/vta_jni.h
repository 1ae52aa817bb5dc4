/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of vta_jni.c that vta_generate_jni.c shares.
 */
#ifndef VTA_JNI_H
#define VTA_JNI_H

#include <jni.h>
#include <vta/model.h>

jbyteArray vta_jni_bytes(JNIEnv *env, const char *text);
/* A copy of the caller's; NULL of null. */
char *vta_jni_text(JNIEnv *env, jbyteArray bytes);
/* Throws what the library said, unless the program's own exception is on its way. */
void vta_jni_refuse(JNIEnv *env, vta_status status, const vta_diag *diag);

#endif
