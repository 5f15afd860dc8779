/* One shard by its id. */
#ifndef COORD_CLI_SHARDS_SHARD_FIND_H
#define COORD_CLI_SHARDS_SHARD_FIND_H

#include "coord/cli/session/store_session.h"
#include "coord/membership/membership.h"

struct shard_found {
	struct membership member; /* id only, when malformed */
	bool malformed;
	struct pl_err why;
	int64_t mod_revision;
	int64_t lease;
};

/* PL_INVALID: no shard can be called that. */
PL_NODISCARD enum pl_code shard_id_check(struct pl_span id, struct pl_err *err);

/* PL_NOTFOUND: there is no such shard, and which there are. The member lives in the
 * session's arena. */
PL_NODISCARD enum pl_code shard_find(struct store_session *session, struct pl_span id,
                                     struct shard_found *out, struct pl_err *err);
PL_NODISCARD enum pl_code shard_must_exist(struct store_session *session,
                                           struct pl_span id, struct pl_err *err);

#endif
