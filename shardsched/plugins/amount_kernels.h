/*
 * The arithmetic of amounts, 64 nodes at once: one form for each sort of processor, the
 * same C compiled several times, with the same results bit for bit.
 *
 * All of it is exact where amounts are below AMOUNT_SMALL, which load64 tells; beyond,
 * whoever calls works in integers, node by node.
 *
 * Why percents are: with 0 <= part <= alloc < 2^43, part * 100 < 2^50 is exact in a
 * double. Where the quotient is no whole number it is at least 1 / alloc > 2^-43 below
 * the next one, and what rounding adds to a quotient up to 100 is at most 2^-47; so
 * the division, rounded as IEEE 754 wants it, does not reach that number, and what is
 * cut off gives what integers would. A whole quotient is exact at once.
 *
 * By its unit u = 1 / alloc, rounded (2^-53 of it off at most), it is fma(part * 100, u,
 * 2^-44): the product is off by 2^-45.4 at most, less than the nudge; so a whole quotient
 * does not fall below itself, and one that is none stays 2^-43 - 2^-44 - 2^-45.4 below
 * the next.
 *
 * Why shares by units are what a division gives: q = part * u is 2^-52 of the quotient
 * off at most, so part - q * alloc fits in a double and fma gives it exactly; q plus that
 * times u is rounded once, from what is within 2^-52 of an ulp of the quotient. That
 * rounds otherwise only when the quotient is so close to the middle between two doubles;
 * but there it can not be, with alloc < 2^43 it is 2^-44 of an ulp away.
 *
 * Why means are: weights up to 12,800 and a hundred times as much are exact in a float;
 * a quotient is 2^-14 at least below the next whole number, and rounding adds 2^-18.
 * Of two resources, with weights up to 200 in all, they are made in doubles by
 * reciprocals and a nudge of 2^-12, far less than the 2^-8 that a mean which is none
 * stays away.
 */
#ifndef SHARDSCHED_PLUGINS_AMOUNT_KERNELS_H
#define SHARDSCHED_PLUGINS_AMOUNT_KERNELS_H

#include <stdint.h>

#include "shardsched/snapshot/snapshot.h"

#define AMOUNT_SMALL SNAPSHOT_LARGE

/* One resource on 64 nodes: what there is, and what is used with the pod on it. */
struct amount_word {
	_Alignas(64) double alloc[64];
	_Alignas(64) double requested[64];
};

struct amount_means {
	_Alignas(64) int32_t sum[64];
	_Alignas(64) int32_t weights[64];
};

/* Columns from the first slot of some words on. */
struct amount_fits {
	const int32_t *cpu_alloc, *cpu_used;
	const int64_t *memory_alloc, *memory_used;
	int32_t cpu; /* at least that much is to be free */
	int64_t memory;
};

/* cpu and memory of some words of nodes: columns from the first slot on, and what the pod
 * asks for. What there is of memory is below AMOUNT_SMALL, the rest adds up in 64 bits;
 * of cpu all is below INT32_MAX. */
struct amount_pair {
	const int32_t *cpu_alloc, *cpu_used;
	const double *cpu_unit;
	const int64_t *memory_alloc, *memory_used;
	const double *memory_unit;
	int32_t cpu;
	int64_t memory;
	int32_t cpu_weight, memory_weight; /* 1 to 100 */
};

typedef void amount_pair_fn(const struct amount_pair *in, uint32_t words, int64_t *score);

struct amount_kernels {
	const char *name;
	/* Leaves the bits of nodes with so much cpu and memory. */
	void (*fits)(const struct amount_fits *in, uint32_t words, uint64_t *bits);
	/* ... with so much free. */
	uint64_t (*free)(const int64_t *alloc, const int64_t *used, int64_t least);
	uint64_t (*mask_at_least)(const int64_t *column, int64_t least);

	/* asked < AMOUNT_SMALL. */
	void (*load32)(const int32_t *alloc, const int32_t *used, int64_t requested,
	               struct amount_word *out);
	/* Gives the bits of all amounts: below AMOUNT_SMALL, or out is worthless. */
	uint64_t (*load64)(const int64_t *alloc, const int64_t *used, int64_t requested,
	                   struct amount_word *out);

	/* Percents, rounded down: 0 where there is none; of what is free, 0 where more is
	 * asked, and of what is used, 100 there. */
	void (*percent_used)(const struct amount_word *in, int32_t percent[64]);
	/* Added, with their weight, where there is any. */
	void (*weigh_free)(const struct amount_word *in, int32_t weight,
	                   struct amount_means *out);
	void (*weigh_used)(const struct amount_word *in, int32_t weight,
	                   struct amount_means *out);
	/* Rounded down; 0 where nothing was weighed. */
	void (*mean)(const struct amount_means *in, int64_t score[64]);

	/* Of cpu and memory, and all at once: mean of what weigh_free and weigh_used
	 * add up, and balance. */
	amount_pair_fn *mean_free, *mean_used, *balance_pair;

	/* kube-scheduler's balance of two resources. */
	void (*balance)(const struct amount_word *a, const struct amount_word *b,
	                int64_t score[64]);
};

enum { AMOUNT_LEVELS = 3 };

/* The best for this processor. */
const struct amount_kernels *amount_kernels(void);
/* Each of them, for tests; NULL: this processor can not. */
const struct amount_kernels *amount_kernels_at(unsigned level);

#endif
