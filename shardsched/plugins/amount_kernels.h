/*
 * Amount kernels are the arithmetic of resource amounts for 64 nodes at once: the same C,
 * compiled once for each kind of processor, with the same results bit for bit.
 *
 * All results are exact where amounts are below AMOUNT_SMALL, which load64 reports; for
 * larger ones the caller works in integers, node by node.
 *
 * Why percentages are exact: with 0 <= part <= alloc < 2^43, part * 100 < 2^50 is exact
 * in a double. A quotient that is not a whole number is at least 1 / alloc > 2^-43 below
 * the next whole number, and rounding adds at most 2^-47 to a quotient up to 100. So the
 * division, rounded as IEEE 754 demands, does not reach that number, and cutting off
 * gives what integers would. A whole quotient is exact at once.
 *
 * With the unit u = 1 / alloc, rounded (off by 2^-53 at most), a percentage is fma(part *
 * 100, u, 2^-44). The product is off by at most 2^-45.4, less than the nudge: a whole
 * quotient does not fall below itself, and any other stays 2^-43 - 2^-44 - 2^-45.4 below
 * the next whole number.
 *
 * Why shares by units equal a division: q = part * u is off by at most 2^-52 of the
 * quotient, so part - q * alloc fits in a double and fma gives it exactly. q plus that
 * times u is rounded once, from a value within 2^-52 of an ulp of the quotient. The
 * result could differ only if the quotient were that close to the middle between two
 * doubles; with alloc < 2^43 it is 2^-44 of an ulp away.
 *
 * Why means are exact: weights up to 12,800 and a hundred times as much are exact in a
 * float. A quotient is at least 2^-14 below the next whole number, and rounding adds
 * 2^-18. Means of two resources, with weights up to 200 in all, are made in doubles by
 * reciprocals and a nudge of 2^-12, far less than the distance of 2^-8 between a mean
 * that is not whole and the next whole number.
 */
#ifndef SHARDSCHED_PLUGINS_AMOUNT_KERNELS_H
#define SHARDSCHED_PLUGINS_AMOUNT_KERNELS_H

#include <stdint.h>

#include "shardsched/snapshot/snapshot.h"

#define AMOUNT_SMALL SNAPSHOT_LARGE

/* One resource of 64 nodes: what the node has, and what is used including the pod. */
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
	int32_t cpu; /* the least that must be free */
	int64_t memory;
};

/* cpu and memory of some words of nodes: columns from the first slot on, and what the pod
 * requests. Allocatable memory is below AMOUNT_SMALL, sums fit in 64 bits, and all cpu is
 * below INT32_MAX. */
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
	/* Keeps the bits of the nodes with that much cpu and memory free. */
	void (*fits)(const struct amount_fits *in, uint32_t words, uint64_t *bits);
	/* The bits of the nodes with at least that much free. */
	uint64_t (*free)(const int64_t *alloc, const int64_t *used, int64_t least);
	uint64_t (*mask_at_least)(const int64_t *column, int64_t least);

	/* requested must be below AMOUNT_SMALL. */
	void (*load32)(const int32_t *alloc, const int32_t *used, int64_t requested,
	               struct amount_word *out);
	/* Returns the OR of all amounts: if it is not below AMOUNT_SMALL, out is not
	 * valid. */
	uint64_t (*load64)(const int64_t *alloc, const int64_t *used, int64_t requested,
	                   struct amount_word *out);

	/* Percentage in use, rounded down: 100 where more is requested than there is, 0
	 * where there is none. */
	void (*percent_used)(const struct amount_word *in, int32_t percent[64]);
	/* Adds the percentage that is free (or in use) with its weight, where the node
	 * has the resource. */
	void (*weigh_free)(const struct amount_word *in, int32_t weight,
	                   struct amount_means *out);
	void (*weigh_used)(const struct amount_word *in, int32_t weight,
	                   struct amount_means *out);
	/* Rounded down; 0 where nothing was weighed. */
	void (*mean)(const struct amount_means *in, int64_t score[64]);

	/* cpu and memory in one pass: the mean of what weigh_free or weigh_used add up,
	 * and the balance. */
	amount_pair_fn *mean_free, *mean_used, *balance_pair;

	/* kube-scheduler's balance of two resources. */
	void (*balance)(const struct amount_word *a, const struct amount_word *b,
	                int64_t score[64]);
};

enum { AMOUNT_LEVELS = 3 };

/* The fastest kernels for this processor. */
const struct amount_kernels *amount_kernels(void);
/* The kernels of one level, for tests; NULL: this processor does not support them. */
const struct amount_kernels *amount_kernels_at(unsigned level);

#endif
