#include "coord/cli/pods/wait_gone.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/pods/pod_locate.h"
#include "coord/cli/pods/pods_gone.h"
#include "store/base/duration.h"

static enum pl_code add_files(struct pods_gone *gone, const struct reach *reach,
                              const struct pods_given *given, struct pl_err *err)
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
			code = pods_gone_add(gone, pod.home.partition, pod.pod.space,
			                     pod.pod.name, err);
	}
	intake_close(&intake);
	return code == PL_NOTFOUND ? PL_OK : code;
}

/* *absent: those that are gone already. */
static enum pl_code add_names(struct pods_gone *gone, const struct reach *reach,
                              const struct pods_given *given, uint64_t *absent,
                              struct pl_err *err)
{
	const struct options *options = reach->options;
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++) {
		struct pl_span space, name;
		uint32_t partition = 0;

		code = pods_given_name(given, options->args[i], &space, &name, err);
		if (code == PL_OK)
			code = pod_locate(reach, space, name, &partition, err);
		if (code == PL_OK)
			code = pods_gone_add(gone, partition, space, name, err);
		else if (code == PL_NOTFOUND) {
			++*absent;
			code = PL_OK;
		}
	}
	return code;
}

enum pl_code wait_gone(const struct reach *reach, const struct pods_given *given,
                       uint64_t timeout_ms, struct pl_err *err)
{
	struct pods_gone gone;
	char text[PL_DURATION_TEXT_SIZE];
	uint64_t absent = 0;
	enum pl_code code = PL_OK;

	pods_gone_init(&gone);
	if (given->files.count > 0)
		code = add_files(&gone, reach, given, err);
	if (code == PL_OK)
		code = add_names(&gone, reach, given, &absent, err);
	if (code == PL_OK)
		code = pods_gone_wait(&gone, reach, timeout_ms, err);
	if (code == PL_TIMEOUT && gone.left.count > 0)
		(void)pl_err_set(err, code,
		                 "%zu of %" PRIu64 " pods are still there after %s",
		                 gone.left.count, gone.total,
		                 pl_duration_print((int64_t)timeout_ms * 1000000, text));
	if (code == PL_OK) {
		uint64_t total = gone.total + absent;

		(void)printf("%" PRIu64 " pod%s gone\n", total, total == 1 ? "" : "s");
		(void)fflush(stdout);
	}
	pods_gone_done(&gone);
	return code;
}
