/*
 * The wire is a network inside the process: hosts in network namespaces, joined by a
 * switch in user space that can cut, lose, delay, double and reorder packets, each
 * direction of each pair of hosts by itself, from a seed.
 *
 * No kernel module for network emulation is needed: every host has a TUN device
 * whose descriptor this process holds, and a thread forwards between them. Host
 * k (0, 1, ...) is 10.77.0.(k+1). The thread that opened the wire lives in the
 * last host, "home", until the wire is closed: its sockets go over the wire.
 *
 * Ghosts are further names of home, so that one process can be several clients
 * with a fate of their own: a client that dials wire_ghost_ip(ghost, host) reaches that
 * host, but its packets obey the rules of the ghost and not those of home.
 */
#ifndef TESTS_FAULTLAB_WIRE_H
#define TESTS_FAULTLAB_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"

enum { WIRE_NODES_MAX = 8, WIRE_IP_SIZE = 32 };

struct wire;

/* Rules of one direction; all zero: every packet passes at once. Shares are in millionths
 * of the packets. */
struct wire_rule {
	bool cut;
	uint32_t drop_ppm;
	uint32_t dup_ppm;
	uint32_t delay_us;
	uint32_t jitter_us; /* added to the delay, uniformly; keeps the order */
	/* Share of packets held back until a later packet of the link has passed, but
	 * not longer than hold_us. */
	uint32_t reorder_ppm;
	uint32_t hold_us;
};

/* Packet counts of one direction of one pair. */
struct wire_count {
	uint64_t passed;
	uint64_t cut;
	uint64_t dropped;
	uint64_t doubled;
	uint64_t delayed;
	uint64_t held;
	uint64_t overflowed; /* the switch held too many packets already */
};

struct wire_opts {
	unsigned hosts; /* number of hosts; the last is home */
	unsigned ghosts;
	uint64_t seed;
};

/* PL_UNSUPPORTED, with the reason, where namespaces or TUN devices are not
 * allowed. Nothing is changed then. Call it before any thread is started. */
PL_NODISCARD enum pl_code wire_open(const struct wire_opts *opts, struct wire **out,
                                    struct pl_err *err);

/* Moves the thread back to its first network namespace, where that is allowed. */
void wire_close(struct wire *wire);

/* A node is a host or, from wire_ghost() on, a ghost. */
unsigned wire_home(const struct wire *wire);
unsigned wire_ghost(const struct wire *wire, unsigned ghost);

const char *wire_ip(const struct wire *wire, unsigned host);
void wire_ghost_ip(const struct wire *wire, unsigned ghost, unsigned host,
                   char ip[static WIRE_IP_SIZE]);
int wire_netns(const struct wire *wire, unsigned host);

/* Moves the calling thread to that host: its new sockets belong there. */
PL_NODISCARD enum pl_code wire_enter(struct wire *wire, unsigned host,
                                     struct pl_err *err);

void wire_rule_set(struct wire *wire, unsigned from, unsigned to,
                   const struct wire_rule *rule);
void wire_rule_both(struct wire *wire, unsigned a, unsigned b,
                    const struct wire_rule *rule);

/* Removes the rules of all pairs. */
void wire_heal(struct wire *wire);

struct wire_count wire_count(struct wire *wire, unsigned from, unsigned to);
struct wire_count wire_total(struct wire *wire);

#endif
