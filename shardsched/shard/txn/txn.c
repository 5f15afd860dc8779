#include "shardsched/shard/txn/txn.h"

#define BIT(x) (1u << (x))

/* From each state, the states that may follow. */
static const unsigned states_after[TXN_STATES] = {
	[TXN_FREE] = BIT(TXN_FILLING),
	[TXN_FILLING] = BIT(TXN_NEW) | BIT(TXN_FREE),
	[TXN_NEW] = BIT(TXN_SENT) | BIT(TXN_RETRY) | BIT(TXN_FREE),
	[TXN_SENT] = BIT(TXN_NEW) | BIT(TXN_RETRY) | BIT(TXN_FREE),
	[TXN_RETRY] = BIT(TXN_NEW) | BIT(TXN_RETRY) | BIT(TXN_FREE),
};

static const unsigned outcomes_after[TXN_OUTCOMES] = {
	[TXN_PENDING] = BIT(TXN_UNKNOWN) | BIT(TXN_READS_CONFLICT) | BIT(TXN_APPLIED) |
                        BIT(TXN_NOT_APPLIED),
	[TXN_UNKNOWN] = BIT(TXN_UNKNOWN) | BIT(TXN_READS_OUTCOME) | BIT(TXN_APPLIED) |
                        BIT(TXN_NOT_APPLIED),
	[TXN_READS_CONFLICT] = BIT(TXN_NOT_APPLIED),
	[TXN_READS_OUTCOME] = BIT(TXN_NOT_APPLIED),
};

void txn_set_state(struct shard_txn *txn, enum txn_state state)
{
	PL_ASSERT((states_after[txn->state] & BIT(state)) != 0);
	txn->state = state;
}

void txn_set_outcome(struct shard_txn *txn, enum txn_outcome outcome)
{
	PL_ASSERT((outcomes_after[txn->outcome] & BIT(outcome)) != 0);
	txn->outcome = outcome;
}
