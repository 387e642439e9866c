package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// lookAt publishes the pool and further ads of schedds and submitters, before or after the true ones,
// and looks at it a second after the look before.
func (p *site) lookAt(first bool, schedds, submitters []string) *Snapshot {
	p.t.Helper()
	p.at = p.at.Add(time.Second)
	p.publish()
	for kind, more := range map[string][]string{"Scheduler": schedds, "Submitter": submitters} {
		var ads []string
		for _, ad := range p.collector.Ads(kind) {
			ads = append(ads, ad.Format(classad.Lines))
		}
		if first {
			ads = slices.Concat(more, ads)
		} else {
			ads = slices.Concat(ads, more)
		}
		p.collector.Set(kind, ads...)
	}
	s, err := p.Look(p.t.Context())
	require.NoError(p.t, err)
	return s
}

// problems are those of a snapshot that tell of a conflict.
func conflicts(s *Snapshot) (told []string) {
	for _, text := range s.Problems {
		if strings.Contains(text, "two ") || strings.Contains(text, "answers at") || strings.Contains(text, "left out") || strings.Contains(text, "one address") {
			told = append(told, text)
		}
	}
	return told
}

// TestANameIsTheFirstOnes: whatever ad bears a schedd's name, wherever in the answer it comes, and
// whatever it says of itself, the schedd that was there first keeps its name and its jobs. Both addresses
// are told in one line.
func TestANameIsTheFirstOnes(t *testing.T) {
	evil := fakes.NewSchedd(t, "victim@test")
	evil.SetJobs(strings.ReplaceAll(job(""), "ClusterId = 1", "ClusterId = 66"))
	for name, more := range map[string]string{
		"of an address that sorts first": "<0.0.0.0:1>", "of one that sorts last": "<zz:1>", "of one that answers": evil.Address().String(),
		"of none": "nonsense", "of an empty one": "",
	} {
		for _, said := range []string{
			"", "MyCurrentTime = 4000000000000000000\n", "MyCurrentTime = -1\n", "MyCurrentTime = 1.0E300\n",
			"MyCurrentTime = real(\"NaN\")\n", "DaemonStartTime = 4000000000000000000\n", "MaxJobsRunning = 0\n",
			"CurbMatchmaking = true\n",
		} {
			for _, first := range []bool{false, true} {
				p := newSite(t, "victim@test")
				p.schedds[0].SetJobs(job(""))
				p.see()
				ad := fmt.Sprintf("MyType = \"Scheduler\"\nName = \"victim@test\"\nScheddIpAddr = %q\n", more) + said
				submitter := fmt.Sprintf("MyType = \"Submitter\"\nName = \"alice@test\"\nScheddName = \"victim@test\"\n"+
					"ScheddIpAddr = %q\nIdleJobs = 0\nCapability = \"stolen\"\nLastHeardFrom = 4000000000000000000\n", more)
				for range 3 {
					s := p.lookAt(first, []string{ad}, []string{submitter})
					victim := s.Schedds["victim@test"]
					require.False(t, victim.Moved, name)
					require.True(t, victim.Read, name)
					require.Len(t, victim.Groups, 1, name)
					require.Equal(t, []JobKey{{"victim@test", 1, 0}}, victim.Groups[0].Jobs, name)
					require.Nil(t, victim.Room)
					require.False(t, victim.Full)
					require.EqualValues(t, 1, victim.Submitters["alice@test"].Idle)
					require.Empty(t, victim.Capability)
					require.Equal(t, p.schedds[0].Address().String(), victim.Address.String())
					told := conflicts(s)
					require.Len(t, told, 1, name)
					require.Contains(t, told[0], "victim@test")
					require.Contains(t, told[0], p.schedds[0].Address().String())
					require.Contains(t, told[0], more)
				}
			}
		}
	}
}

