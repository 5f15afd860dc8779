/* An intrusive doubly linked list: the link lies in the element, so nothing allocates. */
#ifndef STORE_BASE_LIST_H
#define STORE_BASE_LIST_H

#include <stdbool.h>

#include "store/base/compiler.h"

/* An empty head points to itself, and so does a link that is in no list. */
struct pl_list {
	struct pl_list *next;
	struct pl_list *prev;
};

static inline void pl_list_init(struct pl_list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool pl_list_empty(const struct pl_list *list)
{
	return list->next == list;
}

static inline void pl_list_add_tail(struct pl_list *head, struct pl_list *link)
{
	link->next = head;
	link->prev = head->prev;
	head->prev->next = link;
	head->prev = link;
}

static inline void pl_list_add_head(struct pl_list *head, struct pl_list *link)
{
	pl_list_add_tail(head->next, link);
}

/* Leaves the link empty, so that a second removal does no harm. */
static inline void pl_list_del(struct pl_list *link)
{
	link->next->prev = link->prev;
	link->prev->next = link->next;
	pl_list_init(link);
}

/* Moves all elements of from to the end of to. */
static inline void pl_list_move(struct pl_list *to, struct pl_list *from)
{
	if (pl_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	pl_list_init(from);
}

#define PL_LIST_ITEM(link, type, member) PL_CONTAINER_OF(link, type, member)

/* The body may remove the current element but no other. */
/* NOLINTBEGIN(bugprone-macro-parentheses): link is a name that is declared here. */
#define PL_LIST_EACH(link, head)                                             \
	for (struct pl_list *link = (head)->next, *link##_next = link->next; \
	     link != (head); link = link##_next, link##_next = link->next)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
