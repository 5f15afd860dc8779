/*
 * sim --seeds N [--from M] [--jobs J] [--profile P] [--shards S] [--partitions P]
 * sim --seed N [--quiet]
 *
 * Seeds run silently, in processes of their own, so that a seed that breaks an assertion
 * or runs for ever is a failure like any other. A seed that failed is run again with its
 * story, and the end of the story is shown.
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

struct seed_report {
	enum { BEGUN, PASSED, FAILED } what;
	uint64_t seed;
	uint64_t converged_ms;
	char text[400];
	struct cover cover;
	struct extent extent;
};

struct seed_job {
	pid_t pid;
	int fd;
	uint64_t next, seed;
	bool failed; /* the seed's process reported the failure itself */
};

struct seed_runs {
	uint64_t from, count;
	unsigned jobs;
	struct seed_opts opts;
	bool one, quiet, need_cover, until_failed;
	uint64_t passed, failed;
	uint64_t converged_max_ms, converged_sum_ms;
	uint64_t bad[SHOWN_MAX];
	struct cover cover;
	struct extent_sum extents;
	struct seed_job job[JOBS_MAX];
};

static struct seed_runs run = {
	.count = 1, .from = 1, .jobs = 1, .opts = {.request = {.profile = "all"}}};

/* -- a seed in this process -------------------------------------------- */

static void send_report(int fd, const struct seed_report *report)
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
	struct seed_report report = {.what = FAILED, .seed = run.opts.seed};

	if (fd == NULL) {
		(void)fflush(stdout);
		_exit(1);
	}
	(void)snprintf(report.text, sizeof report.text, "%s: %s", check, text);
	send_report(*fd, &report);
	_exit(1);
}

/* The leak sanitizer's function, if it is linked: true if a seed leaked memory. */
__attribute__((weak)) int
__lsan_do_recoverable_leak_check(void); /* NOLINT(readability-identifier-naming) */

static bool has_leaked(void)
{
	return &__lsan_do_recoverable_leak_check != NULL &&
	       __lsan_do_recoverable_leak_check() != 0;
}

/* Processor time, so that a busy machine makes no difference. */
static void limit_time(void)
{
	struct itimerval limit = {
		.it_value = {.tv_sec = STUCK_S + run.opts.request.shards}};

	(void)setitimer(ITIMER_PROF, &limit, NULL);
}

static void run_seeds(uint64_t seed, uint64_t stride, int to)
{
	static int fd;

	fd = to;
	run.opts.failed = on_failed;
	run.opts.ctx = &fd;
	for (; seed < run.from + run.count; seed += stride) {
		struct seed_report report = {.what = BEGUN, .seed = seed};
		struct seed_result result = {0};

		send_report(fd, &report);
		limit_time();
		run.opts.seed = seed;
		if (!seed_run(&run.opts, &result))
			_exit(2);
		if (has_leaked())
			on_failed(&fd, "leak", "memory is left behind");
		report.what = PASSED;
		report.converged_ms = result.converged_ms;
		report.cover = result.cover;
		report.extent = result.extent;
		send_report(fd, &report);
	}
}

/* -- many seeds, in processes of their own ------------------------------- */

static void job_start(struct seed_job *job)
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
		run_seeds(job->next, run.jobs, fds[1]);
		exit(0); /* the leak sanitizer checks now */
	}
	(void)close(fds[1]);
	job->fd = fds[0];
}

static void print_progress(void)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 ", %" PRIu64 " failed ",
		              run.passed + run.failed, run.count, run.failed);
}

static void count_failure(uint64_t seed, const char *text)
{
	if (run.failed < SHOWN_MAX)
		run.bad[run.failed] = seed;
	run.failed++;
	(void)printf("%sseed %" PRIu64 " FAILED: %s\n", isatty(STDERR_FILENO) ? "\n" : "",
	             seed, text);
}

static void merge_report(struct seed_job *job, const struct seed_report *report)
{
	job->seed = report->seed;
	if (report->what == FAILED) {
		job->failed = true;
		count_failure(report->seed, report->text);
	} else if (report->what == PASSED) {
		job->next = report->seed + run.jobs;
		job->seed = 0;
		run.passed++;
		run.converged_sum_ms += report->converged_ms;
		if (report->converged_ms > run.converged_max_ms)
			run.converged_max_ms = report->converged_ms;
		cover_add(&run.cover, &report->cover);
		extent_add(&run.extents, &report->extent);
	}
	print_progress();
}

/* False: no more reports will come. */
static bool receive_report(struct seed_job *job)
{
	struct seed_report report;
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
	merge_report(job, &report);
	return true;
}

/* The process has ended: normally, by a judge, or by an assertion. */
static void job_ended(struct seed_job *job)
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
		count_failure(job->seed == 0 ? job->next : job->seed, text);
	}
	if (job->seed == 0)
		return; /* a failure after its last seed: a leak */
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
					if (!receive_report(&run.job[i]))
						job_ended(&run.job[i]);
					break;
				}
	}
}