// TestAnAddressIsTheFirstOnes: an ad of another name, at the address of a schedd, takes nothing from it,
// whatever it says of itself.
func TestAnAddressIsTheFirstOnes(t *testing.T) {
	for _, said := range []string{
		"", "MyCurrentTime = 4000000000000000000\n", "MyCurrentTime = 1.0E300\n", "DaemonStartTime = 1\n",
	} {
		for _, named := range []string{"a@test", "zzz@test", "VICTIM@test"} {
			for _, first := range []bool{false, true} {
				p := newSite(t, "victim@test")
				p.schedds[0].SetJobs(job(""))
				p.see()
				at := p.schedds[0].Address().String()
				ad := fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nScheddIpAddr = %q\n", named, at) + said
				submitter := fmt.Sprintf("MyType = \"Submitter\"\nName = \"alice@test\"\nScheddName = %q\n"+
					"ScheddIpAddr = %q\nIdleJobs = 5\n", named, at)
				for range 3 {
					s := p.lookAt(first, []string{ad}, []string{submitter})
					victim := s.Schedds["victim@test"]
					require.False(t, victim.Moved, named)
					require.True(t, s.Schedds[named].Moved)
					require.Equal(t, []JobKey{{"victim@test", 1, 0}}, victim.Groups[0].Jobs)
					told := conflicts(s)
					require.Len(t, told, 1)
					require.Contains(t, told[0], "victim@test")
					require.Contains(t, told[0], named)
				}
			}
		}
	}
}

// TestARestartedScheddIsFollowed: a schedd that is advertised at another address, and does not answer at
// the former one, is asked there in the same look; with or without an ad of its own.
func TestARestartedScheddIsFollowed(t *testing.T) {
	for _, own := range []bool{true, false} {
		p := newSite(t, "s@test")
		see := func() *Snapshot {
			p.at = p.at.Add(time.Second)
			p.publish()
			if !own {
				p.collector.Set("Scheduler")
			}
			s, err := p.Look(t.Context())
			require.NoError(t, err)
			return s
		}
		p.schedds[0].SetJobs(job(""))
		require.True(t, see().Schedds["s@test"].Read)
		for range 3 {
			p.schedds[0].Stop()
			p.schedds[0] = fakes.NewSchedd(t, "s@test")
			p.schedds[0].SetJobs(job(""))
			s := see()
			one := s.Schedds["s@test"]
			require.True(t, one.Read)
			require.Equal(t, p.schedds[0].Address().String(), one.Address.String())
			require.Contains(t, one.Submitters, "alice@test")
			require.Empty(t, conflicts(s))
		}
	}
}

// TestASilentScheddGivesWay: while two are advertised, the first keeps the name if it answers; if it does
// not for some minutes, the other has it. The first one takes it back if it is advertised for longer than
// the ad of a dead daemon is kept. At the first look, the one that answers is right.
func TestASilentScheddGivesWay(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job(""))
	first := p.schedds[0].Ad()
	p.see()
	p.schedds[0].Stop()
	p.schedds = []*fakes.Schedd{fakes.NewSchedd(t, "s@test")}
	second := p.schedds[0].Address().String()
	look := func(after time.Duration) string {
		p.at = p.at.Add(after)
		return p.lookAt(true, []string{first}, nil).Schedds["s@test"].Address.String()
	}
	require.NotEqual(t, second, look(0))
	require.NotEqual(t, second, look(time.Minute))
	require.Equal(t, second, look(time.Minute))
	require.Equal(t, second, look(10*time.Minute))
	require.NotEqual(t, second, look(10*time.Minute))

	for _, dead := range []string{"<0.0.0.0:1>", "<127.0.0.1:1>", "nonsense"} {
		p = newSite(t, "s@test")
		p.schedds[0].SetJobs(job(""))
		ad := fmt.Sprintf("MyType = \"Scheduler\"\nName = \"s@test\"\nScheddIpAddr = %q\n", dead)
		p.lookAt(true, []string{ad}, nil)
		s := p.lookAt(true, []string{ad}, nil)
		require.True(t, s.Schedds["s@test"].Read, dead)
	}
}

// TestANameAndAnAddressAtOnce: an ad of a schedd's name has taken the place of its own in the collector,
// and one of another name is at its address: it keeps both as long as it answers.
func TestANameAndAnAddressAtOnce(t *testing.T) {
	p := newSite(t, "victim@test")
	p.schedds[0].SetJobs(job(""))
	p.see()
	at := p.schedds[0].Address().String()
	for range 3 {
		p.at = p.at.Add(time.Second)
		p.collector.Set("Scheduler", "Name = \"victim@test\"\nScheddIpAddr = \"<10.0.0.1:1>\"\n",
			fmt.Sprintf("Name = \"mallory\"\nScheddIpAddr = %q\n", at))
		s, err := p.Look(t.Context())
		require.NoError(t, err)
		victim := s.Schedds["victim@test"]
		require.False(t, victim.Moved)
		require.True(t, victim.Read)
		require.True(t, s.Schedds["mallory"].Moved)
		require.Equal(t, []JobKey{{"victim@test", 1, 0}}, victim.Groups[0].Jobs)
		require.Contains(t, victim.Submitters, "alice@test")
		require.Len(t, conflicts(s), 2)
	}
}

