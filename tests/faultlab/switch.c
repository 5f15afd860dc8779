#include "tests/faultlab/switch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/heap.h"
#include "store/base/rng.h"
#include "store/base/span.h"

/* A link that is slow for seconds holds what TCP's windows allow, no more. */
enum { HELD_MAX = 16384, PACKET_MAX = 2048, READS_MAX = 64, IP_HEADER = 20 };

struct packet {
	struct pl_heap_node node;
	uint64_t due_ns;
	uint64_t seq;
	unsigned from, to;
	bool held;
	size_t len;
	uint8_t at[];
};

struct link {
	struct wire_rule rule;   /* under the mutex */
	struct wire_count count; /* under the mutex */
	uint64_t last_due_ns;    /* the thread's own, as is what follows */
	struct packet *held;
};

/* The fate of one packet by the rules. */
struct fate {
	unsigned copies;
	uint64_t delay_ns;
	bool hold;
};

struct net_switch {
	pthread_t thread;
	pthread_mutex_t mutex;
	bool stopping; /* under the mutex */
	int wake_fd;
	unsigned hosts, ghosts;
	int fd[WIRE_NODES_MAX];
	struct pl_rng rng;
	struct pl_heap waiting;
	uint64_t seq;
	struct link link[WIRE_NODES_MAX][WIRE_NODES_MAX];
};

static const struct packet *packet_of(const struct pl_heap_node *node)
{
	const char *at = (const char *)node;

	return (const void *)(at - offsetof(struct packet, node));
}

static bool packet_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
	const struct packet *x = packet_of(a), *y = packet_of(b);

	return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->seq < y->seq;
}

static bool is_drawn(struct net_switch *sw, uint32_t ppm)
{
	return ppm > 0 && pl_rng_chance(&sw->rng, ppm, 1000000);
}

/* Which node an address names: 10.77.0.k is a host, 10.77.g.k ghost g of home
 * (as seen by host k), or host k as dialled by ghost g. */
static bool node_of(const struct net_switch *sw, const uint8_t ip[4], unsigned *host,
                    unsigned *ghost)
{
	if (ip[0] != 10 || ip[1] != 77 || ip[2] > sw->ghosts || ip[3] == 0 ||
	    ip[3] > sw->hosts)
		return false;
	*ghost = ip[2];
	*host = ip[3] - 1u;
	return true;
}

/*
 * Finds both ends, and turns a ghost's packet into one of home's.
 *
 * Towards a host: 10.77.0.home -> 10.77.g.k becomes 10.77.g.home -> 10.77.0.k,
 * and the way back is the same exchange of the third bytes. The sums over the
 * addresses stay what they were, so no checksum has to be touched.
 */
static bool classify_packet(struct net_switch *sw, uint8_t *at, size_t len,
                            unsigned *from, unsigned *to, unsigned *host)
{
	uint8_t *src = at + 12, *dst = at + 16;
	unsigned home = sw->hosts - 1, ghost = 0, from_ghost, to_ghost;

	if (len < IP_HEADER || at[0] >> 4 != 4 || !node_of(sw, src, from, &from_ghost) ||
	    !node_of(sw, dst, host, &to_ghost) || from_ghost != 0)
		return false;
	*to = *host;
	if (to_ghost != 0) {
		ghost = to_ghost;
		if (*from == home)
			*from = home + ghost;
		else if (*to == home)
			*to = home + ghost;
		else
			return false;
		src[2] = (uint8_t)ghost;
		dst[2] = 0;
	}
	return true;
}

static struct fate decide_fate(struct net_switch *sw, struct link *link)
{
	struct fate fate = {0};
	struct wire_rule rule;

	(void)pthread_mutex_lock(&sw->mutex);
	rule = link->rule;
	if (rule.cut) {
		link->count.cut++;
	} else if (is_drawn(sw, rule.drop_ppm)) {
		link->count.dropped++;
	} else {
		fate.copies = 1;
		fate.delay_ns = rule.delay_us * UINT64_C(1000);
		if (rule.jitter_us > 0)
			fate.delay_ns += pl_rng_below(&sw->rng, rule.jitter_us) * 1000;
		link->count.passed++;
		link->count.delayed += fate.delay_ns > 0;
		if (is_drawn(sw, rule.dup_ppm)) {
			fate.copies = 2;
			link->count.doubled++;
		}
		if (link->held == NULL && is_drawn(sw, rule.reorder_ppm)) {
			fate.hold = true;
			fate.delay_ns = rule.hold_us * UINT64_C(1000);
			link->count.held++;
		}
	}
	(void)pthread_mutex_unlock(&sw->mutex);
	return fate;
}

