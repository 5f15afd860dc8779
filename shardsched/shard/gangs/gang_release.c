/* Releases reservations of gangs that were given up, by the owners of their nodes. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/reservations/reservation.h"

enum { LONE_MS = 2000 };

/* A reservation without a record is released only if it has had none for a while. */
static void release_reservations(struct sched *sched,
                                 const struct gang_record_entry *known)
{
	struct gang_step step = {.known = known};

	PL_LIST_EACH (link, &sched->reserving) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, reserving);
		const struct sched_reservation *reservation =
			reservation_of_gang(node, known->key);

		if (reservation == NULL || reservation_is_planned(reservation) ||
		    node->txn != 0 || !node_is_local(sched, node) ||
		    (known->rev == 0 && (reservation->orphan_ms == 0 ||
		                         sched->now_ms < reservation->orphan_ms)))
			continue;
		(void)gang_step_bind(sched, &step, node, NULL, 0);
		if (step.full)
			break;
	}
	gang_step_end(sched, &step);
}

/* The reservation has had no record for long enough. */
static bool is_orphaned(const struct sched *sched, struct sched_reservation *reservation)
{
	if (reservation->kind != ALLOC_RESERVATION_GANG ||
	    reservation_is_planned(reservation) ||
	    gang_records_has(sched, reservation->key)) {
		reservation->orphan_ms = 0;
		return false;
	}
	if (reservation->orphan_ms == 0)
		reservation->orphan_ms = sched->now_ms + LONE_MS;
	return sched->now_ms >= reservation->orphan_ms;
}

static struct gang_record_entry *next_orphaned(struct sched *sched)
{
	struct gang_record_entry *known;

	PL_LIST_EACH (link, &sched->reserving) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, reserving);

		for (uint32_t i = 0; i < node->reservations; i++) {
			if (!is_orphaned(sched, &node->reservation[i]) ||
			    node->txn != 0 || !node_is_local(sched, node))
				continue;
			known = gang_records_get(sched, node->reservation[i].key);
			if (known != NULL) /* else no gang can have that name */
				return known;
		}
	}
	return NULL;
}

void large_gangs_release(struct sched *sched)
{
	struct gang_record_entry *known;

	PL_LIST_EACH (link, &sched->gang_records.standing) {
		known = PL_LIST_ITEM(link, struct gang_record_entry, link);
		if (known->malformed || known->phase == GANG_PHASE_ABORTING)
			release_reservations(sched, known);
	}
	known = sched->gang_records.listed ? next_orphaned(sched) : NULL;
	if (known != NULL)
		release_reservations(sched, known);
}
