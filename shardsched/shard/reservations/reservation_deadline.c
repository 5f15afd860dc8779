/*
 * Deadlines of nominations.
 *
 * The owner of a nominated pod renews its reservation in time while the pod waits. The
 * owner of the node ends one that was not renewed, so that no room is kept for ever for a
 * pod whose owner does not see it, or finds it malformed.
 *
 *	written       until: RESERVATION_MS from now
 *	  |  RESERVATION_RENEW_MS before it, by the pod's owner: written anew
 *	until
 *	  |  RESERVATION_GRACE_MS later, by the node's owner: it goes
 *
 * The deadline was written by another clock. It is only used to tell how far off it is
 * when it is first seen, at most RESERVATION_MS and at least nothing; from there on the
 * monotonic clock counts. So however much the clocks disagree, a reservation stands for
 * RESERVATION_GRACE_MS after it was renewed, which is twice as long as it takes until it
 * is renewed again, and ends after the sum of both if it is not.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/reservations/reservation.h"

/* The pod waits, and is this shard's. */
static bool is_ours_and_wanted(const struct sched *sched,
                               const struct sched_reservation *reservation)
{
	const struct sched_pod *pod = reservation->pod;
	const struct sched_partition *part;

	if (pod == NULL || reservation_is_planned(reservation) ||
	    reservation_goes(reservation))
		return false;
	part = &sched->partition[pod->key[0]];
	return part->owned && part->open && !part->quiet &&
	       (pod->flags & (POD_BAD_SPEC | POD_BAD_STATE)) == 0;
}

static uint64_t renew_ms(const struct sched_reservation *reservation)
{
	const uint64_t before_ms = RESERVATION_GRACE_MS + RESERVATION_RENEW_MS;

	return reservation->over_ms > before_ms ? reservation->over_ms - before_ms : 1;
}

/* When this shard has to do something for it; UINT64_MAX: now, or never. */
static uint64_t due_ms(const struct sched *sched, const struct sched_node *node,
                       const struct sched_reservation *reservation)
{
	if (reservation->kind != ALLOC_RESERVATION_NOMINATED ||
	    reservation_is_planned(reservation) || reservation_goes(reservation))
		return UINT64_MAX;
	if (reservation->over_ms == 0)
		return 0;
	if (is_ours_and_wanted(sched, reservation))
		return reservation->due ? UINT64_MAX : renew_ms(reservation);
	return node_is_local(sched, node) ? reservation->over_ms : UINT64_MAX;
}

void reservation_watch(struct sched *sched, const struct sched_node *node,
                       const struct sched_reservation *reservation)
{
	uint64_t at_ms = due_ms(sched, node, reservation);

	if (at_ms < sched->reservations_ms)
		sched->reservations_ms = at_ms;
}

/* Only within a turn, when the time is known. */
static void set_deadline(const struct sched *sched, struct sched_reservation *reservation)
{
	int64_t left_ms = reservation->until_ms - sched->wall_ms;

	if (left_ms < 0)
		left_ms = 0;
	else if (left_ms > RESERVATION_MS)
		left_ms = RESERVATION_MS;
	reservation->over_ms = sched->now_ms + (uint64_t)left_ms + RESERVATION_GRACE_MS;
}

static void check_deadline(struct sched *sched, struct sched_node *node,
                           struct sched_reservation *reservation)
{
	uint64_t at_ms = due_ms(sched, node, reservation);

	if (at_ms == 0) {
		set_deadline(sched, reservation);
		at_ms = due_ms(sched, node, reservation);
	}
	if (at_ms > sched->now_ms) {
		reservation_watch(sched, node, reservation);
		return;
	}
	if (is_ours_and_wanted(sched, reservation)) {
		reservation->due = true;
		node_set_ready(sched, node);
		return;
	}
	reservation->overdue = true;
	sched->figures.lapsed++;
	reservation_leave(sched, node, reservation);
}

void reservations_run(struct sched *sched)
{
	if (sched->now_ms < sched->reservations_ms)
		return;
	sched->reservations_ms = UINT64_MAX;
	PL_LIST_EACH (link, &sched->reserving) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, reserving);

		for (uint32_t i = 0; i < node->reservations; i++)
			check_deadline(sched, node, &node->reservation[i]);
	}
}

uint64_t reservations_deadline_ms(const struct sched *sched)
{
	return sched->reservations_ms;
}

bool reservation_renews(const struct sched *sched,
                        const struct sched_reservation *reservation)
{
	return reservation->due && is_ours_and_wanted(sched, reservation);
}

void reservation_renew(const struct sched *sched, struct sched_reservation *reservation)
{
	reservation->until_next = sched->wall_ms + RESERVATION_MS;
}

void reservation_renewed(struct sched *sched, struct sched_reservation *reservation)
{
	reservation->until_ms = reservation->until_next;
	reservation->until_next = 0;
	reservation->over_ms = 0;
	reservation->due = false;
	sched->reservations_ms = 0;
	sched->figures.renewed++;
}
