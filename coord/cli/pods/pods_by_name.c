#include "coord/cli/pods/pods_by_name.h"

#include "coord/cli/pods/pod_locate.h"

static enum pl_code each_of_files(const struct cli_session *cli,
                                  const struct pods_args *given, pods_by_name_fn *fn,
                                  void *ctx, struct pl_err *err)
{
	struct pod_input pod_input;
	struct pod_input_pod pod;
	enum pl_code code =
		pods_args_intake(given, cli->meta.partitions, false, &pod_input, err);

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

static enum pl_code locate_name(const struct cli_session *cli,
                                const struct pods_args *given, const char *arg,
                                pods_by_name_fn *fn, void *ctx, uint64_t *absent,
                                struct pl_err *err)
{
	struct pl_span namespace, name;
	uint32_t partition = 0;
	enum pl_code code = pods_args_name(given, arg, &namespace, &name, err);

	if (code == PL_OK)
		code = pod_locate(cli, namespace, name, &partition, err);
	if (code == PL_NOTFOUND && absent != NULL) {
		++*absent;
		return PL_OK;
	}
	return code == PL_OK ? fn(ctx, partition, namespace, name, err) : code;
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
