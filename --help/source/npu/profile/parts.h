/* parts.h -- what the files of this module share. */
#ifndef NPUTEIR_PROFILE_PARTS_H
#define NPUTEIR_PROFILE_PARTS_H

#include "profile.h"

/* ---- lanes.c: what a record's lanes say ---- */
struct window {
  double from, to; /* cycles of the run */
};
/* Cycles by cause in a window; spans that it cuts count by their part in it. */
void lane_count(const struct record_lane *, struct window,
                double cycles[RECORD_CAUSES]);
bool lane_is_channel(const struct record_lane *);
bool lane_is_shim(const struct record_lane *);
/* "shim (2,0) MM2S1" */
void lane_name(const struct record_lane *, struct text *);
/* The one argument whose elements pass, or -1. */
int lane_argument(const struct record_lane *);
/* "in1", or "argument 1" */
const char *argument_name(const struct profile_nest *, int argument,
                          char buffer[24]);

/* ---- limits.c: what limits a run ---- */
enum loss {            /* where the cores' cycles go */
            LOSS_NONE, /* they multiply */
            LOSS_START,
            LOSS_END,
            LOSS_ARGUMENT, /* and those behind it, by argument: its locks */
            LOSS_LOCK = LOSS_ARGUMENT + RECORD_ARGUMENTS, /* other locks */
            LOSS_STREAM,
            LOSS_BANK,
            LOSS_WORK,
            LOSS_IDLE,
            LOSSES
};
enum resource { /* each needs so many cycles for the run at least */
                RESOURCE_MULTIPLY,
                RESOURCE_KERNEL,
                RESOURCE_STREAM,
                RESOURCE_SHIM,
                RESOURCE_DRAM,
                RESOURCE_COMMANDS,
                RESOURCES
};
struct limits {
  double cycles;        /* of the run */
  int cores;            /* that ran */
  double share[LOSSES]; /* of cores x cycles; they sum up to 1 */
  double least[RESOURCES];
  uint64_t bytes[RECORD_ARGUMENTS]; /* moved between DRAM and the array */
  int shim_channels;                /* that moved anything */
  struct window steady; /* from the cores' first multiply to their last */
};
void limits_find(const struct record *, struct limits *);
/* One sentence: what limits the run, and what would help. */
void limits_say(const struct record *, const struct profile_nest *,
                const struct limits *, struct text *);
void loss_name(const struct profile_nest *, int loss, struct text *);
const char *resource_name(enum resource);

/* ---- device.c: calls of a real device ---- */
struct device_nest {
  char *device, *name, *what;
  double macs; /* of a call */
  struct profile_call *call; /* times since the profile's first one */
  int count;
};
/* NULL: no memory. */
struct device_nest *device_nest_open(const char *device,
                                     const struct profile_nest *);
void device_nest_close(struct device_nest *); /* NULL is fine */
void device_nest_add(struct device_nest *, const struct profile_call *);
/* The three forms; host: of all calls. */
void device_summary(const struct device_nest *, const struct profile_host *,
                    struct text *);
void device_page(const struct device_nest *, const struct profile_host *,
                 struct text *);
void device_events(const struct device_nest *, int number, struct text *);

/* ---- page.c, events.c: one nest each, as JSON ---- */
void page_nest(const struct record *, const struct profile_nest *,
               const struct limits *, const char *sentence, struct text *);
void events_nest(const struct record *, const struct profile_nest *, int number,
                 struct text *);
void json_string(struct text *, const char *);
void json_key(struct text *, const char *key, const char *value); /* and "," */
/* The name of a process or of a thread in it. */
void events_name(const char *what, int number, int thread, const char *name,
                 struct text *);
/* The page around them (made of page.html). */
extern const char page_html[];

#endif
