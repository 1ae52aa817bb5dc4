// SPDX-License-Identifier: Apache-2.0
//
// The functions that kernels in WGSL bring along, against JavaScript's own doubles and BigInts, in Chromium on its software
// renderer: integers of 64 bits, doubles, conversions, and what quantized layers do to their sums. Random numbers of all sizes and
// those at the ends; a wrong bit fails.
//
// usage: numbers.mjs PROFILE PAGE KERNELS SEED   (what `vtac compile --target webgpu --emit kernels:` wrote; any page of a file)
import { readFileSync } from "node:fs";

import { open, SWIFTSHADER } from "./chromium.mjs";

const [profile, page, kernels, seed] = process.argv.slice(2);
const text = readFileSync(kernels, "utf8");
const prelude = text.slice(0, text.indexOf("\n/* "));
const { command, say, close } = await open(profile, SWIFTSHADER);

/* In the page. Each case: a function of the prelude on pairs x and y, that gives a pair; what it is to give, of BigInts. */
async function check(prelude, seed) {
    let state = BigInt(seed) | 1n;
    const random = () => {
        state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
        return BigInt.asUintN(64, (state >> 29n) * 0x9e3779b97f4a7c15n);
    };
    const view = new DataView(new ArrayBuffer(8));
    const real = (bits) => (view.setBigUint64(0, bits), view.getFloat64(0));
    const bits = (value) => (view.setFloat64(0, value), view.getBigUint64(0));
    const single = (low) => (view.setUint32(0, Number(low & 0xffffffffn)), view.getFloat32(0));
    const bitsOfSingle = (value) => (view.setFloat32(0, value), BigInt(view.getUint32(0)));
    const u = (value) => BigInt.asUintN(64, value);
    const i = (value) => BigInt.asIntN(64, value);
    const word = (value) => BigInt.asIntN(32, value);
    const clamp = (value, low, high) => (value < low ? low : value > high ? high : value);
    const whole = (value, low, high) => (Number.isNaN(value) ? 0n : value <= Number(low) ? low : value >= Number(high) ? high : BigInt(Math.trunc(value)));
    const half = (x) => { // of a double with a fraction: to the nearest, the even one of two
        const floor = Math.floor(x);
        const rest = x - floor;
        return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
    };
    const nearest = (a, b) => { // a * b of an integer and a double, exactly, then rounded
        if (b === 0) {
            return 0n;
        }
        const field = bits(b);
        const e = Number((field >> 52n) & 2047n);
        const m = ((field & 0xfffffffffffffn) | (e > 0 ? 0x10000000000000n : 0n)) * (b < 0 ? -1n : 1n) * a;
        const k = 1075 - Math.max(e, 1);
        if (k <= 0) {
            return m << BigInt(-k);
        }
        const floor = m >> BigInt(k);
        const rest = (m - (floor << BigInt(k))) * 2n - (1n << BigInt(k));
        return rest > 0n || (rest === 0n && (floor & 1n) === 1n) ? floor + 1n : floor;
    };
    const scale = (y) => real(((y & 0x800fffffffffffffn) | ((990n + (y >> 52n) % 50n) << 52n)));
    const scaleOfSingle = (y) => single((y & 0x807fffffn) | ((90n + (y >> 40n) % 50n) << 23n));
    const cases = [
        ["vtac_add(x, y)", (x, y) => u(x + y)],
        ["vtac_sub(x, y)", (x, y) => u(x - y)],
        ["vtac_mul(x, y)", (x, y) => u(x * y)],
        ["vtac_div_u(x, y)", (x, y) => (y === 0n ? 0n : x / y)],
        ["vtac_rem_u(x, y)", (x, y) => (y === 0n ? x : x % y)],
        ["vtac_div_i(x, y)", (x, y) => (y === 0n ? undefined : u(i(x) / i(y)))],
        ["vtac_rem_i(x, y)", (x, y) => (y === 0n ? undefined : u(i(x) % i(y)))],
        ["vtac_least_i(x, y)", (x, y) => (i(x) < i(y) ? x : y)],
        ["vtac_most_u(x, y)", (x, y) => (x > y ? x : y)],
        ["vtac_abs_i(x)", (x) => u(i(x) < 0n ? -i(x) : i(x))],
        ["vtac_shl_wide(x, y & vec2<u32>(127u, 0u))", (x, y) => u(x << (y & 127n))],
        ["vtac_shr_wide_u(x, y & vec2<u32>(127u, 0u))", (x, y) => x >> (y & 127n)],
        ["vtac_shr_wide_i(x, y & vec2<u32>(127u, 0u))", (x, y) => u(i(x) >> (y & 127n))],
        ["vtac_wide_to_i(vtac_f(x.x))", (x) => u(whole(single(x), -(1n << 63n), (1n << 63n) - 1n))],
        ["vtac_wide_to_u(vtac_f(x.x))", (x) => u(whole(single(x), 0n, (1n << 64n) - 1n))],
        ["vec2<u32>(bitcast<u32>(vtac_float_i(x)), 0u)", (x) => { // double rounding: through the odd one of two doubles
            const size = i(x) < 0n ? -i(x) : i(x);
            const cut = size >> 53n !== 0n ? (size >> 11n) | (size & 0x7ffn ? 1n : 0n) : size;
            const value = Number(cut) * (size >> 53n !== 0n ? 2048 : 1);
            return bitsOfSingle(i(x) < 0n ? -value : value);
        }],
        ["vtac_d_add(x, y)", (x, y) => bits(real(x) + real(y)), "real"],
        ["vtac_d_sub(x, y)", (x, y) => bits(real(x) - real(y)), "real"],
        ["vtac_d_mul(x, y)", (x, y) => bits(real(x) * real(y)), "real"],
        ["vtac_d_div(x, y)", (x, y) => bits(real(x) / real(y)), "real"],
        ["vtac_d_sqrt(x)", (x) => bits(Math.sqrt(real(x))), "real"],
        ["vtac_d_min(x, y)", (x, y) => (real(x) < real(y) ? x : y)],
        ["vtac_d_max(x, y)", (x, y) => (real(x) > real(y) ? x : y)],
        ["vec2<u32>(u32(vtac_d_less(x, y)), u32(vtac_d_no_more(x, y)))", (x, y) => (real(x) < real(y) ? 1n : 0n) | (real(x) <= real(y) ? 1n << 32n : 0n)],
        ["vec2<u32>(u32(vtac_d_equal(x, x)), u32(vtac_d_equal(x, y)))", (x, y) => (real(x) === real(x) ? 1n : 0n) | (real(x) === real(y) ? 1n << 32n : 0n)],
        ["vtac_d_floor(x)", (x) => bits(Math.floor(real(x))), "real"],
        ["vtac_d_ceil(x)", (x) => bits(Math.ceil(real(x))), "real"],
        ["vtac_d_trunc(x)", (x) => bits(Math.trunc(real(x))), "real"],
        ["vtac_d_round(x)", (x) => (Math.abs(real(x)) < 2 ** 52 ? bits(Math.sign(real(x)) < 0 ? -Math.abs(half(real(x))) : half(real(x))) : x), "real"],
        ["vtac_d_from_i(x)", (x) => bits(Number(i(x)))],
        ["vtac_d_from_u(x)", (x) => bits(Number(x))],
        ["vtac_d_from_f(vtac_f(x.x))", (x) => bits(single(x)), "real"],
        ["vec2<u32>(bitcast<u32>(vtac_d_to_f(x)), 0u)", (x) => bitsOfSingle(real(x)), "single"],
        ["vtac_d_to_i(x)", (x) => u(whole(real(x), -(1n << 63n), (1n << 63n) - 1n))],
        ["vtac_d_to_u(x)", (x) => u(whole(real(x), 0n, (1n << 64n) - 1n))],
        ["vec2<u32>(bitcast<u32>(vtac_d_to_word_i(8u, x)), vtac_d_to_word_u(32u, x))",
            (x) => BigInt.asUintN(32, whole(real(x), -128n, 127n)) | (whole(real(x), 0n, 0xffffffffn) << 32n)],
        ["vec2<u32>(bitcast<u32>(vtac_scaled(vtac_low(x), vtac_f((y.x & 0x807fffffu) | ((90u + (y.y >> 8u) % 50u) << 23u)))), 0u)",
            (x, y) => BigInt.asUintN(32, nearest(word(x), scaleOfSingle(y)))],
        ["vec2<u32>(bitcast<u32>(vtac_near_f(vtac_low(x), vtac_f((y.x & 0x807fffffu) | ((90u + (y.y >> 8u) % 50u) << 23u)))), 0u)",
            (x, y) => BigInt.asUintN(32, clamp(nearest(word(x), scaleOfSingle(y)), -(1n << 30n), 1n << 30n))],
        ["vec2<u32>(bitcast<u32>(vtac_near_d(vtac_low(x), vec2<u32>(y.x, (y.y & 0x800fffffu) | ((990u + (y.y >> 20u) % 50u) << 20u)))), 0u)",
            (x, y) => BigInt.asUintN(32, clamp(nearest(word(x), scale(y)), -(1n << 30n), 1n << 30n))],
        ["vec2<u32>(vtac_half(vtac_f(x.x)), bitcast<u32>(vtac_from_half(y.x & 0xffffu)))", undefined, "half"],
    ];
    const count = 4096;
    const ends = [0n, 1n, 2n, 1n << 63n, (1n << 63n) - 1n, (1n << 64n) - 1n, 1n << 31n, (1n << 32n) - 1n, 1n << 32n, bits(1), bits(-1), bits(0.5), bits(1.5), bits(2.5),
        bits(Infinity), bits(-Infinity), bits(NaN), 1n, (1n << 52n) - 1n, 1n << 52n, bits(2 ** 53), bits(2 ** 63), bits(-(2 ** 63)), bits(1e308), bits(3.4e38)];
    const near = () => { // numbers of one size meet: sums cancel
        const number = random();
        const kind = random() >> 61n;
        return kind < 2n ? number : kind === 2n ? number >> (random() >> 58n) : kind === 3n ? u(-(number >> (random() >> 58n)))
            : kind === 4n ? (number & 0x800fffffffffffffn) | ((1000n + (random() >> 59n)) << 52n) : kind === 5n ? bits(Number(i(number) >> 40n) / 2)
            : kind === 6n ? bits(single(number)) : ends[Number(random() % BigInt(ends.length))];
    };
    const xs = Array.from({ length: count }, (_, k) => (k < 625 ? ends[Math.floor(k / 25)] : near()));
    const ys = Array.from({ length: count }, (_, k) => (k < 625 ? ends[k % 25] : random() >> 62n === 0n ? xs[k] : near()));
    const device = await (await navigator.gpu.requestAdapter()).requestDevice();
    const buffer = (usage, size) => device.createBuffer({ usage, size });
    const input = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST, 16 * count);
    const output = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC, 8 * count);
    const read = buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST, 8 * count);
    device.queue.writeBuffer(input, 0, new BigUint64Array(xs.flatMap((x, k) => [x, ys[k]])));
    const wrong = [];
    for (const [call, expected, kind] of cases) {
        const code = `${prelude}
            @group(0) @binding(0) var<storage, read_write> work: array<u32>;
            fn work_word(i: i32) -> u32 { return work[i]; }
            fn work_put(i: i32, x: u32) { work[i] = x; }
            fn work_part(i: i32, mask: u32, x: u32) { work[i] = (work[i] & ~mask) | x; }
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                let x = held_wide(2 * i32(id.x));
                let y = held_wide(2 * i32(id.x) + 1);
                work_put_wide(i32(id.x), ${call});
            }`;
        const module = device.createShaderModule({ code });
        const refused = (await module.getCompilationInfo()).messages.find(({ type }) => type === "error");
        if (refused !== undefined) {
            wrong.push(`${call}: ${refused.message}`);
            continue;
        }
        const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
        const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [
            { binding: 0, resource: { buffer: output } }, { binding: 1, resource: { buffer: input } }] });
        const encoder = device.createCommandEncoder();
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(count / 64);
        pass.end();
        encoder.copyBufferToBuffer(output, 0, read, 0, 8 * count);
        device.queue.submit([encoder.finish()]);
        await read.mapAsync(GPUMapMode.READ);
        const got = new BigUint64Array(read.getMappedRange().slice(0));
        read.unmap();
        const same = (a, b) => a === b || (kind === "real" && Number.isNaN(real(a)) && Number.isNaN(real(b))) ||
            (kind === "single" && Number.isNaN(single(a)) && Number.isNaN(single(b)));
        const ask = (x, y) => (kind === "half" ? undefined : expected(x, y));
        const at = xs.findIndex((x, k) => {
            const want = ask(x, ys[k]);
            return want !== undefined && !same(got[k], want);
        });
        if (at >= 0) {
            const hex = (value) => value.toString(16).padStart(16, "0");
            wrong.push(`${call}: of ${hex(xs[at])} and ${hex(ys[at])}: ${hex(got[at])}, not ${hex(ask(xs[at], ys[at]))}`);
        }
        if (kind === "half") { // a half of a single and back: both of 2^-11 at most, or of the smallest half
            const bad = xs.findIndex((x, k) => {
                const value = single(x);
                const half = Number(got[k] & 0xffffn);
                const e = (half >> 10) & 31;
                const back = (half >> 15 ? -1 : 1) * (e === 0 ? (half & 1023) * 2 ** -24 : (1 + (half & 1023) / 1024) * 2 ** (e - 15));
                const far = Math.abs(back - value) > Math.max(2 ** -25, Math.abs(value) * 2 ** -11);
                return e === 31 ? Math.abs(value) < 65520 : Number.isNaN(value) || far;
            });
            bad >= 0 && wrong.push(`vtac_half of ${single(xs[bad])}`);
        }
    }
    return { cases: cases.length, wrong };
}

try {
    await command("Page.navigate", { url: `file://${page}` });
    const { cases, wrong } = await say(`(${check})(${JSON.stringify(prelude)}, ${Number(seed)})`);
    console.log(wrong.length > 0 ? wrong.join("\n") : `numbers: ${cases} functions, seed ${seed}`);
    process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
    close();
}
