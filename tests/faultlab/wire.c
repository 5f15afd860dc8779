#include "tests/faultlab/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "tests/faultlab/switch.h"
#include "tests/faultlab/wire_host.h"

struct wire {
	unsigned hosts, ghosts;
	struct wire_host host[WIRE_NODES_MAX];
	int origin_fd; /* the namespace that the thread came from */
	struct net_switch *sw;
};

/* A child tries first: a process cannot leave a user namespace that it has entered, and
 * would be without a network there. */
static enum pl_code try_host(struct pl_err *err)
{
	struct pl_err told = {.code = PL_IO, .msg = "no word from the child"};
	struct wire_host host;
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return pl_err_set(err, PL_IO, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		ssize_t put;

		told = (struct pl_err){0};
		told.code = wire_host_make(&host, 0, &told);
		put = write(ends[1], &told, sizeof told);
		_exit(put != (ssize_t)sizeof told);
	}
	(void)close(ends[1]);
	if (pid > 0) {
		if (read(ends[0], &told, sizeof told) != (ssize_t)sizeof told)
			told.code = PL_IO;
		(void)waitpid(pid, &status, 0);
	}
	(void)close(ends[0]);
	if (told.code == PL_OK)
		return PL_OK;
	return pl_err_set(err, PL_UNSUPPORTED, "%s", told.msg);
}

static enum pl_code make_hosts(struct wire *wire, struct pl_err *err)
{
	for (unsigned i = 0; i < wire->hosts; i++)
		if (wire_host_make(&wire->host[i], i, err) != PL_OK)
			return pl_err_wrap(err, "host %u", i + 1);
	return PL_OK;
}

static enum pl_code start_switch(struct wire *wire, uint64_t seed, struct pl_err *err)
{
	int fd[WIRE_NODES_MAX];

	for (unsigned i = 0; i < wire->hosts; i++)
		fd[i] = wire->host[i].tun_fd;
	return net_switch_start(&(struct net_switch_opts){.fd = fd,
	                                                  .hosts = wire->hosts,
	                                                  .ghosts = wire->ghosts,
	                                                  .seed = seed},
	                        &wire->sw, err);
}

enum pl_code wire_open(const struct wire_opts *opts, struct wire **out,
                       struct pl_err *err)
{
	struct wire *wire = pl_calloc(1, sizeof *wire);
	enum pl_code code;

	PL_ASSERT(opts->hosts > 1 && opts->hosts + opts->ghosts <= WIRE_NODES_MAX);
	if (wire == NULL)
		return pl_err_set(err, PL_NOMEM, "wire");
	if (try_host(err) != PL_OK) {
		free(wire);
		return PL_UNSUPPORTED;
	}
	wire->hosts = opts->hosts;
	wire->ghosts = opts->ghosts;
	for (unsigned i = 0; i < WIRE_NODES_MAX; i++)
		wire->host[i] = (struct wire_host){.netns_fd = -1, .tun_fd = -1};
	wire->origin_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (wire->origin_fd < 0)
		code = pl_err_set(err, PL_UNSUPPORTED, "own network namespace: %s",
		                  strerror(errno));
	else
		code = make_hosts(wire, err);
	if (code == PL_OK)
		code = start_switch(wire, opts->seed, err);
	if (code != PL_OK) {
		wire_close(wire);
		return code;
	}
	*out = wire;
	return PL_OK;
}

void wire_close(struct wire *wire)
{
	if (wire == NULL)
		return;
	net_switch_stop(wire->sw);
	for (unsigned i = 0; i < wire->hosts; i++)
		wire_host_done(&wire->host[i]);
	if (wire->origin_fd >= 0) {
		/* Refused when home belongs to a user namespace of ours. */
		(void)setns(wire->origin_fd, CLONE_NEWNET);
		(void)close(wire->origin_fd);
	}
	free(wire);
}

unsigned wire_home(const struct wire *wire)
{
	return wire->hosts - 1;
}

unsigned wire_ghost(const struct wire *wire, unsigned ghost)
{
	PL_ASSERT(ghost < wire->ghosts);
	return wire->hosts + ghost;
}

const char *wire_ip(const struct wire *wire, unsigned host)
{
	PL_ASSERT(host < wire->hosts);
	return wire->host[host].ip;
}

void wire_ghost_ip(const struct wire *wire, unsigned ghost, unsigned host,
                   char ip[static WIRE_IP_SIZE])
{
	PL_ASSERT(ghost < wire->ghosts && host < wire->hosts);
	(void)snprintf(ip, WIRE_IP_SIZE, "10.77.%u.%u", ghost + 1, host + 1);
}

int wire_netns(const struct wire *wire, unsigned host)
{
	PL_ASSERT(host < wire->hosts);
	return wire->host[host].netns_fd;
}

enum pl_code wire_enter(struct wire *wire, unsigned host, struct pl_err *err)
{
	if (setns(wire_netns(wire, host), CLONE_NEWNET) != 0)
		return pl_err_set(err, PL_IO, "enter host %u: %s", host + 1,
		                  strerror(errno));
	return PL_OK;
}

void wire_rule_set(struct wire *wire, unsigned from, unsigned to,
                   const struct wire_rule *rule)
{
	net_switch_rule(wire->sw, from, to, rule);
}

void wire_rule_both(struct wire *wire, unsigned a, unsigned b,
                    const struct wire_rule *rule)
{
	net_switch_rule(wire->sw, a, b, rule);
	net_switch_rule(wire->sw, b, a, rule);
}

void wire_heal(struct wire *wire)
{
	for (unsigned from = 0; from < wire->hosts + wire->ghosts; from++)
		for (unsigned to = 0; to < wire->hosts + wire->ghosts; to++)
			net_switch_rule(wire->sw, from, to, NULL);
}

struct wire_count wire_count(struct wire *wire, unsigned from, unsigned to)
{
	return net_switch_count(wire->sw, from, to);
}

struct wire_count wire_total(struct wire *wire)
{
	struct wire_count sum = {0};

	for (unsigned from = 0; from < wire->hosts + wire->ghosts; from++) {
		for (unsigned to = 0; to < wire->hosts + wire->ghosts; to++) {
			struct wire_count one = net_switch_count(wire->sw, from, to);

			sum.passed += one.passed;
			sum.cut += one.cut;
			sum.dropped += one.dropped;
			sum.doubled += one.doubled;
			sum.delayed += one.delayed;
			sum.held += one.held;
			sum.overflowed += one.overflowed;
		}
	}
	return sum;
}
