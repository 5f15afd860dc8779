/*
 * When to ask a silent server whether it is there, and when to give it up.
 *
 * Pure: time comes in. A PING goes out after idle_ms without a byte while calls
 * are in flight, or when somebody asks, but never within gap_ms of the last one;
 * any byte is a sign of life. Without calls in flight nobody waits for anything,
 * and servers count such PINGs as abuse: none is sent.
 */
#ifndef STORE_NET_GRPC_PING_H
#define STORE_NET_GRPC_PING_H

#include <stdbool.h>
#include <stdint.h>

struct grpc_ping {
	uint64_t idle_ms, gap_ms, timeout_ms; /* idle_ms 0: only when asked */
	uint64_t heard_ms;                    /* last byte, or begin of the calls */
	uint64_t sent_ms;                     /* last PING; 0: none yet */
	uint64_t give_up_ms;                  /* of the one that is out */
	bool busy;                            /* calls are in flight */
	bool wanted;                          /* somebody asked */
	bool out;                             /* sent, nothing heard since */
	bool late;                            /* overdue: one more look at the socket */
};

enum grpc_ping_act { GRPC_PING_NOTHING, GRPC_PING_SEND, GRPC_PING_DEAD };

void grpc_ping_busy(struct grpc_ping *ping, bool busy, uint64_t now_ms);
void grpc_ping_heard(struct grpc_ping *ping, uint64_t now_ms);
void grpc_ping_want(struct grpc_ping *ping);

/* When to call step next; UINT64_MAX: never. */
uint64_t grpc_ping_deadline_ms(const struct grpc_ping *ping);
enum grpc_ping_act grpc_ping_step(struct grpc_ping *ping, uint64_t now_ms);

#endif
