#include "coord/cli/pods/wait_gone.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/pods/pods_by_name.h"
#include "coord/cli/pods/pods_gone_wait.h"
#include "store/base/duration.h"

static enum pl_code add_pod(void *ctx, uint32_t partition, struct pl_span namespace,
                            struct pl_span name, struct pl_err *err)
{
	const struct pod_name pod = {namespace, name};

	return pods_gone_add(ctx, partition, &pod, err);
}

enum pl_code wait_gone(const struct cli_session *cli, const struct pods_args *given,
                       uint64_t timeout_ms, struct pl_err *err)
{
	struct pods_gone gone;
	char text[PL_DURATION_TEXT_SIZE];
	uint64_t absent = 0; /* number of pods that are gone already */
	enum pl_code code;

	pods_gone_init(&gone);
	code = pods_by_name_each(cli, given, add_pod, &gone, &absent, err);
	if (code == PL_OK)
		code = pods_gone_wait(&gone, cli, timeout_ms, err);
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
