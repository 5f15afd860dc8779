/* Asks a member's /health whether it serves, which it does once there is a leader. */
#include "store/etcd/admin.h"
#include "store/etcd/launch_int.h"

enum { ASK_TIMEOUT_MS = 1000 };

static void on_http_closed(void *ctx)
{
	struct etcd_launch *launch = ctx;

	launch->handles--;
	launch_advance(launch);
}

enum pl_code launch_probe_open(struct etcd_launch *launch, struct pl_err *err)
{
	struct http_opts opts = {0};
	enum pl_code code;

	if (launch->tls)
		opts.tls = (struct tls_files){.ca_file = launch->ca_file,
		                              .cert_file = launch->cert_file,
		                              .key_file = launch->key_file};
	code = http_open(launch->loop, &opts, &launch->http, err);
	if (code == PL_OK)
		launch->handles++;
	return code;
}

void launch_probe_close(struct etcd_launch *launch)
{
	struct http *http = launch->http;

	launch->http = NULL;
	if (http != NULL)
		http_close(http, on_http_closed, launch);
}

static void on_health(void *ctx, const struct etcd_health *health,
                      const struct pl_err *err)
{
	struct launch_member *member = ctx;

	member->probing = false;
	/* An answer from before a retry is about a process that is gone. */
	if (member->launch->attempt != member->probed_attempt)
		return;
	member->healthy = health != NULL && health->healthy;
	(void)snprintf(member->why, sizeof member->why, "%s",
	               err != NULL ? err->msg : "it has no leader");
}

bool launch_probe_serves(struct launch_member *member)
{
	if (member->healthy || member->probing)
		return member->healthy;
	member->probed_attempt = member->launch->attempt;
	member->probing =
		etcd_health_start(member->launch->http, member->url, ASK_TIMEOUT_MS,
	                          on_health, member, NULL) == PL_OK;
	return false;
}
