package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// metrics collects the daemon's numbers for Prometheus.
type metrics struct{ d *Daemon }

// describes makes the description of a metric from its name without backfill_, and its meaning.
func describes(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("backfill_"+name, help, labels, nil)
}

var (
	cyclesTotal   = describes("cycles_total", "Negotiation cycles since the start.")
	refusalsTotal = describes("refusals_total", "Decisions of the policy that did not count.")
	fallbackInUse = describes("fallback_in_use", "1 if the policy was given up, and its fallback decides.")
	brokenTotal   = describes("guarantees_broken_total", "Guarantees that could not be kept, by cause.", "cause")
	promisesTotal = describes("promises_total", "Jobs that were promised a start, by what became of it: kept, broken, elsewhere (another negotiator started them first), gone (they left before).", "outcome")
	promisesOpen  = describes("promises_open", "Jobs that were promised a start and wait for it.")
	preemptions   = describes("preemptions_total", "Jobs that were given the place of running ones, by reason: startd rank, user priority.", "reason")
	displaced     = describes("displaced_total", "Jobs that made way for others and are back in the queue, by reason.", "reason")
	lostSeconds   = describes("displaced_core_seconds_total", "Core seconds for which displaced jobs had run, and which are lost unless they had saved their work.", "reason")
	unstarted     = describes("unstarted_total", "Jobs that were matched and never seen to run.")
	slotsPaused   = describes("slots_paused", "Slots that are left out for a while since starts fail there.")
	slotsDeaf     = describes("slots_deaf", "Slots that would be lent for many short jobs if their START heeded leases.")
	slotsDrained  = describes("drains", "Slots that are to be empty by a time, since an administrator asked for it.")
	queueBytes    = describes("queue_bytes", "Memory that the queues of all schedds take, at most.")
	jobsLeftOut   = describes("jobs_left_out", "Jobs that are not planned because their ads are too large or not read yet, or too many wait.")
	contested     = describes("contested_names", "Ads that are left out since another daemon has their name or address.")
	submitsFound  = describes("submits_found_total", "How often a schedd was found to have new jobs that it had not announced.")
	askedSeconds  = describes("submits_asked_seconds_total", "Processor time of asking schedds whether jobs were submitted.")
	callbacks     = describes("callbacks_total", "Connections of daemons behind brokers (CCB) that were asked to connect.")
	strays        = describes("callbacks_stray_total", "Connections of daemons behind brokers that nobody waits for: late, or made up.")
	slotsNow      = describes("slots", "Slots in the pool, as of the last cycle.")
	jobsNow       = describes("jobs", "Jobs by situation: idle, running, reserved, beyond_depth, unplanned.", "situation")
	startedLast   = describes("started", "Jobs that the last cycle started.")
	phaseSeconds  = describes("phase_seconds", "How long each phase of the last cycle took.", "phase")
	residentBytes = describes("resident_bytes", "Memory of the process.")
	startsTold    = describes("starts", "Jobs that started, the last 1,000, by when they were told a start.", "told")
	startError    = describes("start_error_seconds", "Errors of expected starts, by when they were told.", "told", "quantile")
	startNear     = describes("start_near", "Share of the jobs that started so near to what they were told.", "told", "seconds")
	startWithin   = describes("start_within_range", "Share of the jobs that started in the range told.", "told")
	choicesTotal  = describes("policy_choices_total", "Choices of the policy since the start.")
	changesTotal  = describes("policy_changes_total", "Changes of the policy by choice.")
	inCharge      = describes("policy_in_charge", "Share of the time in which a candidate was in charge.", "candidate")
	expected      = describes("policy_expected", "Objective of a candidate, by the last choice.", "candidate")
	limitHeight   = describes("limit_height", "Height of a concurrency limit that jobs name.", "limit")
	limitUsed     = describes("limit_used", "What running jobs use of a concurrency limit.", "limit")
	limitWanted   = describes("limit_wanted", "What waiting jobs want of a concurrency limit.", "limit")
	limitWaiting  = describes("limit_waiting", "Waiting jobs that name a concurrency limit.", "limit")
	scavengers    = describes("scavengers", "Scavengers by situation: running, waiting.", "situation")
	scavengerCPUs = describes("scavenger_cpus", "Cpus that scavengers have.")
	madeWayTotal  = describes("scavengers_displaced_total", "How often a scavenger made way.")
	scavengedRan  = describes("scavenger_cpu_seconds_total", "Cpu seconds of scavengers' runs that are over.")
	scavengedLost = describes("scavenger_cpu_seconds_lost_total", "Cpu seconds of scavengers' runs that ended as the scavenger made way.")
	unwritten     = describes("state_unwritten_total", "Cycles after which the state could not be written: a restart would forget what is new.")
	cannotPlay    = describes("policy_unplayable", "1 if the policy cannot be played ahead, so that start times are those of the plan alone.")
	problemsNow   = describes("problems", "Parts of the pool that do not answer as they should, as of the last cycle.")
	observes      = describes("observes", "1 if the negotiator only observes, and starts nothing.")
	isStopped     = describes("stopped", "1 if nothing is matched because another negotiator is at work.")
)

// Describe implements prometheus.Collector.
func (metrics) Describe(c chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		cyclesTotal, refusalsTotal, fallbackInUse, brokenTotal, promisesTotal, promisesOpen, preemptions, displaced, lostSeconds, unstarted, slotsPaused, slotsDeaf, slotsDrained, queueBytes, jobsLeftOut,
		contested, submitsFound, askedSeconds, callbacks, strays, slotsNow,
		jobsNow, startedLast, phaseSeconds, residentBytes, isStopped, startsTold, startError, startNear, startWithin,
		choicesTotal, changesTotal, inCharge, expected, limitHeight, limitUsed, limitWanted, limitWaiting,
		scavengers, scavengerCPUs, madeWayTotal, scavengedRan, scavengedLost, unwritten, cannotPlay, problemsNow, observes,
	} {
		c <- desc
	}
}

