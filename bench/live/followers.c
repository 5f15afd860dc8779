#include "bench/live/followers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/report.h"
#include "store/net/unconst.h"

enum { READ_BYTES = 256 << 10, HEAD_BYTES = 4096, AGAIN_MS = 100, READY_S = 60 };

static const char request[] = "GET /api/v1/pods?watch=true&resourceVersion=0 HTTP/1.1\r\n"
			      "Host: localhost\r\nAccept: application/json\r\n\r\n";

static struct sockaddr_in address(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
	                            .sin_port = htons(port),
	                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

uint16_t followers_free_port(void)
{
	struct sockaddr_in at = address(0);
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0)
		bench_fail("a free port: %s", strerror(errno));
	(void)close(fd);
	return ntohs(at.sin_port);
}

/* -- the process -------------------------------------------------------------------- */

static void rest(void)
{
	const struct timespec time = {.tv_nsec = AGAIN_MS * 1000000L};

	(void)nanosleep(&time, NULL);
}

static bool send_all(int fd)
{
	return send(fd, request, sizeof request - 1, MSG_NOSIGNAL) ==
	       (ssize_t)(sizeof request - 1);
}

/* Reads the head of the answer byte by byte: what follows are events. */
static bool head_is_good(int fd)
{
	char head[HEAD_BYTES];
	size_t len = 0;

	while (len + 1 < sizeof head && recv(fd, head + len, 1, 0) == 1) {
		len++;
		head[len] = 0;
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			return strncmp(head, "HTTP/1.1 200", 12) == 0;
	}
	return false;
}

/* The server may not listen yet, or still list the store. */
static int open_watch(uint16_t port)
{
	struct sockaddr_in at = address(port);

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			bench_fail("a socket: %s", strerror(errno));
		if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 && send_all(fd) &&
		    head_is_good(fd))
			return fd;
		(void)close(fd);
		rest();
	}
}

static void count(struct followers_result *result, const char *at, size_t len)
{
	const char *end = at + len;
	uint64_t lines = 0;

	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		/* The ends of chunks have a carriage return before them. */
		lines += at[-1] != '\r';
		at++;
	}
	__atomic_fetch_add(&result->events, lines, __ATOMIC_RELAXED);
	__atomic_fetch_add(&result->bytes, len, __ATOMIC_RELAXED);
}

static void read_some(struct pollfd *watch, struct followers_result *result)
{
	static char bytes[1 + READ_BYTES];
	ssize_t got = recv(watch->fd, bytes + 1, READ_BYTES, 0);

	if (got > 0) {
		count(result, bytes + 1, (size_t)got);
		return;
	}
	result->ended++;
	watch->fd = -1; /* poll passes over it */
}

static void run_followers(void *ctx, void *out)
{
	static struct pollfd watch[FOLLOWERS_MAX];
	const struct followers_opts *opts = ctx;
	struct followers_result *result = out;

	for (uint32_t i = 0; i < opts->count; i++) {
		watch[i] =
			(struct pollfd){.fd = open_watch(opts->port), .events = POLLIN};
		__atomic_store_n(&result->ready, i + 1, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&result->stop, __ATOMIC_ACQUIRE) == 0) {
		(void)poll(watch, opts->count, AGAIN_MS);
		for (uint32_t i = 0; i < opts->count; i++)
			if (watch[i].fd >= 0 && watch[i].revents != 0)
				read_some(&watch[i], result);
	}
}

/* -- its parent ----------------------------------------------------------------------- */

static void on_look(uv_timer_t *timer)
{
	(void)timer; /* the loop is to turn */
}

static void on_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

/* Runs the loop until *value is at least that much, or for so long. */
static bool until(uv_loop_t *loop, const struct child *child, const void *value,
                  bool wide, uint64_t least, double limit_s)
{
	double end_s = bench_now_s() + limit_s;
	bool closed = false, reached = false;
	uv_timer_t timer;

	(void)uv_timer_init(loop, &timer);
	timer.data = &closed;
	(void)uv_timer_start(&timer, on_look, AGAIN_MS, AGAIN_MS);
	while (!reached && bench_now_s() < end_s && !child->ended) {
		reached =
			(wide ? __atomic_load_n((const uint64_t *)value, __ATOMIC_ACQUIRE)
		              : __atomic_load_n((const uint32_t *)value,
		                                __ATOMIC_ACQUIRE)) >= least;
		if (!reached)
			(void)uv_run(loop, UV_RUN_ONCE);
	}
	uv_close((uv_handle_t *)&timer, on_closed);
	while (!closed)
		(void)uv_run(loop, UV_RUN_ONCE);
	return reached;
}

void followers_start(struct child *child, uv_loop_t *loop,
                     const struct followers_opts *opts)
{
	const struct followers_result *result;

	PL_ASSERT(opts->count > 0 && opts->count <= FOLLOWERS_MAX);
	child_start(child, loop, run_followers, unconst(opts));
	result = child->page;
	if (!until(loop, child, &result->ready, false, opts->count, READY_S))
		bench_fail("the watches do not stand");
}

void followers_stop(struct child *child, uint64_t events_each, double limit_s,
                    struct followers_result *out)
{
	struct followers_result *result = child->page;

	(void)until(child->loop, child, &result->events, true,
	            events_each * result->ready, limit_s);
	__atomic_store_n(&result->stop, 1, __ATOMIC_RELEASE);
	child_wait(child);
	memcpy(out, child_result(child), sizeof *out);
}
