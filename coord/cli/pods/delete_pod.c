/* placet delete pod: a pod without a place goes at once, others are ended by their
 * shard. */
#include "coord/cli/pods/delete_pod_api.h"
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
		"Deletes pods. A pod that is Pending or has ended is removed at once, with all\n"
		"of its keys. A pod that is on a node terminates: its shard removes it and\n"
		"frees its capacity when the node's member reports that the pod has ended.\n"
		"With -f, deletes the pods that placet submit would make of the files.\n",
	.help = PODS_REQUEST_HELP
	"  --wait[=false]         wait until the pods are gone (default)\n"
	"  --timeout DURATION     how long to wait (default 0: without limit)\n"
	"  --force                do not wait for the member: the pod may still run\n"
	"                         while its capacity is given to other pods\n"
	"  --ignore-not-found     a pod that does not exist is no failure\n",
	.example = "  placet delete pod shop/web-0\n"
		   "  placet delete pod -l app=web,track=canary -n shop\n"
		   "  placet delete pod -f jobs/ --yes --ignore-not-found --wait=false\n",
	.exits =
		"0 all are deleted, or being deleted, 1 a pod does not exist, still exists "
		"or could not be deleted, 2 wrong usage",
	.common = OPTIONS_YES | OPTIONS_API,
	.args_max = PODS_REQUEST_ARGS_MAX,
	.own = own,
	.take = pods_request_take,
	.check = pods_request_check,
};

static enum pl_code run_on_api(void *ctx, struct api_session *api, struct pl_err *err)
{
	return delete_pod_api(ctx, api, err);
}

static enum exit_code run_command(int argc, char **argv)
{
	struct pods_request job = {
		.verb = POD_REQUEST_DELETE,
		.words = {[POD_REQUEST_GONE] = "deleted",
	                  [POD_REQUEST_ACCEPTED] = "is terminating",
	                  [POD_REQUEST_ALREADY] = "is terminating already"},
		.question = "Delete",
		.wait = true};

	return pods_request_run(&job, &spec, run_on_api, argc, argv);
}

const struct command delete_pod_command = {.words = "delete pod",
                                           .summary = "delete pods",
                                           .run = run_command,
                                           .spec = &spec};
