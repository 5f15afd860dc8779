/*
 * A call: a request from its head to its end, with the one who sent it.
 *
 *	on_request --> identified --> acts as --> allowed --> its turn --> route --> on_gone
 *	                  |401           |403        |403        |429                 `--> audit
 *	                  `--------------'-----------'-----------'------ answered --> on_gone
 *
 * Invariants:
 *  - Nothing but health is answered to a client that shows no good credential, and no body
 *    of it is kept; nothing else
 *    than 403 to one that may not, and it is not told whether the object exists.
 *  - What a client may is asked with what its request will do (request_attributes).
 *  - A watch whose client may no longer, or whose credential is no longer good, is ended: at
 *    once when the configuration of access changes, else within API_CALL_LOOK_MS times the
 *    number of watches by API_CALL_LOOKS.
 *  - Each change and each refusal is one line of the audit, written when the call ends.
 */
#ifndef COORD_API_SERVER_API_CALL_H
#define COORD_API_SERVER_API_CALL_H

#include "coord/access/audit/audit_log.h"
#include "coord/access/flow/flow.h"
#include "coord/api/server/followed_access.h"
#include "coord/api/verbs/request.h"

enum {
	API_CALL_LOOK_MS = 1000,
	API_CALL_LOOKS = 2000,
	API_CALL_ID_SIZE = 37,
	/* A 429 is held back for so long: a client that comes again at once costs little then.
	 * So many are; further ones are answered at once. */
	API_CALL_HOLD_MS = 100,
	API_CALL_HELD_MAX = 1000,
	/* Lines of the audit about clients without a good credential: further ones are only
	 * counted, or anybody could turn all files of the log over. */
	API_CALL_STRANGERS_PER_S = 10,
	API_CALL_STRANGERS_MAX = 100,
};

struct api_server;

struct api_call {
	struct pl_list link; /* of server->calls */
	struct api_server *server;
	struct http_exchange *exchange;
	const struct http_request *http;
	struct exchange_user *works; /* on the answer; NULL: none, or not yet */
	struct request *request;     /* the same, when it is one */
	struct pl_arena arena;
	struct identity sender, identity; /* the same unless impersonates */
	bool identified, impersonates, refused;
	struct access_attributes asked;
	bool by_cluster; /* see request_client */
	struct flow_item flow;
	struct pl_list held; /* of server->held, until it gets its 429 */
	uint64_t held_ms;    /* when it does */
	uint64_t began_ns;
	const char *reason; /* for the audit; in the arena or static */
	char id[API_CALL_ID_SIZE];
};

/* Whether the client shows a good credential now. */
bool api_client_is_known(struct api_server *server, const struct http_request *http);
/* Takes the exchange up. */
void api_call_begin(struct api_server *server, struct http_exchange *exchange,
                    const struct http_request *http);
void api_call_room(struct api_call *call);
void api_call_gone(struct api_call *call);

/* Calls whose turn has come are routed, and those that have waited too long refused; some at
 * a time. When to call it again: now (0), never (UINT64_MAX), or then. */
uint64_t api_calls_turn(struct api_server *server, uint64_t now_ms);
/* Ends watches whose clients may no longer; again: also looks at the credentials, of some
 * watches at a time. */
void api_calls_look(struct api_server *server, bool again);

#endif
