package negotiator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Unheeded says what slots and jobs ask of the slots' own state that stays as their ads say while nobody
// publishes other ads, as in a simulation: a line for each way to ask, with the attributes and by how many
// each is asked for. Requirements that ask how much is free or how many jobs run are heeded; a Rank that
// asks for the latter is not, nor is what asks what these jobs are like. It also says which slots take no job
// at all, and what their ads say of themselves that no plan heeds.
func (s Schema) Unheeded(slots []*Slot, jobs []*Job) (list []string) {
	start, wanted, rank := s.unheeded(), s.unheeded(), s.unheeded()
	clocks, shut := false, closed{resources: s.Resources} // some clocks stand still
	var open []*Slot
	for _, slot := range slots {
		if !shut.note(slot) {
			open = append(open, slot)
		}
		still := isPlain(slot.Ad, clockMin) || isPlain(slot.Ad, clockDay)
		clocks = clocks || still
		start.note(slot.Ad, "Requirements", 1, true, func(name string) bool { return stays(name, still) })
	}
	sharing := map[*classad.ClassAd]int{}
	for _, j := range jobs {
		sharing[j.Ad]++
	}
	for ad, n := range sharing { // sums do not depend on the order
		wanted.note(ad, "Requirements", n, false, func(name string) bool { return stays(name, clocks) })
		rank.note(ad, "Rank", n, false, func(name string) bool {
			return stays(name, clocks) || matchmaker.Counts(name)
		})
	}
	list = start.say(list, "START or Requirements of slots", "as their ads say")
	list = wanted.say(list, "Requirements of jobs", "as the slots' ads say")
	list = shut.say(rank.say(list, "Rank of jobs", "as on slots where nothing runs"), len(slots))
	for _, line := range []string{drained(open, len(slots)), consumption(slots)} {
		if line != "" {
			list = append(list, line)
		}
	}
	return list
}

// published are further attributes that startds publish anew as time passes and jobs run, in lower case.
var published = []string{
	"currentrank", "jobstarts", "lastheardfrom", "mycurrenttime", "totaljobruntime", "totaltimepreempting",
	"clientmachine", "numdynamicslotstime", "preemptingowner", "preemptingrank", "preemptinguser", "remotegroup",
	"remotenegotiatinggroup", "remotescheddname", "totalslots", "totaltimedraineddrained", "totaltimedrainedidle",
	"totaltimedrainingbusy", "totaltimebackfillbusy", "totaltimebackfillidle", "totaltimematchedidle", "totaltimeclaimedretiring", "totaltimeclaimedsuspended",
	"updatesequencenumber", "daemonlastreconfigtime", "monitorselfage", "monitorselfcpuusage", "monitorselftime",
}

// ofOther are attributes that a startd publishes of one slot in the ads of another, and ofLate those of which it
// says how they were lately.
var (
	ofOther = regexp.MustCompile(`(?i)^slot[0-9]+_`)
	ofLate  = regexp.MustCompile(`(?i)^recent`)
)

// stays reports whether an attribute of a slot is state that nobody publishes anew. Clocks of slots may stand
// still, see [FollowClock].
func stays(name string, clocks bool) bool {
	if strings.EqualFold(name, clockMin) || strings.EqualFold(name, clockDay) {
		return clocks
	}
	return matchmaker.Passes(name) || slices.Contains(published, strings.ToLower(name)) ||
		ofOther.MatchString(name) || ofLate.MatchString(name)
}

// isPlain reports whether an attribute of an ad is a mere value.
func isPlain(ad *classad.ClassAd, name string) bool {
	e, has := ad.Lookup(name)
	if !has {
		return false
	}
	_, plain := e.Tree().(*ast.Literal)
	return plain
}

// unheeded counts by attribute who asks for it.
type unheeded struct {
	resources []string
	asking    map[string]int
}

func (s Schema) unheeded() unheeded { return unheeded{s.Resources, map[string]int{}} }

// note notes, for so many slots or jobs with an ad, which attributes of slots one of its expressions leads
// to that are state.
func (u unheeded) note(ad *classad.ClassAd, attr string, n int, ofSlot bool, isState func(string) bool) {
	e, has := ad.Lookup(attr)
	if !has {
		return
	}
	internal, external, _ := e.Refs(ad) // references in a circle evaluate to error
	names := external
	if ofSlot {
		names = append(names, internal...)
	}
	var elements map[string]bool
	if slices.ContainsFunc(names, matchmaker.Counts) {
		elements = matchmaker.Elements(ad, ofSlot, attr, u.resources)
	}
	for _, name := range names {
		if isState(name) || elements[strings.ToLower(name)] {
			u.asking[name] += n
		}
	}
}

// say adds a line to a list, if there is anything to say.
func (u unheeded) say(list []string, who, so string) []string {
	if len(u.asking) == 0 {
		return list
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(u.asking)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, u.asking[name]))
	}
	return append(list, fmt.Sprintf("%s ask for state that stays %s: %s", who, so, strings.Join(names, ", ")))
}
