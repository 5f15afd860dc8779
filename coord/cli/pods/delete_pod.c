/* placet delete pod: a pod without a place goes at once, others are ended by their
 * shard. */
#include "coord/cli/pods/pods_request.h"

static const struct option own[] = {
	PODS_REQUEST_OPTIONS,
	{"wait", optional_argument, NULL, PODS_REQUEST_WAIT},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "delete pod",
	.usage =
		"<namespace>/<name>... | -f FILE | -l LABELS -n NAME | --all -n NAME [options]",
	.about =
		"Deletes pods. One that nobody has placed yet, and one that is over, is\n"
		"gone at once, with all of its keys. One that has a place keeps it while it\n"
		"terminates: the shard that owns it gives the place back when its member says\n"
		"that it has ended, and removes it then. With -f, the pods that placet submit\n"
		"would make of those files.\n",
	.help = PODS_REQUEST_HELP
	"  --wait[=false]         until they are gone (default)\n"
	"  --timeout DURATION     how long to wait (default 0: until then)\n"
	"  --force                does not wait for the member: what runs there may "
	"go\n"
	"                         on running, though its room is given to others\n"
	"  --ignore-not-found     a pod that is not there is no failure\n",
	.example = "  placet delete pod shop/web-0\n"
		   "  placet delete pod -l app=web,track=canary -n shop\n"
		   "  placet delete pod -f jobs/ --yes --ignore-not-found --wait=false\n",
	.exits =
		"0 all are gone, or will be, 1 some is not there, is still there or could "
		"not be, 2 wrong usage",
	.common = OPTIONS_YES,
	.args_max = PODS_REQUEST_ARGS_MAX,
	.own = own,
	.take = pods_request_take,
	.check = pods_request_check,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct pods_request job = {
		.verb = POD_REQUEST_DELETE,
		.words = {[POD_REQUEST_GONE] = "deleted",
	                  [POD_REQUEST_ACCEPTED] = "is terminating",
	                  [POD_REQUEST_ALREADY] = "is terminating already"},
		.question = "Delete",
		.wait = true};

	return pods_request_run(&job, &spec, argc, argv);
}

const struct command delete_pod_command = {
	.words = "delete pod", .summary = "delete pods", .run = run_command};
