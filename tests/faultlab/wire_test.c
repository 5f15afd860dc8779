#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "tests/faultlab/wire.h"
#include "tests/harness/t.h"

enum { PORT = 4000, SECOND_US = 1000000, ALL_PPM = 1000000 };

/* Two hosts: the server's and home. NULL, and a word about it, where the
 * machine does not let us. */
static struct wire *two_hosts(unsigned ghosts)
{
	struct wire_opts opts = {.hosts = 2, .ghosts = ghosts, .seed = 1};
	struct pl_err err = {0};
	struct wire *wire = NULL;
	enum pl_code code = wire_open(&opts, &wire, &err);

	if (code == PL_UNSUPPORTED) {
		(void)printf("# left out, no network namespaces here: %s\n", err.msg);
		return NULL;
	}
	if (code != PL_OK)
		t_fail(__FILE__, __LINE__, "wire_open: %s", err.msg);
	return wire;
}

static struct sockaddr_in addr_of(const char *ip, unsigned port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	                           .sin_port = htons((uint16_t)port)};

	T_EQ(inet_pton(AF_INET, ip, &addr.sin_addr), 1);
	return addr;
}

static int bound_socket(struct wire *wire, unsigned host, int type)
{
	struct sockaddr_in addr = addr_of(wire_ip(wire, host), PORT);
	int fd;

	T_EQ(wire_enter(wire, host, NULL), PL_OK);
	fd = socket(AF_INET, type, 0);
	T_TRUE(fd >= 0);
	T_EQ(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	T_EQ(wire_enter(wire, wire_home(wire), NULL), PL_OK);
	return fd;
}

static int dial_socket(const char *ip, int type)
{
	struct sockaddr_in addr = addr_of(ip, PORT);
	int fd = socket(AF_INET, type, 0);

	T_TRUE(fd >= 0);
	T_EQ(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	return fd;
}

static void send_text(int fd, const char *text)
{
	T_EQ(send(fd, text, strlen(text), 0), strlen(text));
}

static void want_text(int fd, const char *text)
{
	char got[64] = {0};

	T_EQ(recv(fd, got, strlen(text), 0), strlen(text));
	T_STR(got, text);
}

/* A TCP connection from home to the other host, and both its ends. */
struct pair {
	int listener, client, server;
};

static struct pair connected_pair(struct wire *wire, const char *ip)
{
	struct pair pair = {.listener = bound_socket(wire, 0, SOCK_STREAM)};

	T_EQ(listen(pair.listener, 1), 0);
	pair.client = dial_socket(ip, SOCK_STREAM);
	pair.server = accept(pair.listener, NULL, NULL);
	T_TRUE(pair.server >= 0);
	return pair;
}

static void hang_up(const struct pair *pair)
{
	(void)close(pair->client);
	(void)close(pair->server);
	(void)close(pair->listener);
}

T_CASE(packets_pass_between_hosts)
{
	struct wire *wire = two_hosts(0);
	struct pair pair;

	if (wire == NULL)
		return;
	pair = connected_pair(wire, wire_ip(wire, 0));
	send_text(pair.client, "hello");
	want_text(pair.server, "hello");
	send_text(pair.server, "world");
	want_text(pair.client, "world");
	T_TRUE(wire_count(wire, 1, 0).passed >= 3);
	T_TRUE(wire_count(wire, 0, 1).passed >= 2);
	T_EQ(wire_total(wire).cut, 0);
	hang_up(&pair);
	wire_close(wire);
}

static void until_lost(struct wire *wire, bool by_cut)
{
	for (;;) {
		struct wire_count count = wire_count(wire, 1, 0);

		if ((by_cut ? count.cut : count.dropped) >= 2)
			return;
		(void)sched_yield(); /* the switch counts on a thread of its own */
	}
}

/* The kernel sends again what the rule swallowed, so the bytes come late. */
T_CASE(connection_survives_cuts_and_loss)
{
	const struct wire_rule cut = {.cut = true}, lossy = {.drop_ppm = ALL_PPM};
	struct wire *wire = two_hosts(0);
	struct pair pair;

	if (wire == NULL)
		return;
	pair = connected_pair(wire, wire_ip(wire, 0));
	wire_rule_set(wire, 1, 0, &cut);
	send_text(pair.client, "one");
	until_lost(wire, true);
	wire_heal(wire);
	want_text(pair.server, "one");
	wire_rule_set(wire, 1, 0, &lossy);
	send_text(pair.client, "two");
	until_lost(wire, false);
	send_text(pair.server, "way back"); /* the other direction is untouched */
	want_text(pair.client, "way back");
	wire_heal(wire);
	want_text(pair.server, "two");
	hang_up(&pair);
	wire_close(wire);
}

T_CASE(delay_holds_packets_back)
{
	const struct wire_rule slow = {.delay_us = 30000, .jitter_us = 1000};
	struct wire *wire = two_hosts(0);
	uint64_t start_ns;
	struct pair pair;

	if (wire == NULL)
		return;
	pair = connected_pair(wire, wire_ip(wire, 0));
	wire_rule_both(wire, 0, 1, &slow);
	start_ns = pl_clock_ns();
	send_text(pair.client, "ping");
	want_text(pair.server, "ping");
	send_text(pair.server, "pong");
	want_text(pair.client, "pong");
	T_TRUE(pl_clock_ns() - start_ns >= 60000000);
	T_TRUE(wire_count(wire, 1, 0).delayed >= 1);
	T_TRUE(wire_count(wire, 0, 1).delayed >= 1);
	hang_up(&pair);
	wire_close(wire); /* with acknowledgements still under way */
}

T_CASE(packets_are_doubled_and_reordered)
{
	const struct wire_rule twice = {.dup_ppm = ALL_PPM};
	const struct wire_rule held = {.reorder_ppm = ALL_PPM,
	                               .hold_us = 600u * SECOND_US};
	struct wire *wire = two_hosts(0);
	int server, client;

	if (wire == NULL)
		return;
	server = bound_socket(wire, 0, SOCK_DGRAM);
	client = dial_socket(wire_ip(wire, 0), SOCK_DGRAM);
	wire_rule_set(wire, 1, 0, &twice);
	send_text(client, "dup");
	want_text(server, "dup");
	want_text(server, "dup");
	T_EQ(wire_count(wire, 1, 0).doubled, 1);
	wire_rule_set(wire, 1, 0, &held);
	send_text(client, "a");
	send_text(client, "b"); /* only one is held at a time, so b passes a */
	want_text(server, "b");
	want_text(server, "a");
	T_EQ(wire_count(wire, 1, 0).held, 1);
	(void)close(client);
	(void)close(server);
	wire_close(wire);
}

/* A ghost reaches the same server, by rules of its own. */
T_CASE(ghost_obeys_its_own_rules)
{
	const struct wire_rule cut = {.cut = true};
	struct wire *wire = two_hosts(1);
	char ip[WIRE_IP_SIZE];
	struct pair pair;
	int second, served;

	if (wire == NULL)
		return;
	wire_ghost_ip(wire, 0, 0, ip);
	T_STR(ip, "10.77.1.1");
	pair = connected_pair(wire, ip);
	send_text(pair.client, "boo");
	want_text(pair.server, "boo");
	T_EQ(wire_count(wire, 1, 0).passed, 0);
	wire_rule_both(wire, wire_home(wire), 0, &cut);
	send_text(pair.server, "still here");
	want_text(pair.client, "still here");
	wire_heal(wire);
	wire_rule_both(wire, wire_ghost(wire, 0), 0, &cut);
	second = dial_socket(wire_ip(wire, 0), SOCK_STREAM);
	served = accept(pair.listener, NULL, NULL);
	send_text(second, "home");
	want_text(served, "home");
	(void)close(second);
	(void)close(served);
	hang_up(&pair);
	wire_close(wire);
}
