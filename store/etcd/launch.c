/*
 * The life of a launch.
 *
 *   BEGIN -> PROBING -> UP -> ENDING -> REMOVING -> CLOSING
 *              |  ^     a failed or cancelled start goes to ENDING as well
 *              v  |
 *             RETRY     a port was taken after all: others are tried, a few times
 *
 * Happy path: directory and guard, certificates, ports, one etcd a member, then a health
 * request to each member every LAUNCH_PROBE_MS until all of them serve. Every failure
 * takes the same way out as a stop: members end, the guard removes the directory, libuv
 * closes the handles, the caller is told.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/etcd/launch_int.h"
#include "store/net/certs.h"

/* Members that all get SIGTERM at once wait for each other to take over the leadership;
 * that is worth its time only for data that is kept. */
enum { TERM_KEPT_MS = 5000, TERM_MS = 500, ATTEMPTS_MAX = 5, GUARDS_MAX = 3 };

static bool any_running(const struct etcd_launch *launch)
{
	for (unsigned i = 0; i < launch->count; i++) {
		if (launch->members[i].proc != NULL)
			return true;
	}
	return false;
}

static void kill_members(struct etcd_launch *launch, int signum)
{
	for (unsigned i = 0; i < launch->count; i++)
		launch_kill(&launch->members[i], signum);
}

void launch_free(struct etcd_launch *launch)
{
	for (unsigned i = 0; i < launch->count; i++) {
		launch_port_done(&launch->members[i].client);
		launch_port_done(&launch->members[i].peer);
		if (launch->members[i].netns_fd >= 0)
			(void)close(launch->members[i].netns_fd);
	}
	for (size_t i = 0; launch->extra[i] != NULL; i++)
		free(launch->extra[i]);
	free(launch);
}

