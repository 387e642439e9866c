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

// sentBy is a line of an ad as the collector adds it.
func sentBy(who string) string { return fmt.Sprintf("AuthenticatedIdentity = %q\n", who) }

// Who sends an ad counts as much as the pool's own daemons, or somebody else, or nobody.
func TestSendersAreTrusted(t *testing.T) {
	for who, trust := range map[sender]int{
		"condor@family": 3, "mallory@family": 1, "condor_pool@pool.test": 2, "CONDOR@x": 2, "mallory@pool.test": 1, "root@x": 1, "schedd1": 1,
		"condors@x": 1, "": 0, "unauthenticated@unmapped": 0, "ssl@unmapped": 0, "anonymous@ssl": 0, "CONDOR_ANONYMOUS_USER@x": 0,
	} {
		require.Equal(t, trust, who.trust(), who)
		require.False(t, who.isWeaker(who), who)
	}
	require.True(t, sender("a@x").isWeaker("b@x"), "another user")
	require.True(t, sender("a@x").isWeaker("condor@x"))
	require.False(t, sender("condor@x").isWeaker("a@x"))
	require.True(t, sender("condor@x").isWeaker("condor@family"))
	require.False(t, sender("condor@y").isWeaker("condor_pool@x"), "both are daemons of the pool")
	require.False(t, sender("").isWeaker("unauthenticated@unmapped"))
}

// weaker are pairs of an impostor's identity and a true daemon's.
var weaker = map[string]string{"": "condor@family", "mallory@test": "condor_pool@test", "unauthenticated@unmapped": "condor@family"}

// TestIdentityDecidesBeforeAddresses: at the first look without a saved state, of several who claim
// a schedd's or slot's name, the one whom the collector knows as a daemon of the pool has it,
// whatever its address; also when it comes later than somebody whom nobody knows.
func TestIdentityDecidesBeforeAddresses(t *testing.T) {
	evil := fakes.NewSchedd(t, "victim@test")
	evil.SetJobs(strings.ReplaceAll(job(""), "ClusterId = 1", "ClusterId = 66"))
	for impostor, own := range weaker {
		for _, first := range []bool{false, true} {
			for _, lone := range []bool{false, true} {
				p := newSite(t, "victim@test")
				p.schedds[0].SetJobs(job(""))
				p.who = own
				ad := fmt.Sprintf("Name = \"victim@test\"\nScheddIpAddr = %q\n", evil.Address()) + sentBy(impostor)
				beside := fmt.Sprintf("Name = \"other@test\"\nScheddIpAddr = %q\n", p.schedds[0].Address()) + sentBy(impostor)
				const mine = "<10.0.0.5:1>"
				good := slotAt(mine, sentBy(own))
				theirs := []string{slotAt("<10.0.0.1:1>", "Cpus = 1\n"+sentBy(impostor)), slotAt("<10.0.0.9:1>", "Cpus = 2\n"+sentBy(impostor))}
				if p.slots = append(theirs, good); first {
					p.slots = append([]string{good}, theirs...)
				}
				if lone && impostor != "mallory@test" { // it is there when the daemon starts, and the true one is not
					p.collector.Set("Scheduler", ad)
					p.collector.Set("Machine", theirs...)
					s, err := p.Look(t.Context())
					require.NoError(t, err)
					require.Equal(t, evil.Address(), s.Schedds["victim@test"].Address)
				}
				for range 3 {
					s := p.lookAt(first, []string{ad, beside}, nil)
					victim := s.Schedds["victim@test"]
					require.Equal(t, p.schedds[0].Address().String(), victim.Address.String())
					require.Equal(t, []JobKey{{"victim@test", 1, 0}}, victim.Groups[0].Jobs)
					require.Empty(t, victim.Earlier)
					require.Equal(t, mine, s.Slots["slot1@n"].Home())
					require.EqualValues(t, 4, s.Slots["slot1@n"].Free[0])
					told := strings.Join(conflicts(s), "\n")
					for _, text := range []string{"victim@test", "slot1@n", mine, "<10.0.0.9:1>", evil.Address().String(), p.schedds[0].Address().String()} {
						require.Contains(t, told, text)
					}
				}
			}
		}
	}
}

