/* placet evict pod: takes pods off their nodes, to be placed again. */
#include "coord/cli/pods/pods_request.h"

/* Evicted pods do not go away, so only their budgets are waited for. */
static const struct option own[] = {
	PODS_REQUEST_OPTIONS,
	{"ignore-budgets", no_argument, NULL, PODS_REQUEST_PAST},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "evict pod",
	.of_store = "an eviction there deletes the pod",
	.usage =
		"<namespace>/<name>... | -f FILE | -l LABELS -n NAME | --all -n NAME [options]",
	.about =
		"Moves pods off their nodes; they are placed again, on the same node or\n"
		"another. Each pod terminates first and keeps its node until the node's member\n"
		"reports that it has ended. A pod without a node is left as it is. A pod that\n"
		"a PodDisruptionBudget protects is evicted when the budget allows it.\n",
	.help = PODS_REQUEST_HELP
	"  --force                do not wait for the member: the pod may still run\n"
	"                         on its old node when it is placed again\n"
	"  --ignore-budgets       evict even what budgets protect\n"
	"  --timeout DURATION     how long to wait for budgets (default 0: without "
	"limit)\n"
	"  --ignore-not-found     a pod that does not exist is no failure\n",
	.example = "  placet evict pod shop/web-0\n"
		   "  placet evict pod -l app=web -n shop\n",
	.exits =
		"0 all are asked to move, or have no node, 1 a pod does not exist or could "
		"not be evicted, 2 wrong usage",
	.common = OPTIONS_YES,
	.args_max = PODS_REQUEST_ARGS_MAX,
	.own = own,
	.take = pods_request_take,
	.check = pods_request_check,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct pods_request job = {
		.verb = POD_REQUEST_EVICT,
		.words = {[POD_REQUEST_ACCEPTED] = "is evicted",
	                  [POD_REQUEST_ALREADY] = "is terminating already",
	                  [POD_REQUEST_SKIPPED] = "has no place"},
		.question = "Evict"};

	return pods_request_run(&job, &spec, NULL, argc, argv);
}

const struct command evict_pod_command = {.words = "evict pod",
                                          .summary = "move pods off their nodes",
                                          .run = run_command,
                                          .spec = &spec};