func oneIf(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

// collectAccuracy tells how true start times were.
func collectAccuracy(all [whens]Accuracy, gauge func(*prometheus.Desc, float64, ...string)) {
	for _, told := range all {
		gauge(startsTold, float64(told.Jobs), told.Told)
		if told.Jobs > 0 {
			gauge(startError, float64(told.Median), told.Told, "0.5")
			gauge(startError, float64(told.P90), told.Told, "0.9")
			gauge(startNear, *told.Minute, told.Told, "60")
			gauge(startNear, *told.TenMinutes, told.Told, "600")
		}
		if told.Ranged > 0 {
			gauge(startWithin, told.Within, told.Told)
		}
	}
}

// collectLimits tells of each concurrency limit.
func collectLimits(limits []accountant.LimitUse, gauge func(*prometheus.Desc, float64, ...string)) {
	for _, l := range limits {
		gauge(limitHeight, l.Height, l.Name)
		gauge(limitUsed, l.Used, l.Name)
		gauge(limitWanted, l.Wanted, l.Name)
		gauge(limitWaiting, float64(l.Waiting), l.Name)
	}
}

// collectScavengers tells how many scavengers there are, and what they have run and lost.
func collectScavengers(
	s scavenged, gauge func(*prometheus.Desc, float64, ...string), send func(*prometheus.Desc, prometheus.ValueType, float64, ...string),
) {
	gauge(scavengers, float64(s.Running), "running")
	gauge(scavengers, float64(s.Waiting), "waiting")
	gauge(scavengerCPUs, float64(s.CPUs))
	send(madeWayTotal, prometheus.CounterValue, float64(s.Displaced))
	send(scavengedRan, prometheus.CounterValue, float64(s.Ran))
	send(scavengedLost, prometheus.CounterValue, float64(s.Lost))
}

// collectChoice tells for which share of the time each candidate was in charge, and what the last
// choice expected of each.
func collectChoice(c *choice, gauge func(*prometheus.Desc, float64, ...string)) {
	for _, share := range c.Shares {
		gauge(inCharge, share.Of, share.Name)
	}
	if made := c.last; made != nil {
		for i, value := range made.Values {
			gauge(expected, value, made.Names[i])
		}
	}
}

// Collect implements prometheus.Collector.
func (m metrics) Collect(c chan<- prometheus.Metric) {
	s, _ := m.d.statusAt(time.Now())
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(desc, kind, v, labels...)
	}
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		send(desc, prometheus.GaugeValue, v, labels...)
	}
	count := func(desc *prometheus.Desc, v int, labels ...string) {
		send(desc, prometheus.CounterValue, float64(v), labels...)
	}
	count(cyclesTotal, s.total)
	count(refusalsTotal, s.refusals)
	count(unstarted, s.unstarted)
	count(unwritten, s.unwritten)
	gauge(observes, oneIf(s.observe))
	gauge(problemsNow, float64(len(s.problems)))
	gauge(cannotPlay, oneIf(m.d.mute.Load()))
	for cause, n := range s.broken {
		count(brokenTotal, n, cause)
	}
	for outcome, n := range map[string]int{
		"kept": s.promises.Kept, "broken": s.promises.Broken, "elsewhere": s.promises.Elsewhere, "gone": s.promises.Gone,
	} {
		count(promisesTotal, n, outcome)
	}
	gauge(promisesOpen, float64(s.promises.Open()))
	s.displacing.collect(func(desc *prometheus.Desc, n float64, labels ...string) {
		send(desc, prometheus.CounterValue, n, labels...)
	})
	gauge(slotsPaused, float64(s.paused))
	gauge(slotsDeaf, float64(s.deaf))
	gauge(slotsDrained, float64(s.drains))
	gauge(queueBytes, float64(s.kept))
	gauge(jobsLeftOut, float64(s.leftOut))
	gauge(contested, float64(s.contested))
	collectScavengers(s.scavenged, gauge, send)
	count(submitsFound, s.found)
	send(askedSeconds, prometheus.CounterValue, s.asked.Seconds())
	calls, stray := m.d.o.Callbacks()
	send(callbacks, prometheus.CounterValue, float64(calls))
	send(strays, prometheus.CounterValue, float64(stray))
	gauge(residentBytes, float64(rss()))
	collectLimits(s.limits, gauge)
	gauge(isStopped, oneIf(s.stopped != ""))
	gauge(fallbackInUse, oneIf(s.fallback != ""))
	collectAccuracy(m.d.accuracy.measure(), gauge)
	if s.choice != nil {
		count(choicesTotal, s.choice.Choices)
		count(changesTotal, s.choice.Changes)
		collectChoice(s.choice, gauge)
	}
	if len(s.cycles) == 0 {
		return
	}
	last := s.cycles[0]
	gauge(slotsNow, float64(last.Slots))
	gauge(startedLast, float64(last.Started))
	for situation, n := range map[string]int{
		"idle": last.Idle, "running": last.Running, "reserved": s.reserved, "unplanned": last.Unplanned,
		"beyond_depth": s.beyond,
	} {
		gauge(jobsNow, float64(n), situation)
	}
	for phase, took := range map[string]time.Duration{
		"fetch": last.Fetch, "match": last.Match, "plan": last.Plan,
		"act": last.Act, "publish": last.Publish, "rest": last.Rest,
	} {
		gauge(phaseSeconds, took.Seconds(), phase)
	}
}
