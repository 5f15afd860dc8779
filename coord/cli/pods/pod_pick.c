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
	pick->cluster = pl_span(arg, (size_t)(slash - arg));
	pick->node = pl_span_str(slash + 1);
	code = names_check(NAMES_CLUSTER, pick->cluster, err);
	if (code == PL_OK)
		code = names_check(NAMES_NODE, pick->node, err);
	return code == PL_OK ? code : pl_err_wrap(err, "--node");
}

/* As it is shown; what makes no sense is one of them. */
static enum pl_code set_phase(struct pod_pick *pick, const char *arg, struct pl_err *err)
{
	static const char *const words[] = {
#define PHASE_WORD(name, word) word,
		STATE_PHASE_MAP(PHASE_WORD) POD_ROW_MALFORMED};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(arg, words[i]) == 0) {
			pick->phase = words[i];
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
	struct pl_span namespace, name;

	pick->args = options->args;
	pick->arg_count = options->arg_count;
	if (pick->all && (pick->given.namespace != NULL || pick->arg_count > 0))
		return pl_err_set(err, PL_INVALID,
		                  "--all-namespaces: goes with neither names nor "
		                  "--namespace");
	if (pick->arg_count > 0 &&
	    (pod_pick_by_state(pick) || pick->query.requirements > 0))
		return pl_err_set(err, PL_INVALID, "%s: does not go with names",
		                  pick->node.len > 0    ? "--node"
		                  : pick->phase != NULL ? "--phase"
		                                        : "--selector");
	for (unsigned i = 0; i < pick->arg_count; i++) {
		if (pods_args_name(&pick->given, pick->args[i], &namespace, &name, err) !=
		    PL_OK)
			return err->code;
		if (pick->given.namespace != NULL &&
		    !pl_span_eq(namespace, pl_span_str(pick->given.namespace)))
			return pl_err_set(err, PL_INVALID,
			                  "%s: is not of namespace %s, which "
			                  "--namespace says",
			                  pick->args[i], pick->given.namespace);
	}
	return PL_OK;
}

bool pod_pick_wants(const struct pod_pick *pick, struct pl_span namespace,
                    struct pl_span name)
{
	struct pl_span one_space, one_name;

	if (pick->arg_count == 0)
		return pick->given.namespace == NULL ||
		       pl_span_eq(namespace, pl_span_str(pick->given.namespace));
	for (unsigned i = 0; i < pick->arg_count; i++)
		if (pods_args_name(&pick->given, pick->args[i], &one_space, &one_name,
		                   NULL) == PL_OK &&
		    pl_span_eq(namespace, one_space) && pl_span_eq(name, one_name))
			return true;
	return false;
}

bool pod_pick_by_state(const struct pod_pick *pick)
{
	return pick->node.len > 0 || pick->phase != NULL;
}

bool pod_pick_fits(const struct pod_pick *pick, const struct output_row *row)
{
	if (pick->phase != NULL &&
	    !pl_span_eq(pod_row_phase(row), pl_span_str(pick->phase)))
		return false;
	return pick->node.len == 0 || pod_row_is_on(row, pick->cluster, pick->node);
}