/* -- a story ------------------------------------------------------------- */

static int print_story(uint64_t seed, FILE *out)
{
	struct seed_result result = {0};

	run.opts.seed = seed;
	run.opts.story.out = out;
	run.opts.failed = on_failed;
	run.opts.ctx = NULL;
	if (!seed_run(&run.opts, &result))
		return 2;
	(void)fprintf(out, "converged after %" PRIu64 " ms; digest %016" PRIx64 "\n",
	              result.converged_ms, result.digest);
	(void)fflush(out);
	return 0;
}

/* Prints the last lines of the seed's story, from a second run. */
static void print_story_end(uint64_t seed)
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
		_exit(print_story(seed, stdout));
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
	             run.opts.request.profile);
	if (run.opts.request.shards != 0)
		(void)printf(" --shards %u", run.opts.request.shards);
	if (run.opts.request.partitions != 0)
		(void)printf(" --partitions %u", run.opts.request.partitions);
	if (run.opts.request.nodes != 0)
		(void)printf(" --nodes %u", run.opts.request.nodes);
	if (run.opts.request.small)
		(void)printf(" --small");
	if (run.opts.request.work != PLAN_WORK_DRAWN)
		(void)printf(" --work %s",
		             run.opts.request.work == PLAN_WORK_FULL ? "full" : "none");
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
		"         --work W       none: shards only coordinate; full: they place pods,\n"
		"                        too; default: a quarter of the seeds do\n"
		"         --shards S --partitions P --nodes N   (drawn from the seed)\n"
		"         --small        worlds with pods may be smaller than the smallest\n"
		"         --need-cover   fails if a fault or state never came; the default for\n"
		"                        2,000 seeds and more that no option limits\n"
		"         --until-failed end with the first seed that fails\n"
		"         --quiet        no table of faults and states\n"
		"         --sanitize     built with the sanitizers\n",
		plan_profiles);
	exit(2);
}

static uint64_t parse_number(const char *text)
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

static void parse_options(int argc, char **argv)
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
			run.count = parse_number(optarg);
		else if (what == 's' || what == 'f')
			run.from = parse_number(optarg);
		else if (what == 'j')
			run.jobs = (unsigned)parse_number(optarg);
		else if (what == 'p')
			run.opts.request.profile = optarg;
		else if (what == 'h')
			run.opts.request.shards = (unsigned)parse_number(optarg);
		else if (what == 'a')
			run.opts.request.partitions = (unsigned)parse_number(optarg);
		else if (what == 'o')
			run.opts.request.nodes = (unsigned)parse_number(optarg);
		else if (what == 'k')
			run.opts.request.work = work_of(optarg);
		else if (what == 'l')
			run.opts.request.small = true;
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
	if (plan_check(&run.opts.request, &err) != PL_OK) {
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

/* Ends the jobs that still run, when the first failure is enough. */
static void end_jobs(void)
{
	for (unsigned i = 0; i < run.jobs; i++)
		if (run.job[i].fd >= 0) {
			(void)kill(run.job[i].pid, SIGKILL);
			(void)waitpid(run.job[i].pid, NULL, 0);
		}
}

static void print_summary(double seconds)
{
	double simulated = (double)run.cover.sim_ms / 1000;

	if (!run.quiet)
		cover_print(&run.cover, stdout);
	extent_print(&run.extents, stdout);
	(void)printf("%.0f s of virtual time in %.1f s: %.0f times as fast; "
	             "converged after %.1f s, at most %.1f s\n",
	             simulated, seconds, simulated / seconds,
	             run.passed == 0
	                     ? 0
	                     : (double)run.converged_sum_ms / 1000 / (double)run.passed,
	             (double)run.converged_max_ms / 1000);
}

/* No option excludes a fault or a state, and there is time for all of them. */
static bool is_large(void)
{
	const struct plan_request *request = &run.opts.request;

	return run.count >= LARGE_SEEDS && !run.until_failed && !request->small &&
	       strcmp(request->profile, "all") == 0 && request->work == PLAN_WORK_DRAWN &&
	       request->shards == 0 && request->partitions == 0 && request->nodes == 0;
}

int main(int argc, char **argv)
{
	double start = now_s();

	pl_log_setup(&(struct pl_log_options){.fd = STDERR_FILENO, .level = PL_LOG_OFF});
	parse_options(argc, argv);
	if (run.one)
		return print_story(run.from, stdout);
	run_all();
	end_jobs();
	for (unsigned i = 0; i < SHOWN_MAX && i < run.failed && !run.until_failed; i++)
		print_story_end(run.bad[i]);
	if (isatty(STDERR_FILENO))
		(void)fputc('\n', stderr);
	print_summary(now_s() - start);
	if ((run.need_cover || is_large()) && run.failed == 0)
		run.failed += cover_missing(&run.cover, stdout);
	(void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", run.passed, run.failed);
	return run.failed == 0 ? 0 : 1;
}
