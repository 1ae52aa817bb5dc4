// SPDX-License-Identifier: Apache-2.0
//
// Goes before each kernel in WGSL: what the language lacks, or defines otherwise than a nest does. Elements narrower than a
// word, integers of 64 bits (as two words, the lower first), conversions that saturate, shifts by more than the width, the lesser
// of a NaN and a number. A function MEMORY_* becomes two, for "work" and for "held"; its index counts elements.
@group(0) @binding(1) var<storage, read> held: array<u32>;
@group(0) @binding(2) var<uniform> places: array<vec4<u32>, 13>;
fn held_word(i: i32) -> u32 { return held[i]; }

fn MEMORY_f32(i: i32) -> f32 { return bitcast<f32>(MEMORY_word(i)); }
fn MEMORY_i32(i: i32) -> i32 { return bitcast<i32>(MEMORY_word(i)); }
fn MEMORY_u32(i: i32) -> u32 { return MEMORY_word(i); }
fn MEMORY_u8(i: i32) -> u32 { return extractBits(MEMORY_word(i >> 2u), u32(i & 3) * 8u, 8u); }
fn MEMORY_i8(i: i32) -> i32 { return extractBits(MEMORY_i32(i >> 2u), u32(i & 3) * 8u, 8u); }
fn MEMORY_u16(i: i32) -> u32 { return extractBits(MEMORY_word(i >> 1u), u32(i & 1) * 16u, 16u); }
fn MEMORY_i16(i: i32) -> i32 { return extractBits(MEMORY_i32(i >> 1u), u32(i & 1) * 16u, 16u); }
fn MEMORY_bool(i: i32) -> bool { return MEMORY_u8(i) != 0u; }
fn MEMORY_f16(i: i32) -> f32 { return vtac_from_half(MEMORY_u16(i)); }
fn MEMORY_bf16(i: i32) -> f32 { return bitcast<f32>(MEMORY_u16(i) << 16u); }
fn MEMORY_wide(i: i32) -> vec2<u32> { return vec2<u32>(MEMORY_word(2 * i), MEMORY_word(2 * i + 1)); }
fn MEMORY_u8x4_word(i: i32) -> vec4<u32> { return unpack4xU8(MEMORY_word(i >> 2u)); }
fn MEMORY_i8x4_word(i: i32) -> vec4<i32> { return unpack4xI8(MEMORY_word(i >> 2u)); }
fn MEMORY_quad_word(i: i32, s: i32) -> i32 { return MEMORY_i32(i >> 2u); }
fn MEMORY_quad(i: i32, s: i32) -> i32 { return bitcast<i32>(MEMORY_u8(i) | (MEMORY_u8(i + s) << 8u) | (MEMORY_u8(i + 2 * s) << 16u) | (MEMORY_u8(i + 3 * s) << 24u)); }
fn MEMORY_quadx4(i: i32, s: i32) -> vec4<i32> { return vtac_transpose(MEMORY_word(i >> 2u), MEMORY_word((i + s) >> 2u), MEMORY_word((i + 2 * s) >> 2u), MEMORY_word((i + 3 * s) >> 2u)); }
fn MEMORY_f32x4(i: i32) -> vec4<f32> { return vec4<f32>(MEMORY_f32(i), MEMORY_f32(i + 1), MEMORY_f32(i + 2), MEMORY_f32(i + 3)); }
fn MEMORY_i32x4(i: i32) -> vec4<i32> { return vec4<i32>(MEMORY_i32(i), MEMORY_i32(i + 1), MEMORY_i32(i + 2), MEMORY_i32(i + 3)); }
fn MEMORY_u32x4(i: i32) -> vec4<u32> { return vec4<u32>(MEMORY_u32(i), MEMORY_u32(i + 1), MEMORY_u32(i + 2), MEMORY_u32(i + 3)); }
fn MEMORY_u8x4(i: i32) -> vec4<u32> { return vec4<u32>(MEMORY_u8(i), MEMORY_u8(i + 1), MEMORY_u8(i + 2), MEMORY_u8(i + 3)); }
fn MEMORY_i8x4(i: i32) -> vec4<i32> { return vec4<i32>(MEMORY_i8(i), MEMORY_i8(i + 1), MEMORY_i8(i + 2), MEMORY_i8(i + 3)); }
fn MEMORY_u16x4(i: i32) -> vec4<u32> { return vec4<u32>(MEMORY_u16(i), MEMORY_u16(i + 1), MEMORY_u16(i + 2), MEMORY_u16(i + 3)); }
fn MEMORY_i16x4(i: i32) -> vec4<i32> { return vec4<i32>(MEMORY_i16(i), MEMORY_i16(i + 1), MEMORY_i16(i + 2), MEMORY_i16(i + 3)); }
fn MEMORY_boolx4(i: i32) -> vec4<bool> { return vec4<bool>(MEMORY_bool(i), MEMORY_bool(i + 1), MEMORY_bool(i + 2), MEMORY_bool(i + 3)); }
fn MEMORY_f16x4(i: i32) -> vec4<f32> { return vec4<f32>(MEMORY_f16(i), MEMORY_f16(i + 1), MEMORY_f16(i + 2), MEMORY_f16(i + 3)); }
fn MEMORY_bf16x4(i: i32) -> vec4<f32> { return vec4<f32>(MEMORY_bf16(i), MEMORY_bf16(i + 1), MEMORY_bf16(i + 2), MEMORY_bf16(i + 3)); }

