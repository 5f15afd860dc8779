#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/fault.h"
#include "store/base/list.h"
#include "tests/harness/t.h"

T_CASE(every_code_has_a_name_and_an_advice)
{
	for (int i = 0; i < PL_CODE_COUNT; i++) {
		T_TRUE(strlen(pl_code_name((enum pl_code)i)) > 0);
		T_TRUE(strlen(pl_code_advice((enum pl_code)i)) > 0);
	}
}

T_CASE(wrap_keeps_the_code_and_prefixes_the_message)
{
	struct pl_err err = {0};

	T_EQ(pl_err_set(&err, PL_NOTFOUND, "key %s", "/a"), PL_NOTFOUND);
	T_EQ(pl_err_wrap(&err, "load %d", 7), PL_NOTFOUND);
	T_EQ(err.code, PL_NOTFOUND);
	T_STR(err.msg, "load 7: key /a");
	T_EQ(pl_err_set(NULL, PL_BUSY, "x"), PL_BUSY);
}

/* For all lengths the message ends with a NUL, and the context is kept. */
T_CASE(long_messages_are_cut)
{
	char text[PL_ERR_MSG_SIZE * 2] = {0};

	for (size_t len = 0; len + 1 < sizeof text; len++) {
		struct pl_err err = {0};

		memset(text, 'x', len);
		pl_err_set(&err, PL_IO, "%s", text);
		T_EQ(strlen(err.msg), len < PL_ERR_MSG_SIZE ? len : PL_ERR_MSG_SIZE - 1);
		pl_err_wrap(&err, "open");
		T_TRUE(strncmp(err.msg, "open: ", 6) == 0);
		T_TRUE(strlen(err.msg) < PL_ERR_MSG_SIZE);
		pl_err_set(&err, PL_IO, "why");
		pl_err_wrap(&err, "%s", text);
		T_TRUE(strlen(err.msg) < PL_ERR_MSG_SIZE);
		T_TRUE(len > PL_ERR_MSG_SIZE - 8 || strstr(err.msg, ": why") != NULL);
	}
}

T_CASE(a_broken_invariant_ends_the_process)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)signal(SIGABRT, SIG_DFL);
		(void)freopen("/dev/null", "w", stderr);
		PL_ASSERT(pid != 0);
		_exit(0);
	}
	T_EQ(waitpid(pid, &status, 0), pid);
	T_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

T_CASE(the_nth_hit_fails_once)
{
	pl_fault_reset();
	T_TRUE(!pl_fault_hit(PL_FAULT_ALLOC));
	pl_fault_arm(PL_FAULT_ALLOC, 2);
	T_TRUE(!pl_fault_hit(PL_FAULT_ALLOC) && !pl_fault_fired(PL_FAULT_ALLOC));
	T_TRUE(!pl_fault_hit(PL_FAULT_SPAWN));
	T_TRUE(pl_fault_hit(PL_FAULT_ALLOC) && pl_fault_fired(PL_FAULT_ALLOC));
	T_TRUE(!pl_fault_hit(PL_FAULT_ALLOC));
	T_EQ(pl_fault_hits(PL_FAULT_ALLOC), 4);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	pl_fault_arm(PL_FAULT_ALLOC, 0);
	T_TRUE(!pl_fault_hit(PL_FAULT_ALLOC));
	for (int i = 0; i < PL_FAULT_COUNT; i++)
		T_TRUE(strlen(pl_fault_name((enum pl_fault)i)) > 0);
}

T_CASE(each_kind_of_allocation_can_be_made_to_fail)
{
	PL_CLEANUP(pl_freep) char *kept = pl_strdup("kept");
	void *grown;

	T_STR(kept, "kept");
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_TRUE(pl_malloc(8) == NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_TRUE(pl_calloc(1, 8) == NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_TRUE(pl_strdup("x") == NULL);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_TRUE(pl_realloc(kept, 100) == NULL);
	T_STR(kept, "kept");
	grown = pl_realloc(kept, 100);
	T_TRUE(grown != NULL);
	kept = grown;
	T_STR(kept, "kept");
}

T_CASE(clocks_go_forward)
{
	uint64_t ns = pl_clock_ns(), cpu = pl_clock_cpu_ns();

	T_TRUE(pl_clock_ns() >= ns && pl_clock_ms() >= ns / 1000000);
	T_TRUE(pl_clock_cpu_ns() >= cpu);
	T_TRUE(pl_clock_wall_ms() > INT64_C(1700000000000));
}

struct err_item {
	struct pl_list link;
	int value;
};

static int sum(const struct pl_list *head)
{
	int all = 0;

	PL_LIST_EACH (link, head)
		all = all * 10 + PL_LIST_ITEM(link, struct err_item, link)->value;
	return all;
}

T_CASE(list_adds_moves_and_removes)
{
	struct err_item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
	struct pl_list head;

	pl_list_init(&head);
	T_TRUE(pl_list_empty(&head) && sum(&head) == 0);
	pl_list_add_tail(&head, &items[1].link);
	pl_list_add_tail(&head, &items[2].link);
	pl_list_add_head(&head, &items[0].link);
	T_EQ(sum(&head), 123);
	PL_LIST_EACH (link, &head)
		if (PL_LIST_ITEM(link, struct err_item, link)->value == 2)
			pl_list_del(link);
	T_EQ(sum(&head), 13);
	pl_list_del(&items[1].link);
	pl_list_del(&items[0].link);
	pl_list_del(&items[2].link);
	T_TRUE(pl_list_empty(&head));
}

T_CASE(spans_compare_bytewise)
{
	struct pl_span a = PL_SPAN_LIT("ab"), none = pl_span_str(NULL);

	T_TRUE(none.len == 0 && pl_span_eq(none, PL_SPAN_LIT("")));
	T_TRUE(pl_span_eq(a, pl_span_str("ab")) && !pl_span_eq(a, PL_SPAN_LIT("ac")));
	T_TRUE(pl_span_cmp(a, a) == 0 && pl_span_cmp(a, PL_SPAN_LIT("ab\0")) < 0);
	T_TRUE(pl_span_cmp(PL_SPAN_LIT("\xff"), PL_SPAN_LIT("a")) > 0);
	T_TRUE(pl_span_cmp(none, a) < 0 && pl_span_cmp(a, none) > 0);
	T_TRUE(pl_span_starts(a, PL_SPAN_LIT("a")) && pl_span_starts(a, none));
	T_TRUE(!pl_span_starts(a, PL_SPAN_LIT("abc")) && pl_span_starts(none, none));
}
