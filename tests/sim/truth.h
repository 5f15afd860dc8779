/*
 * The truth is what the store holds at this moment, read from its own history of
 * revisions: the judges' view, which no fault touches.
 */
#ifndef TESTS_SIM_TRUTH_H
#define TESTS_SIM_TRUTH_H

#include <stdbool.h>

#include "store/kv/kv.h"

struct world;

enum { TRUTH_SHARD_NONE = UINT16_MAX, TRUTH_ROLES_MAX = 4, TRUTH_PINS_MAX = 16 };
enum { TRUTH_ROLE_SIZE = 32, TRUTH_CONFIGS = 5, TRUTH_TABLES = 8 };

struct truth_owner {
	bool exists;
	uint16_t shard; /* TRUTH_SHARD_NONE: the value does not say */
	int64_t epoch;
	int64_t lease;
	uint64_t since_ms; /* time of its last change */
};

struct truth_leader {
	char role[TRUTH_ROLE_SIZE];
	bool exists;
	uint16_t shard;
	int64_t epoch;
	int64_t lease;
};

struct truth_member {
	bool exists;
	bool active;
	uint16_t shard;
	uint32_t weight, salt;
	int64_t lease;
	int64_t create_revision;
};

struct truth_pin {
	char key[64];
	int64_t revision; /* 0: free */
};

struct truth {
	struct world *world;
	struct kv *kv; /* also the operators' connection */
	struct kv_watch *watch;
	bool ended;
	bool listing; /* judges are not told */
	int64_t revision;
	uint32_t partitions; /* length of the array */
	struct truth_owner *owner;
	unsigned shards;
	struct truth_member *member;
	struct truth_leader leader[TRUTH_ROLES_MAX];
	struct truth_pin pin[TRUTH_PINS_MAX];
	uint64_t config[TRUTH_CONFIGS]; /* current versions; 0: none */
	char *weights[TRUTH_TABLES];    /* the last tables of weights, by version */
};

void truth_open(struct truth *truth, struct world *world, uint32_t partitions,
                unsigned shards);
void truth_close(struct truth *truth); /* runs the store meanwhile */
void truth_free(struct truth *truth);

/* The store was restored: everything is listed again. */
void truth_restored(struct truth *truth);

/* Returns the weight of a shard in the current table of weights, in thousandths. */
uint32_t truth_factor(const struct truth *truth, unsigned shard);

/* "s12" is 12; TRUTH_SHARD_NONE: not a name of this world. */
uint16_t truth_shard_of(struct pl_span id, unsigned shards);

#endif
