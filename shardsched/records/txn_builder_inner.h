/* What lies behind an entry of a book: where its parts begin, and how many they are. */
#ifndef SHARDSCHED_RECORDS_TXN_BUILDER_INNER_H
#define SHARDSCHED_RECORDS_TXN_BUILDER_INNER_H

#include <stdbool.h>
#include <stdint.h>

enum { BUILDER_PARTS_MAX = 3 }; /* of an entry in each of the three lists */

/* What its reads are of. */
enum builder_kind {
	BUILDER_POD,  /* spec and state; the pointer of a new one */
	BUILDER_NODE, /* Node; alloc */
	BUILDER_KEY,
	BUILDER_BUMP, /* no compares, no reads */
};

struct builder_entry {
	uint32_t compare, then, otherwise;
	uint8_t compares, thens, otherwises;
	uint8_t kind; /* enum builder_kind */
	bool bumps;   /* its last write is one that anybody may write */
	/* Its values are written by nobody else: the generation of an alloc, or who
	 * decided and when, is in them. So they prove that the book was applied. */
	bool marks;
};

#endif