// TestSubmittersDecide: an impostor's ad has replaced that of a schedd, whose submitters' ads are
// there and better known: then it is where these say, whether the impostor answers or not.
func TestSubmittersDecide(t *testing.T) {
	evil := fakes.NewSchedd(t, "s@test")
	for _, at := range []string{evil.Address().String(), "<127.0.0.1:1>"} {
		for impostor, own := range map[string]string{"condor@test": "condor@family", "": "condor@test", "a@test": "condor@test"} {
			p := newSite(t, "s@test")
			p.schedds[0].SetJobs(job(""))
			p.who = own
			p.publish()
			p.collector.Set("Scheduler", fmt.Sprintf("Name = \"s@test\"\nScheddIpAddr = %q\n", at)+sentBy(impostor))
			for range 2 {
				s, err := p.Look(t.Context())
				require.NoError(t, err)
				require.True(t, s.Schedds["s@test"].Read)
				require.Equal(t, p.schedds[0].Address().String(), s.Schedds["s@test"].Address.String())
				require.Contains(t, s.Schedds["s@test"].Submitters, "alice@test")
			}
			require.Contains(t, strings.Join(conflicts(p.see()), "\n")+p.log.String(), at)
		}
	}
}

// TestJobsOnSlotsDecide: of two schedds of one name and trust, at the first look without a saved
// state, the one that knows of the jobs which slots say that they run for it has the name.
func TestJobsOnSlotsDecide(t *testing.T) {
	for range 4 { // whichever address sorts first
		p, evil := newSite(t, "s@test"), fakes.NewSchedd(t, "s@test")
		evil.SetJobs(strings.ReplaceAll(job(""), "ClusterId = 1", "ClusterId = 66"))
		runs := strings.NewReplacer("ClusterId = 1", "ClusterId = 7", "JobStatus = 1", "JobStatus = 2").Replace(job("")) +
			"RemoteHost = \"slot1_1@n\"\nJobCurrentStartDate = 100\n"
		p.schedds[0].SetJobs(runs)
		p.slots = []string{partitionable(""), part("")}
		ad := fmt.Sprintf("Name = \"s@test\"\nScheddIpAddr = %q\n", evil.Address())
		for range 3 {
			s := p.lookAt(false, []string{ad}, nil)
			require.Equal(t, p.schedds[0].Address().String(), s.Schedds["s@test"].Address.String())
			require.True(t, s.Schedds["s@test"].Read)
			require.Equal(t, []JobKey{{"s@test", 7, 0}}, s.Schedds["s@test"].Groups[0].Jobs)
			for _, earlier := range s.Schedds["s@test"].Earlier {
				require.Equal(t, s.Schedds["s@test"].Groups[0].Jobs, earlier.Groups[0].Jobs)
			}
		}
	}
}

// So it is with two names of one address: the one that slots name has it.
func TestJobsOnSlotsNameTheirSchedd(t *testing.T) {
	for _, named := range []string{"a@test", "z@test"} {
		p := newSite(t, "s@test")
		p.schedds[0].SetJobs(job(""))
		p.slots = []string{partitionable(""), part("")}
		ad := fmt.Sprintf("Name = %q\nScheddIpAddr = %q\n", named, p.schedds[0].Address())
		for range 2 {
			s := p.lookAt(true, []string{ad}, nil)
			require.False(t, s.Schedds["s@test"].Moved)
			require.Len(t, s.Schedds["s@test"].Groups, 1)
			require.True(t, s.Schedds[named].Moved)
			require.Contains(t, strings.Join(conflicts(s), "\n"), "condor_advertise INVALIDATE_SCHEDD_ADS")
		}
	}
}

