package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestSlots says what is reported of slots: those that are new, changed, missing for long, or back.
func TestSlots(t *testing.T) {
	missA := func(p *pool) { p.miss("a") }
	missAll := func(p *pool) {
		p.miss("a")
		p.miss("b")
	}
	outlived := func(p *pool) {
		p.slot("a", func(s *observe.Slot) { s.Missing, s.Outlived = p.now, p.now })
	}
	followAll(t, begun, map[string][]step{
		"nothing is new": {{after: 1}, {after: 1}},
		"new":            {{after: 1, do: func(p *pool) { p.slot("c") }, want: "up c"}, {after: 1}},
		"changed": {
			{after: 1, do: func(p *pool) {
				p.slot("a", func(s *observe.Slot) { s.Ad = slotAd(s.Name, "TARGET.Small") })
			}, want: "up a where TARGET.Small"},
			{after: 1},
		},
		"other things changed": {{after: 1, do: func(p *pool) {
			p.slot("a", func(s *observe.Slot) { s.Free, s.Changed = backfill.Vector{0, 0, 0}, p.now })
		}}},
		"missing for a short time": {
			{after: 1, do: missA},
			{after: 19},
			{after: 1, do: func(p *pool) { p.back("a") }},
			{after: 60},
		},
		"missing for long": {
			{after: 1, do: missA},
			{after: 19},
			{after: 1, want: "down a, dropped a"},
			{after: 1},
			{after: 1, do: func(p *pool) { p.slot("a") }, want: "up a"},
		},
		"most are missing": {
			{after: 1, do: missAll},
			{after: 15*60 - 1},
			{after: 1, want: "down a, down b, dropped a, dropped b"},
		},
		"two of three are missing": {
			{after: 1, do: func(p *pool) { p.slot("c") }, want: "up c"},
			{after: 1, do: missAll},
			{after: 15*60 - 1},
			{after: 1, want: "down a, down b, dropped a, dropped b"},
		},
		"most were missing": {
			{after: 1, do: missAll},
			{after: 300, do: func(p *pool) { p.back("b") }, want: "down a, dropped a"},
		},
		"its startd restarted without it": {
			{after: 1, do: outlived},
			{after: 9},
			{after: 1, want: "down a, dropped a"},
		},
		"its startd restarted with it": {
			{after: 1, do: outlived},
			{after: 9, do: func(p *pool) { p.back("a") }},
			{after: 60},
		},
		"missing with its job, which goes on": runsOnA(
			step{after: 1, do: missA},
			step{after: 20, want: "up a closed"},
			step{after: 1},
			step{after: 1, do: func(p *pool) { p.back("a") }, want: "up a"},
			step{after: 1},
		),
		"missing with its job, which comes back": runsOnA(
			step{after: 1, do: missA},
			step{after: 20, want: "up a closed"},
			step{after: 1, do: func(p *pool) { p.idles(1) }, want: "back #1, whose slot ended"},
			step{after: 1, want: "down a, dropped a"},
		),
		"missing with a claim of nobody's": {
			{do: func(p *pool) { p.claim("slot1_1@a", "a", key(7)) }},
			{after: 10, want: "found 7.0@s=#1 on a×1 since 0"},
			{after: 1, do: func(p *pool) {
				p.miss("a")
				p.miss("slot1_1@a")
			}},
			{after: 20, want: "up a closed, completed #1"},
			{after: 1, want: "down a, dropped a, dropped slot1_1@a"},
		},
		"a dynamic slot comes and goes": runsOnA(
			step{after: 1, do: func(p *pool) { p.claim("slot1_1@a", "a", key(1)) }},
			step{after: 1, do: func(p *pool) { p.miss("slot1_1@a") }, want: "dropped slot1_1@a"},
			step{after: 1},
		),
		"a dynamic slot is deleted, and still advertised": runsOnA(
			step{after: 1, do: func(p *pool) { p.claim("slot1_1@a", "a", key(1)) }},
			step{after: 1, do: func(p *pool) {
				p.slot("slot1_1@a", func(s *observe.Slot) { s.Missing = p.now })
			}},
			step{after: 1, do: func(p *pool) { p.miss("slot1_1@a") }, want: "dropped slot1_1@a"},
		),
	})
}

