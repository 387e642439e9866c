package config

import (
	"fmt"
	"maps"
	"net"
	"strings"
	"time"
)

// LocalPool names the pool of this machine's HTCondor configuration.
const LocalPool = "htcondor"

// Real has the settings for a real pool; a simulated one ignores them.
type Real struct {
	// Observe plans and publishes start times but matches nothing.
	Observe bool
	// ObserverRecord is how many MiB the record of an observer takes at most; 0: it keeps none.
	ObserverRecord int
	// State is the folder in which guarantees and usage survive the process; empty means that they
	// do not, except under HTCondor's own configuration, where the default is $(SPOOL)/backfill.
	State string
	// StartSlack is added to the length of each job's place in the plan.
	StartSlack time.Duration
	// Token is a file or folder of tokens that authenticate us; empty means those of HTCondor's
	// configuration.
	Token string
}

// Tuning is what can change while a real pool is scheduled. Each part belongs to one package, which
// embeds it in its own settings.
type Tuning struct {
	Look     // of package observe
	Handover // of package dispatch
	Pace     // of package htcondor
	Telling  // of package daemon
	Own      // of package daemon
}

// Look is what a look at the pool asks for.
type Look struct {
	// SlotConstraint and JobConstraint leave out the ads that they are not true of; "" for none.
	SlotConstraint, JobConstraint string
	// SubmitterConstraint leaves out the jobs of submitters of whose ads it is not true; "" for none.
	SubmitterConstraint string
	Ranks
	Weights
	Preemption
	Scavenging
	// SystemRemove is the expression by which all schedds are taken to remove jobs; "" for none.
	SystemRemove string
	// Interval is the longest time between two looks. A look also asks which jobs were put on hold
	// or removed in that time.
	Interval time.Duration
}

// Ranks are expressions by which the pool ranks slots for each job, or "": PreJobRank counts more than
// the job's own Rank, PostJobRank decides among what the job ranks alike. MY is the slot, TARGET the job.
type Ranks struct {
	PreJobRank, PostJobRank string
	// IgnoreJob says that all slots are ranked for all jobs alike: what jobs rank, and what the
	// expressions say of them, does not count.
	IgnoreJob bool
}

// Weights are expressions over slots by which the pool's slots are weighed, or "". SlotWeight is
// what a slot weighs whose ad does not say it in SlotWeight, or any slot if it is Forced; "": its
// cpus. PoolSize is true of the slots that count for the size of the pool; "": all do.
type Weights struct {
	SlotWeight string
	Forced     bool
	PoolSize   string
}

// Preemption says when running jobs make way for waiting ones.
type Preemption struct {
	// ConsiderPreemption allows it at all.
	ConsiderPreemption bool
	// PreemptionRequirements is the expression over a claimed slot and a waiting job that must be true if a
	// user's priority is the reason; "" and False: never. PreemptionRank chooses among claimed slots.
	PreemptionRequirements, PreemptionRank string
	// SeveralClaims allows a partitionable slot to take back several dynamic slots for one job.
	SeveralClaims bool
	// EarlyPreemption also considers jobs that have retirement time left.
	EarlyPreemption bool
	// CrossSlotPrios adds the users of a machine's other slots to the ad of each.
	CrossSlotPrios bool
	// PreemptPromised allows a priority to take what is promised to others.
	PreemptPromised bool
	// PreemptionPause is for how long a pair that changed places is not exchanged again.
	PreemptionPause time.Duration
}

// Scavenging says which jobs are scavengers besides those that say it themselves: they run on what is
// idle, and make way for all others.
type Scavenging struct {
	// Scavengers are the users and submitters all of whose jobs are, as a list.
	Scavengers string
	// NiceUsers says that the jobs of nice users are.
	NiceUsers bool
}

// Possible tells whether a job may be displaced for a user's priority.
func (p Preemption) Possible() bool {
	return p.ConsiderPreemption && !isFalse(p.PreemptionRequirements)
}

// isFalse tells whether an expression is never true by its text.
func isFalse(text string) bool {
	text = strings.Trim(text, "() ")
	return text == "" || text == "0" || strings.EqualFold(text, "false") || strings.EqualFold(text, "undefined")
}

