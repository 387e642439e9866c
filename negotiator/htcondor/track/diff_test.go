package track

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// busy is a pool in which much happens at once, before the look that shows it.
func busy(t *testing.T) *pool {
	t.Helper()
	p := newPool(t)
	for i := range 8 {
		p.slot(fmt.Sprint("n", i))
		p.job(int64(i + 1))
	}
	p.look()
	for i := range 8 {
		id, slot := backfill.JobID(i+1), fmt.Sprint("n", i)
		p.start(id, []Flight{sent, {Handed: true, Overdue: true}, {Full: true}, {}}[i%4], slot)
		switch i % 4 {
		case 0:
			p.runs(int64(i+1), slot)
		case 1:
		case 2:
			p.job(int64(i+1), is("another job"))
		default:
			p.leaves(int64(i + 1))
		}
		p.claim(fmt.Sprint("slot1_1@x", i), "a", observe.JobKey{Schedd: "other", Cluster: int64(i)})
		p.claim(fmt.Sprint("slot1_1@y", i), "b", observe.JobKey{}, func(s *observe.Slot) {
			s.Missing, s.Advertised = p.now, false
		})
		p.job(int64(i + 20))
	}
	return p
}

// TestDiffIsAFunction says that the same arguments give the same outcome, the order of its lists
// and the IDs of jobs included.
func TestDiffIsAFunction(t *testing.T) {
	outcome := func() string {
		p := busy(t)
		first := p.look()
		p.now = p.now.Add(patience)
		return first + "\n" + p.look()
	}
	want := outcome()
	for range 10 {
		require.Equal(t, want, outcome())
	}
}

// TestDiffKeepsItsArguments says that Diff changes neither the snapshot nor what is under way.
func TestDiffKeepsItsArguments(t *testing.T) {
	p := busy(t)
	for range 2 {
		s := p.snapshot()
		flights, leftOut := maps.Clone(p.dispatched.Flights), maps.Clone(p.dispatched.LeftOut)
		before := seen(s)
		p.belief.See(s)
		p.belief.Diff(p.dispatched)
		require.Equal(t, flights, p.dispatched.Flights)
		require.Equal(t, leftOut, p.dispatched.LeftOut)
		require.Equal(t, before, seen(s))
		p.now = p.now.Add(foreignJobAfter)
	}
}

// seen writes all that a snapshot shows.
func seen(s *observe.Snapshot) (said []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Slots)) {
		o := *s.Slots[name]
		ad := ""
		if o.Ad != nil {
			ad = o.Ad.Ad.String()
		}
		said = append(said, fmt.Sprintf("%+v %s", o, ad))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Schedds)) {
		said = append(said, fmt.Sprintf("%+v", *s.Schedds[name]))
		for _, g := range s.Schedds[name].Groups {
			said = append(said, fmt.Sprintf("%+v %+v", *g, *g.Spec))
		}
	}
	return said
}

// TestSeeTwice says that a snapshot which was taken in already is not taken in again, and that taking
// it in alone reports nothing and loses nothing.
func TestSeeTwice(t *testing.T) {
	p := begun(t)
	p.job(1)
	s := p.snapshot()
	p.belief.See(s)
	require.NotNil(t, p.belief.JobOf(key(1)))
	require.Equal(t, Unknown, p.belief.Job(1).Phase)
	p.belief.See(s)
	out := p.belief.Diff(Dispatched{})
	require.Equal(t, "submitted 1.0=#1", text(out, p.belief))
	out = p.belief.Diff(Dispatched{})
	require.Empty(t, text(out, p.belief))
}

// TestView says what others may ask after a comparison, and that a view does not change later.
func TestView(t *testing.T) {
	p := begun(t)
	p.schedd("z")
	p.jobOf(observe.JobKey{Schedd: "z", Cluster: 1})
	p.job(1)
	p.job(2, wrong("it asks for too much"))
	p.runs(3, "a")
	p.claim("slot1_1@b", "b", stranger)
	p.look()
	p.now = p.now.Add(foreignJobAfter)
	p.look()
	v := p.belief.View()
	require.Equal(t, []int{2, 1, 1, 2, 1}, []int{v.Idle, v.Running, v.Unplanned, v.Slots, v.Foreign})
	require.Equal(t, []backfill.JobID{1, 4}, p.belief.Find("1.0"))
	require.Equal(t, []backfill.JobID{4}, p.belief.Find("1.0@z"))
	for _, none := range []string{"9.0", "1.0@y", "01.0", "+1.0", "1", "", "@z"} {
		require.Empty(t, p.belief.Find(none), none)
	}
	p.leaves(1)
	p.look()
	require.Equal(t, 2, v.Idle, "a view stays as it was")
	require.Equal(t, []backfill.JobID{4}, p.belief.Find("1.0"))
}

// TestUsed lists the slots of jobs that run, one for each chunk, and of those on their way. Specs
// that are made by hand have the submitter "".
func TestUsed(t *testing.T) {
	p := begun(t)
	p.claim("slot1_1@b", "b", key(2))
	p.runs(2, "slot1_1@b")
	p.runs(1, "a")
	p.job(3)
	p.look()
	p.now = p.now.Add(5 * time.Second)
	p.start(3, Flight{}, "b", "b")
	p.look()
	v := p.belief.View()
	require.Equal(t, []Used{
		{"slot1@a", begin}, {"slot1@b", begin}, {"slot1@b", begin}, {"slot1_1@b", begin},
	}, v.Used()[""])
	require.Empty(t, v.Used()["eve@test"])
	p.leaves(1)
	p.idles(2)
	p.look()
	require.Len(t, v.Used()[""], 4, "it does not change")
	require.Len(t, p.belief.View().Used()[""], 2)
}
