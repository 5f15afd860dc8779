/*
 * The switch: a thread that forwards IPv4 packets between descriptors by rules.
 *
 * Rules and counters are shared with the owner's thread under a mutex; all else
 * belongs to the switch's own thread. Packets are at most some thousands a
 * second: one lock and two system calls for each cost little.
 */
#ifndef TESTS_FAULTLAB_SWITCH_H
#define TESTS_FAULTLAB_SWITCH_H

#include "tests/faultlab/wire.h"

struct net_switch;

struct net_switch_opts {
	const int *fd;  /* one for each host, non-blocking, borrowed */
	unsigned hosts; /* ghosts belong to the last host */
	unsigned ghosts;
	uint64_t seed;
};

PL_NODISCARD enum pl_code net_switch_start(const struct net_switch_opts *opts,
                                           struct net_switch **out, struct pl_err *err);
void net_switch_stop(struct net_switch *sw);

/* NULL: no rule. */
void net_switch_rule(struct net_switch *sw, unsigned from, unsigned to,
                     const struct wire_rule *rule);
struct wire_count net_switch_count(struct net_switch *sw, unsigned from, unsigned to);

#endif
