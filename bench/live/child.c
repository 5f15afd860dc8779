#include "bench/live/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/report.h"

/* The other end is closed: it has ended, or is about to. */
static void on_end(uv_poll_t *poll, int status, int events)
{
	struct child *child = poll->data;

	(void)status;
	(void)events;
	(void)uv_poll_stop(poll);
	child->ended = true;
}

void child_start(struct child *child, uv_loop_t *loop, child_fn *fn, void *ctx)
{
	int ends[2];

	*child = (struct child){.loop = loop};
	child->page = mmap(NULL, CHILD_RESULT_MAX, PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->page == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
		bench_fail("start a process: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0)
		bench_fail("fork: %s", strerror(errno));
	if (child->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(ends[0]);
		fn(ctx, child->page);
		_exit(0);
	}
	(void)close(ends[1]);
	child->fd = ends[0];
	child->poll.data = child;
	if (uv_poll_init(loop, &child->poll, child->fd) != 0 ||
	    uv_poll_start(&child->poll, UV_READABLE | UV_DISCONNECT, on_end) != 0)
		bench_fail("watch a process");
}

/* Waits for it; gives its status. */
static int reap_child(struct child *child)
{
	struct rusage usage = {0};
	int status = 0;
	pid_t got;

	do {
		got = wait4(child->pid, &status, 0, &usage);
	} while (got < 0 && errno == EINTR);
	child->pid = 0;
	child->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	child->rss_max = (double)usage.ru_maxrss * 1024;
	return status;
}

bool child_over(struct child *child)
{
	if (child->pid == 0)
		return true;
	if (!child->ended)
		return false;
	if (reap_child(child) != 0)
		bench_fail("a process of the bench failed");
	return true;
}

void child_wait(struct child *child)
{
	while (!child_over(child))
		(void)uv_run(child->loop, UV_RUN_ONCE);
}

const void *child_result(const struct child *child)
{
	PL_ASSERT(child->pid == 0);
	return child->page;
}

static void on_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

void child_done(struct child *child)
{
	bool closed = false;

	if (child->page == NULL)
		return;
	if (child->pid != 0) {
		(void)kill(child->pid, SIGKILL);
		(void)reap_child(child);
	}
	child->poll.data = &closed;
	uv_close((uv_handle_t *)&child->poll, on_closed);
	while (!closed)
		(void)uv_run(child->loop, UV_RUN_ONCE);
	(void)close(child->fd);
	(void)munmap(child->page, CHILD_RESULT_MAX);
	*child = (struct child){0};
}
