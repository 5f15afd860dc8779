/*
 * An alloc: what is taken on a node. It is the value of /alloc/<p>/<cluster>/<node>, the
 * node's lock.
 *
 *	{"v":1,"generation":12,"left":3,
 *	 "used":{"cpu":"12200m","memory":"8589934592","pods":"11","nvidia.com/gpu":"1"},
 *	 "nonzero":{"cpu":"12300m","memory":"8799649792"},
 *	 "ports":["TCP/0.0.0.0/80"],
 *	 "pods":{"0007":{"web":["app-1","app-2"]},"0012":{...}},
 *	 "leaving":{"0007":{"web":["app-2"]}},
 *	 "holds":[{"kind":"gang","namespace":"ml","name":"train",
 *	           "used":{"cpu":"8000m","pods":"4"},"until":"2026-11-21T09:00:00.000Z"},
 *	          {"kind":"nominated","namespace":"web","name":"app-7","at":7,...}]}
 *
 * Invariants: used is the sum of the listed pods and of the reservations ("holds"). A pod
 * that terminates is listed in "leaving", and among the pods until it is gone. Pods are
 * ordered by partition, namespace and name; reservations by kind, namespace and name;
 * ports and scalars by themselves; none comes twice. Every write makes the generation
 * greater. left counts the pods that have gone from the node, ever: while it is the same,
 * no listed pod was replaced by another pod of its name.
 *
 * Amounts are Kubernetes quantities in whole units (cpu in thousandths), as they are
 * counted. Empty and zero members are left out, and nonzero where it equals used, because
 * every commit writes an alloc.
 *
 * A plain value: spans and arrays are borrowed from the code that filled it in, or from
 * the arena that it was read into.
 */
#ifndef SHARDSCHED_RECORDS_ALLOC_H
#define SHARDSCHED_RECORDS_ALLOC_H

#include "store/base/arena.h"
#include "store/base/buf.h"

enum {
	ALLOC_PODS_MAX = 4096,
	ALLOC_RESERVATIONS_MAX = 1024,
	ALLOC_SCALARS_MAX = 64,
	ALLOC_PORTS_MAX = 4096,
	ALLOC_BYTES_MAX = 1 << 20,
	ALLOC_LEAVE_BYTES = 32 << 10, /* the part of ALLOC_BYTES_MAX that no placement
				       * takes, so that pods can always be marked as
				       * leaving */
	ALLOC_WORD_MAX = 320, /* the name of a scalar; protocol and address of a port */
};

/* The maximum of generation and left in an alloc that is read: counting does not get
 * there. */
#define ALLOC_COUNT_MAX ((UINT64_C(1) << 62) - 1)

struct alloc_scalar {
	struct pl_span name;
	int64_t amount;
};

struct alloc_amounts {
	int64_t cpu_milli, memory, storage, pods;
	int64_t nonzero_cpu_milli, nonzero_memory; /* the sums as LeastAllocated counts
						    * them */
	const struct alloc_scalar *scalar;         /* by name; zeros are left out */
	uint32_t scalars;
};

struct alloc_pod {
	struct pl_span namespace, name;
	uint32_t partition; /* of its schedule */
	bool leaving;       /* the pod terminates; not part of the order */
};

enum alloc_reservation_kind {
	ALLOC_RESERVATION_GANG,      /* for a gang that is being placed */
	ALLOC_RESERVATION_NOMINATED, /* for a pod whose victims terminate */
	ALLOC_RESERVATION_KINDS,
};

struct alloc_reservation {
	struct pl_span namespace, name; /* the gang, or the pod */
	enum alloc_reservation_kind kind;
	uint32_t partition; /* NOMINATED: where the pod's schedule is */
	struct alloc_amounts used;
	int64_t until_ms; /* deadline by the wall clock; the owner may renew or release
			   * the reservation */
};

struct alloc_port {
	struct pl_span protocol, ip; /* "TCP", "0.0.0.0" */
	uint16_t port;
};

struct alloc {
	uint64_t generation;
	uint64_t left;
	struct alloc_amounts used;
	const struct alloc_port *port;
	const struct alloc_pod *pod;
	const struct alloc_reservation *hold;
	uint32_t ports, pods, holds;
};

/* Adds the value, or nothing. Asserts the order. PL_INVALID: a name, an amount or a time
 * that no alloc can have; PL_LIMIT: beyond a bound above, or the buffer's; PL_NOMEM. */
PL_NODISCARD enum pl_code alloc_print(const struct alloc *alloc, struct pl_buf *out,
                                      struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason: the value was not written by Placet.
 * PL_NOMEM. Unknown members are ignored. */
PL_NODISCARD enum pl_code alloc_parse(struct pl_span value, struct pl_arena *arena,
                                      struct alloc *out, struct pl_err *err);

/* The orders of the lists; names compare as strcmp does. */
int alloc_pod_cmp(const struct alloc_pod *a, const struct alloc_pod *b);
int alloc_reservation_cmp(const struct alloc_reservation *a,
                          const struct alloc_reservation *b);
int alloc_port_cmp(const struct alloc_port *a, const struct alloc_port *b);

const char *alloc_reservation_word(enum alloc_reservation_kind kind);

#endif