// slotAt is the ad of a slot whose startd is at an address.
func slotAt(address, more string) string {
	return partitionable(fmt.Sprintf("MyAddress = %q\n", address) + more)
}

// TestASlotIsTheFirstOnes: an ad with a slot's name from another address changes nothing of the slot,
// wherever in the answer it comes, until the slot is not advertised any more. Both addresses are told.
func TestASlotIsTheFirstOnes(t *testing.T) {
	const mine = "<10.0.0.1:9618?addrs=10.0.0.1-9618&sock=startd_1>"
	for _, at := range []string{"<1.1.1.1:1>", "<99.0.0.1:9618>", "<10.0.0.1:9618?sock=startd_2>", "nonsense", ""} {
		for _, evil := range []string{
			slotAt(at, "Cpus = 0\nState = \"Owner\"\n"), slotAt(at, "MyCurrentTime = 4000000000000000000\n"),
			slotAt(at, "DaemonStartTime = 4000000000000000000\nRequirements = false\n"),
			slotAt(at, "Offline = true\n"), slotAt(at, "DaemonStartTime = 1700000000\nUpdateSequenceNumber = 4000000000\n"),
		} {
			for _, first := range []bool{false, true} {
				p := newSite(t)
				good := slotAt(mine, "DaemonStartTime = 1600000000\nMyCurrentTime = 1\n")
				p.slots = []string{good}
				before := p.see().Slots["slot1@n"]
				for range 3 {
					if p.slots = []string{good, evil}; first {
						p.slots = []string{evil, good}
					}
					s := p.see()
					require.Len(t, s.Slots, 1)
					slot := s.Slots["slot1@n"]
					require.Same(t, before.Ad, slot.Ad)
					require.Equal(t, before.Free, slot.Free)
					require.Zero(t, slot.Missing)
					require.Zero(t, slot.Restarted)
					told := conflicts(s)
					require.Len(t, told, 1)
					require.Contains(t, told[0], mine)
					require.Contains(t, told[0], at)
				}
				p.slots = []string{evil} // the first one has gone
				s := p.see()
				require.Equal(t, at, p.read["slot1@n"].address)
				require.Zero(t, s.Slots["slot1@n"].Missing)
				require.Empty(t, conflicts(s))
			}
		}
	}
	// The address of a daemon has parameters that may change while it runs.
	p := newSite(t)
	p.slots = []string{slotAt(mine, "")}
	p.see()
	p.slots = []string{slotAt("<10.0.0.1:9618?alias=n&sock=startd_1>", "Cpus = 3\n")}
	s := p.see()
	require.Empty(t, conflicts(s))
	require.EqualValues(t, 3, s.Slots["slot1@n"].Free[0])
}

// TestAStrangerIsNoPartOfASlot: a dynamic slot of another daemon takes nothing of the slot that it claims
// to be cut from, and another slot of its machine's name does not say when that was started.
func TestAStrangerIsNoPartOfASlot(t *testing.T) {
	const mine, other = "<10.0.0.1:1>", "<10.0.0.2:1>"
	for _, first := range []bool{false, true} {
		for _, startedAt := range []int64{0, 1_700_000_000, 4_000_000_000_000_000_000} {
			p := newSite(t)
			good := slotAt(mine, "DaemonStartTime = 1600000000\n")
			p.slots = []string{good}
			p.see()
			stolen := part(fmt.Sprintf("MyAddress = %q\nDaemonStartTime = %d\n", other, startedAt))
			beside := strings.Replace(slotAt(other, fmt.Sprintf("DaemonStartTime = %d\n", startedAt)), "slot1@n", "slot0@n", 1)
			for range 3 {
				if p.slots = []string{good, stolen, beside}; first {
					p.slots = []string{beside, stolen, good}
				}
				s := p.see()
				require.NotContains(t, s.Slots, "slot1_1@n")
				require.Zero(t, s.Slots["slot1@n"].Missing)
				require.Zero(t, s.Slots["slot1@n"].Outlived)
				require.Zero(t, s.Slots["slot1@n"].ClaimBegan)
				require.Len(t, conflicts(s), 1)
			}
		}
	}
	// It may restart with its parts.
	p := newSite(t)
	p.slots = []string{slotAt(mine, ""), part(fmt.Sprintf("MyAddress = %q\n", mine))}
	require.Contains(t, p.see().Slots, "slot1_1@n")
	p.slots = []string{part(fmt.Sprintf("MyAddress = %q\n", other)), slotAt(other, "")}
	for range 2 {
		s := p.see()
		require.Zero(t, s.Slots["slot1_1@n"].Missing)
		require.Empty(t, conflicts(s))
	}
}

