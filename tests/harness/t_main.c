/*
 * Runs each case in a process of its own, which leads a process group.
 *
 * We are the reaper of orphans: whatever a case leaves behind becomes our child
 * when the case ends, also when it left the group, and is killed. What a case
 * prints goes to a file in memory and is shown, line by line and with the
 * case's name, when it fails: on stderr, because meson shows that of a failed
 * test, but not the comments of its TAP.
 */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/t.h"

enum { CASES_MAX = 512, OUTPUT_SIZE_MAX = 1 << 18, ORPHAN_GRACE_MS = 2000 };

struct test_case {
	const char *name;
	unsigned seconds;
	t_case_fn *fn;
};

static struct test_case cases[CASES_MAX];
static unsigned case_count;
static volatile sig_atomic_t running; /* the group of the case, 0: none */

void t_register(const char *name, unsigned seconds, t_case_fn *fn)
{
	if (case_count == CASES_MAX)
		abort();
	cases[case_count++] = (struct test_case){name, seconds, fn};
}

/* Asked to stop ourselves: the case's group would outlive us. */
static void on_stop(int sig)
{
	if (running != 0)
		(void)kill(-(pid_t)running, SIGKILL);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static void block_child_signal(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(how, &set, NULL);
}

_Noreturn static void run_in_child(const struct test_case *test, int output)
{
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	block_child_signal(SIG_UNBLOCK);
	if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(1);
	(void)close(output);
	test->fn();
	exit(0); /* not _exit: the leak checker runs at exit */
}

static unsigned seconds_of(const struct test_case *test)
{
	const char *slow = getenv("T_SLOW");
	unsigned long times = slow == NULL ? 1 : strtoul(slow, NULL, 10);

	return test->seconds * (unsigned)(times < 1 || times > 100 ? 1 : times);
}

static int64_t now_ms(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* False: it still ran when the time was over. */
static bool wait_for(pid_t pid, unsigned seconds, int *status)
{
	int64_t until = now_ms() + (int64_t)seconds * 1000;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (;;) {
		int64_t left = until - now_ms();
		struct timespec wait = {.tv_sec = left / 1000,
		                        .tv_nsec = left % 1000 * 1000000};

		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		if (left <= 0)
			return false;
		(void)sigtimedwait(&set, NULL, &wait);
	}
}

/* Kills and reaps what is a child of ours by now; gives how many there were. */
static unsigned reap_orphans(void)
{
	unsigned count = 0;
	char path[64];
	long pid;
	FILE *list;

	(void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
	list = fopen(path, "r");
	while (list != NULL && fscanf(list, "%ld ", &pid) == 1) { // NOLINT(cert-err34-c)
		(void)kill((pid_t)pid, SIGKILL);
		count += waitpid((pid_t)pid, NULL, 0) == (pid_t)pid;
	}
	if (list != NULL)
		(void)fclose(list);
	while (list == NULL && waitpid(-1, NULL, WNOHANG) > 0)
		count++; /* a kernel without that file: the dead ones at least */
	return count;
}

/* Waits for processes that clean up after a case has ended: the guard of a launched
 * etcd removes its directory. */
static void let_orphans_end(void)
{
	int64_t until = now_ms() + ORPHAN_GRACE_MS;
	struct timespec wait = {.tv_nsec = 50000000};
	pid_t pid;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && now_ms() < until) {
		if (pid == 0)
			(void)sigtimedwait(&set, NULL, &wait);
	}
}

static void clean_up(const char *name, pid_t pid, bool ended)
{
	unsigned left = 0, more;

	(void)kill(-pid, SIGKILL);
	if (!ended)
		(void)waitpid(pid, NULL, 0);
	let_orphans_end();
	/* A killed parent hands its own children on to us. */
	while ((more = reap_orphans()) > 0)
		left += more;
	if (left > 0)
		(void)fprintf(stderr, "# %s: left %u processes behind\n", name, left);
}

static void show_output(const char *name, int output)
{
	static char text[OUTPUT_SIZE_MAX + 1];
	off_t size = lseek(output, 0, SEEK_END);
	off_t from = size > OUTPUT_SIZE_MAX ? size - OUTPUT_SIZE_MAX : 0;
	ssize_t got = pread(output, text, OUTPUT_SIZE_MAX, from);
	char *line = text, *next;

	if (got < 0)
		got = 0;
	text[got] = 0;
	if (from > 0)
		(void)fprintf(stderr, "# %s: (%lld bytes before)\n", name,
		              (long long)from);
	for (; *line != 0; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		(void)fprintf(stderr, "# %s: %.*s\n", name, (int)len, line);
	}
}

static bool run_apart(const struct test_case *test)
{
	int output = memfd_create("output", MFD_CLOEXEC), status = 0;
	bool in_time, passed;
	pid_t pid;

	if (output < 0)
		return false;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_in_child(test, output);
	if (pid < 0) {
		(void)fprintf(stderr, "# %s: fork: %s\n", test->name, strerror(errno));
		(void)close(output);
		return false;
	}
	(void)setpgid(pid, pid);
	running = pid;
	in_time = wait_for(pid, seconds_of(test), &status);
	running = 0;
	clean_up(test->name, pid, in_time);
	passed = in_time && status == 0;
	if (!passed || getenv("T_VERBOSE") != NULL)
		show_output(test->name, output);
	if (!in_time)
		(void)fprintf(stderr, "# %s: has not ended after %u s\n", test->name,
		              seconds_of(test));
	else if (WIFSIGNALED(status))
		(void)fprintf(stderr, "# %s: ended by signal %d (%s)\n", test->name,
		              WTERMSIG(status), strsignal(WTERMSIG(status)));
	(void)close(output);
	return passed;
}

static bool run_case(const struct test_case *test)
{
	if (getenv("T_DEBUG") == NULL)
		return run_apart(test);
	test->fn();
	return true;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (fnmatch(argv[i], name, 0) == 0)
			return true;
	return argc == 1;
}

/* Keeps those that are wanted. */
static void select_cases(int argc, char **argv)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < case_count; i++)
		if (is_wanted(cases[i].name, argc, argv))
			cases[kept++] = cases[i];
	case_count = kept;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (unsigned i = 0; i < case_count; i++)
			(void)printf("%s\n", cases[i].name);
		return 0;
	}
	select_cases(argc, argv);
	if (case_count == 0) {
		(void)fprintf(stderr, "no such case; --list names them\n");
		return 2;
	}
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)signal(SIGTERM, on_stop);
	(void)signal(SIGINT, on_stop);
	block_child_signal(SIG_BLOCK);
	(void)printf("1..%u\n", case_count);
	for (unsigned i = 0; i < case_count; i++) {
		bool passed = run_case(&cases[i]);

		failed += !passed;
		(void)printf("%sok %u - %s\n", passed ? "" : "not ", i + 1,
		             cases[i].name);
		(void)fflush(stdout);
	}
	return failed > 0;
}
