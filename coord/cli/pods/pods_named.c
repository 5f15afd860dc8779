#include "coord/cli/pods/pods_named.h"

#include "coord/cli/pods/pod_locate.h"

static enum pl_code each_of_files(const struct reach *reach,
                                  const struct pods_given *given, pods_named_fn *fn,
                                  void *ctx, struct pl_err *err)
{
	struct intake intake;
	struct intake_pod pod;
	enum pl_code code =
		pods_given_intake(given, reach->meta.partitions, false, &intake, err);

	if (code != PL_OK)
		return code;
	while (code == PL_OK) {
		code = intake_next(&intake, &pod, err);
		if (code == PL_OK)
			code = fn(ctx, pod.home.partition, pod.pod.space, pod.pod.name,
			          err);
	}
	intake_close(&intake);
	return code == PL_NOTFOUND ? PL_OK : code;
}

static enum pl_code locate(const struct reach *reach, const struct pods_given *given,
                           const char *arg, pods_named_fn *fn, void *ctx,
                           uint64_t *absent, struct pl_err *err)
{
	struct pl_span space, name;
	uint32_t partition = 0;
	enum pl_code code = pods_given_name(given, arg, &space, &name, err);

	if (code == PL_OK)
		code = pod_locate(reach, space, name, &partition, err);
	if (code == PL_NOTFOUND && absent != NULL) {
		++*absent;
		return PL_OK;
	}
	return code == PL_OK ? fn(ctx, partition, space, name, err) : code;
}

enum pl_code pods_named_each(const struct reach *reach, const struct pods_given *given,
                             pods_named_fn *fn, void *ctx, uint64_t *absent,
                             struct pl_err *err)
{
	const struct options *options = reach->options;
	enum pl_code code = PL_OK;

	if (given->files.count > 0)
		code = each_of_files(reach, given, fn, ctx, err);
	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++)
		code = locate(reach, given, options->args[i], fn, ctx, absent, err);
	return code;
}
