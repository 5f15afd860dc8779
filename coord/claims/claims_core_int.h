/* Shared by the two files of claims_core. */
#ifndef COORD_CLAIMS_CLAIMS_CORE_INT_H
#define COORD_CLAIMS_CLAIMS_CORE_INT_H

#include "coord/claims/claims_core.h"

static inline bool claims_is_up(const struct claims_core *core)
{
	return core->lease != 0 && !core->closed;
}

/* Whether the newest fact is a key with our lease. */
static inline bool claims_is_ours(const struct claims_core *core,
                                  const struct claims_slot *slot)
{
	return slot->key_epoch != 0 && core->lease != 0 && slot->key_lease == core->lease;
}

static inline bool claims_is_migrating(const struct claims_core *core,
                                       const struct claims_slot *slot)
{
	return core->leaving || slot->target == CLAIMS_OTHERS;
}

static inline bool claims_is_wanted(const struct claims_core *core,
                                    const struct claims_slot *slot)
{
	return slot->target == CLAIMS_MINE && !core->leaving && slot->revision != 0 &&
	       slot->key_epoch == 0;
}

/* Puts the slot in line for claims_run(), because something of it changed. */
void claims_mark(struct claims_core *core, struct claims_slot *slot);
/* Stops acting on the slot; LOST is to be reported. */
void claims_lose(struct claims_core *core, struct claims_slot *slot, enum claims_why why);
void claims_slot_check(const struct claims_core *core, const struct claims_slot *slot);

/* Marks the slots whose time has come. */
void claims_wake(struct claims_core *core, uint64_t now_ms);
/* Does what is due, as far as there is room for actions. */
void claims_run(struct claims_core *core, uint64_t now_ms,
                struct claims_actions *actions);

#endif
