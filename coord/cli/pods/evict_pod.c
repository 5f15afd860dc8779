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
	.usage =
		"<namespace>/<name>... | -f FILE | -l LABELS -n NAME | --all -n NAME [options]",
	.about =
		"Takes pods off their nodes, to be placed again, there or elsewhere. Each\n"
		"terminates first and keeps its place until its member says that it has\n"
		"ended. One that has no place is left as it is. One that a\n"
		"PodDisruptionBudget protects waits until that allows it to go.\n",
	.help = PODS_REQUEST_HELP
	"  --force                does not wait for the member: what runs there may "
	"go\n"
	"                         on running beside the one that is placed again\n"
	"  --ignore-budgets       whatever budgets allow\n"
	"  --timeout DURATION     how long to wait for budgets (default 0: until "
	"then)\n"
	"  --ignore-not-found     a pod that is not there is no failure\n",
	.example = "  placet evict pod shop/web-0\n"
		   "  placet evict pod -l app=web -n shop\n",
	.exits =
		"0 all are asked to move, or have no place, 1 some is not there or could "
		"not be, 2 wrong usage",
	.common = OPTIONS_YES,
	.args_max = PODS_REQUEST_ARGS_MAX,
	.own = own,
	.take = pods_request_take,
	.check = pods_request_check,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct pods_request job = {.verb = POD_REQUEST_EVICT,
	                           .words = {[POD_REQUEST_ACCEPTED] = "is evicted",
	                                     [POD_REQUEST_ALREADY] = "is leaving already",
	                                     [POD_REQUEST_SKIPPED] = "has no place"},
	                           .question = "Evict"};

	return pods_request_run(&job, &spec, argc, argv);
}

const struct command evict_pod_command = {
	.words = "evict pod", .summary = "move pods off their nodes", .run = run_command};
