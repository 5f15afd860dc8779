#include <cjson/cJSON.h>
#include <stdio.h>

#include "store/base/json_index.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;

static struct cJSON *object_of(int members)
{
	struct cJSON *object = json_new_object(&arena);
	char name[16];

	for (int i = 0; i < members; i++) {
		(void)snprintf(name, sizeof name, "m%d", i * 7919 % 1000);
		if (!json_add(&arena, object, name, json_new_number(&arena, i)))
			return NULL;
	}
	return object;
}

static void finds_all(int members)
{
	struct cJSON *object = object_of(members);
	struct json_index index;

	T_TRUE(json_index_init(&index, &arena, object));
	for (struct cJSON *node = object->child; node != NULL; node = node->next)
		T_TRUE(json_index_find(&index, node->string) == node);
	T_TRUE(json_index_find(&index, "m") == NULL);
	T_TRUE(json_index_find(&index, "z") == NULL);
	pl_arena_done(&arena);
}

T_CASE(members_are_found_in_small_and_large_objects)
{
	finds_all(0);
	finds_all(1);
	finds_all(12);
	finds_all(13);
	finds_all(1000);
}

T_CASE(other_values_have_no_members)
{
	struct json_index index;

	T_TRUE(json_index_init(&index, &arena, NULL));
	T_TRUE(json_index_find(&index, "a") == NULL);
	T_TRUE(json_index_init(&index, &arena, json_new_array(&arena)));
	T_TRUE(json_index_find(&index, "a") == NULL);
	pl_arena_done(&arena);
}

static enum pl_code index_some(void)
{
	struct json_index index;
	struct cJSON *object;
	bool done;

	pl_arena_init(&arena, 1, 0);
	object = object_of(20);
	done = object != NULL && json_index_init(&index, &arena, object);
	pl_arena_done(&arena);
	return done ? PL_OK : PL_NOMEM;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(index_some, false);
}
