#include "coord/cli/nodes/node_pick.h"

#include <string.h>

#include "store/keys/names.h"

enum pl_code node_pick_set(struct node_pick *pick, int opt, const char *arg,
                           struct pl_err *err)
{
	if (opt == NODE_PICK_SELECTOR)
		return label_query_parse(pl_span_str(arg), &pick->query, err) == PL_OK
		               ? PL_OK
		               : pl_err_wrap(err, "--selector");
	pick->cluster = arg;
	if (names_check(NAMES_CLUSTER, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--cluster");
}

/* "east/n-1", or "n-1" with --cluster east. */
static enum pl_code read_name(const struct node_pick *pick, const char *arg,
                              struct node_name *out, struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL && pick->cluster == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "'%s': want CLUSTER/NODE, or --cluster", arg);
	out->cluster = slash == NULL ? pl_span_str(pick->cluster)
	                             : pl_span(arg, (size_t)(slash - arg));
	out->name = pl_span_str(slash == NULL ? arg : slash + 1);
	code = names_check(NAMES_CLUSTER, out->cluster, err);
	return code == PL_OK ? names_check(NAMES_NODE, out->name, err) : code;
}

enum pl_code node_pick_check(struct node_pick *pick, const struct options *options,
                             struct pl_err *err)
{
	PL_ASSERT(options->arg_count <= NODE_PICK_NAMES_MAX);
	pick->filter = (struct node_filter){.cluster = pl_span_str(pick->cluster),
	                                    .names = pick->name,
	                                    .name_count = options->arg_count,
	                                    .query = &pick->query};
	if (options->arg_count > 0 && node_filter_has_labels(&pick->filter))
		return pl_err_set(err, PL_INVALID, "--selector: does not go with names");
	for (unsigned i = 0; i < options->arg_count; i++)
		if (read_name(pick, options->args[i], &pick->name[i], err) != PL_OK)
			return err->code;
	return PL_OK;
}
