#include "coord/api/patch/field_set.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES_MAX = 4 << 20, INSERTED_MAX = 24 };

void field_maker_init(struct field_maker *maker, struct pl_arena *arena)
{
	*maker = (struct field_maker){.arena = arena};
	pl_buf_init(&maker->text, KEY_BYTES_MAX);
}

void field_maker_done(struct field_maker *maker)
{
	pl_buf_done(&maker->text);
}

/* -- order ----------------------------------------------------------------------------- */

static bool is_number_byte(char byte)
{
	return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' ||
	       byte == '.' || byte == 'e' || byte == 'E';
}

static bool starts_number(char byte)
{
	return (byte >= '0' && byte <= '9') || byte == '-';
}

/* Compares canonical JSON of scalars or of objects of scalars: numbers by value, all else
 * by bytes. */
static int compare_json(const char *a, const char *b)
{
	bool quoted = false;
	size_t at = 0, start;

	for (; a[at] == b[at] && a[at] != 0; at++) {
		if (quoted && a[at] == '\\' && a[at + 1] == b[at + 1] && a[at + 1] != 0)
			at++;
		else if (a[at] == '"')
			quoted = !quoted;
	}
	start = at;
	while (!quoted && start > 0 && is_number_byte(a[start - 1]))
		start--;
	if (!quoted && starts_number(a[start]) && starts_number(b[start])) {
		double x = strtod(a + start, NULL), y = strtod(b + start, NULL);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return strcmp(a, b);
}

int field_compare(enum field_kind kind, const char *text, const struct field_node *node)
{
	if (kind != node->kind)
		return kind < node->kind ? -1 : 1;
	return kind == FIELD_NAME ? strcmp(text, node->text)
	                          : compare_json(text, node->text);
}

static int compare_nodes(const struct field_node *a, const struct field_node *b)
{
	return field_compare(a->kind, a->text, b);
}

/* -- nodes ----------------------------------------------------------------------------- */

static struct field_node *new_node(struct field_maker *maker)
{
	struct field_node *node = NULL;

	if (!maker->failed)
		node = pl_arena_alloc(maker->arena, sizeof *node);
	if (node == NULL)
		maker->failed = true;
	return node;
}

static void append(struct field_maker *maker, struct field_level *level,
                   const struct field_node *like, bool member,
                   const struct field_node *child)
{
	struct field_node *node;

	if (!member && child == NULL)
		return;
	node = new_node(maker);
	if (node == NULL)
		return;
	*node = (struct field_node){
		.child = child, .text = like->text, .kind = like->kind, .member = member};
	if (level->last == NULL)
		level->first = node;
	else
		level->last->next = node;
	level->last = node;
}

void field_level_add(struct field_maker *maker, struct field_level *level,
                     enum field_kind kind, const char *text, bool member,
                     struct owned_fields children)
{
	struct field_node like = {.text = text, .kind = (uint8_t)kind};
	const struct field_node *last = level->last;

	if (text == NULL) {
		maker->failed = true;
		return;
	}
	append(maker, level, &like, member, children.first);
	if (last != NULL && last != level->last && compare_nodes(last, level->last) >= 0)
		level->unsorted = true;
}

static int by_element(const void *a, const void *b)
{
	return compare_nodes(a, b);
}

/* Most levels have a few nodes, and most of these are in order. */
static void sort_nodes(struct field_node *nodes, size_t count)
{
	if (count > INSERTED_MAX) {
		qsort(nodes, count, sizeof *nodes, by_element);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		struct field_node node = nodes[i];
		size_t at = i;

		for (; at > 0 && compare_nodes(&nodes[at - 1], &node) > 0; at--)
			nodes[at] = nodes[at - 1];
		nodes[at] = node;
	}
}

/* Links the sorted nodes of an array. Elements that came twice become one. */
static struct owned_fields link_sorted(struct field_maker *maker,
                                       struct field_node *nodes, size_t count)
{
	size_t last = 0;

	for (size_t i = 1; i < count; i++) {
		struct owned_fields a = {nodes[last].child}, b = {nodes[i].child};

		if (compare_nodes(&nodes[last], &nodes[i]) == 0) {
			nodes[last].member = nodes[last].member || nodes[i].member;
			nodes[last].child = field_set_union(maker, a, b).first;
			continue;
		}
		nodes[++last] = nodes[i];
		nodes[last - 1].next = &nodes[last];
	}
	nodes[last].next = NULL;
	return (struct owned_fields){nodes};
}

struct owned_fields field_level_end(struct field_maker *maker, struct field_level *level)
{
	struct field_node *nodes;
	size_t count = 0, at = 0;

	if (!level->unsorted || maker->failed)
		return (struct owned_fields){level->first};
	for (const struct field_node *node = level->first; node != NULL;
	     node = node->next)
		count++;
	nodes = pl_arena_zalloc(maker->arena, count, sizeof *nodes);
	if (nodes == NULL) {
		maker->failed = true;
		return (struct owned_fields){0};
	}
	for (const struct field_node *node = level->first; node != NULL;
	     node = node->next)
		nodes[at++] = *node;
	sort_nodes(nodes, count);
	return link_sorted(maker, nodes, count);
}

/* -- operations ------------------------------------------------------------------------ */

/* Which of two sorted lists comes first: below 0 a, above 0 b, 0 both. */
static int compare_heads(const struct field_node *a, const struct field_node *b)
{
	if (a == NULL)
		return 1;
	return b == NULL ? -1 : compare_nodes(a, b);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
struct owned_fields field_set_union(struct field_maker *maker, struct owned_fields a,
                                    struct owned_fields b)
{
	const struct field_node *x = a.first, *y = b.first;
	struct field_level level = {0};

	if (x == NULL || y == NULL)
		return x == NULL ? b : a;
	while (x != NULL || y != NULL) {
		int order = compare_heads(x, y);
		const struct field_node *from = order <= 0 ? x : y;
		struct owned_fields children;

		PL_ASSERT(from != NULL);
		children.first = from->child;
		if (order == 0)
			children = field_set_union(maker, children,
			                           (struct owned_fields){y->child});
		append(maker, &level, from, from->member || (order == 0 && y->member),
		       children.first);
		if (order <= 0)
			x = x->next;
		if (order >= 0)
			y = y->next;
	}
	return (struct owned_fields){level.first};
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
static struct owned_fields subtract(struct field_maker *maker, struct owned_fields a,
                                    struct owned_fields b, bool with_children)
{
	const struct field_node *y = b.first;
	struct field_level level = {0};

	if (y == NULL)
		return a;
	for (const struct field_node *x = a.first; x != NULL; x = x->next) {
		struct owned_fields children = {x->child};
		bool taken;

		while (y != NULL && compare_nodes(y, x) < 0)
			y = y->next;
		if (y == NULL || compare_nodes(x, y) != 0) {
			append(maker, &level, x, x->member, x->child);
			continue;
		}
		taken = y->member;
		if (taken && with_children)
			continue;
		children = subtract(maker, children, (struct owned_fields){y->child},
		                    with_children);
		append(maker, &level, x, x->member && !taken, children.first);
	}
	return (struct owned_fields){level.first};
}

struct owned_fields field_set_minus(struct field_maker *maker, struct owned_fields a,
                                    struct owned_fields b)
{
	return subtract(maker, a, b, false);
}

struct owned_fields field_set_outside(struct field_maker *maker, struct owned_fields a,
                                      struct owned_fields b)
{
	return subtract(maker, a, b, true);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
struct owned_fields field_set_both(struct field_maker *maker, struct owned_fields a,
                                   struct owned_fields b)
{
	const struct field_node *y = b.first;
	struct field_level level = {0};

	for (const struct field_node *x = a.first; x != NULL; x = x->next) {
		struct owned_fields children;

		while (y != NULL && compare_nodes(y, x) < 0)
			y = y->next;
		if (y == NULL || compare_nodes(x, y) != 0)
			continue;
		children = field_set_both(maker, (struct owned_fields){x->child},
		                          (struct owned_fields){y->child});
		append(maker, &level, x, x->member && y->member, children.first);
	}
	return (struct owned_fields){level.first};
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
bool field_set_equal(struct owned_fields a, struct owned_fields b)
{
	const struct field_node *x = a.first, *y = b.first;

	for (; x != NULL && y != NULL; x = x->next, y = y->next)
		if (compare_nodes(x, y) != 0 || x->member != y->member ||
		    !field_set_equal((struct owned_fields){x->child},
		                     (struct owned_fields){y->child}))
			return false;
	return x == NULL && y == NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
size_t field_set_count(struct owned_fields set)
{
	size_t count = 0;

	for (const struct field_node *node = set.first; node != NULL; node = node->next)
		count += field_set_count((struct owned_fields){node->child}) +
		         (node->member ? 1 : 0);
	return count;
}

/* -- look-ups -------------------------------------------------------------------------- */

bool field_index_init(struct field_index *index, struct field_maker *maker,
                      struct owned_fields set)
{
	size_t at = 0;

	*index = (struct field_index){0};
	for (const struct field_node *node = set.first; node != NULL; node = node->next)
		index->count++;
	if (index->count == 0)
		return true;
	index->nodes = pl_arena_zalloc(maker->arena, index->count,
	                               sizeof(const struct field_node *));
	if (index->nodes == NULL) {
		maker->failed = true;
		return false;
	}
	for (const struct field_node *node = set.first; node != NULL; node = node->next)
		index->nodes[at++] = node;
	return true;
}

const struct field_node *field_index_find(const struct field_index *index,
                                          enum field_kind kind, const char *text)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = field_compare(kind, text, index->nodes[middle]);

		if (order == 0)
			return index->nodes[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