fn vtac_i(x: i32) -> i32 { return x; }
fn vtac_u(x: u32) -> u32 { return x; }
fn vtac_f(x: u32) -> f32 { return bitcast<f32>(x); }
fn vtac_transpose(a: u32, b: u32, c: u32, d: u32) -> vec4<i32> {
    let at = vec4<u32>(0u, 8u, 16u, 24u);
    let byte = vec4<u32>(255u);
    return bitcast<vec4<i32>>(((vec4<u32>(a) >> at) & byte) | (((vec4<u32>(b) >> at) & byte) << vec4<u32>(8u)) | (((vec4<u32>(c) >> at) & byte) << vec4<u32>(16u)) | (((vec4<u32>(d) >> at) & byte) << vec4<u32>(24u)));
}
fn work_put_f32(i: i32, x: f32) { work_put(i, bitcast<u32>(x)); }
fn work_put_i32(i: i32, x: i32) { work_put(i, bitcast<u32>(x)); }
fn work_put_u32(i: i32, x: u32) { work_put(i, x); }
fn work_put_wide(i: i32, x: vec2<u32>) { work_put(2 * i, x.x); work_put(2 * i + 1, x.y); }
fn work_put_u8(i: i32, x: u32) { let at = u32(i & 3) * 8u; work_part(i >> 2u, 255u << at, (x & 255u) << at); }
fn work_put_i8(i: i32, x: i32) { work_put_u8(i, bitcast<u32>(x)); }
fn work_put_u16(i: i32, x: u32) { let at = u32(i & 1) * 16u; work_part(i >> 1u, 65535u << at, (x & 65535u) << at); }
fn work_put_i16(i: i32, x: i32) { work_put_u16(i, bitcast<u32>(x)); }
fn work_put_bool(i: i32, x: bool) { work_put_u8(i, u32(x)); }
fn work_put_f16(i: i32, x: f32) { work_put_u16(i, vtac_half(x)); }
fn work_put_bf16(i: i32, x: f32) { work_put_u16(i, vtac_bfloat(x)); }
fn work_put_u32x4(i: i32, x: vec4<u32>) { work_put(i, x.x); work_put(i + 1, x.y); work_put(i + 2, x.z); work_put(i + 3, x.w); }
fn work_put_f32x4(i: i32, x: vec4<f32>) { work_put_u32x4(i, bitcast<vec4<u32>>(x)); }
fn work_put_i32x4(i: i32, x: vec4<i32>) { work_put_u32x4(i, bitcast<vec4<u32>>(x)); }
fn work_put_u8x4(i: i32, x: vec4<u32>) { work_put(i >> 2u, pack4xU8(x)); }
fn work_put_i8x4(i: i32, x: vec4<i32>) { work_put(i >> 2u, pack4xI8(x)); }
fn work_put_boolx4(i: i32, x: vec4<bool>) { work_put(i >> 2u, pack4xU8(vec4<u32>(x))); }
fn work_put_u16x4(i: i32, x: vec4<u32>) { work_put(i >> 1u, (x.x & 65535u) | (x.y << 16u)); work_put((i >> 1u) + 1, (x.z & 65535u) | (x.w << 16u)); }
fn work_put_i16x4(i: i32, x: vec4<i32>) { work_put_u16x4(i, bitcast<vec4<u32>>(x)); }
fn work_put_f16x4(i: i32, x: vec4<f32>) { work_put_u16x4(i, vec4<u32>(vtac_half(x.x), vtac_half(x.y), vtac_half(x.z), vtac_half(x.w))); }
fn work_put_bf16x4(i: i32, x: vec4<f32>) { work_put_u16x4(i, vec4<u32>(vtac_bfloat(x.x), vtac_bfloat(x.y), vtac_bfloat(x.z), vtac_bfloat(x.w))); }
fn vtac_half(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let a = bits & 0x7fffffffu;
    if (a > 0x7f800000u) { return sign | 0x7e00u; }
    if (a >= 0x477ff000u) { return sign | 0x7c00u; }
    if (a < 0x38800000u) { return sign | u32(round(bitcast<f32>(a) * 16777216.0)); }
    return sign | ((a + 0xfffu + ((a >> 13u) & 1u) - 0x38000000u) >> 13u);
}
fn vtac_from_half(h: u32) -> f32 {
    let sign = (h & 0x8000u) << 16u;
    let e = (h >> 10u) & 31u;
    let m = h & 0x3ffu;
    if (e == 0u) { return select(1.0, -1.0, sign != 0u) * f32(m) * 5.9604644775390625e-8; }
    return bitcast<f32>(sign | select((e + 112u) << 23u, 0x7f800000u, e == 31u) | (m << 13u));
}
fn vtac_round_f16(x: f32) -> f32 { return vtac_from_half(vtac_half(x)); }
fn vtac_bfloat(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    return select((u + ((u >> 16u) & 1u) + 0x7fffu) >> 16u, (u | 0x400000u) >> 16u, (u & 0x7fffffffu) > 0x7f800000u);
}
fn vtac_round_bf16(x: f32) -> f32 { return bitcast<f32>(vtac_bfloat(x) << 16u); }
fn vtac_min(a: f32, b: f32) -> f32 { return select(b, a, a < b); }
fn vtac_max(a: f32, b: f32) -> f32 { return select(b, a, a > b); }
fn vtac_minx4(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return select(b, a, a < b); }
fn vtac_maxx4(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return select(b, a, a > b); }
fn vtac_to_i(x: f32) -> i32 { return select(select(i32(x), 2147483647, x >= 2147483648.0), 0, x != x); }
fn vtac_to_u(x: f32) -> u32 { return select(select(u32(x), 4294967295u, x >= 4294967296.0), 0u, x != x); }
fn vtac_to_ix4(x: vec4<f32>) -> vec4<i32> { return select(select(vec4<i32>(x), vec4<i32>(2147483647), x >= vec4<f32>(2147483648.0)), vec4<i32>(0), x != x); }
fn vtac_to_ux4(x: vec4<f32>) -> vec4<u32> { return select(select(vec4<u32>(x), vec4<u32>(4294967295u), x >= vec4<f32>(4294967296.0)), vec4<u32>(0u), x != x); }
fn vtac_shl_i(a: i32, b: i32) -> i32 { let n = u32(b); return select(0, a << (n & 31u), n < 32u); }
fn vtac_shl_u(a: u32, b: u32) -> u32 { return select(0u, a << (b & 31u), b < 32u); }
fn vtac_shr_i(a: i32, b: i32) -> i32 { return a >> min(u32(b), 31u); }
fn vtac_shr_u(a: u32, b: u32) -> u32 { return select(0u, a >> (b & 31u), b < 32u); }
fn vtac_dot2(c: i32, a: i32, b: i32) -> i32 { return c + extractBits(a, 0u, 16u) * extractBits(b, 0u, 16u) + (a >> 16u) * (b >> 16u); }
fn vtac_dot2x4(c: vec4<i32>, a: vec4<i32>, b: vec4<i32>) -> vec4<i32> {
    let half = vec4<u32>(16u);
    return c + extractBits(a, 0u, 16u) * extractBits(b, 0u, 16u) + (a >> half) * (b >> half);
}
fn vtac_sdot4(c: i32, a: i32, b: i32) -> i32 { return c + dot4I8Packed(bitcast<u32>(a), bitcast<u32>(b)); }
fn vtac_sdot4x4(c: vec4<i32>, a: vec4<i32>, b: vec4<i32>) -> vec4<i32> {
    let x = bitcast<vec4<u32>>(a);
    let y = bitcast<vec4<u32>>(b);
    return c + vec4<i32>(dot4I8Packed(x.x, y.x), dot4I8Packed(x.y, y.y), dot4I8Packed(x.z, y.z), dot4I8Packed(x.w, y.w));
}
// Bytes without a sign are 128 more than the same bits with the highest one turned.
fn vtac_dot4(c: i32, a: i32, b: i32) -> i32 { return vtac_sdot4(c, a ^ (-2139062144), b) + 128 * dot4I8Packed(0x01010101u, bitcast<u32>(b)); }
fn vtac_dot4x4(c: vec4<i32>, a: vec4<i32>, b: vec4<i32>) -> vec4<i32> {
    return vtac_sdot4x4(c, a ^ vec4<i32>(-2139062144), b) + vec4<i32>(128) * vtac_sdot4x4(vec4<i32>(0), vec4<i32>(0x01010101), b);
}
fn vtac_expm1(x: f32) -> f32 {
    if (abs(x) > 0.35) { return exp(x) - 1.0; }
    return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * (0.0013888889 + x * 0.0001984127))))));
}
fn vtac_log1p(x: f32) -> f32 {
    if (abs(x) > 0.3) { return log(1.0 + x); }
    let s = x / (2.0 + x);
    let z = s * s;
    return 2.0 * s * (1.0 + z * (0.33333334 + z * (0.2 + z * (0.14285715 + z * 0.11111111))));
}
fn vtac_tanh(x: f32) -> f32 {
    let a = abs(x);
    if (a > 10.0) { return sign(x); }
    if (!(a >= 0.0)) { return x; }
    let e = vtac_expm1(2.0 * a);
    return sign(x) * (e / (e + 2.0));
}
fn vtac_erf(x: f32) -> f32 {
    let a = min(abs(x), 4.0);
    let z = a * a;
    let small = a * ((((((7.8758750467906264e-05 * z - 0.00080168642818177565) * z + 0.0051890874227800456) * z - 0.026854212010276407) * z + 0.11283594715152363) * z - 0.37612626666719629) * z + 1.1283791658483504);
    let power = a * (((((0.000303226177 * a - 0.00459224789) * a + 0.0328733136) * a - 0.151622355) * a - 0.917332509) * a - 1.6280461);
    return select(select(1.0 - exp2(power), small, a < 1.0) * sign(x), x, x != x);
}
fn vtac_pow(x: f32, y: f32) -> f32 {
    if (y == 0.0 || x == 1.0) { return 1.0; }
    if (y == 1.0) { return x; }
    if (y == 2.0) { return x * x; }
    if (y == 0.5 && x >= 0.0) { return sqrt(x); }
    let whole = trunc(y) == y;
    let odd = whole && abs(y - 2.0 * trunc(y * 0.5)) == 1.0;
    let a = abs(x);
    let r = select(exp2(y * log2(a)), select(0.0, vtac_f(0x7f800000u), y < 0.0), a == 0.0);
    if (x < 0.0 && !whole) { return vtac_f(0x7fc00000u); }
    return select(r, -r, odd && (bitcast<u32>(x) >> 31u) == 1u);
}
fn vtac_wide(x: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }
fn vtac_low(x: vec2<u32>) -> i32 { return bitcast<i32>(x.x); }
fn vtac_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { let x = a.x + b.x; return vec2<u32>(x, a.y + b.y + select(0u, 1u, x < a.x)); }
fn vtac_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }
fn vtac_negate(a: vec2<u32>) -> vec2<u32> { return vtac_sub(vec2<u32>(0u, 0u), a); }
fn vtac_is_negative(a: vec2<u32>) -> bool { return (a.y >> 31u) == 1u; }
fn vtac_abs_u(a: vec2<u32>) -> vec2<u32> { return a; }
fn vtac_abs_i(a: vec2<u32>) -> vec2<u32> { return select(a, vtac_negate(a), vtac_is_negative(a)); }
fn vtac_product(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 65535u) * (b & 65535u);
    let left = (a >> 16u) * (b & 65535u) + (low >> 16u);
    let right = (a & 65535u) * (b >> 16u) + (left & 65535u);
    return vec2<u32>((right << 16u) | (low & 65535u), (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u));
}
fn vtac_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { let r = vtac_product(a.x, b.x); return vec2<u32>(r.x, r.y + a.x * b.y + a.y * b.x); }
fn vtac_equal(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }
fn vtac_less_u(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn vtac_less_i(a: vec2<u32>, b: vec2<u32>) -> bool { return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x); }
fn vtac_least_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, vtac_less_i(a, b)); }
fn vtac_least_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, vtac_less_u(a, b)); }
fn vtac_most_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, vtac_less_i(a, b)); }
fn vtac_most_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, vtac_less_u(a, b)); }
// Shifts of pairs by any number of bits, without branches.
fn vtac_up(a: vec2<u32>, n: u32) -> vec2<u32> {
    let k = n & 31u;
    let near = vec2<u32>(a.x << k, (a.y << k) | ((a.x >> 1u) >> (31u - k)));
    return select(select(near, vec2<u32>(0u, near.x), n > 31u), vec2<u32>(0u, 0u), n > 63u);
}
fn vtac_down_filled(a: vec2<u32>, n: u32, fill: u32) -> vec2<u32> {
    let k = n & 31u;
    let top = (fill << 1u) << (31u - k);
    let near = vec2<u32>((a.x >> k) | ((a.y << 1u) << (31u - k)), (a.y >> k) | top);
    return select(select(near, vec2<u32>(near.y, fill), n > 31u), vec2<u32>(fill, fill), n > 63u);
}
fn vtac_down(a: vec2<u32>, n: u32) -> vec2<u32> { return vtac_down_filled(a, n, 0u); }
fn vtac_bits(n: vec2<u32>) -> u32 { return select(min(n.x, 64u), 64u, n.y != 0u); }
fn vtac_shl_wide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vtac_up(a, vtac_bits(b)); }
fn vtac_shr_wide_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vtac_down(a, vtac_bits(b)); }
fn vtac_shr_wide_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vtac_down_filled(a, vtac_bits(b), select(0u, 4294967295u, vtac_is_negative(a))); }
fn vtac_divided(a: vec2<u32>, b: vec2<u32>, remainder: bool) -> vec2<u32> {
    if (b.x == 0u && b.y == 0u) { return select(vec2<u32>(0u, 0u), a, remainder); }
    if (a.y == 0u && b.y == 0u) { return vec2<u32>(select(a.x / b.x, a.x % b.x, remainder), 0u); }
    var q = vec2<u32>(0u, 0u);
    var r = vec2<u32>(0u, 0u);
    for (var i = 63; i >= 0; i--) {
        let bit = select(a.x >> u32(i & 31), a.y >> u32(i & 31), i > 31) & 1u;
        let over = (r.y >> 31u) == 1u;
        r = vec2<u32>((r.x << 1u) | bit, (r.y << 1u) | (r.x >> 31u));
        if (over || !vtac_less_u(r, b)) {
            r = vtac_sub(r, b);
            q = vec2<u32>(q.x | select(0u, 1u << u32(i & 31), i < 32), q.y | select(0u, 1u << u32(i & 31), i > 31));
        }
    }
    return select(q, r, remainder);
}
fn vtac_div_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vtac_divided(a, b, false); }
fn vtac_rem_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vtac_divided(a, b, true); }
fn vtac_div_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let q = vtac_divided(vtac_abs_i(a), vtac_abs_i(b), false);
    return select(q, vtac_negate(q), vtac_is_negative(a) != vtac_is_negative(b));
}
fn vtac_rem_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let r = vtac_divided(vtac_abs_i(a), vtac_abs_i(b), true);
    return select(r, vtac_negate(r), vtac_is_negative(a));
}
// Devices need not round a u32 of 32 bits correctly.
fn vtac_float_u(a: vec2<u32>) -> f32 {
    let n = vtac_leading(a);
    return f32(vtac_rounded(vtac_up(a, n), 40u, false).x) * vtac_f((167u - n) << 23u);
}
fn vtac_float_i(a: vec2<u32>) -> f32 { return select(1.0, -1.0, vtac_is_negative(a)) * vtac_float_u(vtac_abs_i(a)); }
fn vtac_wide_to_u(x: f32) -> vec2<u32> {
    if (!(x >= 1.0)) { return vec2<u32>(0u, 0u); }
    if (x >= 18446744073709551616.0) { return vec2<u32>(4294967295u, 4294967295u); }
    let bits = bitcast<u32>(x);
    let e = i32(bits >> 23u) - 150;
    let m = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
    if (e < 0) { return vec2<u32>(m.x >> u32(-e), 0u); }
    return vtac_shl_wide(m, vec2<u32>(u32(e), 0u));
}
fn vtac_wide_to_i(x: f32) -> vec2<u32> {
    if (x >= 9223372036854775808.0) { return vec2<u32>(4294967295u, 2147483647u); }
    if (x <= -9223372036854775808.0) { return vec2<u32>(0u, 2147483648u); }
    let a = vtac_wide_to_u(abs(x));
    return select(a, vtac_negate(a), x < 0.0);
}
fn vtac_and(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a & b; }
fn vtac_or(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a | b; }
fn vtac_xor(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a ^ b; }
fn vtac_mul_add(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> { return vtac_add(vtac_mul(a, b), c); }
fn vtac_no_more_i(a: vec2<u32>, b: vec2<u32>) -> bool { return !vtac_less_i(b, a); }
fn vtac_no_more_u(a: vec2<u32>, b: vec2<u32>) -> bool { return !vtac_less_u(b, a); }
fn vtac_part_i(bits: u32, x: vec2<u32>) -> i32 { return extractBits(vtac_low(x), 0u, bits); }
fn vtac_part_u(bits: u32, x: vec2<u32>) -> u32 { return extractBits(x.x, 0u, bits); }
fn vtac_is_zero(a: vec2<u32>) -> bool { return (a.x | a.y) == 0u; }

fn vtac_leading(m: vec2<u32>) -> u32 { return select(32u + countLeadingZeros(m.x), countLeadingZeros(m.y), m.y != 0u); }
// `more`: the number is a little larger than m says.
fn vtac_rounded(m: vec2<u32>, drop: u32, more: bool) -> vec2<u32> {
    let r = vtac_down(m, drop);
    let rest = vtac_up(m, 64u - min(drop, 64u));
    let half = drop < 65u && (rest.y >> 31u) == 1u;
    let above = more || (rest.y << 1u) != 0u || rest.x != 0u;
    return vtac_add(r, vec2<u32>(select(0u, 1u, half && (above || (r.x & 1u) == 1u)), 0u));
}

// p / 2^k, k from 1 to 64, to the nearest integer, the even one of two; `more`: the number is a little larger than p.
fn vtac_shifted(p: vec2<u32>, k: u32, more: bool) -> vec2<u32> {
    let half = select(vec2<u32>(1u << ((k - 1u) & 31u), 0u), vec2<u32>(0u, 1u << ((k - 1u) & 31u)), k > 32u);
    let q = vtac_add(p, half);
    let tie = !more && ((q.x & ((half.x << 1u) - 1u)) | (q.y & select(0u, (half.y << 1u) - 1u, k > 32u))) == 0u;
    let r = vtac_down(q, k);
    return vec2<u32>(r.x & select(4294967295u, 4294967294u, tie), r.y);
}
// The integer nearest to a * b, the even one of two, its lower word: the product of two words is exact.
fn vtac_scaled(a: i32, b: f32) -> i32 {
    let bits = bitcast<u32>(b);
    let e = max((bits >> 23u) & 255u, 1u);
    let m = (bits & 0x7fffffu) | select(0u, 0x800000u, bits << 1u > 0xffffffu);
    let size = u32(abs(a));
    let r = vtac_shifted(vtac_product(size, m), clamp(150u - min(e, 149u), 1u, 64u), false).x;
    let large = select((size * m) << ((e - 150u) & 31u), 0u, e > 181u);
    let whole = bitcast<i32>(select(r, large, e > 149u));
    return select(whole, -whole, (a < 0) != ((bits >> 31u) == 1u));
}
// The same within 2^30, of a b of double precision. The host rounds the product to 53 bits before, which changes the integer where
// the product is within 2^-53 of its size of a half that it is not: one product in 2^40, or so.
fn vtac_near_d(a: i32, b: vec2<u32>) -> i32 {
    let e = max((b.y >> 20u) & 2047u, 1u);
    let size = u32(abs(a));
    let low = vtac_product(size, b.x);
    let high = vtac_add(vtac_product(size, (b.y & 0xfffffu) | select(0u, 0x100000u, (b.y << 1u) > 0x1fffffu)), vec2<u32>(low.y, 0u));
    let small = e < 1043u;
    let p = select(vec2<u32>(low.x, high.x), high, small);
    let r = vtac_shifted(p, clamp(select(1075u, 1043u, small) - min(e, select(1074u, 1042u, small)), 1u, 64u), small && low.x != 0u);
    let far = r.y != 0u || r.x > 0x40000000u || (!small && high.y != 0u) || (e > 1074u && a != 0);
    let whole = select(bitcast<i32>(r.x), 0x40000000, far);
    return select(whole, -whole, (a < 0) != vtac_is_negative(b));
}
fn vtac_near_f(a: i32, b: f32) -> i32 {
    let bits = bitcast<u32>(b);
    let e = max((bits >> 23u) & 255u, 1u);
    let size = u32(abs(a));
    let p = vtac_product(size, (bits & 0x7fffffu) | select(0u, 0x800000u, bits << 1u > 0xffffffu));
    let near = vtac_shifted(p, clamp(150u - min(e, 149u), 1u, 64u), false);
    let r = select(near, vtac_up(p, (e - 150u) & 31u), e > 149u);
    let far = r.y != 0u || r.x > 0x40000000u || (e > 181u && size != 0u);
    let whole = select(bitcast<i32>(r.x), 0x40000000, far);
    return select(whole, -whole, (a < 0) != ((bits >> 31u) == 1u));
}
// Loops: functions are inlined, and four lanes in turn are a quarter of the code.
fn vtac_scaledx4(a: vec4<i32>, b: vec4<f32>) -> vec4<i32> {
    var r = a;
    for (var i = 0; i < 4; i++) { r[i] = vtac_scaled(a[i], b[i]); }
    return r;
}
fn vtac_near_fx4(a: vec4<i32>, b: vec4<f32>) -> vec4<i32> {
    var r = a;
    for (var i = 0; i < 4; i++) { r[i] = vtac_near_f(a[i], b[i]); }
    return r;
}
fn vtac_near_dx4(a: vec4<i32>, b: array<vec2<u32>, 4>) -> vec4<i32> {
    var r = a;
    var scales = b;
    for (var i = 0; i < 4; i++) { r[i] = vtac_near_d(a[i], scales[i]); }
    return r;
}

// Double precision. A number is m * 2^e with the highest bit of m set, or m is 0; e 5000: infinite, 6000: no number.
struct vtac_number { sign: u32, e: i32, m: vec2<u32> }
fn vtac_d_nothing() -> vec2<u32> { return vec2<u32>(0u, 0x7ff80000u); }
fn vtac_d_infinite(sign: u32) -> vec2<u32> { return vec2<u32>(0u, sign | 0x7ff00000u); }
fn vtac_d_open(x: vec2<u32>) -> vtac_number {
    let field = (x.y >> 20u) & 2047u;
    let sign = x.y & 0x80000000u;
    let low = vec2<u32>(x.x, x.y & 0xfffffu);
    if (field == 2047u) { return vtac_number(sign, select(6000, 5000, vtac_is_zero(low)), vec2<u32>(0u, 0u)); }
    let m = vec2<u32>(low.x, low.y | select(0u, 0x100000u, field != 0u));
    if (vtac_is_zero(m)) { return vtac_number(sign, 0, m); }
    let n = vtac_leading(m);
    return vtac_number(sign, i32(max(field, 1u)) - 1075 - i32(n), vtac_up(m, n));
}
fn vtac_d_close(sign: u32, e: i32, m: vec2<u32>, more: bool) -> vec2<u32> {
    if (vtac_is_zero(m)) { return vec2<u32>(0u, sign); }
    let n = vtac_leading(m);
    let field = e - i32(n) + 1086;
    if (field > 2046) { return vtac_d_infinite(sign); }
    let r = vtac_rounded(vtac_up(m, n), u32(select(11, min(12 - field, 70), field < 1)), more);
    let hidden = select(0x100000u, 0u, field < 1);
    return vec2<u32>(r.x, (r.y - hidden + (u32(max(field, 0)) << 20u)) | sign);
}
fn vtac_d_negate(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x, a.y ^ 0x80000000u); }
fn vtac_d_abs(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(a.x, a.y & 0x7fffffffu); }
fn vtac_d_is_nothing(a: vec2<u32>) -> bool { return vtac_less_u(vec2<u32>(0u, 0x7ff00000u), vtac_d_abs(a)); }
fn vtac_d_mul(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let a = vtac_d_open(x);
    let b = vtac_d_open(y);
    let sign = a.sign ^ b.sign;
    let top = max(a.e, b.e);
    if (top == 6000 || (top == 5000 && min(a.e, b.e) < 5000 && vtac_is_zero(a.m) && vtac_is_zero(b.m))) { return vtac_d_nothing(); }
    if (top == 5000) { return vtac_d_infinite(sign); }
    let cross = vtac_product(a.m.x, b.m.y);
    let other = vtac_product(a.m.y, b.m.x);
    let low = vtac_product(a.m.x, b.m.x);
    let middle = vtac_add(vtac_add(vec2<u32>(low.y, 0u), vec2<u32>(cross.x, 0u)), vec2<u32>(other.x, 0u));
    let high = vtac_add(vtac_add(vtac_product(a.m.y, b.m.y), vec2<u32>(cross.y, 0u)), vtac_add(vec2<u32>(other.y, 0u), vec2<u32>(middle.y, 0u)));
    return vtac_d_close(sign, a.e + b.e + 64, high, middle.x != 0u || low.x != 0u);
}
fn vtac_d_add(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let one = vtac_d_open(x);
    let two = vtac_d_open(y);
    if (one.e == 6000 || two.e == 6000 || (one.e == 5000 && two.e == 5000 && one.sign != two.sign)) { return vtac_d_nothing(); }
    if (two.e == 5000 || (one.e < 5000 && vtac_is_zero(one.m) && !vtac_is_zero(two.m))) { return y; }
    if (one.e == 5000 || (vtac_is_zero(two.m) && !vtac_is_zero(one.m))) { return x; }
    let turned = one.e < two.e || (one.e == two.e && vtac_less_u(one.m, two.m));
    var a = one;
    var b = two;
    if (turned) {
        a = two;
        b = one;
    }
    let n = u32(min(a.e - b.e + 1, 65));
    let left = vtac_down(a.m, 1u);
    let right = vtac_down(b.m, n);
    let more = !vtac_is_zero(vtac_up(b.m, 64u - min(n, 64u)));
    let less = vtac_sub(vtac_sub(left, right), vec2<u32>(select(0u, 1u, more), 0u));
    let m = select(less, vtac_add(left, right), a.sign == b.sign);
    return vtac_d_close(select(a.sign, a.sign & b.sign, vtac_is_zero(m)), a.e + 1, m, more);
}
fn vtac_d_sub(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return vtac_d_add(x, vtac_d_negate(y)); }
fn vtac_d_mul_add(x: vec2<u32>, y: vec2<u32>, z: vec2<u32>) -> vec2<u32> { return vtac_d_add(vtac_d_mul(x, y), z); }
fn vtac_d_div(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let a = vtac_d_open(x);
    let b = vtac_d_open(y);
    let sign = a.sign ^ b.sign;
    let none = vtac_is_zero(a.m) && vtac_is_zero(b.m) && (a.e < 5000) == (b.e < 5000);
    if (a.e == 6000 || b.e == 6000 || none) { return vtac_d_nothing(); }
    if (a.e == 5000 || (vtac_is_zero(b.m) && b.e < 5000)) { return vtac_d_infinite(sign); }
    if (b.e == 5000 || vtac_is_zero(a.m)) { return vec2<u32>(0u, sign); }
    var rest = a.m;
    var over = false;
    var q = vec2<u32>(0u, 0u);
    for (var i = 0; i < 64; i++) {
        q = vtac_up(q, 1u);
        if (over || !vtac_less_u(rest, b.m)) {
            rest = vtac_sub(rest, b.m);
            q.x |= 1u;
        }
        over = (rest.y >> 31u) == 1u;
        rest = vtac_up(rest, 1u);
    }
    return vtac_d_close(sign, a.e - b.e - 63, q, over || !vtac_is_zero(rest));
}
fn vtac_d_sqrt(x: vec2<u32>) -> vec2<u32> {
    var a = vtac_d_open(x);
    if (a.e < 5000 && vtac_is_zero(a.m)) { return x; }
    if (a.e == 6000 || a.sign != 0u) { return vtac_d_nothing(); }
    if (a.e == 5000) { return x; }
    if ((a.e & 1) == 1) {
        a.m = vtac_down(a.m, 1u);
        a.e += 1;
    }
    var root = vec2<u32>(0u, 0u);
    var rest = vec2<u32>(0u, 0u);
    for (var i = 0; i < 55; i++) {
        rest = vtac_up(rest, 2u);
        rest.x |= a.m.y >> 30u;
        a.m = vtac_up(a.m, 2u);
        let trial = vtac_up(root, 2u) | vec2<u32>(1u, 0u);
        root = vtac_up(root, 1u);
        if (!vtac_less_u(rest, trial)) {
            rest = vtac_sub(rest, trial);
            root.x |= 1u;
        }
    }
    return vtac_d_close(0u, (a.e - 46) / 2, root, !vtac_is_zero(rest));
}
fn vtac_d_equal(a: vec2<u32>, b: vec2<u32>) -> bool {
    let zeros = vtac_is_zero(vtac_d_abs(a)) && vtac_is_zero(vtac_d_abs(b));
    return (zeros || vtac_equal(a, b)) && !vtac_d_is_nothing(a) && !vtac_d_is_nothing(b);
}
fn vtac_d_order(a: vec2<u32>) -> vec2<u32> { return select(vec2<u32>(a.x, a.y | 0x80000000u), ~a, vtac_is_negative(a)); }
fn vtac_d_less(a: vec2<u32>, b: vec2<u32>) -> bool {
    return !vtac_d_is_nothing(a) && !vtac_d_is_nothing(b) && !vtac_d_equal(a, b) && vtac_less_u(vtac_d_order(a), vtac_d_order(b));
}
fn vtac_d_no_more(a: vec2<u32>, b: vec2<u32>) -> bool { return vtac_d_less(a, b) || vtac_d_equal(a, b); }
fn vtac_d_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, vtac_d_less(a, b)); }
fn vtac_d_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, vtac_d_less(b, a)); }
fn vtac_d_trunc(x: vec2<u32>) -> vec2<u32> {
    let e = i32((x.y >> 20u) & 2047u) - 1023;
    if (e < 0) { return vec2<u32>(0u, x.y & 0x80000000u); }
    if (e > 51) { return x; }
    return vtac_up(vtac_down(x, u32(52 - e)), u32(52 - e));
}
fn vtac_d_floor(x: vec2<u32>) -> vec2<u32> {
    let t = vtac_d_trunc(x);
    return select(t, vtac_d_sub(t, vec2<u32>(0u, 0x3ff00000u)), vtac_d_less(x, t));
}
fn vtac_d_ceil(x: vec2<u32>) -> vec2<u32> { return vtac_d_negate(vtac_d_floor(vtac_d_negate(x))); }
fn vtac_d_round(x: vec2<u32>) -> vec2<u32> {
    let e = i32((x.y >> 20u) & 2047u) - 1023;
    let whole = vec2<u32>(0u, (x.y & 0x80000000u) | 0x43300000u);
    if (e > 51) { return x; }
    let r = vtac_d_sub(vtac_d_add(x, whole), whole);
    return vec2<u32>(r.x, (r.y & 0x7fffffffu) | (x.y & 0x80000000u));
}
fn vtac_d_from_u(x: vec2<u32>) -> vec2<u32> { return vtac_d_close(0u, 0, x, false); }
fn vtac_d_from_i(x: vec2<u32>) -> vec2<u32> { return vtac_d_close(x.y & 0x80000000u, 0, vtac_abs_i(x), false) & select(vec2<u32>(4294967295u, 4294967295u), vec2<u32>(0u, 0u), vtac_is_zero(x)); }
fn vtac_d_from_f(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let field = (bits >> 23u) & 255u;
    let sign = bits & 0x80000000u;
    if (field == 255u) { return select(vtac_d_infinite(sign), vtac_d_nothing(), (bits & 0x7fffffu) != 0u); }
    return vtac_d_close(sign, i32(max(field, 1u)) - 150, vec2<u32>((bits & 0x7fffffu) | select(0u, 0x800000u, field != 0u), 0u), false);
}
fn vtac_d_to_f(x: vec2<u32>) -> f32 {
    let a = vtac_d_open(x);
    if (a.e == 6000) { return vtac_f(0x7fc00000u); }
    let field = a.e + 190;
    if (a.e == 5000 || field > 254) { return vtac_f(a.sign | 0x7f800000u); }
    if (vtac_is_zero(a.m)) { return vtac_f(a.sign); }
    let r = vtac_rounded(a.m, u32(select(40, min(41 - field, 70), field < 1)), false).x;
    return vtac_f((r - select(0x800000u, 0u, field < 1) + (u32(max(field, 0)) << 23u)) | a.sign);
}
fn vtac_d_to_u(x: vec2<u32>) -> vec2<u32> {
    let a = vtac_d_open(x);
    if (a.e == 6000 || a.sign != 0u) { return vec2<u32>(0u, 0u); }
    if (a.e > 0) { return vec2<u32>(4294967295u, 4294967295u); }
    return vtac_down(a.m, u32(-a.e));
}
fn vtac_d_to_i(x: vec2<u32>) -> vec2<u32> {
    let m = vtac_d_to_u(vtac_d_abs(x));
    let negative = vtac_is_negative(x);
    if (vtac_is_negative(m)) { return select(vec2<u32>(4294967295u, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative); }
    return select(m, vtac_negate(m), negative);
}
fn vtac_d_to_word_i(bits: u32, x: vec2<u32>) -> i32 {
    let high = vec2<u32>((1u << (bits - 1u)) - 1u, 0u);
    return vtac_low(vtac_least_i(vtac_most_i(vtac_d_to_i(x), vtac_sub(vec2<u32>(0u, 0u), vtac_add(high, vec2<u32>(1u, 0u)))), high));
}
fn vtac_d_to_word_u(bits: u32, x: vec2<u32>) -> u32 { return vtac_least_u(vtac_d_to_u(x), vec2<u32>(4294967295u >> (32u - bits), 0u)).x; }