// Handover is how matches are handed over to schedds.
type Handover struct {
	// MatchExprs are attributes that are added to the ad of each matched slot, as lines of NAME =
	// EXPRESSION; "" for none.
	MatchExprs string
	// Lease is for how long after its match a claim may be used for more jobs of its submitter; 0:
	// every claim is for one job.
	Lease time.Duration
}

// Pace is how often the pool is scheduled.
type Pace struct {
	// Timeout is for how long a schedd may take to answer at least; 0: as usual.
	Timeout time.Duration
	// CycleDelay is the shortest time between the end of a cycle and the next look, whoever asks for
	// one.
	CycleDelay time.Duration
	// MinInterval is the shortest time between the beginnings of two looks; 0: none.
	MinInterval time.Duration
}

// Telling is what users and other daemons are told.
type Telling struct {
	// Reasons says that users are told why their jobs wait.
	Reasons bool
	// Futures is how many futures are played to tell the range of starts; 1 or less: none.
	Futures int
	// UpdateEvery is the longest time between two updates of the Negotiator ad. 0 is five minutes,
	// which is also the maximum.
	UpdateEvery time.Duration
	// CycleStats is how many of the last cycles the Negotiator ad tells of.
	CycleStats int
	// Accounting says that Accounting ads are sent to the collector.
	Accounting bool
	// SiteAttributes are attributes of the site for the Negotiator ad, as lines of NAME = EXPRESSION; ""
	// for none.
	SiteAttributes string
	// OtherSlotConstraint is the slot constraint of stock negotiators, whose ads have none; "" if it
	// is not known.
	OtherSlotConstraint string
	// PrioritiesOf is the negotiator whose user priorities count; "" for our own.
	PrioritiesOf string
}

// Own are expressions over the negotiator's own ad.
type Own struct {
	// ShutdownExpr is for how many seconds before a startd ends its slots get no jobs; "" for none.
	ShutdownExpr string
}

