package claims

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// story plays events, one a line, against a state, and writes what comes of each. Jobs are numbers,
// slots are letters, and times are in seconds.
type story struct {
	*desk
	ids     map[string]backfill.JobID // by the jobs' numbers, as of the last look
	names   map[backfill.JobID]string // of all IDs that jobs had
	sent    []Grant                   // that s is being told of
	startOf string                    // what START of the slots says
}

// newStory is a story of slots whose START heeds leases, which are long.
func newStory(tb testing.TB, slots ...string) *story {
	tb.Helper()
	return storyOf(tb, 0, heeds, 20*time.Minute, slots...)
}

func storyOf(tb testing.TB, slack backfill.Time, start string, lease time.Duration, slots ...string) *story {
	tb.Helper()
	s := &story{desk: deskOf(tb, slack, slots...), ids: map[string]backfill.JobID{}, names: map[backfill.JobID]string{}, startOf: start}
	s.schedd.Submitters = map[string]observe.Submitter{"": {Idle: 1}, "DedicatedScheduler@s": {Idle: 1}}
	s.Lend(lease, false)
	return s
}

// play plays lines of "event => what comes of it".
func (s *story) play(lines string) {
	s.t.Helper()
	for line := range strings.Lines(lines) {
		event, want, _ := strings.Cut(strings.TrimSpace(line), "=>")
		if event == "" {
			continue
		}
		words := strings.Fields(event)
		require.Equal(s.t, strings.TrimSpace(want), s.event(words[0], words[1:]), line)
	}
}

