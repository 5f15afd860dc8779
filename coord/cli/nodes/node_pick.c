#include "coord/cli/nodes/node_pick.h"

#include <string.h>

#include "store/keys/names.h"

enum pl_code node_pick_named(const struct node_pick *pick, const char *arg,
                             struct keys_id *out, struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL && pick->cluster == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "'%s': want CLUSTER/NODE, or --cluster", arg);
	*out = (struct keys_id){.kind = KEYS_NODE};
	out->scope = slash == NULL ? pl_span_str(pick->cluster)
	                           : pl_span(arg, (size_t)(slash - arg));
	out->name = pl_span_str(slash == NULL ? arg : slash + 1);
	code = names_check(NAMES_CLUSTER, out->scope, err);
	return code == PL_OK ? names_check(NAMES_NODE, out->name, err) : code;
}

bool node_pick_is_among(const struct node_pick *pick, unsigned count,
                        const struct keys_id *id)
{
	struct keys_id one = {.kind = KEYS_NODE};

	for (unsigned i = 0; i < count; i++)
		if (node_pick_named(pick, pick->args[i], &one, NULL) == PL_OK &&
		    pl_span_eq(one.scope, id->scope) && pl_span_eq(one.name, id->name))
			return true;
	return false;
}

bool node_pick_wants(const struct node_pick *pick, const struct keys_id *id)
{
	if (pick->arg_count > 0)
		return node_pick_is_among(pick, pick->arg_count, id);
	return pick->cluster == NULL || pl_span_eq(id->scope, pl_span_str(pick->cluster));
}