var onRealPools = []Setting{
	{
		Knob: "BACKFILL_CONFIG", Kind: Text, Example: "/etc/condor/backfill.yaml",
		Doc:  "A YAML file with whatever else can be set; knobs come after it.",
		More: `"negotiator.yaml" of the sources explains every key.`,
	},
	set(func(c *Config) *bool { return &c.Observe }, false, Setting{
		Key: "observe", Knob: "BACKFILL_OBSERVE", Restart: true,
		Doc: "Plan and publish start times, but match nothing: beside another negotiator.",
	}),
	set(func(c *Config) *int { return &c.ObserverRecord }, 64, Setting{
		Key: "observer_record", Knob: "BACKFILL_OBSERVER_RECORD", Restart: true,
		Doc: "How many MiB an observer's record of what it saw and would have done takes at most; 0: it keeps none. The " +
			"oldest goes first.",
		More: "It is in the folder of the state, and negotiator observe-report tells what it says. A job takes about " +
			"50 bytes.",
		Check: func(c *Config) error {
			const most = 1 << 20 // a tebibyte
			return must(c.ObserverRecord >= 0 && c.ObserverRecord <= most, c.ObserverRecord, "must be from 0 to 1048576")
		},
	}),
	set(func(c *Config) *string { return &c.State }, "", Setting{
		Key: "state", Knob: "BACKFILL_STATE", KnobDefault: "$(SPOOL)/backfill", Restart: true,
		Doc:  "The folder where guarantees, usage and what was learned of run times outlive the process.",
		More: "Standing alone, without HTCondor's configuration, they do not where nothing is said.",
	}),
	set(func(c *Config) *time.Duration { return &c.StartSlack }, time.Minute, Setting{
		Key: "start_slack", Knob: "BACKFILL_START_SLACK", Restart: true,
		Doc: "By how much each job's place in the plan is longer than its estimate: for transfers and the startd's delays.",
		Check: func(c *Config) error {
			return must(c.StartSlack >= 0 && c.StartSlack%time.Second == 0, c.StartSlack,
				"must be at least 0s, in whole seconds")
		},
	}),
	set(func(c *Config) *string { return &c.Token }, "", Setting{
		Key: "token", Restart: true,
		Doc: "A file or folder of tokens (IDTOKENS) that show who we are; those of HTCondor's configuration where " +
			"nothing is said.",
	}),
	set(func(c *Config) *time.Duration { return &c.Interval }, time.Minute, Setting{
		Key: "interval", Knob: "BACKFILL_INTERVAL", KnobDefault: "$(NEGOTIATOR_INTERVAL)",
		Doc:   "The time between two cycles if nothing happens: new jobs begin one at once.",
		Check: func(c *Config) error { return must(c.Interval >= time.Second, c.Interval, "must be at least 1s") },
	}),
	set(func(c *Config) *time.Duration { return &c.CycleDelay }, time.Second, Setting{
		Key: "cycle_delay", Knob: "BACKFILL_CYCLE_DELAY",
		Doc: "The time between the end of a cycle and the next at least, whoever asks for one.",
		More: "Without this line NEGOTIATOR_CYCLE_DELAY counts where a file sets it, as minicondor's does: its 5 s, and " +
			"HTCondor's own 20 s, suit cycles that take minutes.",
		Check: func(c *Config) error { return must(c.CycleDelay >= time.Second, c.CycleDelay, "must be at least 1s") },
	}),
	set(func(c *Config) *time.Duration { return &c.Lease }, 30*time.Second, Setting{
		Knob: "BACKFILL_LEASE_TIME",
		Doc: "For how long after its match a claim may take up more jobs of its user; 0: each claim is for one job. " +
			"As long as it is at most half of the start slack, it delays no other job's planned start.",
		More: "Where the startd's START does not heed leases (see below), it counts if all jobs of that user that " +
			"may use the claim are alike.",
	}),
	set(func(c *Config) *bool { return &c.Reasons }, true, Setting{
		Key: "reasons", Knob: "BACKFILL_REASONS",
		Doc: "Tell schedds why jobs wait, which condor_q -better-analyze shows.",
	}),
	set(func(c *Config) *string { return &c.OtherSlotConstraint }, "", Setting{
		Knob: "BACKFILL_OTHER_SLOT_CONSTRAINT", Kind: Expression, Empty: "none", Example: "Interactive is true",
		Doc: "The NEGOTIATOR_SLOT_CONSTRAINT of HTCondor's own negotiator, where that is at work beside this one.",
	}),
	set(func(c *Config) *string { return &c.PrioritiesOf }, "", Setting{
		Knob: "BACKFILL_PRIORITIES_OF", Kind: Text, Empty: "none", Example: "east",
		Doc: "The negotiator of this project that keeps the user priorities of all, where several are at work, each for " +
			"slots of its own. Set it on all others.",
	}),
	set(func(c *Config) *bool { return &c.PreemptPromised }, false, Setting{
		Knob: "BACKFILL_PREEMPT_PROMISED",
		Doc: "A user's priority may displace jobs where that breaks what others were promised. The RANK of machines " +
			"always may.",
	}),
	set(func(c *Config) *time.Duration { return &c.PreemptionPause }, 10*time.Minute, Setting{
		Knob: "BACKFILL_PREEMPTION_PAUSE",
		Doc: "For how long two jobs that have changed places do not change back for priority, and a job is not " +
			"displaced for priority once more.",
		Check: func(c *Config) error {
			return must(c.PreemptionPause >= 0 && c.PreemptionPause%time.Second == 0, c.PreemptionPause,
				"must be at least 0s, in whole seconds")
		},
	}),
	set(func(c *Config) *string { return &c.Scavengers }, "", Setting{
		Knob: "BACKFILL_SCAVENGERS", Kind: List, Empty: "none", Example: "alice, group_backfill.bob@cs.example.org",
		Doc: "Users and submitters all of whose jobs are scavengers, with or without domain: they run on what is idle, " +
			"also where it is reserved, and make way at once for any other job.",
		More: "A job is one, too, if it says +BackfillScavenger = True.",
	}),
	set(func(c *Config) *bool { return &c.NiceUsers }, false, Setting{
		Knob: "BACKFILL_SCAVENGE_NICE_USERS",
		Doc:  "Jobs with nice_user = true are scavengers.",
	}),
	// HTCondor's own knobs. Its other ones that are read have no place in a Config: see condorconfig.
	set(func(c *Config) *string { return &c.SlotConstraint }, "", Setting{
		Knob: "NEGOTIATOR_SLOT_CONSTRAINT", Kind: Expression, Empty: "none",
		Doc: "Only slots of which this expression is true are seen.",
	}),
	set(func(c *Config) *string { return &c.JobConstraint }, "", Setting{
		Knob: "NEGOTIATOR_JOB_CONSTRAINT", Kind: Expression, Empty: "none",
		Doc: "Only jobs of which this expression is true are seen.",
	}),
	set(func(c *Config) *string { return &c.SystemRemove }, "", Setting{
		Knob: "SYSTEM_PERIODIC_REMOVE", Kind: Expression, Empty: "none", Restart: true,
		Doc: "The same on all schedds is taken to remove their jobs: if it bounds the run time, that is enforced (see " +
			"BACKFILL_ESTIMATE_TRUST).",
	}),
	set(func(c *Config) *string { return &c.SubmitterConstraint }, "", Setting{
		Knob: "NEGOTIATOR_SUBMITTER_CONSTRAINT", Kind: Expression, Empty: "none",
		Doc: "Only jobs of submitters of whose ads this expression is true are planned.",
	}),
	set(func(c *Config) *string { return &c.PreJobRank }, "", Setting{
		Knob: "NEGOTIATOR_PRE_JOB_RANK", Kind: Rank, Empty: "none",
		Doc: "Of the slots that a job may use, those with the largest value come first, whatever the job's Rank says; MY is " +
			"the slot, TARGET the job. HTCondor's own default counts as not set.",
	}),
	set(func(c *Config) *string { return &c.PostJobRank }, "", Setting{
		Knob: "NEGOTIATOR_POST_JOB_RANK", Kind: Rank, Empty: "none",
		Doc: "Of the slots that a job ranks alike, those with the largest value come first. The same counts as not set.",
	}),
	set(func(c *Config) *bool { return &c.IgnoreJob }, false, Setting{
		Knob: "NEGOTIATOR_IGNORE_JOB_RANKS",
		Doc:  "Jobs' Rank does not count, and NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK see no job.",
	}),
	set(func(c *Config) *bool { return &c.ConsiderPreemption }, true, Setting{
		Knob: "NEGOTIATOR_CONSIDER_PREEMPTION",
		Doc:  "Running jobs may make way for waiting ones: by the RANK of machines, or by PREEMPTION_REQUIREMENTS.",
	}),
	set(func(c *Config) *string { return &c.PreemptionRequirements }, "", Setting{
		Knob: "PREEMPTION_REQUIREMENTS", Kind: Rank, Empty: "none", KnobDefault: "False",
		Doc: "A job makes way for one of another user where this expression is true and the machine's RANK does not " +
			"object; MY is the claimed slot, TARGET the waiting job.",
	}),
	set(func(c *Config) *string { return &c.PreemptionRank }, stockPreemptionRank, Setting{
		Knob: "PREEMPTION_RANK", Kind: Rank, Empty: "none",
		Doc: "Of the claimed slots that a job ranks alike, those with the largest value are taken first.",
	}),
	set(func(c *Config) *bool { return &c.SeveralClaims }, false, Setting{
		Knob: "ALLOW_PSLOT_PREEMPTION",
		Doc:  "Several jobs on a partitionable slot may make way for one.",
	}),
	set(func(c *Config) *bool { return &c.EarlyPreemption }, false, Setting{
		Knob: "NEGOTIATOR_CONSIDER_EARLY_PREEMPTION",
		Doc:  "A slot whose job has retirement time left may be taken already, for when that is over.",
	}),
	set(func(c *Config) *bool { return &c.CrossSlotPrios }, false, Setting{
		Knob: "NEGOTIATOR_CROSS_SLOT_PRIOS",
		Doc:  "PREEMPTION_REQUIREMENTS may ask who has the other slots of a machine, as slotN_RemoteUserPrio.",
	}),
	set(func(c *Config) *string { return &c.SlotWeight }, "", Setting{
		Knob: "SLOT_WEIGHT", Kind: Expression, KnobDefault: "Cpus", Empty: "Cpus",
		Doc: "What a slot weighs in fair share and quotas, if its startd does not say it in SlotWeight.",
	}),
	set(func(c *Config) *bool { return &c.Forced }, false, Setting{
		Knob: "FORCE_NEGOTIATOR_SLOT_WEIGHT",
		Doc:  "SLOT_WEIGHT counts for all slots, whatever their startds say.",
	}),
	set(func(c *Config) *string { return &c.PoolSize }, "", Setting{
		Knob: "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", Kind: Expression, Empty: "none",
		Doc: "Slots of which it is not true do not count for the size of the pool, of which groups have their shares.",
	}),
	set(func(c *Config) *string { return &c.ShutdownExpr }, "", Setting{
		Knob: "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD", Kind: Expression, Empty: "none",
		Doc: "Slots get no jobs this many seconds before their DaemonShutdown or DaemonShutdownFast is true: a number, or " +
			"an expression over the Negotiator ad, which is asked for each cycle.",
	}),
	set(func(c *Config) *string { return &c.MatchExprs }, "", Setting{
		Knob: "NEGOTIATOR_MATCH_EXPRS", Kind: List, Empty: "none",
		Doc: "Knobs whose values, expressions, are added to each matched slot's ad, as NegotiatorMatchExprNAME.",
	}),
	set(func(c *Config) *time.Duration { return &c.UpdateEvery }, 5*time.Minute, Setting{
		Knob: "NEGOTIATOR_UPDATE_INTERVAL",
		Doc:  "Seconds between two updates of the Negotiator ad at most.",
	}),
	set(func(c *Config) *time.Duration { return &c.Timeout }, 30*time.Second, Setting{
		Knob: "NEGOTIATOR_TIMEOUT",
		Doc:  "For how many seconds a schedd may take to send its queue, or to take its matches; 30 at least.",
	}),
	set(func(c *Config) *time.Duration { return &c.MinInterval }, 0, Setting{
		Knob: "NEGOTIATOR_MIN_INTERVAL",
		Doc: "Seconds between the beginnings of two cycles at least. Only a value that a file sets counts: HTCondor's " +
			"default does not.",
	}),
	set(func(c *Config) *int { return &c.CycleStats }, 3, Setting{
		Knob: "NEGOTIATION_CYCLE_STATS_LENGTH",
		Doc:  "How many of the last cycles the Negotiator ad tells of.",
		Check: func(c *Config) error {
			return must(c.CycleStats >= 0 && c.CycleStats <= mostCycleStats, c.CycleStats, "must be from 0 to 100")
		},
	}),
	set(func(c *Config) *bool { return &c.Accounting }, true, Setting{
		Knob: "NEGOTIATOR_ADVERTISE_ACCOUNTING",
		Doc:  "Send Accounting ads to the collector.",
	}),
	set(func(c *Config) *string { return &c.SiteAttributes }, "", Setting{
		Knob: "NEGOTIATOR_ATTRS", Kind: List, Empty: "none",
		Doc: "Knobs whose values, expressions, are attributes of the Negotiator ad.",
	}),
}

