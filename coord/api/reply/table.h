/*
 * Tables: what kubectl prints. The columns of a resource are those of Kubernetes, in its
 * order and with its priorities (1: only with -o wide); pods and nodes have more columns
 * behind them (Cluster, Reason), so that the place of no other column changes.
 *
 *	{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},
 *	 "columnDefinitions":[...],"rows":[{"cells":[...],"object":{...}}]}
 *
 * Pure: the moment of ages is handed in. A resource without columns of its own has Name
 * and Created At.
 */
#ifndef COORD_API_REPLY_TABLE_H
#define COORD_API_REPLY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/api/reply/list_meta.h"
#include "store/base/arena.h"

/* The object of a row: includeObject of the query. */
enum table_include { TABLE_METADATA, TABLE_NONE, TABLE_OBJECT };

struct table_row;

struct table_column {
	const char *name;
	const char *type;   /* "string", "integer", "boolean", "date" */
	const char *format; /* "name", or "" */
	uint8_t priority;
	const char *doc;
};

/* Writes the cells of an object. */
typedef void table_cells_fn(struct table_row *row, struct pl_json object);

struct table_kind {
	const char *group, *plural;
	const struct table_column *columns; /* ends with a name of NULL */
	table_cells_fn *cells;
};

/* group empty: core. Never NULL. */
const struct table_kind *table_kind_find(const char *group, const char *plural);

struct table_writer {
	struct pl_json_out *out;
	struct pl_arena *arena; /* for sorting; the caller may reset it between rows */
	const struct table_kind *kind;
	int64_t now_ms;
	enum table_include include;
	bool beta; /* meta.k8s.io/v1beta1 */
	struct pl_buf scratch;
};

/* False: no such value (400, table_include_message). Empty: TABLE_METADATA. */
bool table_include_parse(struct pl_span text, enum table_include *out);

/* The writer borrows what is in it; done frees its scratch. */
void table_writer_init(struct table_writer *writer);
void table_writer_done(struct table_writer *writer);

/* Failures stick to the output; pl_json_out_done tells them. headers false: the columns
 * are left out, as in all events of a watch but the first. */
void table_begin(struct table_writer *writer, const struct list_meta *list, bool headers);
void table_add(struct table_writer *writer, struct pl_json object);
void table_end(struct table_writer *writer);
/* A whole table with one row: the object of a watch event, or the answer to a get. */
void table_of_one(struct table_writer *writer, struct pl_json object, bool headers);

#endif
