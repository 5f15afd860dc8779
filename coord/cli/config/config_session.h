/* A config session reads and edits configurations for a command that does one thing
 * after another: each call waits for its answer. */
#ifndef COORD_CLI_CONFIG_CONFIG_SESSION_H
#define COORD_CLI_CONFIG_CONFIG_SESSION_H

#include "coord/cli/session/options.h"
#include "coord/cli/session/store_session.h"
#include "coord/config/config_edit.h"
#include "coord/config/config_read.h"
#include "coord/service/config/config_content.h"

/* Results live in the session's arena. version 0: the current one. */
PL_NODISCARD enum pl_code config_session_read(struct store_session *session,
                                              enum config_name name, uint64_t version,
                                              struct config_found *out,
                                              struct pl_err *err);
PL_NODISCARD enum pl_code config_session_history(struct store_session *session,
                                                 enum config_name name, uint32_t limit,
                                                 struct config_found *out,
                                                 struct pl_err *err);

struct config_session_edit {
	enum config_name name;
	struct pl_span config;  /* JSON; empty: a roll-back */
	uint64_t to_version;    /* of a roll-back; 0: the one before current */
	int64_t expect_version; /* -1: any version may be current */
	const char *why;
};

/* *version: the current version afterwards. */
PL_NODISCARD enum pl_code config_session_edit(struct store_session *session,
                                              const struct config_session_edit *edit,
                                              uint64_t *version, struct pl_err *err);

/* Which versions the configuration has. */
PL_NODISCARD enum pl_code config_session_versions(struct store_session *session,
                                                  enum config_name name,
                                                  struct config_versions *out,
                                                  struct pl_err *err);

/* The content of a version, in the session's arena; version 0 is the default.
 * PL_NOTFOUND. */
PL_NODISCARD enum pl_code config_session_content(struct store_session *session,
                                                 enum config_name name, uint64_t version,
                                                 struct pl_json *out, struct pl_err *err);

/* Prints config_content_diff to stdout. The arena is for scratch. */
PL_NODISCARD enum pl_code config_print_diff(enum config_name name, struct pl_json before,
                                            struct pl_json after, struct pl_arena *arena,
                                            struct pl_err *err);
/* The same, with the session's arena. */
PL_NODISCARD enum pl_code config_session_print_diff(struct store_session *session,
                                                    enum config_name name,
                                                    struct pl_json before,
                                                    struct pl_json after,
                                                    struct pl_err *err);

#endif
