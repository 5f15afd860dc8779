/*
 * Tests only: a gRPC session and the fake server joined by memory, on virtual time.
 *
 * Bytes move when the test says, in pieces of any size, and the connection can be cut
 * after any byte. Invariant: grpc_rig_done() checks that each call ended exactly once.
 */
#ifndef TESTS_SUPPORT_STORE_NET_GRPC_RIG_H
#define TESTS_SUPPORT_STORE_NET_GRPC_RIG_H

#include "store/net/grpc_session.h"
#include "tests/support/store/net/fake_h2.h"

enum { GRPC_RIG_CALLS_MAX = FAKE_CALLS_MAX, GRPC_RIG_TEXT_SIZE = 240 };

/* A call and its outcome. */
struct grpc_rig_call {
	struct grpc_rig *rig;
	struct grpc_call *call; /* NULL: ended, or never started */
	enum fake_act act;
	unsigned number;
	unsigned ended; /* times that on_end was called: must be 1 */
	enum grpc_fate fate;
	enum pl_code code;
	uint32_t status;
	uint64_t sent_ms;
	char text[GRPC_RIG_TEXT_SIZE]; /* text of the server or of the error */
	size_t message_len; /* bytes of the answer, or of the last message of a stream */
	uint32_t message_sum;
	unsigned messages;
	bool cancel_at_message; /* on_message cancels the call */
};

struct grpc_rig {
	struct pl_timers timers;
	uint64_t now_ms;
	struct grpc_session session;
	struct fake_h2 *server;
	struct grpc_rig_call calls[GRPC_RIG_CALLS_MAX];
	unsigned call_count;
	size_t chunk;              /* bytes a step moves each way */
	uint64_t up, down;         /* bytes moved so far */
	uint64_t cut_up, cut_down; /* the connection dies after so many */
	bool dead;
	bool ready; /* on_up was called */
	struct pl_err why;
};

/* Defaults: 1 MiB messages, no limits, no PINGs, whole pieces, never cut. */
PL_NODISCARD enum pl_code grpc_rig_init(struct grpc_rig *rig,
                                        const struct fake_opts *fake,
                                        const struct grpc_session_opts *opts);
/* Ends the remaining calls, checks that each call ended once, and frees everything. */
void grpc_rig_done(struct grpc_rig *rig);

/* Starts "/<act>/<number>" with a message of len bytes; numbers count from 0.
 * NULL when starting failed. */
struct grpc_rig_call *grpc_rig_call(struct grpc_rig *rig, enum fake_act act, size_t len);
struct grpc_rig_call *grpc_rig_call_at(struct grpc_rig *rig, enum fake_act act,
                                       size_t len, uint64_t deadline_ms,
                                       const char *token);
bool grpc_rig_send(struct grpc_rig_call *call, size_t len); /* streams */

/* Moves one piece each way and delivers the results. False: no byte moved. */
bool grpc_rig_step(struct grpc_rig *rig);
void grpc_rig_run(struct grpc_rig *rig); /* until nothing moves */
void grpc_rig_tick(struct grpc_rig *rig, uint64_t now_ms);
void grpc_rig_die(struct grpc_rig *rig);

/* Checks, for every call that has ended, that its fate agrees with what the server saw.
 */
void grpc_rig_check(const struct grpc_rig *rig);

/* Whether the call ended like that, with words in its text; otherwise prints how it
 * ended. */
bool grpc_rig_ended(const struct grpc_rig_call *call, enum grpc_fate fate,
                    enum pl_code code, const char *words);

bool grpc_rig_is_stream(enum fake_act act);

#endif