// TestLeftOut says how a slot is reported while it gets no jobs of one schedd, or none at all.
func TestLeftOut(t *testing.T) {
	out := func(schedd string) func(p *pool) {
		return func(p *pool) { p.dispatched.LeftOut["slot1@a"] = LeftOut{Of: schedd} }
	}
	in := func(p *pool) { delete(p.dispatched.LeftOut, "slot1@a") }
	edit := func(requirements string) func(p *pool) {
		return func(p *pool) {
			p.slot("a", func(s *observe.Slot) { s.Ad = slotAd(s.Name, requirements) })
		}
	}
	followAll(t, begun, map[string][]step{
		"for everybody": {
			{do: out(Everybody), want: "up a closed"},
			{after: 1},
			{after: 1, do: in, want: "up a"},
			{after: 1},
		},
		"for one schedd": {
			{do: out("s"), want: `up a where (true) && TARGET.BackfillSchedd isnt "s"`},
			{after: 1},
			{after: 1, do: out("z"), want: `up a where (true) && TARGET.BackfillSchedd isnt "z"`},
			{after: 1, do: out(Everybody), want: "up a closed"},
			{after: 1, do: in, want: "up a"},
		},
		"for one schedd with an odd name": {
			{do: out(`a"b\`), want: `up a where (true) && TARGET.BackfillSchedd isnt "a\"b\\"`},
		},
		"changed meanwhile": {
			{do: out("s"), want: `up a where (true) && TARGET.BackfillSchedd isnt "s"`},
			{after: 1, do: edit("TARGET.Small"), want: `up a where (TARGET.Small) && TARGET.BackfillSchedd isnt "s"`},
			{after: 1, do: in, want: "up a where TARGET.Small"},
		},
		"it has no Requirements": {
			{do: edit(""), want: "up a where anything"},
			{do: out("s"), want: "up a closed"},
		},
		"twice": {
			{do: out(Everybody), want: "up a closed"},
			{after: 1, do: in, want: "up a"},
			{after: 1, do: out(Everybody), want: "up a closed"},
		},
	})
}

// TestSlotIsNotChanged says that the ad of a slot that is left out, or closed, is a copy.
func TestSlotIsNotChanged(t *testing.T) {
	p := begun(t)
	ad := p.slots["slot1@a"].Ad
	before := ad.Ad.String()
	p.dispatched.LeftOut["slot1@a"] = LeftOut{}
	require.Equal(t, "up a closed", p.look())
	require.Equal(t, before, ad.Ad.String())
}

// TestWhyASlotIsClosed says that the ad of a slot that is left out says why, and until when; each
// pause is told.
func TestWhyASlotIsClosed(t *testing.T) {
	p := begun(t)
	for i := range 2 {
		until := time.Unix(int64(1_700_000_000+i), 0)
		p.dispatched.LeftOut["slot1@a"] = LeftOut{Until: until}
		require.Equal(t, "up a closed", p.look())
		ad := p.belief.slots["slot1@a"].reported.Ad
		why, _ := ad.Text(negotiator.WhyClosed)
		require.Equal(t, "left out (starts fail there)", why)
		told, _ := ad.Int(negotiator.ClosedUntil)
		require.Equal(t, until.Unix(), told)
		require.Empty(t, p.look())
	}
}

// TestSlotsBesideThePlan lists slots of machines that sleep, and slots that overlap with others, with
// those of their machine; missing ones are left out.
func TestSlotsBesideThePlan(t *testing.T) {
	p := begun(t)
	overlaps := func(s *observe.Slot) { s.Overlaps, s.Overlapping = true, slotAd(s.Name, "true") }
	p.slot("slot1@m")
	p.slot("slot2@m", overlaps)
	p.slot("slot3@m", overlaps)
	p.slot("slot4@m", func(s *observe.Slot) { s.Overlaps = true })
	p.slot("slot1@n", overlaps)
	p.slot("slot1@o", func(s *observe.Slot) { s.Asleep = slotAd(s.Name, "true") })
	p.slot("slot1@p", func(s *observe.Slot) { s.Asleep = slotAd(s.Name, "true") })
	p.look()
	p.miss("slot1@n")
	p.miss("slot1@p")
	p.look()
	asleep := p.belief.asleep()
	require.Len(t, asleep, 1)
	require.Equal(t, "slot1@o", asleep[0].Name)
	open := p.belief.overlapping()
	require.Len(t, open, 2)
	for i, name := range []string{"slot2@m", "slot3@m"} {
		require.Equal(t, name, open[i].Name)
		require.Equal(t, "m", open[i].Machine)
		require.Equal(t, []string{"slot1@m"}, open[i].Primary)
		require.ElementsMatch(t, []string{"slot2@m", "slot3@m", "slot4@m"}, open[i].Overlapping)
	}
}

// TestASlotThatTurnsDynamic: a slot with a job that says it is a dynamic one, and leaves, is down only
// once the job is off it.
func TestASlotThatTurnsDynamic(t *testing.T) {
	p := begun(t)
	p.job(1)
	p.look()
	p.start(1, sent, "a")
	p.look()
	p.slot("a", func(s *observe.Slot) { s.Ad, s.Missing, s.Advertised = nil, p.now, false })
	require.NotContains(t, p.look(), "down a")
	p.leaves(1)
	require.Contains(t, p.look(), "completed #1")
	require.Contains(t, p.look(), "down a")
}