/* Everything is gone: frees the launch and calls out. */
static void launch_finish(struct etcd_launch *launch)
{
	etcd_launch_ready_fn *ready = launch->ready;
	etcd_launch_done_fn *done = launch->done;
	void *ready_ctx = launch->ready_ctx, *done_ctx = launch->done_ctx;
	struct pl_err err = launch->err;

	launch_free(launch);
	if (ready != NULL)
		ready(ready_ctx, &err);
	if (done != NULL)
		done(done_ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct etcd_launch *launch = PL_CONTAINER_OF(handle, struct etcd_launch, timer);

	launch->handles--;
	launch_advance(launch);
}

static void launch_close(struct etcd_launch *launch)
{
	launch->state = LAUNCH_CLOSING;
	uv_close((uv_handle_t *)&launch->timer, on_timer_closed);
}

/* Waits for the guard. When it is gone without having removed the directory, a guard that
 * does not wait takes its place. */
static void launch_remove_dir(struct etcd_launch *launch)
{
	while (!launch->guard_open) {
		if (launch->dir_removed || launch->keep_dir ||
		    launch->guards == GUARDS_MAX) {
			launch_close(launch);
			return;
		}
		if (launch_guard_spawn(launch, true, NULL) == PL_OK)
			return;
	}
}

/* err is set. The launch ends from the loop, because the caller is in the middle of
 * something. */
static void launch_fail(struct etcd_launch *launch)
{
	int rc;

	PL_ASSERT(launch->err.code != PL_OK);
	launch->state = LAUNCH_ENDING;
	launch_probe_close(launch);
	rc = uv_timer_start(&launch->timer, launch_on_timer, 0, 0);
	PL_ASSERT(rc == 0);
}

/* url may not overlap host. */
static void url_print(char url[LAUNCH_URL_SIZE], bool tls, const char *host,
                      unsigned port)
{
	bool v6 = strchr(host, ':') != NULL;

	(void)snprintf(url, LAUNCH_URL_SIZE, "%s://%s%s%s:%u", tls ? "https" : "http",
	               v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static enum pl_code pick_ports(struct etcd_launch *launch)
{
	char url[LAUNCH_URL_SIZE];
	size_t len = 0;

	for (unsigned i = 0; i < launch->count; i++) {
		struct launch_member *m = &launch->members[i];

		if (launch_port_pick(m, &m->client, &launch->err) != PL_OK ||
		    launch_port_pick(m, &m->peer, &launch->err) != PL_OK)
			return launch->err.code;
		url_print(url, launch->tls, m->host, m->peer.number);
		memcpy(m->peer_url, url, sizeof url);
		url_print(url, launch->tls, m->host, m->client.number);
		memcpy(m->url, url, sizeof url);
		len += (size_t)snprintf(launch->endpoints + len,
		                        sizeof launch->endpoints - len, "%s%s",
		                        i == 0 ? "" : ",", url);
	}
	return PL_OK;
}

static void launch_attempt(struct etcd_launch *launch)
{
	launch->attempt++;
	launch->state = LAUNCH_PROBING;
	if (pick_ports(launch) != PL_OK) {
		launch_fail(launch);
		return;
	}
	for (unsigned i = 0; i < launch->count; i++) {
		if (launch_spawn(&launch->members[i], &launch->err) != PL_OK) {
			launch_fail(launch);
			return;
		}
	}
}

static enum pl_code make_certs(struct etcd_launch *launch)
{
	char names[512];
	size_t len = (size_t)snprintf(names, sizeof names,
	                              "DNS:localhost,IP:127.0.0.1,IP:::1");

	for (unsigned i = 0; i < launch->count; i++)
		len += (size_t)snprintf(names + len, sizeof names - len, ",IP:%s",
		                        launch->members[i].host);
	return certs_make(launch->dir, names, &launch->err);
}

static void launch_begin(struct etcd_launch *launch)
{
	if (!launch->keep_dir &&
	    launch_guard_spawn(launch, false, &launch->err) != PL_OK) {
		launch_fail(launch);
		return;
	}
	if ((launch->tls && make_certs(launch) != PL_OK) ||
	    launch_probe_open(launch, &launch->err) != PL_OK) {
		launch_fail(launch);
		return;
	}
	launch_attempt(launch);
}

static void launch_up(struct etcd_launch *launch)
{
	etcd_launch_ready_fn *ready = launch->ready;

	launch->state = LAUNCH_UP;
	launch->ready = NULL;
	launch_probe_close(launch);
	(void)uv_timer_stop(&launch->timer);
	ready(launch->ready_ctx, NULL);
}

static void launch_check_members(struct etcd_launch *launch)
{
	unsigned waiting = launch->count;
	char why[PL_ERR_MSG_SIZE];

	for (unsigned i = launch->count; i-- > 0;) {
		if (!launch_probe_serves(&launch->members[i]))
			waiting = i;
	}
	if (waiting == launch->count) {
		launch_up(launch);
		return;
	}
	if (pl_clock_ms() < launch->deadline_ms)
		return;
	(void)pl_err_set(&launch->err, PL_TIMEOUT,
	                 "etcd member %u does not serve after %u ms: %.90s; its log: %s",
	                 waiting, launch->ready_timeout_ms, launch->members[waiting].why,
	                 launch_log_reason(&launch->members[waiting], why, sizeof why));
	launch_fail(launch);
}

void launch_on_timer(uv_timer_t *timer)
{
	struct etcd_launch *launch = PL_CONTAINER_OF(timer, struct etcd_launch, timer);

	switch (launch->state) {
	case LAUNCH_BEGIN:
		launch_begin(launch);
		break;
	case LAUNCH_PROBING:
		launch_check_members(launch);
		break;
	case LAUNCH_ENDING: /* a failed start, or SIGTERM was not enough */
		kill_members(launch, SIGKILL);
		launch_advance(launch);
		break;
	case LAUNCH_RETRY:
	case LAUNCH_UP:
	case LAUNCH_REMOVING:
	case LAUNCH_CLOSING:
		break;
	}
}

void launch_advance(struct etcd_launch *launch)
{
	switch (launch->state) {
	case LAUNCH_RETRY:
		if (!any_running(launch))
			launch_attempt(launch);
		break;
	case LAUNCH_ENDING:
		if (any_running(launch))
			break;
		launch->state = LAUNCH_REMOVING;
		launch_guard_release(launch);
		launch_remove_dir(launch);
		break;
	case LAUNCH_REMOVING:
		launch_remove_dir(launch);
		break;
	case LAUNCH_CLOSING:
		if (launch->handles == 0)
			launch_finish(launch);
		break;
	case LAUNCH_BEGIN:
	case LAUNCH_PROBING:
	case LAUNCH_UP:
		break;
	}
}

static void member_ended_early(struct launch_member *member, int64_t status, int signum)
{
	struct etcd_launch *launch = member->launch;
	char why[PL_ERR_MSG_SIZE];

	(void)launch_log_reason(member, why, sizeof why);
	if (strstr(why, "address already in use") != NULL &&
	    launch->attempt < ATTEMPTS_MAX) {
		launch->state = LAUNCH_RETRY;
		kill_members(launch, SIGKILL);
		launch_advance(launch);
		return;
	}
	(void)pl_err_set(&launch->err, PL_UNAVAIL, "etcd member %u ended with %s %d: %s",
	                 member->index, signum != 0 ? "signal" : "status",
	                 signum != 0 ? signum : (int)status, why);
	launch_fail(launch);
}

static void member_ended_up(struct launch_member *member, int64_t status, int signum)
{
	struct etcd_launch *launch = member->launch;
	bool requested = member->state != MEMBER_RUNS;

	launch_port_hold(member, &member->client);
	launch_port_hold(member, &member->peer);
	if (member->state == MEMBER_RESTARTS) {
		member->state = MEMBER_STOP_SENT;
		if (launch_spawn(member, NULL) == PL_OK)
			return;
		status = -1;
		requested = false;
	}
	if (!requested && launch->on_exit != NULL)
		launch->on_exit(launch->exit_ctx, member->index, (int)status, signum);
}

void launch_member_ended(struct launch_member *member, int64_t status, int signum)
{
	if (member->launch->state == LAUNCH_PROBING)
		member_ended_early(member, status, signum);
	else if (member->launch->state == LAUNCH_UP)
		member_ended_up(member, status, signum);
	else
		launch_advance(member->launch);
}

void etcd_launch_stop(struct etcd_launch *launch, etcd_launch_done_fn *done, void *ctx)
{
	uint64_t term_ms = 0;
	int rc;

	PL_ASSERT(launch->done == NULL && done != NULL);
	launch->done = done;
	launch->done_ctx = ctx;
	if (launch->state > LAUNCH_UP)
		return; /* the launch failed and ends already */
	if (launch->state != LAUNCH_UP)
		(void)pl_err_set(&launch->err, PL_CANCELED, "start etcd");
	launch->state = LAUNCH_ENDING;
	launch_probe_close(launch);
	kill_members(launch, SIGTERM);
	/* The timer is used even when nothing runs, because done must not fire inside
	 * this call. */
	if (any_running(launch))
		term_ms = launch->keep_dir ? TERM_KEPT_MS : TERM_MS;
	rc = uv_timer_start(&launch->timer, launch_on_timer, term_ms, 0);
	PL_ASSERT(rc == 0);
}
