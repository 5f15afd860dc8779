#include "coord/cli/pods/pods_by_name.h"

#include "coord/cli/input/stored_intake.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/service/pods/pod_find.h"

static enum pl_code each_of_files(const struct cli_session *cli,
                                  const struct pods_args *given, pods_by_name_fn *fn,
                                  void *ctx, struct pl_err *err)
{
	struct pod_input pod_input;
	struct pod_input_pod pod;
	enum pl_code code = stored_intake(cli, given, false, &pod_input, err);

	if (code != PL_OK)
		return code;
	while (code == PL_OK) {
		code = pod_input_next(&pod_input, &pod, err);
		if (code == PL_OK)
			code = fn(ctx, pod.location.partition, pod.pod.namespace,
			          pod.pod.name, err);
	}
	pod_input_close(&pod_input);
	return code == PL_NOTFOUND ? PL_OK : code;
}

struct locating {
	struct cli_wait wait;
	uint32_t partition;
};

static void on_located(void *ctx, uint32_t partition, const struct pl_err *err)
{
	struct locating *locating = ctx;

	locating->partition = partition;
	cli_wait_end(&locating->wait, err);
}

static enum pl_code locate_pod(const struct cli_session *cli, const struct pod_name *name,
                               uint32_t *partition, struct pl_err *err)
{
	struct locating locating = {.partition = 0};
	struct pod_find *find;
	enum pl_code code =
		pod_find_start(&cli->service, name, on_located, &locating, &find, err);

	if (code == PL_OK)
		code = cli_wait_for(cli->session, &locating.wait, err);
	*partition = locating.partition;
	return code != PL_NOTFOUND
	               ? code
	               : pl_err_set(err, PL_NOTFOUND,
	                            PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
	                            PL_SPAN_ARG(name->namespace),
	                            PL_SPAN_ARG(name->name));
}

static enum pl_code locate_name(const struct cli_session *cli,
                                const struct pods_args *given, const char *arg,
                                pods_by_name_fn *fn, void *ctx, uint64_t *absent,
                                struct pl_err *err)
{
	struct pod_name name;
	uint32_t partition = 0;
	enum pl_code code = pods_args_name(given, arg, &name.namespace, &name.name, err);

	if (code == PL_OK)
		code = locate_pod(cli, &name, &partition, err);
	if (code == PL_NOTFOUND && absent != NULL) {
		++*absent;
		return PL_OK;
	}
	return code == PL_OK ? fn(ctx, partition, name.namespace, name.name, err) : code;
}

enum pl_code pods_by_name_each(const struct cli_session *cli,
                               const struct pods_args *given, pods_by_name_fn *fn,
                               void *ctx, uint64_t *absent, struct pl_err *err)
{
	const struct options *options = cli->options;
	enum pl_code code = PL_OK;

	if (given->files.count > 0)
		code = each_of_files(cli, given, fn, ctx, err);
	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++)
		code = locate_name(cli, given, options->args[i], fn, ctx, absent, err);
	return code;
}
