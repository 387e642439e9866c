package condorconfig

import (
	"fmt"
	"strings"
)

// StockKnob is a knob of HTCondor's that its own negotiator heeds and ours does not.
type StockKnob struct {
	Name    string
	Default string // in HTCondor; "": none
	Note    string // what is so instead
}

// NotHeeded returns these knobs, but for those about security. negotiator/htcondor/KNOBS.md lists
// them.
func NotHeeded() []StockKnob { return notHeeded }

var notHeeded = []StockKnob{
	{
		"COLLECTOR_HOST_FOR_NEGOTIATOR", "$(FULL_HOSTNAME)",
		"the first of COLLECTOR_HOST that answers is asked; order them, in " +
			"NEGOTIATOR.COLLECTOR_HOST if need be",
	},
	{"NEGOTIATOR_ATTRS", "", "the ad has no attributes of the site"},
	{"NEGOTIATOR_EXPRS", "", "the old name of NEGOTIATOR_ATTRS"},
	{"TRUNC_NEGOTIATOR_LOG_ON_OPEN", "false", "a start appends to the log"},
	{"NEGOTIATOR_MIN_INTERVAL", "5", "its default suits cycles that take minutes; set BACKFILL_CYCLE_DELAY"},
	{"NEGOTIATOR_CYCLE_DELAY", "20", "its default suits cycles that take minutes; set BACKFILL_CYCLE_DELAY"},
	{"NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE", "false", "condor_reconfig applies a change between two cycles"},
	{"NEGOTIATION_CYCLE_STATS_LENGTH", "3", "the ad has three cycles, as by default"},
	{"NEGOTIATOR_ADVERTISE_ACCOUNTING", "true", "Accounting ads go to the collector, as by default"},
	{"NEGOTIATOR_TIMEOUT", "30", "no cycle waits for a slow schedd, whatever the timeout"},
	{"NEGOTIATOR_IGNORE_JOB_RANKS", "false", "BACKFILL_PLACEMENT = pack or spread takes no heed of Rank"},
	{"NEGOTIATOR_DEPTH_FIRST", "false", "BACKFILL_PLACEMENT = pack fills a slot before the next"},
	{
		"MATCH_WORKING_CM_SLOTS", "false",
		"slots are matched whatever their WorkingCM; NEGOTIATOR_SLOT_CONSTRAINT can " +
			"leave them out",
	},
	{
		"NEGOTIATOR_IGNORE_USER_PRIORITIES", "false",
		"BACKFILL_ORDER = fcfs does the same; unset, it is fairshare, whatever order " +
			"the policy names",
	},
	{"USE_GLOBAL_JOB_PRIOS", "false", "BACKFILL_ORDER = expr:JobPrio orders all users' jobs by priority"},
	{"NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES", "false", "a suspended job counts as use, as by default"},
	{"NEGOTIATOR_USE_SLOT_WEIGHTS", "true", "the weight of a job is the cpus of its slot, as by default"},
	{"FORCE_NEGOTIATOR_SLOT_WEIGHT", "false", "the weight of a job is the cpus of its slot, as by default"},
	{"SLOT_WEIGHT", "Cpus", "the weight of a job is the cpus of its slot, as by default"},
	{"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", "", "all slots that are seen count for quotas"},
	{"GROUP_DYNAMIC_MACH_CONSTRAINT", "", "the old name of NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"},
	{"NEGOTIATOR_STRICT_ENFORCE_QUOTA", "true", "quotas are strict, as by default"},
}

// withoutEffect returns a warning for each of these knobs that is not as it is by default.
func (c *Config) withoutEffect() (warnings []string) {
	for _, k := range notHeeded {
		set, _ := c.Setting(k.Name)
		usual := macro.ReplaceAllStringFunc(k.Default, func(ref string) string { return c.Text(ref[2 : len(ref)-1]) })
		if set.Value == "" || strings.HasPrefix(set.Source, "<") || same(set.Value, usual) ||
			set.Default != "" && same(set.Value, set.Default) {
			continue
		}
		place := ""
		if set.Source != "" {
			place = " (" + set.Source + ")"
		}
		warnings = append(warnings, fmt.Sprintf("%s is set%s, and not heeded here: %s", k.Name, place, k.Note))
	}
	return warnings
}

// same reports whether two values mean the same: the same text, or the same number or truth.
func same(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	va, vb := evaluated(a), evaluated(b)
	na, aIsNumber := va.Number()
	nb, bIsNumber := vb.Number()
	ta, aIsTruth := va.Bool()
	tb, bIsTruth := vb.Bool()
	return aIsNumber && bIsNumber && na == nb || aIsTruth && bIsTruth && ta == tb
}
