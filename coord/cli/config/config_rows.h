/* Configurations and their versions as rows. */
#ifndef COORD_CLI_CONFIG_CONFIG_ROWS_H
#define COORD_CLI_CONFIG_CONFIG_ROWS_H

#include "coord/cli/output/output.h"
#include "coord/service/config/config_content.h"

extern const struct output_schema config_schema; /* a configuration as it is now */

struct config_row {
	enum config_name name;
	const struct config_version *version; /* NULL: the default */
	const struct pl_err *
		current_err; /* PL_OK: the key that names the current version is well formed */
	const struct config_acceptance *acceptance; /* NULL: not asked */
	struct pl_span content;                     /* JSON; empty: left out */
};

PL_NODISCARD enum pl_code config_row(const struct config_row *is, struct pl_arena *arena,
                                     struct output_row *row);

extern const struct output_schema config_version_schema; /* one in a history */

PL_NODISCARD enum pl_code config_version_row(const struct config_version *version,
                                             int64_t now_ms, struct pl_arena *arena,
                                             struct output_row *row);

#endif