// TestUndecidedIsTold: where nothing decides, the log says that, with both addresses and what to
// do.
func TestUndecidedIsTold(t *testing.T) {
	p, evil := newSite(t, "s@test"), fakes.NewSchedd(t, "s@test")
	ad := fmt.Sprintf("Name = \"s@test\"\nScheddIpAddr = %q\n", evil.Address())
	p.slots = []string{slotAt("<10.0.0.1:1>", ""), slotAt("<10.0.0.2:1>", "")}
	s := p.lookAt(true, []string{ad}, nil)
	told := conflicts(s)
	require.Len(t, told, 2)
	for _, text := range told {
		require.Contains(t, text, "condor_advertise INVALIDATE_")
	}
	require.Contains(t, strings.Join(told, "\n"), evil.Address().String())
	require.Contains(t, strings.Join(told, "\n"), p.schedds[0].Address().String())
	require.Equal(t, 2, s.Contested)
}

// TestAReplacedAdTakesNothing: when somebody's ad takes the place of a startd's in the collector,
// at its own address, the slot stays as it is, for as long as a collector keeps the ad of a dead
// daemon. So does a schedd with its submitters.
func TestAReplacedAdTakesNothing(t *testing.T) {
	const mine = "<10.0.0.1:1>"
	for impostor, own := range weaker {
		p := newSite(t, "s@test")
		p.schedds[0].SetJobs(job(""))
		p.who = own
		running := part(fmt.Sprintf("MyAddress = %q\n", mine) + sentBy(own))
		p.slots = []string{slotAt(mine, "DaemonStartTime = 1600000000\n"+sentBy(own)), running}
		before := p.see()
		theirs := slotAt(mine, "Cpus = 0\nState = \"Owner\"\nDaemonStartTime = 1700000000\n"+sentBy(impostor))
		invented := strings.ReplaceAll(part(fmt.Sprintf("MyAddress = %q\n", mine)+sentBy(impostor)), "slot1_1@n", "slot1_2@n")
		p.slots = []string{theirs, running, invented}
		at := p.schedds[0].Address().String()
		p.who = ""
		replaced := func() *Snapshot {
			p.at = p.at.Add(5 * time.Minute)
			p.collector.Set("Machine", p.slots...)
			p.collector.Set("Scheduler", fmt.Sprintf("Name = \"s@test\"\nScheddIpAddr = %q\nMaxJobsRunning = 0\n", at)+sentBy(impostor))
			p.collector.Set("Submitter", fmt.Sprintf("Name = \"alice@test\"\nScheddName = \"s@test\"\nScheddIpAddr = %q\n"+
				"IdleJobs = 0\nCapability = \"stolen\"\nLastHeardFrom = 4000000000\n", at)+sentBy(impostor),
				fmt.Sprintf("Name = \"bob@test\"\nScheddName = \"s@test\"\nScheddIpAddr = %q\nIdleJobs = 9\n", at)+sentBy(impostor))
			s, err := p.Look(t.Context())
			require.NoError(t, err)
			return s
		}
		for range 3 {
			s := replaced()
			slot := s.Slots["slot1@n"]
			require.Same(t, before.Slots["slot1@n"].Ad, slot.Ad, impostor)
			require.Equal(t, before.Slots["slot1@n"].Free, slot.Free)
			require.Zero(t, slot.Missing)
			require.Zero(t, slot.Restarted)
			require.True(t, slot.Advertised)
			require.NotContains(t, s.Slots, "slot1_2@n")
			require.Zero(t, s.Slots["slot1_1@n"].Missing)
			schedd := s.Schedds["s@test"]
			require.True(t, schedd.Read)
			require.Nil(t, schedd.Room)
			require.Empty(t, schedd.Capability)
			require.EqualValues(t, 1, schedd.Submitters["alice@test"].Idle)
			require.NotContains(t, schedd.Submitters, "bob@test")
			told := conflicts(s)
			require.Contains(t, strings.Join(told, "\n"), "slot1@n")
			require.Contains(t, strings.Join(told, "\n"), mine)
			// What a schedd is given of the slot is what its startd said.
			forged, err := classad.ParseOld(theirs)
			require.NoError(t, err)
			require.True(t, slot.Restore(forged))
			state, _ := forged.Text("State")
			cpus, _ := forged.Int("Cpus")
			require.Equal(t, "Unclaimed", state)
			require.EqualValues(t, 4, cpus)
		}
		for range 3 {
			replaced()
		}
		s := replaced() // the startd has not said anything for so long
		require.Zero(t, s.Slots["slot1@n"].Free[0])
		p.slots = []string{slotAt(mine, "DaemonStartTime = 1600000000\n"+sentBy(own)), running}
		p.who = own
		require.EqualValues(t, 4, p.see().Slots["slot1@n"].Free[0])
	}
}

