#include "shardsched/framework/column.h"

#include <stddef.h>

/* gcc prefers half of what there is. */
#ifdef __clang__
#define WIDEST "avx512f,avx512bw,avx512vl,avx512dq,popcnt"
#else
#define WIDEST "avx512f,avx512bw,avx512vl,avx512dq,popcnt,prefer-vector-width=512"
#endif

/* The bodies, to be compiled into each variant. */
#define COLUMN_BODY static inline __attribute__((always_inline))

COLUMN_BODY uint32_t drop_body(uint64_t *gone, const uint64_t *before,
                               const uint64_t *after, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++) {
		gone[i] = before[i] & ~after[i];
		count += (uint32_t)__builtin_popcountll(gone[i]);
	}
	return count;
}

COLUMN_BODY uint32_t count_body(const uint64_t *bits, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++)
		count += (uint32_t)__builtin_popcountll(bits[i]);
	return count;
}

/* All ones where the bit is set. */
COLUMN_BODY void spread_body(uint64_t word, uint32_t mask[64])
{
	for (uint32_t byte = 0; byte < 8; byte++) {
		uint32_t bits = (uint32_t)(word >> byte * 8 & 0xff);

		for (uint32_t i = 0; i < 8; i++)
			mask[byte * 8 + i] = 0U - (bits >> i & 1U);
	}
}

/* In place or not is told apart because the compiler would fear the overlap. */
COLUMN_BODY void add_body(int32_t *to, const int32_t *from, const int64_t *score,
                          uint32_t words, int32_t weight)
{
	const int64_t *restrict part = score;
	int32_t *restrict out = to;
	uint32_t count = words * 64, by = (uint32_t)weight;

	if (from == NULL)
		for (uint32_t i = 0; i < count; i++)
			out[i] = (int32_t)((uint32_t)part[i] * by);
	else if (from != to)
		for (uint32_t i = 0; i < count; i++)
			out[i] = (int32_t)((uint32_t)from[i] + (uint32_t)part[i] * by);
	else if (weight == 1)
		for (uint32_t i = 0; i < count; i++)
			out[i] = (int32_t)((uint32_t)out[i] + (uint32_t)part[i]);
	else
		for (uint32_t i = 0; i < count; i++)
			out[i] = (int32_t)((uint32_t)out[i] + (uint32_t)part[i] * by);
}

COLUMN_BODY int32_t max_word(const int32_t *column, uint64_t word, int32_t most)
{
	uint32_t mask[64];

	if (word == 0)
		return most;
	if (word == UINT64_MAX) {
		for (uint32_t i = 0; i < 64; i++)
			most = column[i] > most ? column[i] : most;
		return most;
	}
	spread_body(word, mask);
	for (uint32_t i = 0; i < 64; i++) {
		int32_t value = (int32_t)((uint32_t)column[i] & mask[i]);

		most = value > most ? value : most;
	}
	return most;
}

COLUMN_BODY int32_t max_body(const int32_t *column, const uint64_t *bits, uint32_t words)
{
	int32_t most = 0;

	for (uint32_t i = 0; i < words; i++)
		most = max_word(column + (size_t)i * 64, bits[i], most);
	return most;
}

COLUMN_BODY bool any_body(const int64_t *score, const uint64_t *bits, uint32_t words)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < words; i++, score += 64) {
		uint32_t mask[64];

		if (bits[i] == 0)
			continue;
		if (bits[i] == UINT64_MAX) {
			for (uint32_t j = 0; j < 64; j++)
				found |= (uint64_t)score[j];
			continue;
		}
		spread_body(bits[i], mask);
		for (uint32_t j = 0; j < 64; j++)
			found |= (uint32_t)score[j] & mask[j];
	}
	return found != 0;
}

COLUMN_BODY int32_t narrow_body(int32_t *restrict to, const int64_t *restrict score,
                                const uint64_t *restrict bits, uint32_t words)
{
	uint32_t count = words * 64;

	for (uint32_t i = 0; i < count; i++)
		to[i] = (int32_t)(uint32_t)score[i];
	return max_body(to, bits, words);
}

COLUMN_BODY uint32_t equal_word(const int32_t *column, uint64_t word, int32_t value)
{
	uint32_t mask[64], count = 0;

	if (word == 0)
		return 0;
	if (word == UINT64_MAX) {
		for (uint32_t i = 0; i < 64; i++)
			count += column[i] == value;
		return count;
	}
	spread_body(word, mask);
	for (uint32_t i = 0; i < 64; i++)
		count += mask[i] & (column[i] == value);
	return count;
}