// Of many conflicts some are told.
func TestManyConflicts(t *testing.T) {
	p := newSite(t)
	for i := range 200 {
		name := fmt.Sprintf("slot%d@n", i)
		p.slots = append(p.slots, strings.Replace(slotAt("<1.0.0.1:1>", ""), "slot1@n", name, 1),
			strings.Replace(slotAt("<"+strings.Repeat("x", 10_000)+":1>", ""), "slot1@n", name, 1))
	}
	s := p.see()
	require.Len(t, s.Problems, mostTold+1)
	require.Less(t, len(strings.Join(s.Problems, "")), 5000)
	require.Contains(t, s.Problems, "195 more ads are left out, since other daemons have their names")
}

// Addresses that differ in what may change are of one daemon.
func TestSameDaemon(t *testing.T) {
	require.True(t, sameDaemon("<1.1.1.1:1?alias=a&sock=s>", "<1.1.1.1:1?addrs=1.1.1.1-1&noUDP&sock=s>"))
	for _, other := range []string{"<1.1.1.1:2?sock=s>", "<1.1.1.2:1?sock=s>", "<1.1.1.1:1?sock=t>", "<1.1.1.1:1>", "", "x"} {
		require.False(t, sameDaemon("<1.1.1.1:1?sock=s>", other), other)
	}
	for _, other := range []string{"CCBID=2.2.2.2:2%231", "CCBID=2.2.2.2:2%232", "PrivNet=n&PrivAddr=3.3.3.3:3"} {
		require.False(t, sameDaemon("<1.1.1.1:1?sock=s>", "<1.1.1.1:1?sock=s&"+other+">"), "it is called elsewhere: "+other)
		require.False(t, sameDaemon("<1.1.1.1:1?sock=s&CCBID=4.4.4.4:4%231>", "<1.1.1.1:1?sock=s&"+other+">"), other)
	}
	require.True(t, sameDaemon("<1.1.1.1:1?CCBID=2.2.2.2:2#1&PrivNet=n>", "<1.1.1.1:1?PrivNet=n&CCBID=2.2.2.2:2%231&noUDP>"))
	require.True(t, sameDaemon("x", "x"))
	_, err := cedar.ParseAddress(endpoint("<1.1.1.1:1?alias=a&sock=s>"))
	require.NoError(t, err)
}

// TestSlotsThatAreRemembered: the first look gives a slot's name to the machine that a former observer
// knew by it, in whatever order their ads come and their addresses sort.
func TestSlotsThatAreRemembered(t *testing.T) {
	for _, evil := range []string{"<10.0.0.1:1>", "<10.0.0.9:1>"} {
		mine, other := partitionable("MyAddress = \"<10.0.0.5:1?alias=n>\"\n"), partitionable("MyAddress = \""+evil+"\"\n")
		for _, slots := range [][]string{{mine, other}, {other, mine}} {
			p := newSite(t, "s@test")
			p.Remember(Homes{Slots: map[string]string{"slot1@n": "<10.0.0.5:1>"}})
			p.slots = slots
			for range 2 {
				s := p.see()
				require.Equal(t, "<10.0.0.5:1>", s.Slots["slot1@n"].Home())
				require.Len(t, s.Problems, 1)
			}
		}
		p := newSite(t, "s@test")
		p.Remember(Homes{Slots: map[string]string{"slot1@n": "<10.0.0.5:1>"}})
		p.slots = []string{other}
		require.Equal(t, evil, p.see().Slots["slot1@n"].Home(), "it has moved")
	}
}