// TestAnotherCollectorHasOtherNames: where another collector answers, which calls the same senders
// by other names, all is as before.
func TestAnotherCollectorHasOtherNames(t *testing.T) {
	p := newSite(t, "s@test")
	second := fakes.NewCollector(t)
	p.s.Collector.Addresses = append(p.s.Collector.Addresses, second.Address())
	p.schedds[0].SetJobs(job(""))
	p.who = "condor@family"
	slots := func() []string {
		const mine = "MyAddress = \"<10.0.0.1:1>\"\n"
		return []string{partitionable(mine + sentBy(p.who)), part(mine + sentBy(p.who))}
	}
	p.slots = slots()
	p.see()
	p.collector.Stop()
	p.collector, p.who = second, "condor@test"
	p.slots = slots()
	for range 2 {
		s := p.see()
		require.Empty(t, conflicts(s))
		for _, name := range []string{"slot1@n", "slot1_1@n"} {
			require.Zero(t, s.Slots[name].Missing)
			require.Equal(t, sender("condor@test"), s.Slots[name].sender)
		}
		require.True(t, s.Schedds["s@test"].Read)
		require.Contains(t, s.Schedds["s@test"].Submitters, "alice@test")
	}
}

// TestAWeakerNewcomerWaits: a silent or vanished daemon's name goes to one that is known no less at
// once, and to any other only when its ads are forgotten.
func TestAWeakerNewcomerWaits(t *testing.T) {
	for _, c := range []struct {
		former, newcomer string
		waits            bool
	}{
		{"condor@family", "condor@test", true},
		{"condor_pool@test", "condor@test", false},
		{"condor@family", "mallory@test", true},
		{"condor@family", "", true},
		{"a@test", "b@test", true},
		{"a@test", "a@test", false},
		{"", "", false},
		{"a@test", "condor@test", false},
	} {
		p := newSite(t, "s@test")
		p.who = c.former
		p.slots = []string{slotAt("<10.0.0.1:1>", sentBy(c.former))}
		p.see()
		p.schedds[0].Stop()
		p.schedds[0] = fakes.NewSchedd(t, "s@test")
		p.who = c.newcomer
		p.slots = []string{slotAt("<10.0.0.2:1>", sentBy(c.newcomer))}
		s := p.see()
		require.Equal(t, c.waits, s.Schedds["s@test"].Address.String() != p.schedds[0].Address().String(), c)
		require.Equal(t, c.waits, s.Slots["slot1@n"].Home() != "<10.0.0.2:1>", c)
		p.at = p.at.Add(alive)
		s = p.see()
		require.Equal(t, p.schedds[0].Address(), s.Schedds["s@test"].Address, c)
		require.Equal(t, "<10.0.0.2:1>", s.Slots["slot1@n"].Home(), c)
	}
}

