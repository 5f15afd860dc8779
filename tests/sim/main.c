/*
 * sim --seeds N [--from M] [--jobs J] [--profile P] [--shards S] [--partitions
 * P] sim --seed N [--quiet]
 *
 * Seeds run silently, in processes of their own, so that one that breaks an
 * assert or runs for ever is a failure like any other. A seed that failed is
 * run again, aloud, and the end of its story is shown.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/base/compiler.h"
#include "store/base/log.h"
#include "tests/sim/plan.h"
#include "tests/sim/seed.h"

enum {
	JOBS_MAX = 64,
	SHOWN_MAX = 3,
	LINES_SHOWN = 120,
	LINE_SIZE = 512,
	STUCK_S = 30,
	LARGE_SEEDS = 2000
};

struct report {
	enum { BEGUN, PASSED, FAILED } what;
	uint64_t seed;
	uint64_t settled_ms;
	char text[400];
	struct cover cover;
	struct extent extent;
};

struct job {
	pid_t pid;
	int fd;
	uint64_t next, seed;
	bool failed; /* said so itself */
};

struct run {
	uint64_t from, count;
	unsigned jobs;
	struct seed_opts opts;
	bool one, quiet, need_cover, until_failed;
	uint64_t passed, failed;
	uint64_t settled_max_ms, settled_sum_ms;
	uint64_t bad[SHOWN_MAX];
	struct cover cover;
	struct extent_sum extents;
	struct job job[JOBS_MAX];
};

static struct run run = {
	.count = 1, .from = 1, .jobs = 1, .opts = {.wish = {.profile = "all"}}};

/* -- one seed in this process -------------------------------------------- */

static void pass_on(int fd, const struct report *report)
{
	const char *at = (const char *)report;
	size_t left = sizeof *report;

	while (left > 0) {
		ssize_t sent = write(fd, at, left);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			_exit(3);
		at += sent;
		left -= (size_t)sent;
	}
}

static void on_failed(void *ctx, const char *check, const char *text)
{
	const int *fd = ctx;
	struct report report = {.what = FAILED, .seed = run.opts.seed};

	if (fd == NULL) {
		(void)fflush(stdout);
		_exit(1);
	}
	(void)snprintf(report.text, sizeof report.text, "%s: %s", check, text);
	pass_on(*fd, &report);
	_exit(1);
}

/* Of the sanitizer, where there is one: true when a seed left memory behind. */
__attribute__((weak)) int
__lsan_do_recoverable_leak_check(void); /* NOLINT(readability-identifier-naming) */

static bool leaks(void)
{
	return &__lsan_do_recoverable_leak_check != NULL &&
	       __lsan_do_recoverable_leak_check() != 0;
}

/* Of the processor, so that a busy machine makes no difference. */
static void limit_time(void)
{
	struct itimerval limit = {.it_value = {.tv_sec = STUCK_S + run.opts.wish.shards}};

	(void)setitimer(ITIMER_PROF, &limit, NULL);
}

static void work(uint64_t seed, uint64_t stride, int to)
{
	static int fd;

	fd = to;
	run.opts.failed = on_failed;
	run.opts.ctx = &fd;
	for (; seed < run.from + run.count; seed += stride) {
		struct report report = {.what = BEGUN, .seed = seed};
		struct seed_result result = {0};

		pass_on(fd, &report);
		limit_time();
		run.opts.seed = seed;
		if (!seed_run(&run.opts, &result))
			_exit(2);
		if (leaks())
			on_failed(&fd, "leak", "memory is left behind");
		report.what = PASSED;
		report.settled_ms = result.settled_ms;
		report.cover = result.cover;
		report.extent = result.extent;
		pass_on(fd, &report);
	}
}

/* -- many, in processes of their own ------------------------------------- */

static void job_start(struct job *job)
{
	int fds[2];

	if (pipe(fds) != 0) {
		perror("pipe");
		exit(2);
	}
	(void)fflush(stdout);
	job->failed = false;
	job->seed = 0;
	job->pid = fork();
	if (job->pid == 0) {
		(void)close(fds[0]);
		work(job->next, run.jobs, fds[1]);
		exit(0); /* what looks for leaks does it now */
	}
	(void)close(fds[1]);
	job->fd = fds[0];
}

static void progress(void)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 ", %" PRIu64 " failed ",
		              run.passed + run.failed, run.count, run.failed);
}

static void failure(uint64_t seed, const char *text)
{
	if (run.failed < SHOWN_MAX)
		run.bad[run.failed] = seed;
	run.failed++;
	(void)printf("%sseed %" PRIu64 " FAILED: %s\n", isatty(STDERR_FILENO) ? "\n" : "",
	             seed, text);
}

static void take(struct job *job, const struct report *report)
{
	job->seed = report->seed;
	if (report->what == FAILED) {
		job->failed = true;
		failure(report->seed, report->text);
	} else if (report->what == PASSED) {
		job->next = report->seed + run.jobs;
		job->seed = 0;
		run.passed++;
		run.settled_sum_ms += report->settled_ms;
		if (report->settled_ms > run.settled_max_ms)
			run.settled_max_ms = report->settled_ms;
		cover_add(&run.cover, &report->cover);
		extent_add(&run.extents, &report->extent);
	}
	progress();
}

