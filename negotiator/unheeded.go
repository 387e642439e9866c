package negotiator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Unheeded says what slots and jobs ask of the slots' own state that stays as their ads say while nobody
// publishes other ads, as in a simulation: a line for each way to ask, with the attributes and by how many
// each is asked for. Requirements that ask how much is free or how many jobs run are heeded; a Rank that
// asks for the latter is not.
func Unheeded(slots []*Slot, jobs []*Job) (list []string) {
	start, wanted, rank := unheeded{}, unheeded{}, unheeded{}
	for _, slot := range slots {
		start.note(slot.Ad, "Requirements", 1, true, matchmaker.Passes)
	}
	sharing := map[*classad.ClassAd]int{}
	for _, j := range jobs {
		sharing[j.Ad]++
	}
	for ad, n := range sharing { // sums do not depend on the order
		wanted.note(ad, "Requirements", n, false, matchmaker.Passes)
		rank.note(ad, "Rank", n, false, func(name string) bool {
			return matchmaker.Passes(name) || matchmaker.Counts(name)
		})
	}
	list = start.say(list, "START or Requirements of slots", "as their ads say")
	list = wanted.say(list, "Requirements of jobs", "as the slots' ads say")
	return rank.say(list, "Rank of jobs", "as on slots where nothing runs")
}

// unheeded counts by attribute who asks for it.
type unheeded map[string]int

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
	for _, name := range names {
		if isState(name) {
			u[name] += n
		}
	}
}

// say adds a line to a list, if there is anything to say.
func (u unheeded) say(list []string, who, so string) []string {
	if len(u) == 0 {
		return list
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(u)) {
		names = append(names, fmt.Sprintf("%s (%d)", name, u[name]))
	}
	return append(list, fmt.Sprintf("%s ask for state that stays %s: %s", who, so, strings.Join(names, ", ")))
}