// mostCycleStats bounds how many cycles the Negotiator ad tells of.
const mostCycleStats = 100

// stockPreemptionRank is HTCondor's default: the worst priority first, then the shortest run.
const stockPreemptionRank = "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)"

// OnRealPool reports whether the pool is a real one.
func (c Config) OnRealPool() bool { return c.Pool == LocalPool || strings.HasPrefix(c.Pool, scheme) }

// PolicyOptions returns the policy's options: those that are set and, on a real pool, what suits user
// priorities where nothing is said. These put another job at the head of the queue now and then, so
// easy keeps its reservations.
func (c Config) PolicyOptions() map[string]string {
	if _, given := c.Options["keep"]; given || c.Policy != "easy" || !c.OnRealPool() {
		return c.Options
	}
	options := map[string]string{"keep": "true"}
	maps.Copy(options, c.Options)
	return options
}

// scheme begins the address of a real pool.
const scheme = "htcondor://"

// Collector returns HOST:PORT of a real pool's collector, or "" if HTCondor's configuration names
// it. It returns an error if Pool is not a valid address.
func (c Config) Collector() (string, error) {
	address, given := strings.CutPrefix(c.Pool, scheme)
	if !given {
		return "", nil
	}
	address = strings.TrimSuffix(address, "/")
	if !strings.Contains(address, ":") || strings.HasSuffix(address, "]") {
		address += ":9618"
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || port == "") {
		err = fmt.Errorf("%s: a part is missing", address)
	}
	if err != nil {
		return "", fmt.Errorf("%s: must be htcondor://HOST:PORT of a collector: %w", c.Pool, err)
	}
	return address, nil
}
