#include "coord/metrics/metrics_hub.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* A set that is not changed any more; counted under the hub's lock. */
struct metrics_answer {
	struct metric_set *set; /* NULL: there was no memory */
	unsigned refs;
};

enum pl_code metrics_hub_init(struct metrics_hub *hub, struct pl_err *err)
{
	int rc;

	*hub = (struct metrics_hub){0};
	pl_list_init(&hub->sources);
	pl_list_init(&hub->exporters);
	rc = uv_mutex_init(&hub->lock);
	return rc == 0 ? PL_OK : pl_err_set(err, PL_IO, "mutex: %s", uv_strerror(rc));
}

void metrics_hub_done(struct metrics_hub *hub)
{
	PL_ASSERT(pl_list_empty(&hub->sources) && pl_list_empty(&hub->exporters));
	uv_mutex_destroy(&hub->lock);
}

static void unref(struct metrics_answer *answer)
{
	if (answer == NULL || --answer->refs > 0)
		return;
	metric_set_free(answer->set);
	free(answer);
}

static void tell_exporters(struct metrics_hub *hub)
{
	PL_LIST_EACH (link, &hub->exporters) {
		struct metrics_listener *listener =
			PL_LIST_ITEM(link, struct metrics_listener, link);

		listener->ready(listener->ctx);
	}
}

/* -- sources ----------------------------------------------------------------------------- */

void metrics_source_join(struct metrics_hub *hub, struct metrics_source *source)
{
	uv_mutex_lock(&hub->lock);
	source->hub = hub;
	source->answer = NULL;
	source->answered =
		hub->asked; /* older questions are not the source's to answer */
	pl_list_add_tail(&hub->sources, &source->link);
	uv_mutex_unlock(&hub->lock);
}

void metrics_source_leave(struct metrics_source *source)
{
	struct metrics_hub *hub = source->hub;

	if (hub == NULL)
		return;
	uv_mutex_lock(&hub->lock);
	source->hub = NULL;
	pl_list_del(&source->link);
	unref(source->answer);
	source->answer = NULL;
	tell_exporters(hub);
	uv_mutex_unlock(&hub->lock);
}

bool metrics_source_is_asked(struct metrics_source *source, uint64_t *question)
{
	bool asked;

	if (source->hub == NULL)
		return false;
	uv_mutex_lock(&source->hub->lock);
	*question = source->hub->asked;
	asked = source->answered < *question;
	uv_mutex_unlock(&source->hub->lock);
	return asked;
}

void metrics_source_answer(struct metrics_source *source, uint64_t question,
                           struct metric_set *set)
{
	struct metrics_answer *answer = pl_calloc(1, sizeof *answer);

	if (answer == NULL)
		metric_set_free(set);
	else
		*answer = (struct metrics_answer){.set = set, .refs = 1};
	uv_mutex_lock(&source->hub->lock);
	unref(source->answer);
	source->answer = answer;
	source->answered = question;
	tell_exporters(source->hub);
	uv_mutex_unlock(&source->hub->lock);
}

/* -- exporters --------------------------------------------------------------------------- */

void metrics_hub_listen(struct metrics_hub *hub, struct metrics_listener *listener)
{
	uv_mutex_lock(&hub->lock);
	pl_list_add_tail(&hub->exporters, &listener->link);
	uv_mutex_unlock(&hub->lock);
}

void metrics_hub_unlisten(struct metrics_hub *hub, struct metrics_listener *listener)
{
	uv_mutex_lock(&hub->lock);
	pl_list_del(&listener->link);
	uv_mutex_unlock(&hub->lock);
}

uint64_t metrics_hub_ask(struct metrics_hub *hub)
{
	uint64_t question;

	uv_mutex_lock(&hub->lock);
	question = ++hub->asked;
	PL_LIST_EACH (link, &hub->sources) {
		struct metrics_source *source =
			PL_LIST_ITEM(link, struct metrics_source, link);

		source->wake(source->ctx);
	}
	uv_mutex_unlock(&hub->lock);
	return question;
}

static bool has_answered(const struct metrics_source *source, uint64_t question)
{
	return source->answered >= question;
}

bool metrics_hub_is_answered(struct metrics_hub *hub, uint64_t question)
{
	bool all = true;

	uv_mutex_lock(&hub->lock);
	PL_LIST_EACH (link, &hub->sources)
		all = all && has_answered(PL_LIST_ITEM(link, struct metrics_source, link),
		                          question);
	uv_mutex_unlock(&hub->lock);
	return all;
}

/* Takes a reference to each answer, so that they can be merged without the lock. */
static unsigned take_answers(struct metrics_hub *hub, uint64_t question,
                             struct metrics_answer *out[METRICS_SOURCES_MAX],
                             unsigned *missing)
{
	unsigned count = 0;

	*missing = 0;
	PL_LIST_EACH (link, &hub->sources) {
		const struct metrics_source *source =
			PL_LIST_ITEM(link, struct metrics_source, link);
		struct metrics_answer *answer = source->answer;

		if (!has_answered(source, question) || answer == NULL ||
		    answer->set == NULL) {
			(*missing)++;
			continue;
		}
		PL_ASSERT(count < METRICS_SOURCES_MAX);
		answer->refs++;
		out[count++] = answer;
	}
	return count;
}

struct metrics_hub_count metrics_hub_merge(struct metrics_hub *hub, uint64_t question,
                                           struct metric_set *into)
{
	struct metrics_answer *answers[METRICS_SOURCES_MAX];
	struct metrics_hub_count count = {0};

	uv_mutex_lock(&hub->lock);
	count.answered = take_answers(hub, question, answers, &count.missing);
	uv_mutex_unlock(&hub->lock);
	for (unsigned i = 0; i < count.answered; i++)
		metric_set_merge(into, answers[i]->set);
	uv_mutex_lock(&hub->lock);
	for (unsigned i = 0; i < count.answered; i++)
		unref(answers[i]);
	uv_mutex_unlock(&hub->lock);
	return count;
}
