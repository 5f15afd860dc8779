#include "coord/cli/session/cli_wait.h"

void cli_wait_end(void *ctx, const struct pl_err *err)
{
	struct cli_wait *wait = ctx;

	wait->over = true;
	if (err != NULL)
		wait->err = *err;
}

enum pl_code cli_wait_for(struct store_session *session, const struct cli_wait *wait,
                          struct pl_err *err)
{
	while (!wait->over)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	if (wait->err.code != PL_OK)
		*err = wait->err;
	return wait->err.code;
}
