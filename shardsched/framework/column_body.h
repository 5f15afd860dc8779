/*
 * The loops, compiled once for each variant: KERNEL is the attribute of the functions,
 * NAME makes their names. Both are undefined at the end.
 */
KERNEL static inline uint32_t NAME(drop)(uint64_t *gone, const uint64_t *before,
                                         const uint64_t *after, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++) {
		gone[i] = before[i] & ~after[i];
		count += (uint32_t)__builtin_popcountll(gone[i]);
	}
	return count;
}

KERNEL static inline uint32_t NAME(count)(const uint64_t *bits, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++)
		count += (uint32_t)__builtin_popcountll(bits[i]);
	return count;
}

/* mask[i] is all ones where bit i of the word is set, else 0. */
KERNEL static inline void NAME(spread)(uint64_t word, uint32_t mask[64])
{
	for (uint32_t byte = 0; byte < 8; byte++) {
		uint32_t bits = (uint32_t)(word >> byte * 8 & 0xff);

		for (uint32_t i = 0; i < 8; i++)
			mask[byte * 8 + i] = 0U - (bits >> i & 1U);
	}
}

/* In place and not in place are separate loops, since the compiler would not vectorise
 * one loop whose arrays may overlap. */
KERNEL static inline uint64_t NAME(sum_full)(int32_t *to, const int32_t *from,
                                             const int64_t *score, uint32_t count,
                                             int32_t weight)
{
	const int64_t *restrict part = score;
	int32_t *restrict out = to;
	uint32_t by = (uint32_t)weight;
	uint64_t found = 0;

	if (from == NULL)
		for (uint32_t i = 0; i < count; i++) {
			found |= (uint64_t)part[i];
			out[i] = (int32_t)((uint32_t)part[i] * by);
		}
	else if (from != to)
		for (uint32_t i = 0; i < count; i++) {
			found |= (uint64_t)part[i];
			out[i] = (int32_t)((uint32_t)from[i] + (uint32_t)part[i] * by);
		}
	else
		for (uint32_t i = 0; i < count; i++) {
			found |= (uint64_t)part[i];
			out[i] = (int32_t)((uint32_t)out[i] + (uint32_t)part[i] * by);
		}
	return found;
}

KERNEL static inline uint64_t NAME(sum_word)(int32_t *to, const int32_t *from,
                                             const int64_t *score, uint64_t word,
                                             int32_t weight)
{
	uint32_t mask[64];
	uint64_t found = 0;

	NAME(spread)(word, mask);
	for (uint32_t i = 0; i < 64; i++)
		found |= (uint64_t)(score[i] & (int32_t)mask[i]);
	(void)NAME(sum_full)(to, from, score, 64, weight);
	return found;
}

/* How many words in a row have all bits set. */
static inline uint32_t NAME(full)(const uint64_t *bits, uint32_t words)
{
	uint32_t count = 0;

	while (count < words && bits[count] == UINT64_MAX)
		count++;
	return count;
}

KERNEL static inline uint64_t NAME(sum)(int32_t *to, const int32_t *from,
                                        const int64_t *score, const uint64_t *bits,
                                        uint32_t words, int32_t weight)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < words;) {
		uint32_t full = NAME(full)(bits + i, words - i);
		const int32_t *part = from == NULL ? NULL : from + (size_t)i * 64;
		int32_t *out = to + (size_t)i * 64;

		if (full != 0) {
			found |= NAME(sum_full)(out, part, score + (size_t)i * 64,
			                        full * 64, weight);
			i += full;
			continue;
		}
		found |= NAME(sum_word)(out, part, score + (size_t)i * 64, bits[i],
		                        weight);
		i++;
	}
	return found;
}

KERNEL static inline int32_t NAME(max_word)(const int32_t *column, uint64_t word,
                                            int32_t most)
{
	uint32_t mask[64];

	if (word == 0)
		return most;
	if (word == UINT64_MAX) {
		for (uint32_t i = 0; i < 64; i++)
			most = column[i] > most ? column[i] : most;
		return most;
	}
	NAME(spread)(word, mask);
	for (uint32_t i = 0; i < 64; i++) {
		int32_t value = (int32_t)((uint32_t)column[i] & mask[i]);

		most = value > most ? value : most;
	}
	return most;
}

KERNEL static inline int32_t NAME(max)(const int32_t *column, const uint64_t *bits,
                                       uint32_t words)
{
	int32_t most = 0;

	for (uint32_t i = 0; i < words; i++)
		most = NAME(max_word)(column + (size_t)i * 64, bits[i], most);
	return most;
}

KERNEL static inline uint64_t NAME(fold)(const int64_t *score, const uint64_t *bits,
                                         uint32_t words)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < words;) {
		uint32_t full = NAME(full)(bits + i, words - i), mask[64];
		const int64_t *part = score + (size_t)i * 64;

		if (full != 0) {
			for (uint32_t j = 0; j < full * 64; j++)
				found |= (uint64_t)part[j];
			i += full;
			continue;
		}
		if (bits[i] != 0) {
			NAME(spread)(bits[i], mask);
			for (uint32_t j = 0; j < 64; j++)
				found |= (uint64_t)(part[j] & (int32_t)mask[j]);
		}
		i++;
	}
	return found;
}

KERNEL static inline int32_t NAME(narrow)(int32_t *restrict to,
                                          const int64_t *restrict score,
                                          const uint64_t *restrict bits, uint32_t words)
{
	uint32_t count = words * 64;

	for (uint32_t i = 0; i < count; i++)
		to[i] = (int32_t)(uint32_t)score[i];
	return NAME(max)(to, bits, words);
}

KERNEL static inline uint32_t NAME(equal_word)(const int32_t *column, uint64_t word,
                                               int32_t value)
{
	uint32_t mask[64], count = 0;

	if (word == 0)
		return 0;
	if (word == UINT64_MAX) {
		for (uint32_t i = 0; i < 64; i++)
			count += column[i] == value;
		return count;
	}
	NAME(spread)(word, mask);
	for (uint32_t i = 0; i < 64; i++)
		count += mask[i] & (column[i] == value);
	return count;
}

KERNEL static inline uint32_t NAME(equal)(const int32_t *column, const uint64_t *bits,
                                          uint32_t words, int32_t value)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++)
		count += NAME(equal_word)(column + (size_t)i * 64, bits[i], value);
	return count;
}

KERNEL static inline void NAME(scale)(int32_t *to, const int32_t *raw, uint32_t words,
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

static const struct column_ops NAME(ops) = {
	.drop = NAME(drop),
	.count = NAME(count),
	.sum = NAME(sum),
	.fold = NAME(fold),
	.narrow = NAME(narrow),
	.max = NAME(max),
	.equal = NAME(equal),
	.scale = NAME(scale),
};

#undef KERNEL
#undef NAME
