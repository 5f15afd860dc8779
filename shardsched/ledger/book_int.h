/* What lies behind an entry of a book: where its parts begin, and how many they are. */
#ifndef SHARDSCHED_LEDGER_BOOK_INT_H
#define SHARDSCHED_LEDGER_BOOK_INT_H

#include <stdbool.h>
#include <stdint.h>

enum { BOOK_PARTS_MAX = 3 }; /* of an entry in each of the three lists */

/* What its reads are of. */
enum book_kind {
	BOOK_POD,  /* spec and state; the pointer of a new one */
	BOOK_NODE, /* Node; alloc */
	BOOK_KEY,
	BOOK_BUMP, /* no compares, no reads */
};

struct book_entry {
	uint32_t compare, then, otherwise;
	uint8_t compares, thens, otherwises;
	uint8_t kind; /* enum book_kind */
	bool bumps;   /* its last write is one that anybody may write */
	/* Its values are written by nobody else: the generation of an alloc, or who
	 * decided and when, is in them. So they prove that the book was applied. */
	bool marks;
};

#endif
