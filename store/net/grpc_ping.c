#include "store/net/grpc_ping.h"

void grpc_ping_busy(struct grpc_ping *ping, bool busy, uint64_t now_ms)
{
	if (busy && !ping->busy && now_ms > ping->heard_ms)
		ping->heard_ms = now_ms; /* silence counts from the first call on */
	ping->busy = busy;
}

void grpc_ping_heard(struct grpc_ping *ping, uint64_t now_ms)
{
	ping->heard_ms = now_ms;
	if (ping->state != GRPC_PING_LOST)
		ping->state = GRPC_PING_QUIET;
}

void grpc_ping_want(struct grpc_ping *ping)
{
	ping->wanted = ping->state == GRPC_PING_QUIET;
}

uint64_t grpc_ping_deadline_ms(const struct grpc_ping *ping)
{
	uint64_t due = UINT64_MAX;

	if (ping->state == GRPC_PING_LOST)
		return UINT64_MAX;
	if (ping->state != GRPC_PING_QUIET)
		return ping->give_up_ms;
	if (ping->wanted)
		due = 0;
	else if (ping->busy && ping->idle_ms != 0)
		due = ping->heard_ms + ping->idle_ms;
	if (due != UINT64_MAX && ping->sent_ms != 0 && due < ping->sent_ms + ping->gap_ms)
		due = ping->sent_ms + ping->gap_ms;
	return due;
}

enum grpc_ping_act grpc_ping_step(struct grpc_ping *ping, uint64_t now_ms)
{
	if (now_ms < grpc_ping_deadline_ms(ping))
		return GRPC_PING_NOTHING;
	if (ping->state == GRPC_PING_SENT) {
		/* This process may have been stopped itself while the answer waits in the
		 * socket: the socket is read once more before the server is given up. */
		ping->state = GRPC_PING_LATE;
		ping->give_up_ms = now_ms + 1;
		return GRPC_PING_NOTHING;
	}
	if (ping->state == GRPC_PING_LATE) {
		ping->state = GRPC_PING_LOST;
		return GRPC_PING_DEAD;
	}
	ping->wanted = false;
	ping->state = GRPC_PING_SENT;
	ping->sent_ms = now_ms;
	ping->give_up_ms = now_ms + ping->timeout_ms;
	return GRPC_PING_SEND;
}