// event has something happen, and says what comes of it.
func (s *story) event(what string, words []string) string {
	s.t.Helper()
	switch what {
	case "submit", "gang", "wide", "long", "bobs": // JOB…
		for _, name := range words {
			cluster, nodes := s.cluster(name), 1
			if what == "gang" {
				nodes = 2
			}
			spec := specOf(s.t, nodes, "true")
			spec.Estimate = 60
			switch what {
			case "wide":
				spec.Request = backfill.Vector{4, 128, 1}
			case "long":
				spec.Estimate = 3600
			case "bobs":
				spec.Ad.SetString(observe.ScheddAttribute, "another")
			}
			s.schedd.Groups = append(s.schedd.Groups, &observe.Group{
				Spec: spec, Status: observe.Idle, Submit: 1_600_000_000, Jobs: []observe.JobKey{{Schedd: "s", Cluster: cluster}},
			})
		}
		return s.see()
	case "by": // USER JOB…
		for _, name := range words[1:] {
			spec := specBy(s.t, words[0])
			spec.Estimate = 60
			s.schedd.Groups = append(s.schedd.Groups, &observe.Group{
				Spec: spec, Status: observe.Idle, Submit: 1_600_000_000,
				Jobs: []observe.JobKey{{Schedd: "s", Cluster: s.cluster(name)}},
			})
		}
		return s.see()
	case "runs": // JOB SLOT…
		s.edit(s.cluster(words[0]), func(g *observe.Group) {
			g.Status, g.Hosts, g.Started, g.Shadows = observe.Running, words[1:], s.snapshot.Now, g.Shadows+1
		})
	case "idle": // JOB
		s.edit(s.cluster(words[0]), func(g *observe.Group) { g.Status, g.Hosts = observe.Idle, nil })
	case "back": // JOB, which ran unseen
		s.edit(s.cluster(words[0]), func(g *observe.Group) { g.Shadows++ })
	case "works": // SLOT…, whose hosts are known to work
		s.prove(words...)
	case "gone": // JOB
		s.schedd.Groups = slices.DeleteFunc(s.schedd.Groups, func(g *observe.Group) bool {
			return g.Jobs[0].Cluster == s.cluster(words[0])
		})
	case "claimed", "free": // SLOT
		slot := *s.snapshot.Slots[words[0]]
		slot.Claimed, slot.ClaimedSince = what == "claimed", s.snapshot.Now
		s.snapshot.Slots[words[0]] = &slot
	case "names": // SLOT JOB, which it runs
		slot := *s.snapshot.Slots[words[0]]
		slot.Claimed, slot.Runs = true, observe.JobKey{Schedd: "s", Cluster: s.cluster(words[1])}
		s.snapshot.Slots[words[0]] = &slot
	case "wait": // SECONDS
		s.now = s.now.Add(time.Duration(s.cluster(words[0])) * time.Second)
	case "look":
		return s.see()
	case "plan": // JOB SLOT IN…, under a policy that gives guarantees
		plan := negotiator.Checkpoint{Guarantees: true}
		for i := 0; i < len(words); i += 3 {
			at := backfill.Time(s.now.Unix() + s.cluster(words[i+2]))
			plan.Jobs = append(plan.Jobs, negotiator.JobCheckpoint{
				Job:       &negotiator.Job{ID: s.ids[words[i]]},
				Standing:  backfill.Standing{Start: at, End: at + 60, Promised: true, Guarantee: at},
				Placement: negotiator.Placement{{Slot: s.snapshot.Slots[words[i+1]].Ad, Count: 1}},
			})
		}
		return fmt.Sprint(len(s.TakePlan(plan)), " broken")
	case "start": // JOB SLOT…
		s.start(s.ids[words[0]], words[1:]...)
	case "why": // JOB
		return s.Flights()[s.ids[words[0]]].Why
	case "offer": // SLOT CLAIM… / SLOT CLAIM…
		return s.offer(strings.Split(strings.Join(words, " "), "/"))
	case "lend": // SECONDS
		s.Lend(time.Duration(s.cluster(words[0]))*time.Second, false)
	case "counts": // the schedd counts its queue
		s.schedd.Counted = backfill.Time(s.now.Unix())
	case "told", "broken": // all of the last grants, or none
		var err error
		all := s.sent
		if what == "broken" {
			all, err = nil, errors.New("the connection broke")
		}
		s.sent = nil
		s.Told(s.now, "s", all, err)
	case "leases":
		delta, _ := s.TellLeases()
		return s.text(delta)
	case "over": // as their startds say, all claims in doubt are over
		for _, doubt := range s.Doubts() {
			doubt.Over(s.now)
		}
	case "unused": // as their startds say, no claim in doubt was asked for
		for _, doubt := range s.Doubts() {
			doubt.Unused(s.now)
		}
	case "why-not": // JOB that is not planned
		out, _ := s.belief.View().Why(s.ids[words[0]])
		return out.Why
	case "leftovers":
		var all []string
		for _, l := range s.Leftovers(s.now)["s"] {
			all = append(all, l.Claims...)
		}
		return strings.Join(all, " ")
	case "released":
		s.Released(s.Leftovers(s.now)["s"])
	case "paused":
		var all []string
		for _, p := range s.Paused() {
			text := fmt.Sprintf("%s for %d", p.Slot, int(p.Until.Sub(s.now).Seconds()))
			if p.Users != "" {
				text += ", of " + p.Users
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	default:
		require.Fail(s.t, "no such event", what)
	}
	return ""
}

func (s *story) cluster(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	require.NoError(s.t, err)
	return n
}

// see has the state see the pool.
func (s *story) see() string {
	out := s.look()
	for j := range s.belief.Jobs() {
		name := strconv.FormatInt(j.Key.Cluster, 10)
		s.ids[name], s.names[j.ID] = j.ID, name
	}
	var parts []string
	for _, list := range []struct {
		what string
		ids  []backfill.JobID
	}{{"arrived", out.Arrived}, {"failed", out.Failed}, {"over", out.Over}} {
		if len(list.ids) > 0 {
			parts = append(parts, list.what+" "+s.jobs(list.ids))
		}
	}
	if text := s.text(out.Delta); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// text says what a delta tells the negotiator of jobs.
func (s *story) text(d negotiator.Delta) string {
	var submitted, found []string
	for _, j := range d.Submitted {
		submitted = append(submitted, s.names[j.ID])
	}
	for _, r := range d.Found {
		text := s.names[r.Job.ID]
		if r.Job.Lease > 0 {
			text += fmt.Sprintf(" until %d", int64(r.Job.Lease)-s.now.Unix())
		}
		found = append(found, text)
	}
	var parts []string
	for _, list := range []struct{ what, text string }{
		{"submitted", strings.Join(submitted, " ")},
		{"completed", s.jobs(d.Completed)},
		{"removed", s.jobs(d.Removed)},
		{"start failed", s.jobs(d.StartFailed)},
		{"found", strings.Join(found, " ")},
	} {
		if list.text != "" {
			parts = append(parts, list.what+" "+list.text)
		}
	}
	return strings.Join(parts, ", ")
}

func (s *story) jobs(ids []backfill.JobID) string {
	var all []string
	for _, id := range ids {
		all = append(all, s.names[id])
	}
	return strings.Join(all, " ")
}

// offer has slots offer claims, and says who gets them.
func (s *story) offer(slots []string) string {
	offers := map[string]*Offer{}
	for _, text := range slots {
		words := strings.Fields(text)
		offers[words[0]] = offered(s.t, s.startOf, 0)
		offers[words[0]].Claims = words[1:]
	}
	var all []string
	for _, bySubmitter := range s.Grant(s.now, s.Ready(s.now), offers) {
		for _, grants := range bySubmitter {
			for _, g := range grants {
				text := g.Claim + " for " + g.Job
				switch {
				case !g.Lent():
				case strings.Contains(g.Lock, "Cpus"):
					text += " and the planned ones"
				case strings.Contains(g.Lock, "PartitionableSlot"):
					text += " and others after it"
				default:
					text += " and others"
				}
				all, s.sent = append(all, text), append(s.sent, g)
			}
		}
	}
	return strings.Join(all, ", ")
}

// TestStories are scenarios of leases and of starts that fail, as lists of events.
func TestStories(t *testing.T) {
	for name, lines := range map[string]string{
		"a job starts": `
			submit 1       => submitted 1
			start 1 a
			why 1          => nothing was tried yet
			offer a c1     => c1 for 1.0
			told
			wait 2
			look
			runs 1 a
			look           => arrived 1
			gone 1
			wait 60
			look           => completed 1`,
		"the connection to the schedd breaks": `
			submit 1       => submitted 1
			start 1 a
			offer a c1     => c1 for 1.0
			why 1          => nothing was tried yet
			offer a c2     =>
			broken
			why 1          => the connection broke
			offer a c1     => c1 for 1.0
			told
			offer a c1     =>`,
		"a claim that is used is not given again": `
			lend 0
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0
			told
			start 2 a
			offer a c1     =>
			why 2          => slot a has no claim to give yet
			offer a c1 c2  => c2 for 2.0`,
		"a start is overdue": `
			submit 1       => submitted 1
			start 1 a
			offer a c1     => c1 for 1.0
			told
			wait 29
			look
			wait 1
			look           => failed 1, start failed 1
			paused         => a for 5
			start 1 a
			offer a c1     =>
			why 1          => slot a is left out for a while: starts fail there
			wait 5
			look
			offer a c1     => c1 for 1.0
			told
			wait 31
			look           => failed 1, start failed 1
			paused         => a for 10`,
		"a match is ignored, twice": `
			lend 0
			works a b c d
			by alice 1     => submitted 1
			start 1 a
			offer a c1     => c1 for 1.0
			told
			wait 1
			look
			unused
			wait 1
			look
			unused
			wait 1
			look
			unused
			look           => failed 1, start failed 1
			paused         => a for 5, of alice
			start 1 b
			offer b c2     => c2 for 1.0
			told
			wait 4
			look
			wait 2
			unused
			look           => failed 1, removed 1
			paused         =>
			why-not 1      => its schedd did not start it 2 times; it is tried again at 22:13:39 UTC
			by alice 2     => submitted 2
			wait 10
			look           => submitted 1
			start 1 c
			offer c c3     => c3 for 1.0
			told
			wait 1
			runs 1 c
			look           => arrived 1`,
		"another user gets the slot": `
			lend 0
			by alice 1     => submitted 1
			by bob 2       => submitted 2
			start 1 a
			offer a c1     => c1 for 1.0
			told
			wait 4
			look
			wait 2
			unused
			look           => failed 1, start failed 1
			start 1 a
			start 2 a
			offer a c1 c2  => c1 for 2.0
			why 1          => slot a is left out for a while: starts fail there`,
		"one slot ignores matches": `
			lend 0
			by alice 1 2   => submitted 1 2
			start 1 a
			start 2 a
			offer a c1 c2  => c1 for 1.0, c2 for 2.0
			told
			wait 4
			look
			wait 2
			unused
			look           => failed 1 2, start failed 1 2
			paused         => a for 5, of alice
			start 1 b
			offer b c3     => c3 for 1.0
			told
			wait 1
			runs 1 b
			look           => arrived 1
			wait 5
			start 2 a
			offer a c2     => c2 for 2.0
			told
			wait 4
			look
			wait 2
			unused
			look           => failed 2, start failed 2
			paused         => a for 10, of alice`,
		"no job of a kind is started": `
			lend 0
			works a b c d
			by alice 1 2 3 => submitted 1 2 3
			start 1 a
			start 2 b
			offer a c1 / b c2 => c1 for 1.0, c2 for 2.0
			told
			wait 4
			look
			wait 2
			unused
			look           => failed 1 2, removed 1 2 3
			paused         =>
			why-not 3      => its schedd does not start jobs like it, such as 1.0; one is tried again at 22:13:31 UTC
			wait 5
			look           => submitted 1
			why-not 2      => its schedd does not start jobs like it, such as 1.0
			start 1 a
			offer a c1     => c1 for 1.0
			told
			wait 1
			runs 1 a
			look           => arrived 1, submitted 3 2`, // 2 has a new ID
		"a claim is refused": `
			lend 0
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0
			told
			wait 2
			look
			over
			wait 1
			look           => failed 1, start failed 1
			paused         =>
			start 2 a
			offer a c1 c2  => c2 for 2.0
			told
			wait 2
			look
			over
			wait 1
			look           => failed 2, start failed 2
			paused         => a for 10`,
		"a job comes back at once": `
			submit 1       => submitted 1
			start 1 a
			offer a c1     => c1 for 1.0
			told
			back 1
			wait 2
			look           => failed 1, start failed 1
			paused         =>`,
		"a claim is lent": `
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0 and others
			leases         => found 1 until 120
			told
			claimed a
			runs 1 a
			look           => arrived 1
			gone 1
			wait 30
			look
			runs 2 a
			look           => removed 2
			gone 2
			wait 1
			look
			free a
			wait 1
			look           => completed 1`,
		"a claim is lent, and takes up no more jobs": `
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0 and others
			leases         => found 1 until 120
			told
			claimed a
			runs 1 a
			wait 60
			look           => arrived 1
			gone 1
			wait 1
			look           => completed 1`,
		"a claim is lent, and given back early": `
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0 and others
			leases         => found 1 until 120
			told
			claimed a
			runs 1 a
			look           => arrived 1
			gone 1
			free a
			wait 10
			look           => completed 1`,
		"the schedd takes another job first": `
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0 and others
			leases         => found 1 until 120
			told
			claimed a
			runs 2 a
			wait 2
			look           => over 1, submitted 1, removed 2
			gone 2
			wait 30
			look
			runs 1 a
			look           => removed 1`,
		"a promise is kept by a lease": `
			submit 1 2     => submitted 1 2
			plan 2 a 60    => 0 broken
			start 1 a
			offer a c1     => c1 for 1.0 and others
			leases         => removed 2, found 1 until 120
			told
			claimed a
			runs 1 a
			look           => arrived 1
			gone 1
			wait 60
			runs 2 a
			look           =>`,
		"a promise is broken by a lease": `
			submit 1 2     => submitted 1 2
			plan 2 a 60    => 0 broken
			start 1 a
			offer a c1     => c1 for 1.0 and others
			leases         => removed 2, found 1 until 120
			told
			claimed a
			runs 1 a
			look           => arrived 1
			wait 61
			look           => submitted 2
			plan 2 a 30    => 1 broken`,
		"a schedd fills a slot": `
			submit 1 2     => submitted 1 2
			start 1 a
			start 2 a
			offer a c1     => c1 for 1.0 and others
			leases         => found 1 until 65 2 until 65
			told
			why 2          => its schedd is filling slot a
			offer a c2     =>`,
		"gangs go one at a time, and leave claims": `
			gang 1 2       => submitted 1 2
			start 1 a b
			start 2 c d
			offer a g1 / b g2 / c g3 / d g4 => g1 for 1.0, g2 for 1.0
			why 2          => its schedd would start gang 1.0 in its place, which is before it in the queue there
			told
			offer c g3 / d g4
			why 2          => its schedd is collecting the slots of another gang
			wait 5
			runs 1 a b
			look           => arrived 1
			offer c g3 / d g4
			why 2          => its schedd has just started another gang
			wait 1
			counts
			look
			offer c g3 / d g4 => g3 for 2.0, g4 for 2.0
			gone 1
			wait 9
			look           => completed 1
			leftovers      => g1 g2
			gang 3         => submitted 3
			start 3 a b
			told
			wait 1
			runs 2 c d
			look           => arrived 2
			counts
			look
			wait 1
			counts
			look
			offer a g5 / b g6
			why 3          => slot a was a gang's until a moment ago
			released
			leftovers      =>
			offer a g5 / b g6 => g5 for 3.0, g6 for 3.0`,
	} {
		t.Run(name, func(t *testing.T) { newStory(t, "a", "b", "c", "d").play(lines) })
	}
}

// TestStoriesByDefault are scenarios of slots whose START knows nothing of leases, with the start slack
// and the lease of a negotiator's defaults: a match is locked some time after it was given.
func TestStoriesByDefault(t *testing.T) {
	for name, lines := range map[string]string{
		"a claim takes up jobs, and is given back": `
			submit 1 2 3   => submitted 1 2 3
			start 1 a
			offer a c1     => c1 for 1.0 and others after it
			leases         =>
			told
			claimed a
			runs 1 a
			look           => arrived 1
			gone 1
			runs 2 a
			wait 20
			look           => removed 2
			gone 2
			wait 20
			look           => completed 1
			start 3 a
			offer a c2     => c2 for 3.0`,
		"a job ends as late as it may": `
			submit 1 2     => submitted 1 2
			start 1 a
			offer a c1     => c1 for 1.0 and others after it
			leases         =>
			told
			claimed a
			runs 1 a
			look           => arrived 1
			gone 1
			runs 2 a
			wait 28
			look           => removed 2
			wait 60
			look
			gone 2
			wait 2
			look           => completed 1`,
		"a schedd fills a slot": `
			submit 1 2 3   => submitted 1 2 3
			start 1 a
			start 2 a
			offer a c1     => c1 for 1.0 and others
			leases         =>
			told
			why 2          => its schedd is filling slot a
			wait 1
			runs 1 a
			runs 3 a
			look           => arrived 1, over 2, submitted 2, removed 3`,
		"a wider job that came meanwhile takes what is left": `
			submit 1 2 3   => submitted 1 2 3
			start 1 a
			start 2 a
			offer a c1     => c1 for 1.0 and others
			told
			wide 4         => submitted 4
			wait 1
			runs 1 a
			runs 4 a
			names a 4
			look           => arrived 1, found 4
			offer a c2     =>
			gone 4
			wait 2
			look           => completed 4
			offer a c3     => c3 for 2.0 and others after it`,
		"nothing is filled while a wider job waits": `
			submit 1 2 3   => submitted 1 2 3
			wide 4         => submitted 4
			start 1 a
			start 2 a
			offer a c1     => c1 for 1.0 and others after it
			leases         =>
			told
			why 2          => slot a has no claim to give yet
			offer a c2     => c2 for 2.0 and others after it`,
		"no more is filled than was planned while another waits": `
			submit 1 2 3   => submitted 1 2 3
			bobs 4         => submitted 4
			start 1 a
			start 2 a
			offer a c1     => c1 for 1.0 and the planned ones
			leases         =>
			told
			why 2          => its schedd is filling slot a
			wait 3
			look
			offer a c2     => c2 for 2.0 and others after it`,
		"a promise to another stays as it is": `
			submit 1 2     => submitted 1 2
			wide 3         => submitted 3
			plan 3 a 120   => 0 broken
			start 1 a
			offer a c1     => c1 for 1.0 and others after it
			leases         =>
			told
			claimed a
			runs 1 a
			look           => arrived 1
			gone 1
			runs 2 a
			wait 28
			look           => removed 2
			gone 2
			wait 62
			look           => completed 1`,
		"a claim is for its job alone when a longer job waits": `
			submit 1 2     => submitted 1 2
			long 3         => submitted 3
			start 1 a
			offer a c1     => c1 for 1.0`,
		"a job that was started is not started again": `
			submit 1 2 3   => submitted 1 2 3
			start 1 a
			start 2 b
			offer a c1 / b c2 => c1 for 1.0 and others after it, c2 for 2.0 and others after it
			leases         =>
			told
			claimed a
			runs 1 a
			wait 1
			look           => arrived 1
			gone 1
			runs 2 a
			wait 1
			look           => over 2, completed 2
			offer b c2     =>
			gone 2
			runs 3 b
			names b 3
			wait 1
			look           => found 3
			free b
			gone 3
			wait 40
			look           => completed 1 3`,
	} {
		t.Run(name, func(t *testing.T) {
			storyOf(t, 60, "true", 30*time.Second, "a", "b").play(lines)
		})
	}
}

// TestOneSlot says that where no slot can be left out, the jobs are that their schedd does not start.
func TestOneSlot(t *testing.T) {
	newStory(t, "a").play(`
		lend 0
		by alice 1 2 3 => submitted 1 2 3
		start 1 a
		start 2 a
		start 3 a
		offer a c1     => c1 for 1.0
		told
		wait 1
		look
		wait 2
		unused
		look           => failed 1, start failed 1
		paused         =>
		offer a c1     => c1 for 2.0
		told
		wait 1
		look
		wait 2
		unused
		look           => failed 2 3, removed 1 2 3
		why-not 3      => its schedd does not start jobs like it, such as 1.0; one is tried again at 22:13:36 UTC
		by bob 4       => submitted 4
		start 4 a
		offer a c1     => c1 for 4.0`)
}
