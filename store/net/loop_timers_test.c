/* Timers that are due again at once do not starve the loop. */
#include <sys/socket.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/net/loop_timers.h"
#include "tests/harness/t.h"

enum { LONG_MS = 2000 };

static struct loop_timers lt;
static struct pl_timer timer;
static uv_loop_t loop;
static uv_poll_t poll;
static uint64_t begun_ms, rest_ms, turns;
static bool heard, closed;

static void on_closed(void *ctx)
{
	(void)ctx;
	closed = true;
}

static void end(void)
{
	pl_timer_done(&timer);
	loop_timers_close(&lt, on_closed, NULL);
	uv_close((uv_handle_t *)&poll, NULL);
}

/* The timer is due again each time, up to a bound. */
static void on_turn(void *ctx)
{
	(void)ctx;
	turns++;
	if (heard || pl_clock_ms() > begun_ms + LONG_MS)
		end();
	else
		pl_timer_set(&timer, pl_clock_ms() + rest_ms);
}

static void on_read(uv_poll_t *at, int status, int events)
{
	(void)status;
	(void)events;
	heard = true;
	(void)uv_poll_stop(at);
}

static void is_heard(uint64_t rest)
{
	int fd[2];

	rest_ms = rest;
	turns = 0;
	heard = closed = false;
	T_EQ(uv_loop_init(&loop), 0);
	T_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	T_EQ(uv_poll_init(&loop, &poll, fd[0]), 0);
	T_EQ(uv_poll_start(&poll, UV_READABLE, on_read), 0);
	T_EQ(write(fd[1], "x", 1), 1);
	loop_timers_open(&lt, &loop);
	T_TRUE(pl_timer_init(&timer, &lt.timers, on_turn, NULL) == PL_OK);
	begun_ms = pl_clock_ms();
	pl_timer_set(&timer, begun_ms);
	T_EQ(uv_run(&loop, UV_RUN_DEFAULT), 0);
	T_TRUE(heard && closed && turns > 0);
	T_EQ(uv_loop_close(&loop), 0);
	T_EQ(close(fd[0]), 0);
	T_EQ(close(fd[1]), 0);
}

T_CASE(timers_due_later_do_not_starve_the_loop)
{
	is_heard(1);
}

T_CASE(timers_due_at_once_do_not_starve_the_loop)
{
	is_heard(0);
}