// A schedd that restarts is followed though somebody's ad has replaced its own; and where a former
// observer knew one, it is asked, whoever advertises its submitters elsewhere.
func TestAReplacedScheddIsFollowed(t *testing.T) {
	evil := fakes.NewSchedd(t, "s@test")
	look := func(p *site) Schedd {
		s, err := p.Look(t.Context())
		require.NoError(t, err)
		return *s.Schedds["s@test"]
	}
	p := newSite(t, "s@test")
	p.who = "condor@family"
	p.see()
	p.schedds[0].Stop()
	p.schedds[0] = fakes.NewSchedd(t, "s@test")
	p.publish()
	p.collector.Set("Scheduler", fmt.Sprintf("Name = \"s@test\"\nScheddIpAddr = %q\n", evil.Address())+sentBy("a@test"))
	require.Equal(t, p.schedds[0].Address().String(), look(p).Address.String())

	p = newSite(t, "s@test")
	p.Remember(Homes{Schedds: map[string]string{"s@test": p.schedds[0].Address().String()}})
	forged := fmt.Sprintf("ScheddIpAddr = %q\n", evil.Address()) + sentBy("condor@test")
	p.collector.Set("Scheduler", "Name = \"s@test\"\n"+forged)
	p.collector.Set("Submitter", "Name = \"u@test\"\nScheddName = \"s@test\"\n"+forged)
	for range 2 {
		require.Equal(t, p.schedds[0].Address().String(), look(p).Address.String())
	}
}

// TestInventedSubmittersTakeNothing: however many submitters are advertised, at a schedd's own
// address or at others, what is asked and kept is bounded, and the true schedd is read as before.
func TestInventedSubmittersTakeNothing(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job(""))
	p.see()
	at := p.schedds[0].Address().String()
	var ads []string
	for i := range mostSubmitters + 1000 {
		ads = append(ads, fmt.Sprintf("Name = \"u%d@test\"\nScheddName = \"s@test\"\nScheddIpAddr = %q\nIdleJobs = 1\n", i, at))
	}
	for range 2 {
		s := p.lookAt(true, nil, ads)
		require.Contains(t, s.Schedds["s@test"].Submitters, "alice@test", "who was there first")
		require.LessOrEqual(t, len(s.Schedds["s@test"].Submitters), mostSubmitters)
		require.Equal(t, []JobKey{{"s@test", 1, 0}}, s.Schedds["s@test"].Groups[0].Jobs)
		require.NotEmpty(t, s.Problems)
	}
	ads = nil
	for i := range mostSubmitted + 100 {
		ads = append(ads, fmt.Sprintf("Name = \"u@test\"\nScheddName = \"s%d@test\"\nScheddIpAddr = \"<127.0.0.1:%d>\"\n", i, i+1))
	}
	s := p.lookAt(true, nil, ads)
	require.LessOrEqual(t, len(s.Schedds), mostSubmitted+1)
	require.True(t, s.Schedds["s@test"].Read)
	require.True(t, slices.ContainsFunc(s.Problems, func(text string) bool { return strings.Contains(text, "known by submitters alone") }))
	_, err := cedar.ParseAddress(at)
	require.NoError(t, err)
}

// TestOwnSubmitters says which ads of submitters their users have sent themselves.
func TestOwnSubmitters(t *testing.T) {
	for name, c := range map[string]struct {
		sender    sender
		submitter string
		want      string
	}{
		"himself":                 {"alice@pool", "alice@pool", "alice"},
		"under another domain":    {"alice@pool", "alice@elsewhere", "alice"},
		"a group of his":          {"alice@pool", "a.b.alice@pool", "alice"},
		"another's":               {"alice@pool", "alice.bob@pool", ""},
		"a schedd":                {"schedd-1@pool", "alice@pool", ""},
		"a daemon of the pool":    {"condor@family", "condor@pool", ""},
		"one who did not log in":  {"", "alice@pool", ""},
		"one without a name":      {"alice@pool", "", ""},
		"a part before its first": {"alice@pool", "alice@x@pool", "alice"},
	} {
		require.Equal(t, c.want, c.sender.own(c.submitter), name)
	}
}
