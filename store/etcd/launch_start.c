/* Starting: checks and copies the options and makes the directory. Everything that needs
 * libuv happens from the loop. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/launch_int.h"

enum { READY_TIMEOUT_MS = 30000 };

static enum pl_code check_opts(const struct etcd_launch_opts *opts, struct pl_err *err)
{
	size_t extra = 0;

	if (opts->members < 1 || opts->members > ETCD_MEMBERS_MAX)
		return pl_err_set(err, PL_INVALID, "%u members, want 1..%d",
		                  opts->members, ETCD_MEMBERS_MAX);
	while (opts->extra_args != NULL && opts->extra_args[extra] != NULL)
		extra++;
	if (extra > LAUNCH_EXTRA_MAX)
		return pl_err_set(err, PL_LIMIT, "%zu extra arguments, at most %d", extra,
		                  LAUNCH_EXTRA_MAX);
	for (unsigned i = 0; opts->host_ip != NULL && i < opts->members; i++) {
		if (strlen(opts->host_ip[i]) >= LAUNCH_HOST_SIZE)
			return pl_err_set(err, PL_INVALID, "not an address: '%.60s'",
			                  opts->host_ip[i]);
	}
	return PL_OK;
}

static enum pl_code copy_member(struct etcd_launch *launch, unsigned index,
                                const struct etcd_launch_opts *opts, struct pl_err *err)
{
	struct launch_member *m = &launch->members[index];

	*m = (struct launch_member){.launch = launch,
	                            .index = index,
	                            .client.fd = -1,
	                            .peer.fd = -1,
	                            .netns_fd = -1};
	launch->count = index + 1;
	(void)snprintf(m->host, sizeof m->host, "%s",
	               opts->host_ip == NULL ? "127.0.0.1" : opts->host_ip[index]);
	if (opts->host_netns_fd == NULL || opts->host_netns_fd[index] < 0)
		return PL_OK;
	m->netns_fd = fcntl(opts->host_netns_fd[index], F_DUPFD_CLOEXEC, 0);
	if (m->netns_fd < 0)
		return pl_err_set(err, PL_IO, "network namespace of member %u: %s", index,
		                  strerror(errno));
	return PL_OK;
}

static enum pl_code copy_opts(struct etcd_launch *launch,
                              const struct etcd_launch_opts *opts, struct pl_err *err)
{
	launch->keep_dir = opts->keep_dir;
	launch->no_fsync = opts->no_fsync;
	launch->tls = opts->tls;
	launch->heartbeat_ms = opts->heartbeat_ms;
	launch->election_ms = opts->election_ms;
	launch->ready_timeout_ms =
		opts->ready_timeout_ms == 0 ? READY_TIMEOUT_MS : opts->ready_timeout_ms;
	launch->on_exit = opts->on_exit;
	launch->exit_ctx = opts->ctx;
	for (unsigned i = 0; i < opts->members; i++) {
		enum pl_code code = copy_member(launch, i, opts, err);

		if (code != PL_OK)
			return code;
	}
	for (size_t i = 0; opts->extra_args != NULL && opts->extra_args[i] != NULL; i++) {
		launch->extra[i] = pl_strdup(opts->extra_args[i]);
		if (launch->extra[i] == NULL)
			return pl_err_set(err, PL_NOMEM, "options of etcd");
	}
	return PL_OK;
}

static enum pl_code make_dir(struct etcd_launch *launch, const char *parent,
                             struct pl_err *err)
{
	char real[PATH_MAX];
	int len;

	if (parent == NULL)
		parent = getenv("TMPDIR");
	if (parent == NULL || *parent == 0)
		parent = "/tmp";
	/* The members run in another working directory, so paths must be absolute. */
	if (realpath(parent, real) == NULL)
		return pl_err_set(err, PL_IO, "%s: %s", parent, strerror(errno));
	len = snprintf(launch->dir, sizeof launch->dir, "%s/placet-etcd-XXXXXX", real);
	if (len + 32 > (int)sizeof launch->dir)
		return pl_err_set(err, PL_LIMIT, "path too long: %.100s...", real);
	if (mkdtemp(launch->dir) == NULL)
		return pl_err_set(err, PL_IO, "%s: %s", launch->dir, strerror(errno));
	(void)snprintf(launch->ca_file, LAUNCH_PATH_SIZE, "%.*s/ca.pem", len,
	               launch->dir);
	(void)snprintf(launch->cert_file, LAUNCH_PATH_SIZE, "%.*s/client.pem", len,
	               launch->dir);
	(void)snprintf(launch->key_file, LAUNCH_PATH_SIZE, "%.*s/client-key.pem", len,
	               launch->dir);
	for (unsigned i = 0; i < launch->count; i++)
		(void)snprintf(launch->members[i].log_path, LAUNCH_PATH_SIZE,
		               "%.*s/m%u.log", len, launch->dir, i);
	return PL_OK;
}

enum pl_code etcd_launch_start(uv_loop_t *loop, const struct etcd_launch_opts *opts,
                               etcd_launch_ready_fn *ready, void *ctx,
                               struct etcd_launch **out, struct pl_err *err)
{
	struct etcd_launch *launch;
	enum pl_code code = check_opts(opts, err);
	int rc;

	PL_ASSERT(ready != NULL);
	if (code != PL_OK)
		return code;
	launch = pl_calloc(1, sizeof *launch);
	if (launch == NULL)
		return pl_err_set(err, PL_NOMEM, "launch etcd");
	launch->loop = loop;
	launch->ready = ready;
	launch->ready_ctx = ctx;
	code = copy_opts(launch, opts, err);
	if (code == PL_OK)
		code = launch_find("etcd", launch->etcd_path, "etcd-server", err);
	if (code == PL_OK)
		code = launch_find("setpriv", launch->setpriv_path, "util-linux", err);
	if (code == PL_OK)
		code = make_dir(launch, opts->dir, err);
	if (code != PL_OK) {
		launch_free(launch);
		return code;
	}
	launch->deadline_ms = pl_clock_ms() + launch->ready_timeout_ms;
	rc = uv_timer_init(loop, &launch->timer);
	PL_ASSERT(rc == 0);
	launch->handles++;
	/* The rest happens from the loop; its failures are reported by ready. */
	rc = uv_timer_start(&launch->timer, launch_on_timer, 0, LAUNCH_PROBE_MS);
	PL_ASSERT(rc == 0);
	*out = launch;
	return PL_OK;
}
