/*
 * Output: the results of a command as rows of named fields, described once, printed as
 * a table, a wide table, JSON or YAML.
 *
 * Tables have aligned columns that are never wrapped or cut; what came from
 * outside is escaped. JSON and YAML have the names of the fields, which stay the
 * same: {"kind":"ShardList","items":[{"name":"east-0",...}]}. With --watch a table
 * grows by a line a change, JSON is one object a line with its "kind" and its
 * "change", YAML a document each. Or names alone, as other commands take them.
 */
#ifndef COORD_CLI_OUTPUT_OUTPUT_H
#define COORD_CLI_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/err.h"

enum { OUTPUT_COLUMNS_MAX = 32 };

enum output_format { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME };

enum output_show {
	OUTPUT_ALWAYS,
	OUTPUT_ON_WIDE,
	OUTPUT_IF_USED, /* when some row has it; while watching always */
};

struct output_column {
	const char *title; /* NULL: not in tables */
	const char *field; /* NULL: not in JSON and YAML */
	enum output_show show;
};

struct output_schema {
	const char *kind; /* "Shard"; the list is a "ShardList" */
	const struct output_column *columns;
	unsigned count;
	unsigned
		name_columns; /* the number of leading columns that form its name: "shop/web-0" */
};

enum output_type {
	OUTPUT_NONE, /* "-" in a table, left out elsewhere */
	OUTPUT_TEXT,
	OUTPUT_INT,
	OUTPUT_INT_STRING, /* may pass 2^53: a string, always */
	OUTPUT_DOUBLE,
	OUTPUT_BOOL,
	OUTPUT_RAW, /* JSON as it is, left out when empty; text in tables */
};

struct output_cell {
	enum output_type type;
	struct pl_span text; /* TEXT and RAW */
	struct pl_span json; /* RAW */
	union {
		int64_t number;
		double real;
		bool flag;
	};
};

/* Borrows what the cells refer to. All zero is an empty row. */
struct output_row {
	struct output_cell cells[OUTPUT_COLUMNS_MAX];
};

/* An empty text is no cell at all. */
void output_text(struct output_row *row, unsigned column, struct pl_span text);
void output_int(struct output_row *row, unsigned column, int64_t value);
void output_int_string(struct output_row *row, unsigned column, int64_t value);
void output_double(struct output_row *row, unsigned column, double value);
void output_bool(struct output_row *row, unsigned column, bool value);
void output_raw(struct output_row *row, unsigned column, struct pl_span text,
                struct pl_span json);

/* Fills the name columns from "shop/web-0". */
void output_row_name(const struct output_schema *schema, struct output_row *row,
                     struct pl_span name);

/* Copies what the cells borrow into the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code output_row_keep(const struct output_schema *schema,
                                          struct output_row *row, struct pl_arena *arena);

struct output {
	const struct output_schema *schema;
	enum output_format format;
	bool watch;
	bool headed;
	bool shown[OUTPUT_COLUMNS_MAX];
	size_t width[OUTPUT_COLUMNS_MAX];
};

enum output_change { OUTPUT_ADDED, OUTPUT_MODIFIED, OUTPUT_DELETED };

void output_init(struct output *output, const struct output_schema *schema,
                 enum output_format format, bool watch);

/* Adds all rows to *to; while watching, the rows of the first picture. */
PL_NODISCARD enum pl_code output_list(struct output *output,
                                      const struct output_row *rows, size_t count,
                                      struct pl_buf *to, struct pl_err *err);

/* Adds the rows in parts, for rows that are too many to hold at once: the first part
 * decides a table's columns, and JSON has an item a line. Not while watching. */
PL_NODISCARD enum pl_code output_part(struct output *output,
                                      const struct output_row *rows, size_t count,
                                      bool last, struct pl_buf *to, struct pl_err *err);

PL_NODISCARD enum pl_code output_change(struct output *output,
                                        const struct output_row *row,
                                        enum output_change change, struct pl_buf *to,
                                        struct pl_err *err);

/* Adds bytes that differ when the row looks different. An age that has grown, or a
 * column that is not shown, makes no difference. */
PL_NODISCARD enum pl_code output_look(const struct output *output,
                                      const struct output_row *row, struct pl_buf *to);

/* PL_INVALID: the text names no format. OUTPUT_NAME is accepted only with names. */
PL_NODISCARD enum pl_code output_format_parse(const char *text, bool names,
                                              enum output_format *out,
                                              struct pl_err *err);

/* Adds one object with the cells as members, as it stands in a list: for commands
 * that show one thing. */
PL_NODISCARD enum pl_code output_object(const struct output *output,
                                        const struct output_row *row, struct pl_buf *to,
                                        struct pl_err *err);

/* Adds compact JSON of ours, indented and with a newline, or as YAML. */
PL_NODISCARD enum pl_code output_document(enum output_format format, struct pl_span json,
                                          struct pl_buf *to, struct pl_err *err);

#endif
