/*
 * How the API of this process finds out who its clients are: the options' files, and the
 * tokens that the store has.
 *
 * Invariants: without a certificate authority, a token file or keys of signed tokens every
 * client on loopback is "placet:local", which is logged; with one of them, or on any other
 * address, a client without a credential is anonymous.
 */
#ifndef COORD_DAEMON_API_AUTHN_H
#define COORD_DAEMON_API_AUTHN_H

#include "coord/access/authn/authn.h"
#include "coord/access/authn/issued_tokens.h"
#include "coord/api/verbs/request.h"
#include "coord/daemon/options.h"

/* All zero: closed. Of one thread. */
struct api_authn {
	struct issued_tokens *issued;
	struct authn *authn;
	void (*closed)(void *ctx);
	void *ctx;
};

/* kv outlives it. PL_INVALID, PL_IO: a file is not usable. After a failure it still has to
 * be closed. */
PL_NODISCARD enum pl_code api_authn_open(struct api_authn *authn,
                                         const struct daemon_api_opts *opts,
                                         struct kv *kv, struct pl_err *err);
/* closed is called once: later, or at once if nothing was open. Nothing is identified any
 * more. */
void api_authn_close(struct api_authn *authn, void (*closed)(void *ctx), void *ctx);

struct request_identifier api_authn_identifier(struct api_authn *authn);

/* Whether clients without a credential are "placet:local". */
bool api_authn_is_open(const struct daemon_api_opts *opts);

#endif
