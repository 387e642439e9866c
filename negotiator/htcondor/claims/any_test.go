package claims

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestAnyEvents plays any events, and says what holds after each: no claim is given to two jobs
// that are on their way, a schedd is told to run no more jobs than it has room for, a slot gives no
// more than it offers, and a claim that takes up other jobs is given back before its place ends. In
// the end no job is on its way any more.
func TestAnyEvents(t *testing.T) {
	const room, cpus = 5, 2
	slots := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(r *rapid.T) {
		slack := rapid.SampledFrom([]backfill.Time{0, 60}).Draw(r, "slack")
		start := rapid.SampledFrom([]string{heeds, "true"}).Draw(r, "START")
		lease := rapid.SampledFrom([]time.Duration{0, 30 * time.Second, 20 * time.Minute}).Draw(r, "lease")
		s := storyOf(t, slack, start, lease, slots...)
		s.schedd.Room = &accountant.Room{Jobs: room}
		jobs, ids := 0, 0
		fresh := map[string][]string{} // what each slot advertises
		number := func(what string, below int) int { return rapid.IntRange(0, below-1).Draw(r, what) }
		in := func(phase track.Phase) []string {
			var names []string
			for _, name := range slices.Sorted(maps.Keys(s.ids)) {
				if j := s.belief.Job(s.ids[name]); j != nil && j.Phase == phase {
					names = append(names, name)
				}
			}
			return names
		}
		events := map[string]func(){
			"submit": func() {
				for range 1 + number("jobs", 6) {
					jobs++
					s.event([]string{"submit", "submit", "gang", "long"}[number("gang", 4)], []string{strconv.Itoa(jobs)})
				}
			},
			"start": func() {
				for _, name := range in(track.Waiting) {
					at := number("slot", len(slots)-1)
					words := append([]string{name}, slots[at:at+s.belief.Job(s.ids[name]).Group.Spec.Nodes]...)
					s.event("start", words)
				}
			},
			"offer": func() {
				offers := map[string]*Offer{}
				for _, slot := range slots {
					for len(fresh[slot]) < cpus+1 {
						ids++
						fresh[slot] = append(fresh[slot], fmt.Sprint("claim", ids))
					}
					offers[slot] = offered(t, start, 0)
					offers[slot].Claims, offers[slot].Free[0] = slices.Clone(fresh[slot]), cpus
				}
				for _, bySubmitter := range s.Grant(s.now, s.Ready(s.now), offers) {
					for _, grants := range bySubmitter {
						s.sent = append(s.sent, grants...)
						for _, g := range grants {
							j, from := g.flight.job, lockedFrom(g.Lock)
							if end := j.Start + j.Spec.Estimate + slack; from > 0 && backfill.Time(lease/time.Second) <= slack/2 {
								require.LessOrEqual(r, from+longest(s, j.Spec), end-slack/2, "it is given back too late")
							}
						}
					}
				}
				for slot, o := range offers {
					require.GreaterOrEqual(r, o.Free[0], int64(0), slot)
				}
			},
			"told": func() {
				if len(s.telling) > 0 {
					s.event("told", nil)
				}
			},
			"broken": func() {
				if len(s.telling) > 0 {
					s.event("broken", nil)
				}
			},
			"renew": func() { fresh = map[string][]string{} },
			"runs": func() {
				if started := in(track.Running); len(started) > 0 {
					words := started[number("job", len(started)):][:1]
					for _, at := range s.belief.Job(s.ids[words[0]]).Places {
						words = append(slices.Clone(words), at.Slot)
					}
					s.event("runs", words)
				}
			},
			"gone": func() {
				if started := in(track.Running); len(started) > 0 {
					s.event("gone", started[number("job", len(started)):][:1])
				}
			},
			"wait":   func() { s.event("wait", []string{strconv.Itoa(1 + number("seconds", 40))}) },
			"look":   func() { s.see() },
			"counts": func() { s.event("counts", nil) },
			"over":   func() { s.event("over", nil) },
			"leases": func() { s.event("leases", nil) },
		}
		names := slices.Concat(slices.Sorted(maps.Keys(events)), []string{"start", "start", "offer", "offer", "offer", "told", "told"})
		events["submit"]()
		for range rapid.IntRange(1, 80).Draw(r, "events") {
			events[rapid.SampledFrom(names).Draw(r, "event")]()
			holder := map[string]backfill.JobID{}
			for id, f := range s.flights {
				for _, claim := range f.claims {
					other, given := holder[claim]
					require.False(r, given && other != id, "%s is given to %d and %d", claim, other, id)
					holder[claim] = id
				}
			}
			for _, g := range s.telling["s"] {
				require.NotContains(r, holder, g.Claim, "a claim that is on its way again")
				holder[g.Claim] = g.flight.job.ID
			}
			told := 0
			for _, f := range s.flights {
				if f.handed() && !f.job.Group.Runs() {
					told++
				}
			}
			require.LessOrEqual(r, told, room)
		}
		events["told"]()
		for range 2 { // a gang may stand still for twice as long
			s.now = s.now.Add(s.s.Patience)
			s.see()
		}
		require.Empty(r, s.flights)
		require.NotContains(r, strings.ToLower(s.out.String()), "claim1", "claims are secrets")
		require.False(r, s.Deadline().After(s.now.Add(longPause+time.Second)))
	})
}

// lockedFrom returns from when on a lock holds for the claim of a job; 0: it always does, or START says
// for what the claim may be used.
func lockedFrom(lock string) backfill.Time {
	_, from, timed := strings.Cut(lock, "time() > ")
	if !timed {
		return 0
	}
	at, _ := strconv.ParseInt(from, 10, 64)
	return backfill.Time(at)
}

// longest returns how long a job may take that its schedd can start in the place of one with a Spec.
func longest(s *story, spec *observe.Spec) (most backfill.Time) {
	for j := range s.belief.Jobs() {
		if !j.Group.Runs() && sameQueue(spec, j.Group.Spec) {
			most = max(most, j.Group.Spec.Estimate)
		}
	}
	return most
}