/* False: there is no more to come from it. */
static bool receive(struct job *job)
{
	struct report report;
	char *at = (char *)&report;
	size_t left = sizeof report;

	while (left > 0) {
		ssize_t got = read(job->fd, at, left);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		left -= (size_t)got;
	}
	take(job, &report);
	return true;
}

/* The process has ended: well, by a judge, or by an assert. */
static void job_ended(struct job *job)
{
	int status = 0;
	char text[64];

	(void)close(job->fd);
	job->fd = -1;
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (!job->failed) {
		(void)snprintf(text, sizeof text,
		               WIFSIGNALED(status) ? "killed by signal %d"
		                                   : "ended with status %d",
		               WIFSIGNALED(status) ? WTERMSIG(status)
		                                   : WEXITSTATUS(status));
		failure(job->seed == 0 ? job->next : job->seed, text);
	}
	if (job->seed == 0)
		return; /* after its last: a leak */
	job->next = job->seed + run.jobs;
	if (job->next < run.from + run.count)
		job_start(job);
}

static void run_all(void)
{
	struct pollfd polls[JOBS_MAX];

	for (unsigned i = 0; i < run.jobs; i++) {
		run.job[i].next = run.from + i;
		run.job[i].fd = -1;
		if (i < run.count)
			job_start(&run.job[i]);
	}
	for (;;) {
		nfds_t count = 0;

		for (unsigned i = 0; i < run.jobs; i++)
			if (run.job[i].fd >= 0)
				polls[count++] = (struct pollfd){.fd = run.job[i].fd,
				                                 .events = POLLIN};
		if (count == 0 || (run.until_failed && run.failed > 0))
			return;
		if (poll(polls, count, -1) < 0)
			continue;
		for (nfds_t k = 0; k < count; k++)
			for (unsigned i = 0; i < run.jobs && polls[k].revents != 0; i++)
				if (run.job[i].fd == polls[k].fd) {
					if (!receive(&run.job[i]))
						job_ended(&run.job[i]);
					break;
				}
	}
}

/* -- a story ------------------------------------------------------------- */

static int tell_one(uint64_t seed, FILE *out)
{
	struct seed_result result = {0};

	run.opts.seed = seed;
	run.opts.story.out = out;
	run.opts.failed = on_failed;
	run.opts.ctx = NULL;
	if (!seed_run(&run.opts, &result))
		return 2;
	(void)fprintf(out, "settled after %" PRIu64 " ms; digest %016" PRIx64 "\n",
	              result.settled_ms, result.digest);
	(void)fflush(out);
	return 0;
}

/* The last lines of what the seed tells when it is run again. */
static void show_end(uint64_t seed)
{
	static char lines[LINES_SHOWN][LINE_SIZE];
	unsigned count = 0;
	int fds[2];
	pid_t pid;
	FILE *in;

	if (pipe(fds) != 0 || (in = fdopen(fds[0], "r")) == NULL)
		return;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)dup2(fds[1], STDERR_FILENO);
		(void)setvbuf(stdout, NULL, _IOLBF, 0);
		_exit(tell_one(seed, stdout));
	}
	(void)close(fds[1]);
	while (fgets(lines[count % LINES_SHOWN], LINE_SIZE, in) != NULL)
		count++;
	(void)fclose(in);
	(void)waitpid(pid, NULL, 0);
	(void)printf("\n== the end of seed %" PRIu64 ", again:\n", seed);
	for (unsigned i = count > LINES_SHOWN ? count - LINES_SHOWN : 0; i < count; i++)
		(void)fputs(lines[i % LINES_SHOWN], stdout);
	(void)printf("== all of it: tests/sim/run --seed %" PRIu64 " --profile %s", seed,
	             run.opts.wish.profile);
	if (run.opts.wish.shards != 0)
		(void)printf(" --shards %u", run.opts.wish.shards);
	if (run.opts.wish.partitions != 0)
		(void)printf(" --partitions %u", run.opts.wish.partitions);
	if (run.opts.wish.nodes != 0)
		(void)printf(" --nodes %u", run.opts.wish.nodes);
	if (run.opts.wish.small)
		(void)printf(" --small");
	if (run.opts.wish.work != PLAN_WORK_DRAWN)
		(void)printf(" --work %s",
		             run.opts.wish.work == PLAN_WORK_FULL ? "full" : "none");
	(void)putchar('\n');
}

/* -- options ------------------------------------------------------------- */

