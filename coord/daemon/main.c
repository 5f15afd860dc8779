/* placetd: reads the options, opens the log and runs the process. */
#include <unistd.h>

#include "coord/connect/version.h"
#include "coord/daemon/host.h"
#include "coord/daemon/process.h"
#include "coord/metrics/metrics_table.h"

static enum process_status show_metrics(void)
{
	enum process_status status = PROCESS_FAILED;
	struct pl_buf page;

	pl_buf_init(&page, 1 << 20);
	if (metrics_page(&page) == PL_OK &&
	    fwrite(page.at, 1, page.len, stdout) == page.len)
		status = PROCESS_OK;
	pl_buf_done(&page);
	return status;
}

static enum process_status run_action(const struct daemon_opts *opts)
{
	struct pl_log_options log = {.fd = STDERR_FILENO,
	                             .format = opts->log_format,
	                             .level = opts->log_level};

	switch (opts->action) {
	case DAEMON_SHOW_HELP:
		daemon_opts_help(stdout);
		return PROCESS_OK;
	case DAEMON_SHOW_VERSION:
		(void)printf("placetd %s\n", PLACET_VERSION);
		return PROCESS_OK;
	case DAEMON_SHOW_CONFIG:
		daemon_opts_show(opts, stdout);
		return PROCESS_OK;
	case DAEMON_SHOW_METRICS:
		return show_metrics();
	case DAEMON_RUN:
		pl_log_setup(&log);
		return process_run(opts);
	}
	return PROCESS_USAGE;
}

int main(int argc, char **argv)
{
	struct daemon_opts opts;
	enum process_status status = PROCESS_USAGE;
	struct pl_err err = {0};
	struct host host;

	host_read(&host);
	if (daemon_opts_read(&opts, argc, argv, environ, host.name, &err) == PL_OK)
		status = run_action(&opts);
	else
		(void)fprintf(stderr, "placetd: %s\n", err.msg);
	daemon_opts_done(&opts);
	return (int)status;
}
