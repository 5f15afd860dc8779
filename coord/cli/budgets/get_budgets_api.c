#include "coord/cli/budgets/get_budgets_api.h"

#include <inttypes.h>

#include "coord/cli/output/row_list.h"
#include "coord/cli/session/api_object.h"

struct asking_budgets {
	struct row_list list;
	struct pl_arena arena; /* of one row */
};

/* A number, or "50%". PL_NOMEM. */
static enum pl_code put_amount(struct output_row *row, unsigned column,
                               struct pl_arena *arena, struct pl_json budget,
                               const char *path)
{
	struct pl_json value = field_at(budget, path);
	struct pl_span text = api_text(budget, path);
	char *number;

	if (pl_json_type(value) == PL_JSON_NUMBER) {
		number = pl_arena_printf(arena, "%" PRId64, field_int(budget, path, 0));
		if (number == NULL)
			return PL_NOMEM;
		text = pl_span_str(number);
	}
	output_text(row, column, text);
	return PL_OK;
}

static enum pl_code add_budget(void *ctx, struct pl_json budget, struct pl_err *err)
{
	struct asking_budgets *asking = ctx;
	struct output_row row = {0};
	enum pl_code code;

	pl_arena_reset(&asking->arena);
	output_text(&row, SPACE, api_text(budget, "metadata.namespace"));
	output_text(&row, NAME, api_text(budget, "metadata.name"));
	code = put_amount(&row, MIN_AVAILABLE, &asking->arena, budget,
	                  "spec.minAvailable");
	if (code == PL_OK)
		code = put_amount(&row, MAX_UNAVAILABLE, &asking->arena, budget,
		                  "spec.maxUnavailable");
	if (code != PL_OK)
		return pl_err_set(err, code, "print the budgets");
	output_int(&row, DISRUPTED,
	           (int64_t)pl_json_count(field_at(budget, "status.disruptedPods")));
	output_int(&row, EXPECTED, field_int(budget, "status.expectedPods", 0));
	output_int(&row, DESIRED, field_int(budget, "status.desiredHealthy", 0));
	output_int(&row, HEALTHY, field_int(budget, "status.currentHealthy", 0));
	output_int(&row, ALLOWED, field_int(budget, "status.disruptionsAllowed", 0));
	return row_list_add(&asking->list, &row, err);
}

enum pl_code get_budgets_api(struct api_session *api, struct pl_span namespace,
                             struct pl_err *err)
{
	struct asking_budgets asking;
	char path[API_PATH_MAX];
	enum pl_code code = api_path(path, "/apis/policy/v1", namespace,
	                             "poddisruptionbudgets", (struct pl_span){0}, err);

	if (code == PL_OK)
		code = row_list_init(&asking.list, &budget_schema, api->options->format,
		                     err);
	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = api_session_list(api, path, (struct pl_span){0}, add_budget, &asking, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, "no budgets", err);
	pl_arena_done(&asking.arena);
	row_list_done(&asking.list);
	return code;
}
