#include "coord/service/pods/known_schedulers.h"

/* The scheduler of a pod, or of a profile, that names none. */
static const char default_scheduler[] = "default-scheduler";

static struct pl_span scheduler_of(struct pl_json object)
{
	const char *name = "";

	(void)!pl_json_string(object, "schedulerName", PL_JSON_OPTIONAL, &name, NULL);
	return pl_span_str(name[0] != 0 ? name : default_scheduler);
}

struct known_schedulers known_schedulers_of(struct pl_json content)
{
	return (struct known_schedulers){.known = true,
	                                 .profiles = pl_json_member(content, "profiles")};
}

static bool has_profile(const struct known_schedulers *known_schedulers,
                        struct pl_span scheduler)
{
	struct pl_json profile = pl_json_first(known_schedulers->profiles);

	if (profile.node == NULL)
		return pl_span_eq(scheduler, pl_span_str(default_scheduler));
	for (; profile.node != NULL; profile = pl_json_next(profile))
		if (pl_span_eq(scheduler_of(profile), scheduler))
			return true;
	return false;
}

struct pl_span known_schedulers_missing(const struct known_schedulers *known_schedulers,
                                        struct pl_span spec, struct pl_arena *arena)
{
	struct pl_span scheduler;
	struct pl_json pod;

	if (!known_schedulers->known ||
	    pl_json_parse(arena, spec, NULL, &pod, NULL) != PL_OK)
		return (struct pl_span){0};
	scheduler = scheduler_of(pl_json_member(pod, "spec"));
	return has_profile(known_schedulers, scheduler) ? (struct pl_span){0} : scheduler;
}