static void usage(void)
{
	(void)fprintf(
		stderr,
		"usage: tests/sim/run --seeds N [--from M] [--jobs J] [options]\n"
		"       tests/sim/run --seed N [--wire] [options]\n"
		"options: --profile P   %s\n"
		"         --work W       none: shards coordinate only; full: they place "
		"pods,\n"
		"                        too; else a quarter of the seeds do\n"
		"         --shards S --partitions P --nodes N   (drawn from the seed)\n"
		"         --small        worlds with pods may be smaller than the smallest\n"
		"         --need-cover   fails when some fault or state never came; that is\n"
		"                        so anyway from 2,000 seeds on which nothing limits\n"
		"         --until-failed end with the first seed that fails\n"
		"         --quiet        no table of what came\n"
		"         --sanitize     built with the sanitizers\n",
		plan_profiles);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text == 0 || *end != 0)
		usage();
	return value;
}

static enum plan_work work_of(const char *word)
{
	if (strcmp(word, "none") != 0 && strcmp(word, "full") != 0)
		usage();
	return word[0] == 'n' ? PLAN_WORK_NONE : PLAN_WORK_FULL;
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{"seeds", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'},
		{"from", required_argument, NULL, 'f'},
		{"jobs", required_argument, NULL, 'j'},
		{"profile", required_argument, NULL, 'p'},
		{"shards", required_argument, NULL, 'h'},
		{"partitions", required_argument, NULL, 'a'},
		{"nodes", required_argument, NULL, 'o'},
		{"work", required_argument, NULL, 'k'},
		{"small", no_argument, NULL, 'l'},
		{"wire", no_argument, NULL, 'w'},
		{"quiet", no_argument, NULL, 'q'},
		{"need-cover", no_argument, NULL, 'c'},
		{"until-failed", no_argument, NULL, 'u'},
		{"help", no_argument, NULL, '?'},
		{0},
	};
	struct pl_err err;
	int what;

	while ((what = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (what == 'n')
			run.count = number(optarg);
		else if (what == 's' || what == 'f')
			run.from = number(optarg);
		else if (what == 'j')
			run.jobs = (unsigned)number(optarg);
		else if (what == 'p')
			run.opts.wish.profile = optarg;
		else if (what == 'h')
			run.opts.wish.shards = (unsigned)number(optarg);
		else if (what == 'a')
			run.opts.wish.partitions = (unsigned)number(optarg);
		else if (what == 'o')
			run.opts.wish.nodes = (unsigned)number(optarg);
		else if (what == 'k')
			run.opts.wish.work = work_of(optarg);
		else if (what == 'l')
			run.opts.wish.small = true;
		else if (what == 'w')
			run.opts.story.wire = true;
		else if (what == 'q')
			run.quiet = true;
		else if (what == 'u')
			run.until_failed = true;
		else if (what == 'c')
			run.need_cover = true;
		else
			usage();
		run.one = run.one || what == 's';
	}
	if (optind != argc || run.jobs == 0 || run.jobs > JOBS_MAX || run.count == 0)
		usage();
	if (plan_check(&run.opts.wish, &err) != PL_OK) {
		(void)fprintf(stderr, "%s\n", err.msg);
		exit(2);
	}
}

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Those that are still at it, when the first failure was enough. */
static void end_jobs(void)
{
	for (unsigned i = 0; i < run.jobs; i++)
		if (run.job[i].fd >= 0) {
			(void)kill(run.job[i].pid, SIGKILL);
			(void)waitpid(run.job[i].pid, NULL, 0);
		}
}

static void summary(double seconds)
{
	double simulated = (double)run.cover.sim_ms / 1000;

	if (!run.quiet)
		cover_print(&run.cover, stdout);
	extent_print(&run.extents, stdout);
	(void)printf("%.0f s of virtual time in %.1f s: %.0f times as fast; "
	             "settled after %.1f s, at most %.1f s\n",
	             simulated, seconds, simulated / seconds,
	             run.passed == 0
	                     ? 0
	                     : (double)run.settled_sum_ms / 1000 / (double)run.passed,
	             (double)run.settled_max_ms / 1000);
}

/* Nothing keeps any fault or any state away, and there is time for all of them. */
static bool is_large(void)
{
	const struct plan_wish *wish = &run.opts.wish;

	return run.count >= LARGE_SEEDS && !run.until_failed && !wish->small &&
	       strcmp(wish->profile, "all") == 0 && wish->work == PLAN_WORK_DRAWN &&
	       wish->shards == 0 && wish->partitions == 0 && wish->nodes == 0;
}

int main(int argc, char **argv)
{
	double start = now_s();

	pl_log_setup(&(struct pl_log_options){.fd = STDERR_FILENO, .level = PL_LOG_OFF});
	options(argc, argv);
	if (run.one)
		return tell_one(run.from, stdout);
	run_all();
	end_jobs();
	for (unsigned i = 0; i < SHOWN_MAX && i < run.failed && !run.until_failed; i++)
		show_end(run.bad[i]);
	if (isatty(STDERR_FILENO))
		(void)fputc('\n', stderr);
	summary(now_s() - start);
	if ((run.need_cover || is_large()) && run.failed == 0)
		run.failed += cover_missing(&run.cover, stdout);
	(void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", run.passed, run.failed);
	return run.failed == 0 ? 0 : 1;
}
