#include "coord/up/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/net/unconst.h"

enum { LOOK_MS = 20, SIGNALED = 128, CANNOT_RUN = 127 };

/* Runs in the child; only async-signal-safe calls are allowed. */
static _Noreturn void exec_child(const char *const *args, enum child_says says,
                                 pid_t parent)
{
	sigset_t none;
	int nowhere;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* A Ctrl-C at the terminal goes to this process only, which ends the children
	 * itself. */
	(void)setsid();
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(CANNOT_RUN);
	nowhere = open("/dev/null", O_RDWR);
	if (nowhere >= 0) {
		(void)dup2(nowhere, STDIN_FILENO);
		(void)dup2(nowhere, STDOUT_FILENO);
		if (says == CHILD_SAYS_NOTHING)
			(void)dup2(nowhere, STDERR_FILENO);
	}
	(void)execv(args[0], unconst(args));
	_exit(CANNOT_RUN);
}

enum pl_code children_start(struct children *all, const char *name,
                            const char *const *args, enum child_says says,
                            struct child **out, struct pl_err *err)
{
	pid_t parent = getpid(), pid;
	struct child *child;

	if (all->count == CHILDREN_MAX)
		return pl_err_set(err, PL_LIMIT, "%s: at most %d processes", name,
		                  CHILDREN_MAX);
	if (access(args[0], X_OK) != 0)
		return pl_err_set(err, PL_NOTFOUND, "%s: %s", args[0], strerror(errno));
	pid = fork();
	if (pid < 0)
		return pl_err_set(err, PL_IO, "%s: fork: %s", name, strerror(errno));
	if (pid == 0)
		exec_child(args, says, parent);
	child = &all->child[all->count++];
	*child = (struct child){.pid = pid};
	(void)snprintf(child->name, sizeof child->name, "%s", name);
	if (out != NULL)
		*out = child;
	return PL_OK;
}

/* Whether the child has ended since the last call. */
static bool reap_child(struct child *child)
{
	int status;

	if (child->pid == 0 || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	child->pid = 0;
	child->status =
		WIFSIGNALED(status) ? SIGNALED + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

static void sleep_briefly(void)
{
	const struct timespec time = {.tv_nsec = LOOK_MS * 1000000L};

	(void)nanosleep(&time, NULL);
}

struct child *children_ended(struct children *all)
{
	for (unsigned i = 0; i < all->count; i++)
		if (reap_child(&all->child[i]))
			return &all->child[i];
	return NULL;
}

bool children_wait(struct child *child, uint64_t timeout_ms)
{
	uint64_t until_ms = pl_clock_ms() + timeout_ms;

	while (child->pid != 0 && !reap_child(child)) {
		if (pl_clock_ms() >= until_ms)
			return false;
		sleep_briefly();
	}
	return true;
}

unsigned children_running(const struct children *all)
{
	unsigned count = 0;

	for (unsigned i = 0; i < all->count; i++)
		count += all->child[i].pid != 0;
	return count;
}

void children_stop(struct children *all, uint64_t timeout_ms)
{
	uint64_t until_ms = pl_clock_ms() + timeout_ms;

	for (unsigned i = all->count; i-- > 0;)
		if (all->child[i].pid != 0)
			(void)kill(all->child[i].pid, SIGTERM);
	for (unsigned i = 0; i < all->count; i++) {
		struct child *child = &all->child[i];
		uint64_t now_ms = pl_clock_ms();

		if (children_wait(child, now_ms < until_ms ? until_ms - now_ms : 0))
			continue;
		(void)kill(child->pid, SIGKILL);
		(void)children_wait(child, UINT32_MAX);
	}
}