COLUMN_BODY uint32_t equal_body(const int32_t *column, const uint64_t *bits,
                                uint32_t words, int32_t value)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++)
		count += equal_word(column + (size_t)i * 64, bits[i], value);
	return count;
}

COLUMN_BODY void scale_body(int32_t *to, const int32_t *raw, uint32_t words,
                            const struct column_scale *scale)
{
	const int32_t *restrict part = raw;
	int32_t *restrict out = to;
	uint32_t count = words * 64;
	uint32_t factor = scale->factor, weight = (uint32_t)scale->weight;
	uint32_t offset = (uint32_t)scale->offset, max = scale->max;

	if (max < COLUMN_EXACT)
		for (uint32_t i = 0; i < count; i++) {
			uint64_t share = (uint64_t)(uint32_t)part[i] * factor;

			out[i] = (int32_t)((uint32_t)out[i] + offset +
			                   (uint32_t)(share >> COLUMN_SHIFT) * weight);
		}
	else
		for (uint32_t i = 0; i < count; i++) {
			uint64_t share = (uint64_t)(uint32_t)part[i] * 100 / max;

			out[i] = (int32_t)((uint32_t)out[i] + offset +
			                   (uint32_t)share * weight);
		}
}

#define COLUMN_VARIANT(name, attribute)                                                  \
	attribute static uint32_t drop_##name(uint64_t *gone, const uint64_t *before,    \
	                                      const uint64_t *after, uint32_t words)     \
	{                                                                                \
		return drop_body(gone, before, after, words);                            \
	}                                                                                \
	attribute static uint32_t count_##name(const uint64_t *bits, uint32_t words)     \
	{                                                                                \
		return count_body(bits, words);                                          \
	}                                                                                \
	attribute static void add_##name(int32_t *to, const int32_t *from,               \
	                                 const int64_t *score, uint32_t words,           \
	                                 int32_t weight)                                 \
	{                                                                                \
		add_body(to, from, score, words, weight);                                \
	}                                                                                \
	attribute static bool any_##name(const int64_t *score, const uint64_t *bits,     \
	                                 uint32_t words)                                 \
	{                                                                                \
		return any_body(score, bits, words);                                     \
	}                                                                                \
	attribute static int32_t narrow_##name(int32_t *to, const int64_t *score,        \
	                                       const uint64_t *bits, uint32_t words)     \
	{                                                                                \
		return narrow_body(to, score, bits, words);                              \
	}                                                                                \
	attribute static int32_t max_##name(const int32_t *column, const uint64_t *bits, \
	                                    uint32_t words)                              \
	{                                                                                \
		return max_body(column, bits, words);                                    \
	}                                                                                \
	attribute static uint32_t equal_##name(const int32_t *column,                    \
	                                       const uint64_t *bits, uint32_t words,     \
	                                       int32_t value)                            \
	{                                                                                \
		return equal_body(column, bits, words, value);                           \
	}                                                                                \
	attribute static void scale_##name(int32_t *to, const int32_t *raw,              \
	                                   uint32_t words,                               \
	                                   const struct column_scale *scale)             \
	{                                                                                \
		scale_body(to, raw, words, scale);                                       \
	}                                                                                \
	static const struct column_ops ops_##name = {                                    \
		drop_##name,   count_##name, add_##name,   any_##name,                   \
		narrow_##name, max_##name,   equal_##name, scale_##name};

COLUMN_VARIANT(plain, )
#ifdef __x86_64__
COLUMN_VARIANT(wide, __attribute__((target("avx2,popcnt"))))
COLUMN_VARIANT(widest, __attribute__((target(WIDEST))))
#endif

struct column_scale column_scale(int32_t max, int32_t weight, bool down)
{
	uint64_t top = (UINT64_C(100) << COLUMN_SHIFT) + (uint64_t)max - 1;

	return (struct column_scale){
		.max = (uint32_t)max,
		.factor = max < COLUMN_EXACT ? (uint32_t)(top / (uint64_t)max) : 0,
		.weight = down ? -weight : weight,
		.offset = down ? 100 * weight : 0,
	};
}

#ifdef __x86_64__
static bool has_widest(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool has_wide(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#endif

unsigned column_ops_all(const struct column_ops *out[COLUMN_VARIANTS])
{
	unsigned count = 0;

#ifdef __x86_64__
	if (has_wide() && has_widest())
		out[count++] = &ops_widest;
	if (has_wide())
		out[count++] = &ops_wide;
#endif
	out[count++] = &ops_plain;
	return count;
}

const struct column_ops *column_ops(void)
{
	const struct column_ops *all[COLUMN_VARIANTS];

	(void)column_ops_all(all);
	return all[0];
}
