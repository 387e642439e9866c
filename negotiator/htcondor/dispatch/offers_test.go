package dispatch

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestAmong says that the slots that are asked for by name are those, however they are written.
func TestAmong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[sS]lot[1-9]_?[0-9]?@[a-cA-CÄä_."\\-]{1,3}[a-c]`)
		names := rapid.SliceOfN(name, 1, 60).Draw(t, "names")
		small := make([]string, len(names))
		for i, n := range names {
			small[i] = ast.Fold(n)
		}
		slices.Sort(small)
		query, err := classad.ParseOld("Requirements = " + among(small))
		require.NoError(t, err)
		e, _ := query.Lookup("Requirements")
		for _, n := range append(names, rapid.SliceOfN(name, 1, 20).Draw(t, "others")...) {
			ad := classad.New()
			ad.SetString("Name", n)
			require.Equal(t, slices.Contains(small, ast.Fold(n)), e.Eval(classad.Scope{My: ad}).IsTrue(), n)
		}
	})
}

// TestOffers says what a slot has to give: what is free, and its claim ids.
func TestOffers(t *testing.T) {
	slot := func(more string) string {
		return "Name = \"a\"\nMyAddress = \"<n1>\"\nState = \"Unclaimed\"\nCpus = 8\nMemory = 1024\n" + more
	}
	private := func(more string) string { return "Name = \"a\"\nMyAddress = \"<n1>\"\n" + more }
	for name, c := range map[string]struct {
		slot, private string
		free          backfill.Vector
		claims        []string
		closed        bool
	}{
		"static": {
			slot: slot(""), private: private(`ClaimId = "c1"`), free: backfill.Vector{8, 1024, 1},
			claims: []string{"c1"},
		},
		"partitionable": {
			slot: slot("PartitionableSlot = true"), private: private(`ClaimId = "c1"`),
			free: backfill.Vector{8, 1024, observe.Unlimited}, claims: []string{"c1"},
		},
		"several claims": {
			slot: slot(""), private: private("ClaimId = \"c0\"\nClaimIdList = \" c1 c2\""),
			free: backfill.Vector{8, 1024, 1}, claims: []string{"c1", "c2"},
		},
		"not free": {
			slot: slot("") + "\nState = \"Owner\"", private: private(""), free: backfill.Vector{8, 1024, 1},
			closed: true,
		},
		"draining": {
			slot: slot("") + "\nState = \"Drained\"\nActivity = \"Retiring\"", private: private(`ClaimId = "c1"`),
			free: backfill.Vector{8, 1024, 1}, claims: []string{"c1"},
		},
		"of a startd that was there": {
			slot: slot(""), private: `Name = "a"` + "\nMyAddress = \"<n2>\"\nClaimId = \"c1\"",
			free: backfill.Vector{8, 1024, 1},
		},
		"of a startd that names no place": {
			slot: slot(""), private: "Name = \"a\"\nClaimId = \"c1\"", free: backfill.Vector{8, 1024, 1},
			claims: []string{"c1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			c1 := fakes.NewCollector(t)
			c1.Set("Machine", c.slot, "Name = \"b\"\nState = \"Unclaimed\"\nCpus = 1")
			c1.Set("MachinePrivate", c.private, "Name = \"c\"\nClaimId = \"c9\"")
			d.ask(c1)
			offers, err := d.offers(t.Context(), map[string]bool{"a": true})
			require.NoError(t, err)
			require.Len(t, offers, 1)
			o := offers["a"]
			require.Equal(t, c.free, o.Free)
			require.Equal(t, c.claims, o.Claims)
			require.Equal(t, !c.closed, o.Open)
		})
	}
}

