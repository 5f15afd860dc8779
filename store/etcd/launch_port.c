/*
 * Ports for members.
 *
 * They are chosen at random below the range from which the kernel takes ports for
 * outgoing connections: a member that is killed and restarted later must find its port
 * free, and a port of that range may have been taken by any client of the machine.
 * Between the choice of a port and the member's listening, and while a member is down, a
 * bound socket that never listens reserves it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/base/fault.h"
#include "store/base/rng.h"
#include "store/etcd/launch_int.h"

enum { PORT_MIN = 10000, PORT_MAX = 29999, TRIES_MAX = 200 };

enum pl_code launch_netns_enter(int netns_fd, int *back, struct pl_err *err)
{
	int own;

	if (netns_fd < 0) {
		*back = -1;
		return PL_OK;
	}
	own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return pl_err_set(err, PL_IO, "own network namespace: %s",
		                  strerror(errno));
	if (setns(netns_fd, CLONE_NEWNET) != 0) {
		(void)pl_err_set(err, PL_IO, "enter network namespace: %s",
		                 strerror(errno));
		(void)close(own);
		return PL_IO;
	}
	*back = own;
	return PL_OK;
}

void launch_netns_leave(int back)
{
	int rc;

	if (back < 0)
		return;
	/* Going on in a foreign namespace would misplace every later socket. */
	rc = setns(back, CLONE_NEWNET);
	PL_ASSERT(rc == 0);
	(void)close(back);
}

/* Returns a socket bound to host:port, or -1 with errno. */
static int bind_to(const char *host, uint16_t port, bool reuse)
{
	struct sockaddr_storage addr = {0};
	struct sockaddr_in *in4 = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
	socklen_t len = sizeof *in4;
	int one = 1, saved, fd;

	if (inet_pton(AF_INET, host, &in4->sin_addr) == 1) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		len = sizeof *in6;
	} else {
		errno = EINVAL;
		return -1;
	}
	fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (reuse)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return -1;
}

enum pl_code launch_port_pick(struct launch_member *member, struct launch_port *port,
                              struct pl_err *err)
{
	struct pl_rng rng;
	int back = -1, fd = -1, error = 0;
	uint16_t number = 0;
	enum pl_code code;

	launch_port_done(port);
	code = launch_netns_enter(member->netns_fd, &back, err);
	if (code != PL_OK)
		return code;
	pl_rng_init(&rng, pl_rng_seed_random());
	for (unsigned tries = 0; fd < 0 && tries < TRIES_MAX; tries++) {
		number = (uint16_t)pl_rng_between(&rng, PORT_MIN, PORT_MAX);
		/* Without SO_REUSEADDR a port that is still used in any way, such as by
		 * another launch that holds it, is not accepted. */
		fd = bind_to(member->host, number, false);
		error = errno;
		if (fd < 0 && error != EADDRINUSE && error != EACCES)
			break;
	}
	launch_netns_leave(back);
	if (fd < 0)
		return pl_err_set(err, PL_IO, "no free port on %s: %s", member->host,
		                  strerror(error));
	*port = (struct launch_port){number, fd};
	return PL_OK;
}

void launch_port_hold(const struct launch_member *member, struct launch_port *port)
{
	int back = -1;

	if (port->fd >= 0 || launch_netns_enter(member->netns_fd, &back, NULL) != PL_OK)
		return;
	/* The dead member's connections linger: only SO_REUSEADDR gets past them. Without
	 * the socket the member can most likely be restarted all the same. */
	port->fd = bind_to(member->host, port->number, true);
	launch_netns_leave(back);
}

void launch_port_release(struct launch_port *port)
{
	if (port->fd < 0 || pl_fault_hit(PL_FAULT_PORT))
		return;
	launch_port_done(port);
}

void launch_port_done(struct launch_port *port)
{
	if (port->fd >= 0)
		(void)close(port->fd);
	port->fd = -1;
}
