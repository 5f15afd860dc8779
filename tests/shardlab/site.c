#include "tests/shardlab/site.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/kv/calls.h"
#include "tests/support/store/etcd/etcd_users.h"

enum {
	LOOK_MS = 10,
	END_MS = 40000, /* for a graceful end under sanitizers on a busy machine */
	QUOTA_MIB = 64,
};

#define SANITIZERS                                                              \
	"ASAN_OPTIONS=exitcode=99:detect_leaks=1:verify_asan_link_order=0",     \
		"UBSAN_OPTIONS=exitcode=99:print_stacktrace=1:halt_on_error=1", \
		"LSAN_OPTIONS=exitcode=99"

const char *site_dir(const struct site *site)
{
	return etcd_launch_dir(site->launch);
}

const char *site_url(const struct site *site)
{
	return etcd_launch_endpoint(site->launch, 0);
}

void site_log_path(struct site *site, const char *what, char path[JOB_PATH_SIZE])
{
	(void)snprintf(path, JOB_PATH_SIZE, "%s/log-%04u-%s", site_dir(site),
	               site->runs++, what);
}

PL_PRINTF(3, 4)
_Noreturn static void fail(const struct site *site, const char *check, const char *fmt,
                           ...)
{
	char text[2 * JOB_TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	site->opts.failed(site->opts.ctx, check, text);
	PL_UNREACHABLE("a failure came back");
}

/* -- programs --------------------------------------------------------------------- */

bool site_program(struct site *site, struct job *job, const char *const argv[],
                  uint64_t timeout_ms)
{
	static const char *const env[] = {SANITIZERS, "ETCDCTL_API=3", NULL};
	char log[JOB_PATH_SIZE];

	site_log_path(site, "command", log);
	if (!job_start(job, log, argv, env))
		return false;
	job->kill_ms = timeout_ms == 0 ? 0 : pl_clock_ms() + timeout_ms;
	return true;
}

bool site_command(struct site *site, struct job *job, const char *const args[],
                  uint64_t timeout_ms)
{
	const char *argv[JOB_ARGS_MAX] = {site->opts.placet};
	unsigned count = 1;

	for (; *args != NULL && count < JOB_ARGS_MAX - 3; args++)
		argv[count++] = *args;
	PL_ASSERT(*args == NULL);
	argv[count++] = "--endpoints";
	argv[count] = site_url(site);
	return site_program(site, job, argv, timeout_ms);
}

void site_check(struct site *site, const struct job *job)
{
	char text[JOB_TEXT_SIZE];

	if (job->status == JOB_SANITIZER || job->status == 127 || job->status == 2 ||
	    (job->status > 128 && !job->overdue))
		fail(site, "ended", "%s: status %d: %s", job->log, job->status,
		     job_log_is_bad(job->log, text) ? text : job_tail(job, text));
}

int site_wait(struct site *site, struct job *job)
{
	while (!job_over(job, pl_clock_ms()))
		site_run_ms(site, LOOK_MS);
	site_check(site, job);
	return job->status;
}

/* -- the daemons ------------------------------------------------------------------ */

static void skew_open(struct site *site, struct site_daemon *daemon)
{
	char path[JOB_PATH_SIZE];
	int fd;

	(void)snprintf(path, sizeof path, "%s/skew-%s", site_dir(site), daemon->name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	PL_ASSERT(fd >= 0 && ftruncate(fd, sizeof *daemon->skew) == 0);
	daemon->skew = mmap(NULL, sizeof *daemon->skew, PROT_READ | PROT_WRITE,
	                    MAP_SHARED, fd, 0);
	PL_ASSERT(daemon->skew != MAP_FAILED);
	(void)close(fd);
}

void site_daemon_start(struct site *site, unsigned i)
{
	struct site_daemon *daemon = &site->daemon[i];
	char log[JOB_PATH_SIZE], preload[JOB_PATH_SIZE + 16], skew[JOB_PATH_SIZE + 32],
		shards[8], partitions[8], ttl[8];
	const char *const argv[] = {site->opts.placetd,
	                            "--etcd",
	                            proxy_url(daemon->wire),
	                            "--name",
	                            daemon->name,
	                            "--shards",
	                            shards,
	                            "--partitions",
	                            partitions,
	                            "--ttl",
	                            ttl,
	                            "--log-level",
	                            "debug",
	                            NULL};
	const char *const env[] = {SANITIZERS, site->opts.skew == NULL ? NULL : preload,
	                           skew, NULL};

	(void)snprintf(shards, sizeof shards, "%d", SITE_SHARDS_EACH);
	(void)snprintf(partitions, sizeof partitions, "%d", SITE_PARTITIONS);
	(void)snprintf(ttl, sizeof ttl, "%ds", SITE_TTL_S);
	(void)snprintf(log, sizeof log, "%s/placetd-%s.log", site_dir(site),
	               daemon->name);
	(void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s",
	               site->opts.skew == NULL ? "" : site->opts.skew);
	(void)snprintf(skew, sizeof skew, "SKEW_FILE=%s/skew-%s", site_dir(site),
	               daemon->name);
	daemon->down = daemon->asked = false;
	daemon->since_ms = pl_clock_ms();
	if (!job_start(&daemon->job, log, argv, env))
		fail(site, "start", "placetd can not be started");
}

static void daemon_look(struct site *site, struct site_daemon *daemon)
{
	char text[JOB_TEXT_SIZE];
	bool ran = daemon->job.pid != 0;

	if (!job_over(&daemon->job, pl_clock_ms()) || !ran || daemon->down)
		return;
	if (daemon->asked && daemon->job.status == 0)
		return;
	fail(site, "daemon", "placetd %s ended by itself, status %d: %s", daemon->name,
	     daemon->job.status,
	     job_log_is_bad(daemon->job.log, text) ? text : job_tail(&daemon->job, text));
}

static void daemons_open(struct site *site)
{
	struct pl_err err = {0};

	for (unsigned i = 0; i < site->opts.daemons; i++) {
		struct site_daemon *daemon = &site->daemon[i];

		(void)snprintf(daemon->name, sizeof daemon->name, "d%u", i);
		if (proxy_open(&site->loop, site_url(site), &daemon->wire, &err) != PL_OK)
			fail(site, "start", "%s", err.msg);
		skew_open(site, daemon);
		site_daemon_start(site, i);
	}
}

/* -- the members ------------------------------------------------------------------ */

static void member_start(struct site *site, unsigned i)
{
	char cluster[SITE_WORD], seed[SITE_WORD];
	const char *args[] = {"sim-cluster", "--cluster",     cluster, "--run", "--seed",
	                      seed,          "--grace=300ms", NULL,    NULL,    NULL};

	(void)snprintf(cluster, sizeof cluster, "c%u", i);
	(void)snprintf(seed, sizeof seed, "%" PRIu64, site->opts.seed);
	if (site->living) {
		args[7] = "--lifetime=25s";
		args[8] = "--fail=20";
	}
	if (!site_command(site, &site->member[i], args, 0))
		fail(site, "start", "a member can not be started");
}

/* A member that gives up because its store is away is started again, as a service manager
 * would. */
static void member_look(struct site *site, unsigned i)
{
	struct job *job = &site->member[i];

	if (job->pid == 0 || !job_over(job, pl_clock_ms()))
		return;
	site_check(site, job);
	if (site->ending)
		return;
	site->restarts++;
	member_start(site, i);
}

void site_members(struct site *site, bool lifetime)
{
	site->living = lifetime;
	for (unsigned i = 0; i < SITE_CLUSTERS; i++) {
		job_kill(&site->member[i]);
		member_start(site, i);
	}
}

void site_member_kill(struct site *site, unsigned i)
{
	job_kill(&site->member[i]);
	member_start(site, i);
}

void site_look(struct site *site)
{
	for (unsigned i = 0; i < site->opts.daemons; i++)
		daemon_look(site, &site->daemon[i]);
	for (unsigned i = 0; i < SITE_CLUSTERS; i++)
		member_look(site, i);
}

/* -- the loop --------------------------------------------------------------------- */

static void on_time(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
	uv_close((uv_handle_t *)timer, NULL);
}

void site_run_ms(struct site *site, uint64_t ms)
{
	bool over = false;
	uv_timer_t timer;

	(void)uv_timer_init(&site->loop, &timer);
	timer.data = &over;
	(void)uv_timer_start(&timer, on_time, ms, 0);
	while (!over)
		(void)uv_run(&site->loop, UV_RUN_ONCE);
	(void)uv_run(&site->loop, UV_RUN_NOWAIT); /* for the close callback */
}

struct site_answer {
	struct kv_header *header;
	bool *succeeded;
	bool done;
	enum pl_code code;
};

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct site_answer *one = ctx;

	one->done = true;
	one->code = err == NULL ? PL_OK : err->code;
	if (err == NULL && one->header != NULL)
		*one->header = result->header;
	if (err == NULL && one->succeeded != NULL)
		*one->succeeded = result->op == KV_TXN && result->txn.succeeded;
}

enum pl_code site_call(struct site *site, const struct kv_req *req,
                       struct kv_header *header, bool *succeeded)
{
	struct site_answer one = {.header = header, .succeeded = succeeded};
	enum pl_code code =
		kv_start(site->kv, req, SITE_CALL_MS, on_answer, &one, NULL, NULL);

	if (code != PL_OK)
		return code;
	while (!one.done)
		(void)uv_run(&site->loop, UV_RUN_ONCE);
	return one.code;
}

/* -- lifetime --------------------------------------------------------------------- */

static void on_etcd_exit(void *ctx, unsigned member, int exit_status, int signal)
{
	(void)member;
	fail(ctx, "etcd", "it ended by itself: status %d, signal %d", exit_status,
	     signal);
}

/* From now on the store requires certificates and a password; the programs of a round
 * find theirs in the environment. */
static void require_users(struct site *site, struct etcd_opts *etcd)
{
	struct pl_err err = {0};

	if (etcd_users_enable(site->launch, &err) != PL_OK)
		fail(site, "start", "%s", err.msg);
	etcd_users_setenv(site->launch);
	etcd->tls = (struct tls_files){
		.ca_file = etcd_launch_ca_file(site->launch),
		.cert_file = etcd_launch_cert_file(site->launch),
		.key_file = etcd_launch_key_file(site->launch),
	};
	etcd->user = ETCD_USERS_NAME;
	etcd->password = ETCD_USERS_PASSWORD;
}

void site_open(struct site *site, const struct site_opts *opts)
{
	char quota[48], ops[48];
	const char *const args[] = {quota, ops, NULL};
	struct etcd_launch_opts launch = {.members = 1,
	                                  .no_fsync = true,
	                                  .extra_args = args,
	                                  .tls = opts->secure,
	                                  .on_exit = on_etcd_exit,
	                                  .ctx = site};
	struct etcd_opts etcd = {0};
	struct pl_err err = {0};

	site->opts = *opts;
	(void)snprintf(ops, sizeof ops, "--max-txn-ops=%u", opts->txn_ops);
	(void)snprintf(quota, sizeof quota, "--quota-backend-bytes=%d", QUOTA_MIB << 20);
	(void)uv_loop_init(&site->loop);
	if (etcd_launch_start_wait(&site->loop, &launch, &site->launch, &err) != PL_OK)
		fail(site, "start", "%s", err.msg);
	if (opts->secure)
		require_users(site, &etcd);
	etcd.endpoints = site_url(site);
	if (etcd_open(&site->loop, &etcd, &site->kv, &err) != PL_OK)
		fail(site, "start", "%s", err.msg);
	daemons_open(site);
	site_members(site, true);
}

static void stop_daemons(struct site *site)
{
	for (unsigned i = 0; i < site->opts.daemons; i++) {
		site->daemon[i].asked = true;
		job_signal(&site->daemon[i].job, SIGTERM);
		site->daemon[i].job.kill_ms = pl_clock_ms() + END_MS;
	}
	for (unsigned i = 0; i < site->opts.daemons; i++)
		while (site->daemon[i].job.pid != 0) {
			daemon_look(site, &site->daemon[i]);
			site_run_ms(site, LOOK_MS);
		}
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void site_close(struct site *site)
{
	bool closed = false;

	site->ending = true;
	for (unsigned i = 0; i < SITE_CLUSTERS; i++)
		job_signal(&site->member[i], SIGTERM);
	stop_daemons(site);
	for (unsigned i = 0; i < SITE_CLUSTERS; i++)
		job_kill(&site->member[i]);
	for (unsigned i = 0; i < site->opts.daemons; i++) {
		proxy_close(site->daemon[i].wire);
		(void)munmap(site->daemon[i].skew, sizeof *site->daemon[i].skew);
	}
	kv_close(site->kv, on_closed, &closed);
	while (!closed)
		(void)uv_run(&site->loop, UV_RUN_ONCE);
	etcd_launch_stop_wait(site->launch);
	(void)uv_run(&site->loop, UV_RUN_DEFAULT);
	PL_ASSERT(uv_loop_close(&site->loop) == 0);
}
