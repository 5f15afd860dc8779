/* An entry of a txn builder: where its parts begin in the three lists, and how many there
 * are. */
#ifndef SHARDSCHED_RECORDS_TXN_BUILDER_INNER_H
#define SHARDSCHED_RECORDS_TXN_BUILDER_INNER_H

#include <stdbool.h>
#include <stdint.h>

enum { BUILDER_PARTS_MAX = 3 }; /* of an entry in each of the three lists */

/* The keys that its reads cover. */
enum builder_kind {
	BUILDER_POD,  /* spec and state; of a new pod the pointer, too */
	BUILDER_NODE, /* Node and alloc */
	BUILDER_KEY,
	BUILDER_BUMP, /* no compares and no reads */
};

struct builder_entry {
	uint32_t compare, then, otherwise;
	uint8_t compares, thens, otherwises;
	uint8_t kind;  /* enum builder_kind */
	uint8_t bumps; /* the last so many writes are of keys that any writer may write */
	/* No other writer writes these values: they hold the alloc's generation, or the
	 * deciding shard and the time. So they prove that the transaction was applied. */
	bool marks;
	/* The first write alone proves it: the values of the others may be replaced at any
	 * moment, and the first one stays. */
	bool by_first;
};

#endif