static void drop_overflow(struct net_switch *sw, struct link *link)
{
	(void)pthread_mutex_lock(&sw->mutex);
	link->count.overflowed++;
	(void)pthread_mutex_unlock(&sw->mutex);
}

/* A device that is down or full loses the packet, as a network would. */
static void put_out(const struct net_switch *sw, unsigned host, const uint8_t *at,
                    size_t len)
{
	ssize_t put = write(sw->fd[host], at, len);

	(void)put;
}

static void put_aside(struct net_switch *sw, unsigned from, unsigned to,
                      const struct fate *fate, struct pl_span bytes, uint64_t now_ns)
{
	struct link *link = &sw->link[from][to];
	struct packet *packet;

	packet = sw->waiting.count >= HELD_MAX ? NULL
	                                       : pl_malloc(sizeof *packet + bytes.len);
	if (packet == NULL) {
		drop_overflow(sw, link);
		return;
	}
	*packet = (struct packet){.due_ns = now_ns + fate->delay_ns,
	                          .seq = sw->seq++,
	                          .from = from,
	                          .to = to,
	                          .held = fate->hold,
	                          .len = bytes.len};
	memcpy(packet->at, bytes.at, bytes.len);
	if (fate->hold) {
		link->held = packet;
	} else {
		if (packet->due_ns < link->last_due_ns)
			packet->due_ns = link->last_due_ns;
		link->last_due_ns = packet->due_ns;
	}
	if (pl_heap_add(&sw->waiting, &packet->node) != PL_OK)
		PL_UNREACHABLE("room was reserved");
}

/* Something has overtaken it: it may go. */
static void let_go(struct net_switch *sw, struct link *link, uint64_t due_ns)
{
	struct packet *packet = link->held;

	link->held = NULL;
	packet->held = false;
	packet->due_ns = due_ns;
	packet->seq = sw->seq++;
	pl_heap_fix(&sw->waiting, &packet->node);
}

static void forward_packet(struct net_switch *sw, uint8_t *at, size_t len)
{
	unsigned from, to, host;
	uint64_t now_ns;
	struct link *link;
	struct fate fate;
	bool overtaken;

	if (!classify_packet(sw, at, len, &from, &to, &host))
		return; /* multicast and IPv6 chatter of the kernel */
	link = &sw->link[from][to];
	overtaken = link->held != NULL;
	fate = decide_fate(sw, link);
	now_ns = pl_clock_ns();
	for (unsigned i = 0; i < fate.copies; i++) {
		if (fate.delay_ns == 0 && !fate.hold)
			put_out(sw, host, at, len);
		else
			put_aside(sw, from, to, &fate, pl_span(at, len), now_ns);
		fate.hold = false;
	}
	if (fate.copies > 0 && overtaken)
		let_go(sw, link, now_ns + fate.delay_ns);
}

static void send_due(struct net_switch *sw, uint64_t now_ns)
{
	for (;;) {
		struct pl_heap_node *top = pl_heap_top(&sw->waiting);
		struct packet *packet;
		unsigned host;

		if (top == NULL)
			return;
		packet = PL_CONTAINER_OF(top, struct packet, node);
		if (packet->due_ns > now_ns)
			return;
		pl_heap_del(&sw->waiting, &packet->node);
		if (packet->held)
			sw->link[packet->from][packet->to].held = NULL;
		host = packet->to < sw->hosts ? packet->to : sw->hosts - 1;
		put_out(sw, host, packet->at, packet->len);
		free(packet);
	}
}

static void read_host(struct net_switch *sw, unsigned host)
{
	uint8_t at[PACKET_MAX];

	for (unsigned i = 0; i < READS_MAX; i++) {
		ssize_t got = read(sw->fd[host], at, sizeof at);

		if (got <= 0)
			return;
		forward_packet(sw, at, (size_t)got);
	}
}

static bool stop_wanted(struct net_switch *sw)
{
	bool stopping;

	(void)pthread_mutex_lock(&sw->mutex);
	stopping = sw->stopping;
	(void)pthread_mutex_unlock(&sw->mutex);
	return stopping;
}

