/*
 * Decides when a silent server gets a PING and when it is given up. Pure: the time is
 * passed in.
 *
 *   QUIET --idle_ms without a byte, or wanted--> SENT --timeout_ms--> LATE --1 ms--> LOST
 *     ^                                           |                    |
 *     \------------------any byte-----------------+--------------------/
 *
 * Invariants: a PING goes out only while calls are in flight, or after grpc_ping_want(),
 * because servers count other PINGs as abuse. Two PINGs are at least gap_ms apart. Any
 * byte from the server is a sign of life.
 */
#ifndef STORE_NET_GRPC_PING_H
#define STORE_NET_GRPC_PING_H

#include <stdbool.h>
#include <stdint.h>

enum grpc_ping_state {
	GRPC_PING_QUIET, /* no PING is outstanding */
	GRPC_PING_SENT,
	GRPC_PING_LATE, /* overdue: the socket is read once more */
	GRPC_PING_LOST, /* given up; final */
};

struct grpc_ping {
	enum grpc_ping_state state;
	/* idle_ms 0: PINGs only on grpc_ping_want() */
	uint64_t idle_ms, gap_ms, timeout_ms;
	/* time of the last byte, or when calls began to be in flight */
	uint64_t heard_ms;
	uint64_t sent_ms;    /* time of the last PING; 0: none yet */
	uint64_t give_up_ms; /* when the outstanding PING counts as unanswered */
	bool busy;           /* calls are in flight */
	bool wanted;         /* grpc_ping_want() was called */
};

enum grpc_ping_act { GRPC_PING_NOTHING, GRPC_PING_SEND, GRPC_PING_DEAD };

void grpc_ping_busy(struct grpc_ping *ping, bool busy, uint64_t now_ms);
void grpc_ping_heard(struct grpc_ping *ping, uint64_t now_ms);
void grpc_ping_want(struct grpc_ping *ping);

/* When grpc_ping_step() is due; UINT64_MAX: never. */
uint64_t grpc_ping_deadline_ms(const struct grpc_ping *ping);
enum grpc_ping_act grpc_ping_step(struct grpc_ping *ping, uint64_t now_ms);

#endif
