#include "coord/cli/pods/pod_pick.h"

#include <string.h>
#include <strings.h>

#include "coord/cli/pods/pod_row.h"
#include "store/keys/names.h"

static enum pl_code set_node(struct pod_pick *pick, const char *arg, struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL)
		return pl_err_set(err, PL_INVALID, "--node %s: want CLUSTER/NODE", arg);
	pick->filter.cluster = pl_span(arg, (size_t)(slash - arg));
	pick->filter.node = pl_span_str(slash + 1);
	code = names_check(NAMES_CLUSTER, pick->filter.cluster, err);
	if (code == PL_OK)
		code = names_check(NAMES_NODE, pick->filter.node, err);
	return code == PL_OK ? code : pl_err_wrap(err, "--node");
}

/* The phase as it is shown, "malformed" included. */
static enum pl_code set_phase(struct pod_pick *pick, const char *arg, struct pl_err *err)
{
	static const char *const words[] = {
#define PHASE_WORD(name, word) word,
		STATE_PHASE_MAP(PHASE_WORD) POD_PHASE_MALFORMED};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(arg, words[i]) == 0) {
			pick->filter.phase = words[i];
			return PL_OK;
		}
	return pl_err_set(err, PL_INVALID,
	                  "--phase %s: want Pending, Bound, Terminating, Succeeded, "
	                  "Failed or malformed",
	                  arg);
}

enum pl_code pod_pick_take(struct pod_pick *pick, int opt, const char *arg,
                           struct pl_err *err)
{
	switch (opt) {
	case POD_PICK_NODE:
		return set_node(pick, arg, err);
	case POD_PICK_PHASE:
		return set_phase(pick, arg, err);
	case POD_PICK_ALL:
		pick->all = true;
		return PL_OK;
	case POD_PICK_SELECTOR:
		if (label_query_parse(pl_span_str(arg), &pick->query, err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--selector");
	default:
		return pods_args_set(&pick->given, opt, arg, err);
	}
}

enum pl_code pod_pick_check(struct pod_pick *pick, const struct options *options,
                            struct pl_err *err)
{
	struct pod_filter *filter = &pick->filter;
	bool named = options->arg_count > 0;

	PL_ASSERT(options->arg_count <= POD_PICK_NAMES_MAX);
	filter->namespace = pl_span_str(pick->given.namespace);
	filter->query = &pick->query;
	filter->names = pick->name;
	filter->name_count = options->arg_count;
	if (pick->all && (filter->namespace.len > 0 || named))
		return pl_err_set(err, PL_INVALID,
		                  "--all-namespaces: goes with neither names nor "
		                  "--namespace");
	if (named && (pod_filter_has_state(filter) || pod_filter_has_labels(filter)))
		return pl_err_set(err, PL_INVALID, "%s: does not go with names",
		                  filter->node.len > 0    ? "--node"
		                  : filter->phase != NULL ? "--phase"
		                                          : "--selector");
	for (unsigned i = 0; i < options->arg_count; i++) {
		struct pod_name *name = &pick->name[i];

		if (pods_args_name(&pick->given, options->args[i], &name->namespace,
		                   &name->name, err) != PL_OK)
			return err->code;
		if (filter->namespace.len > 0 &&
		    !pl_span_eq(name->namespace, filter->namespace))
			return pl_err_set(
				err, PL_INVALID,
				"%s: is not of namespace %s, which --namespace names",
				options->args[i], pick->given.namespace);
	}
	return PL_OK;
}
