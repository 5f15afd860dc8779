/* placet get budgets: its columns, and the command of the API. */
#ifndef COORD_CLI_BUDGETS_GET_BUDGETS_API_H
#define COORD_CLI_BUDGETS_GET_BUDGETS_API_H

#include "coord/cli/output/output.h"
#include "coord/cli/session/api_session.h"

enum budget_column {
	SPACE,
	NAME,
	MIN_AVAILABLE,
	MAX_UNAVAILABLE,
	EXPECTED,
	DESIRED,
	HEALTHY,
	ALLOWED,
	DISRUPTED,
	NOTE,
	COLUMN_COUNT,
};

extern const struct output_schema budget_schema;

/* namespace empty: all. */
PL_NODISCARD enum pl_code get_budgets_api(struct api_session *api,
                                          struct pl_span namespace, struct pl_err *err);

#endif