// What another startd advertises under a slot's name is no offer of the slot, nor its claims, wherever in
// the answer it comes.
func TestOffersOfAnother(t *testing.T) {
	const mine, others = "Name = \"a\"\nMyAddress = \"<10.0.0.1:1>\"\n", "Name = \"a\"\nMyAddress = \"<10.0.0.2:1>\"\n"
	slots := []string{
		mine + "State = \"Unclaimed\"\nCpus = 8\nMemory = 1024\n", others + "State = \"Unclaimed\"\nCpus = 99\nMemory = 9\n",
	}
	private := []string{mine + "ClaimId = \"c1\"", others + "ClaimId = \"c2\""}
	for range 2 {
		d := newDesk(t, "a")
		d.look(func(s *observe.Snapshot) { s.Slots["a"].Address = "<10.0.0.1:1?alias=n1>" })
		collector := fakes.NewCollector(t)
		collector.Set("Machine", slots...)
		collector.Set("MachinePrivate", private...)
		d.ask(collector)
		offers, err := d.offers(t.Context(), map[string]bool{"a": true})
		require.NoError(t, err)
		require.Equal(t, backfill.Vector{8, 1024, 1}, offers["a"].Free)
		require.Equal(t, []string{"c1"}, offers["a"].Claims)
		slices.Reverse(slots)
		slices.Reverse(private)
	}
}

func TestWhatIsAddedToMatches(t *testing.T) {
	d := newDesk(t, "a")
	collector := fakes.NewCollector(t)
	collector.Set("Machine", "Name = \"a\"\nState = \"Unclaimed\"\nCpus = 8\nRequirements = true")
	d.ask(collector)
	offered := func() *classad.ClassAd {
		offers, err := d.offers(t.Context(), map[string]bool{"a": true})
		require.NoError(t, err)
		return offers["a"].Ad
	}
	d.AddToMatches("NegotiatorMatchExprTwice = 2 * Cpus\nNegotiatorMatchExprSite = \"north\"\n")
	twice, _ := offered().Int("NegotiatorMatchExprTwice")
	require.EqualValues(t, 16, twice, "of the slot's ad")
	site, _ := offered().Text("NegotiatorMatchExprSite")
	require.Equal(t, "north", site)
	d.AddToMatches("")
	_, there := offered().Lookup("NegotiatorMatchExprSite")
	require.False(t, there)
}

// What it costs to look at the slots that are to be matched, of 10,000 with ads as large as real
// ones. The collector's part is a fake's; the bytes are what they are.
func BenchmarkOffers(b *testing.B) {
	const slots = 10_000
	collector := fakes.NewCollector(b)
	var ads, private []*classad.ClassAd
	for i := range slots {
		name := fmt.Sprintf("Name = \"slot1@node%04d.cluster.test\"\nMyAddress = \"<n%d>\"\n", i, i)
		ad, err := classad.ParseOld(name + "State = \"Unclaimed\"\nCpus = 8\nMemory = 8192\nRequirements = true")
		require.NoError(b, err)
		for k := range 150 {
			ad.SetString(fmt.Sprintf("SomeAttribute%d", k), "of a value as they have them")
		}
		ads = append(ads, ad)
		ad, err = classad.ParseOld(name + fmt.Sprintf("ClaimId = \"<n%d>#1#1#[]secret\"", i))
		require.NoError(b, err)
		private = append(private, ad)
	}
	collector.SetAds("Machine", ads...)
	collector.SetAds("MachinePrivate", private...)
	d := newDesk(b)
	d.ask(collector)
	d.s.Patience = 10 * time.Minute
	d.look(func(s *observe.Snapshot) {
		for i := range slots {
			s.Slots[strconv.Itoa(i)] = &observe.Slot{Missing: d.at}
		}
	})
	for _, n := range []int{10, 200, 1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			names := map[string]bool{}
			for i := range n {
				names[fmt.Sprintf("slot1@node%04d.cluster.test", i*(slots/n))] = true
			}
			for b.Loop() {
				offers, err := d.offers(b.Context(), names)
				require.NoError(b, err)
				require.Len(b, offers, n)
			}
		})
	}
}
