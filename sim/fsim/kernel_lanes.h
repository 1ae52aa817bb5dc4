/* SPDX-License-Identifier: Apache-2.0
 *
 * A template, included once for each vector width: the inner loops of ALU and DEPTHWISE on vectors of W
 * lanes, their names ending in W. X_TYPE is the type in which the kernel keeps input lanes.
 */
#define JOIN_(name, width) name##_##width
#define JOIN(name, width)  JOIN_(name, width)
#define N(name)            JOIN(name, W)

typedef int32_t N(vec) __attribute__((vector_size(W * 4)));
typedef uint32_t N(uvec) __attribute__((vector_size(W * 4)));
typedef int16_t N(words) __attribute__((vector_size(W * 2)));
typedef int8_t N(bytes) __attribute__((vector_size(W)));
typedef int64_t N(longs) __attribute__((vector_size(W * 8)));
typedef uint64_t N(ulongs) __attribute__((vector_size(W * 8)));
typedef X_TYPE N(inputs) __attribute__((vector_size(W * sizeof(X_TYPE))));

INLINE N(vec) N(load)(const int32_t *from)
{
    N(vec) v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Input lanes, and results cut to their low bytes. Compilers convert by a factor of two with vectors, by four
 * with scalars: AVX-512, the only one with 16 lanes, has instructions for that. */
INLINE N(vec) N(widen)(const X_TYPE *from)
{
    N(inputs) x;
    memcpy(&x, from, sizeof x);
#if W == 16
    return (N(vec))_mm512_cvtepi8_epi32((__m128i)x);
#else
    return __builtin_convertvector(x, N(vec));
#endif
}

INLINE N(bytes) N(narrow)(N(vec) v)
{
#if W == 16
    return (N(bytes))_mm512_cvtepi32_epi8((__m512i)v);
#else
    return __builtin_convertvector(__builtin_convertvector(v, N(words)), N(bytes));
#endif
}

/* A result goes to ACC and to OUT. */
INLINE void N(put)(const fsim_memory *m, size_t at, N(vec) v)
{
    const N(bytes) low = N(narrow)(v);
    memcpy(m->acc + at, &v, sizeof v);
    memcpy(m->out8 + at, &low, sizeof low);
}

INLINE N(vec) N(op_min)(N(vec) x, N(vec) y)
{
    const N(vec) less = x < y;
    return (x & less) | (y & ~less);
}

INLINE N(vec) N(op_max)(N(vec) x, N(vec) y)
{
    const N(vec) more = x > y;
    return (x & more) | (y & ~more);
}

INLINE N(vec) N(op_add)(N(vec) x, N(vec) y)
{
    return (N(vec))((N(uvec))x + (N(uvec))y);
}

INLINE N(vec) N(op_mul)(N(vec) x, N(vec) y)
{
    return (N(vec))((N(uvec))x * (N(uvec))y);
}

/* One of the two amounts is 0. */
INLINE N(vec) N(op_shr)(N(vec) x, N(vec) y)
{
    const N(vec) zero = {0};
    const N(vec) amount = N(op_max)(N(op_min)(y, zero + 31), zero - 31);
    const N(vec) right = N(op_max)(amount, zero);
    const N(vec) left = N(op_max)(zero - amount, zero);
    return (N(vec))((N(uvec))(x >> right) << (N(uvec))left);
}

INLINE N(vec) N(op_clip)(N(vec) x, N(vec) y)
{
    const N(uvec) zero = {0};
    return N(op_max)(N(op_min)(x, y), (N(vec))(zero - (N(uvec))y));
}

INLINE N(vec) N(op_mov)(N(vec) x, N(vec) y)
{
    (void)x;
    return y;
}

typedef N(vec) N(lane_op)(N(vec) x, N(vec) y);

/* All steps; `lanes` is a multiple of W, and a constant where that pays. */
INLINE void N(alu_steps)(const fsim_memory *m, const fsim_steps *steps, N(lane_op) * op, bool use_imm,
                         int32_t imm, size_t lanes)
{
    const N(vec) zero = {0};
    const N(vec) y = zero + imm;
    for (uint32_t s = 0; s < steps->count; s++) {
        const size_t dst = (steps->dst[s] + steps->dst0) * lanes;
        const size_t src = (steps->src[s] + steps->src0) * lanes;
        for (size_t l = 0; l < lanes; l += W) {
            const N(vec) from = N(load)(m->acc + src + l);
            N(put)(m, dst + l, use_imm ? op(from, y) : op(N(load)(m->acc + dst + l), from));
        }
    }
}

INLINE void N(alu_shaped)(const fsim_memory *m, const fsim_steps *steps, N(lane_op) * op, bool use_imm,
                          int32_t imm)
{
    const size_t lanes = (size_t)m->batch * m->out;
    if (lanes == 16) {
        N(alu_steps)(m, steps, op, use_imm, imm, 16);
    } else {
        N(alu_steps)(m, steps, op, use_imm, imm, lanes);
    }
}

static inline void N(alu)(const fsim_memory *m, const fsim_steps *steps, vta_alu_op op, bool use_imm,
                          int32_t imm)
{
    switch (op) {
    case VTA_ALU_MIN: N(alu_shaped)(m, steps, N(op_min), use_imm, imm); break;
    case VTA_ALU_MAX: N(alu_shaped)(m, steps, N(op_max), use_imm, imm); break;
    case VTA_ALU_ADD: N(alu_shaped)(m, steps, N(op_add), use_imm, imm); break;
    case VTA_ALU_SHR: N(alu_shaped)(m, steps, N(op_shr), use_imm, imm); break;
    case VTA_ALU_MUL: N(alu_shaped)(m, steps, N(op_mul), use_imm, imm); break;
    case VTA_ALU_CLIP: N(alu_shaped)(m, steps, N(op_clip), use_imm, imm); break;
    case VTA_ALU_MOV: N(alu_shaped)(m, steps, N(op_mov), use_imm, imm); break;
    case VTA_ALU_ROW: /* rows.c */
    case VTA_ALU_COUNT: break;
    }
}

/* The product and the sum, shifted, rounded, bounded. Half to even: just under a half is added, and the last
 * bit that stays. The offset, a multiple of 2^shift, keeps the sum positive, because a logical shift of 64
 * bits exists in more instruction sets than an arithmetic one. All in one function, for vectors of 64-bit
 * lanes may be too wide to pass. */
INLINE void N(requant)(const fsim_memory *m, const fsim_steps *steps, const fsim_requant *q)
{
    const size_t lanes = (size_t)m->batch * m->out;
    const N(ulongs) zero = {0};
    const N(ulongs) offset = zero + (UINT64_C(1) << 60);
    const N(longs) high = (N(longs))zero + q->high;
    const N(longs) low = (N(longs))zero + q->low;
    const N(longs) zero_point = (N(longs))zero + q->zero_point;
    for (size_t l = 0; l < lanes; l += W) {
        N(ulongs) mult;
        N(ulongs) addend;
        N(ulongs) shift;
        memcpy(&mult, q->mult + l, sizeof mult);
        memcpy(&addend, q->addend + l, sizeof addend);
        memcpy(&shift, q->shift + l, sizeof shift);
        addend += offset;
        const N(ulongs) half = ((zero + 1) << shift) >> 1;
        const N(ulongs) rounds = (N(ulongs))(half != 0);
        const N(longs) back = zero_point - (N(longs))(offset >> shift);
        for (uint32_t s = 0; s < steps->count; s++) {
            const size_t src = (steps->src[s] + steps->src0) * lanes + l;
            const N(longs) acc = __builtin_convertvector(N(load)(m->acc + src), N(longs));
            const N(ulongs) sum = (N(ulongs))acc * mult + addend;
            const N(ulongs) round = (half - 1 + (sum >> shift & 1)) & rounds;
            const N(longs) value = (N(longs))((sum + round) >> shift) + back;
            const N(longs) under = value < high;
            const N(longs) capped = (value & under) | (high & ~under);
            const N(longs) over = capped > low;
            const N(longs) result = (capped & over) | (low & ~over);
            N(put)(m, (steps->dst[s] + steps->dst0) * lanes + l, __builtin_convertvector(result, N(vec)));
        }
    }
}

/* One batch row of one step: ACC lanes from `at` on, the window from INP row `row` on, rows of one entry
 * `entry` apart. */
INLINE void N(window_row)(const fsim_memory *m, const fsim_window *w, const uint8_t *row, size_t entry,
                          size_t at, size_t lanes)
{
    for (size_t l = 0; l < lanes; l += W) {
        const N(uvec) zero = {0};
        N(uvec) sum = w->zero ? zero : (N(uvec))N(load)(m->acc + at + l);
        for (uint32_t t = 0; t < w->taps; t++) {
            const X_TYPE *from = (const X_TYPE *)(const void *)(row + w->offset[t] * entry) + w->first + l;
            sum += (N(uvec))N(widen)(from) * (N(uvec))N(load)(w->weight + t * lanes + l);
        }
        N(put)(m, at + l, (N(vec))sum);
    }
}

INLINE void N(depthwise)(const fsim_memory *m, const fsim_steps *steps, const fsim_window *w, size_t lanes)
{
    const size_t entry = m->batch * m->inp_row;
    for (uint32_t s = 0; s < steps->count; s++) {
        for (uint32_t b = 0; b < m->batch; b++) {
            const size_t at = ((size_t)(steps->dst[s] + steps->dst0) * m->batch + b) * m->out;
            const uint8_t *row = m->inp + (size_t)(steps->src[s] + steps->src0) * entry + b * m->inp_row;
            N(window_row)(m, w, row, entry, at, lanes);
        }
    }
}

#undef JOIN_
#undef JOIN
#undef N
#undef W
