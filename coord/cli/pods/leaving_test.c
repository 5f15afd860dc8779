/* Commands that expect pods report those that are being deleted and still there. */
#include "tests/support/coord/cli/pods_fixture.h"

static void submit_bound(const char *name, const char *pod)
{
	T_EQ(RUN(pod, "submit", "-f", "-"), 0);
	put_state("default", name, BOUND);
}

T_CASE(a_pod_that_is_being_deleted_is_not_submitted)
{
	placet_up(PARTITIONS);
	submit_bound("a", POD("a", ""));
	T_EQ(PLACET("delete", "pod", "a", "--yes", "--wait=false"), 0);
	T_EQ(RUN(POD("a", "") POD("b", ""), "submit", "-f", "-"), 1);
	placet_prints("1 submitted, 0 unchanged, 1 being deleted\n");
	placet_says("default/a is being deleted, and is not submitted\n");
	placet_says("1 pod is being deleted, and was not submitted; submit it again when "
	            "it is gone");
	T_EQ(RUN(POD("a", "\"priority\":2,") POD("b", "\"priority\":2,"), "submit", "-f",
	         "-", "-o", "json"),
	     1);
	placet_prints("\"unchanged\":0,\"others\":1,\"leaving\":1,");
	placet_says("1 pod exists with another spec, and nothing was changed there: 1 "
	            "pod is being deleted");
	put_state("default", "a", NULL);
	T_EQ(PLACET("delete", "pod", "a", "--yes"), 0);
	T_EQ(RUN(POD("a", ""), "submit", "-f", "-"), 0);
	placet_prints("1 submitted, 0 unchanged\n");
	placet_down();
}

T_CASE(a_pod_that_is_being_deleted_is_not_waited_for)
{
	placet_up(PARTITIONS);
	submit_bound("a", LABELED("a", "\"app\":\"web\""));
	submit_bound("b", LABELED("b", "\"app\":\"db\""));
	T_EQ(PLACET("delete", "pod", "a", "--yes", "--wait=false"), 0);
	T_EQ(PLACET("wait", "--for=bound", "a", "b"), 1);
	placet_says("default/a is being deleted\n");
	placet_says("1 pods are being deleted");
	T_EQ(RUN(POD("a", ""), "wait", "--for=bound", "-f", "-"), 1);
	placet_says("default/a is being deleted\n");
	T_EQ(PLACET("wait", "--for=bound", "--all"), 0);
	placet_prints("1 pod bound");
	T_EQ(PLACET("wait", "--for=bound", "-l", "app=web"), 1);
	placet_says("no pod has these labels but such as are being deleted");
	placet_down();
}

T_CASE(pods_are_waited_for_until_they_are_gone)
{
	static const char *const args[] = {"wait", "--for=delete", "a", "none", NULL};
	static struct placet_running running;

	placet_up(PARTITIONS);
	submit_bound("a", POD("a", ""));
	T_EQ(PLACET("wait", "--for=delete", "none"), 0);
	placet_prints("1 pod gone\n");
	T_EQ(RUN(POD("a", "") POD("x", ""), "wait", "--for=delete", "-f", "-",
	         "--timeout=100ms"),
	     1);
	placet_says("still there: default/a\n");
	placet_says("1 of 2 pods are still there after 100ms");
	placet_start(&running, args);
	put_state("default", "a", NULL);
	T_EQ(PLACET("delete", "pod", "a", "--yes"), 0);
	placet_await(&running, "2 pods gone");
	T_EQ(placet_end(&running), 0);
	T_EQ(PLACET("wait", "--for=delete", "--all"), 2);
	placet_says("--for=delete: want names or -f FILE");
	placet_down();
}