static void wait_for_work(struct net_switch *sw, struct pollfd *polled)
{
	struct pl_heap_node *top = pl_heap_top(&sw->waiting);
	struct timespec wait = {0};
	uint64_t now_ns = pl_clock_ns(), due_ns;

	if (top != NULL) {
		due_ns = PL_CONTAINER_OF(top, struct packet, node)->due_ns;
		if (due_ns > now_ns) {
			wait.tv_sec = (time_t)((due_ns - now_ns) / 1000000000);
			wait.tv_nsec = (long)((due_ns - now_ns) % 1000000000);
		}
	}
	(void)ppoll(polled, sw->hosts + 1, top == NULL ? NULL : &wait, NULL);
}

static void *switch_main(void *arg)
{
	struct net_switch *sw = arg;
	struct pollfd polled[WIRE_NODES_MAX + 1];

	for (unsigned i = 0; i < sw->hosts; i++)
		polled[i] = (struct pollfd){.fd = sw->fd[i], .events = POLLIN};
	polled[sw->hosts] = (struct pollfd){.fd = sw->wake_fd, .events = POLLIN};
	while (!stop_wanted(sw)) {
		wait_for_work(sw, polled);
		for (unsigned i = 0; i < sw->hosts; i++)
			if (polled[i].revents != 0)
				read_host(sw, i);
		send_due(sw, pl_clock_ns());
	}
	return NULL;
}

/* Signals are the owner's business. */
static int start_thread(struct net_switch *sw)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&sw->thread, NULL, switch_main, sw);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

enum pl_code net_switch_start(const struct net_switch_opts *opts, struct net_switch **out,
                              struct pl_err *err)
{
	struct net_switch *sw = pl_calloc(1, sizeof *sw);

	PL_ASSERT(opts->hosts > 0 && opts->hosts + opts->ghosts <= WIRE_NODES_MAX);
	if (sw == NULL)
		return pl_err_set(err, PL_NOMEM, "switch");
	sw->hosts = opts->hosts;
	sw->ghosts = opts->ghosts;
	memcpy(sw->fd, opts->fd, opts->hosts * sizeof *opts->fd);
	pl_rng_init(&sw->rng, opts->seed);
	pl_heap_init(&sw->waiting, packet_before);
	(void)pthread_mutex_init(&sw->mutex, NULL);
	sw->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sw->wake_fd < 0 || pl_heap_reserve(&sw->waiting, HELD_MAX) != PL_OK ||
	    start_thread(sw) != 0) {
		if (sw->wake_fd >= 0)
			(void)close(sw->wake_fd);
		pl_heap_done(&sw->waiting);
		free(sw);
		return pl_err_set(err, PL_NOMEM, "switch");
	}
	*out = sw;
	return PL_OK;
}

void net_switch_stop(struct net_switch *sw)
{
	uint64_t one = 1;
	ssize_t put;

	if (sw == NULL)
		return;
	(void)pthread_mutex_lock(&sw->mutex);
	sw->stopping = true;
	(void)pthread_mutex_unlock(&sw->mutex);
	put = write(sw->wake_fd, &one, sizeof one);
	PL_ASSERT(put == (ssize_t)sizeof one);
	(void)pthread_join(sw->thread, NULL);
	for (struct pl_heap_node *top; (top = pl_heap_top(&sw->waiting)) != NULL;) {
		pl_heap_del(&sw->waiting, top);
		free(PL_CONTAINER_OF(top, struct packet, node));
	}
	pl_heap_done(&sw->waiting);
	(void)pthread_mutex_destroy(&sw->mutex);
	(void)close(sw->wake_fd);
	free(sw);
}

void net_switch_rule(struct net_switch *sw, unsigned from, unsigned to,
                     const struct wire_rule *rule)
{
	PL_ASSERT(from < sw->hosts + sw->ghosts && to < sw->hosts + sw->ghosts);
	(void)pthread_mutex_lock(&sw->mutex);
	sw->link[from][to].rule = rule == NULL ? (struct wire_rule){0} : *rule;
	(void)pthread_mutex_unlock(&sw->mutex);
}

struct wire_count net_switch_count(struct net_switch *sw, unsigned from, unsigned to)
{
	struct wire_count count;

	PL_ASSERT(from < sw->hosts + sw->ghosts && to < sw->hosts + sw->ghosts);
	(void)pthread_mutex_lock(&sw->mutex);
	count = sw->link[from][to].count;
	(void)pthread_mutex_unlock(&sw->mutex);
	return count;
}
