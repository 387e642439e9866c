package observe

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// with shows schedd s@test to the collector with more lines in its ad, and looks twice: what is asked of
// a schedd depends on its ad.
func (p *site) with(more string) *Schedd {
	p.t.Helper()
	var one *Schedd
	for range 2 {
		p.publish()
		p.collector.Set("Scheduler", p.schedds[0].Ad()+more)
		s, err := p.Look(p.t.Context())
		require.NoError(p.t, err)
		one = s.Schedds["s@test"]
	}
	return one
}

// TestCurbedMatchmaking says when a schedd wants no matches: when what CURB_MATCHMAKING refers to in its
// ad makes it true, whatever that is.
func TestCurbedMatchmaking(t *testing.T) {
	const busy = "CurbMatchmaking = RecentDaemonCoreDutyCycle > 0.98 || Foo > 3\n"
	for more, curbed := range map[string]bool{
		"":                                       false,
		busy:                                     false,
		busy + "RecentDaemonCoreDutyCycle = 0.5": false,
		busy + "RecentDaemonCoreDutyCycle = 0.99": true,
		busy + "Foo = 4":                             true,
		"CurbMatchmaking = true":                     true,
		"CurbMatchmaking = \"yes\"":                  false,
		"CurbMatchmaking = true\nMaxJobsRunning = 7": true,
		"CurbMatchmaking = time() > 1000":            true,
		"CurbMatchmaking = CurrentTime < 1000":       false,
	} {
		one := newSite(t, "s@test").with(more)
		require.Equal(t, curbed, one.Full, more)
		if curbed {
			require.Equal(t, "its schedd wants no matches now (CURB_MATCHMAKING)", one.Curb.Full())
			require.Zero(t, one.Curb.Jobs)
		}
		require.True(t, one.Room == nil || one.Room.Jobs == 7, "the plan is none of a gate's business")
	}
}

// TestLimitsOfUsers says how many jobs of users and projects a schedd runs at once: since 25.4 it tells.
func TestLimitsOfUsers(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job("ProjectName = \"physics\""), job("ClusterId = 2\nUser = \"bob@test\""))
	p.schedds[0].SetUsers(
		"MyType = \"Owner\"\nUser = \"alice@test\"\nMaxJobsRunning = 3",
		"MyType = \"Owner\"\nUser = \"bob@test\"",
		"MyType = \"Owner\"\nUser = \"eve@test\"\nMaxJobsRunning = 0",
		"MyType = \"Owner\"\nMaxJobsRunning = 1",
		"MyType = \"Project\"\nName = \"physics\"\nMaxJobsRunning = 9",
	)
	one := p.with("CondorVersion = \"$CondorVersion: 25.4.0 2025-10-31 $\"")
	require.Len(t, one.Users, 2)
	require.Len(t, one.Projects, 1)
	require.Zero(t, one.Users["eve@test"].Jobs)
	for _, g := range one.Groups {
		rooms := one.RoomsOf(g.Spec)
		if g.Jobs[0].Cluster == 2 {
			require.Equal(t, [3]any{nil, nil, nil}, [3]any{nilOr(rooms[0]), nilOr(rooms[1]), nilOr(rooms[2])})
			continue
		}
		require.Equal(t, "its schedd runs no more than 3 jobs of alice@test at once (MaxJobsRunning)", rooms[1].Full())
		require.Equal(t, "its schedd runs no more than 9 jobs of physics at once (MaxJobsRunning)", rooms[2].Full())
	}
	one = p.with("CondorVersion = \"$CondorVersion: 25.3.1 2025-10-01 $\"")
	require.Empty(t, one.Users, "it is not asked")
}

func nilOr[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// TestTransferQueue says how many jobs of a user a schedd runs at once, that transfers much input for
// him: since 25.11 no more than run already, once they have a fifth of the queue.
func TestTransferQueue(t *testing.T) {
	const newest = "CondorVersion = \"$CondorVersion: 25.11.1 2026-06-01 $\"\nTransferQueueMaxUploading = 10"
	running := func(cluster int, more string) string {
		return job(fmt.Sprintf("ClusterId = %d\nJobStatus = 2\nJobCurrentStartDate = 1699999000\n%s", cluster, more))
	}
	for name, c := range map[string]struct {
		ad, first, second string
		room              int // -1: any number
	}{
		"nobody transfers":     {ad: newest, room: -1},
		"one does":             {ad: newest, first: "TransferringInput = true", room: 3 + 1},
		"two do":               {ad: newest, first: "TransferringInput = true", second: "TransferringInput = true", room: 3},
		"one waits for that":   {ad: newest, first: "TransferringInput = true\nTransferQueued = true", room: 3 + 1},
		"one has begun":        {ad: newest, first: "TransferringInput = true\nJobCurrentStartDate = 1699999999", room: -1},
		"one has just to wait": {ad: newest, first: "TransferringInput = true\nTransferQueued = true\nJobCurrentStartDate = 1699999999", room: 4},
		"an older schedd": {
			ad:    "CondorVersion = \"$CondorVersion: 25.10.1 2026-05-01 $\"\nTransferQueueMaxUploading = 10",
			first: "TransferringInput = true", room: -1,
		},
		"no limit": {
			ad:    "CondorVersion = \"$CondorVersion: 25.11.1 2026-06-01 $\"\nTransferQueueMaxUploading = 0",
			first: "TransferringInput = true", room: -1,
		},
	} {
		p := newSite(t, "s@test")
		p.schedds[0].SetJobs(running(1, c.first), running(2, c.second), running(3, ""), job("ClusterId = 4"))
		one := p.with(c.ad)
		room := one.Uploads["alice@test"]
		require.Empty(t, one.Users, "the plan is none of a gate's business")
		if c.room < 0 {
			require.Nil(t, room, name)
			continue
		}
		require.Equal(t, c.room, room.Jobs, name)
		require.Contains(t, room.Full(), "wants no matches for more than 2 (MAX_CONCURRENT_UPLOADS_PER_USER)")
	}
}

// TestAGateThatStaysShutIsARoom: who is kept out for longer than an ad may be old leaves the slots to others.
func TestAGateThatStaysShutIsARoom(t *testing.T) {
	const newest = "CondorVersion = \"$CondorVersion: 25.11.1 2026-06-01 $\"\nTransferQueueMaxUploading = 5\n"
	const shut = newest + "CurbMatchmaking = true\n"
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job("JobStatus = 2\nJobCurrentStartDate = 1699999000\nTransferringInput = true"), job("ClusterId = 2"))
	rooms := func(ad string, later time.Duration) [2]any {
		p.at = p.at.Add(later)
		one := p.with(ad)
		return [2]any{nilOr(one.Room), nilOr(one.Users["alice@test"])}
	}
	require.Equal(t, [2]any{nil, nil}, rooms(shut, 0))
	require.Equal(t, [2]any{nil, nil}, rooms(shut, shutFor/2))
	both := rooms(shut, shutFor/2)
	require.Equal(t, accountant.Room{Why: "its schedd wants no matches now (CURB_MATCHMAKING)"}, both[0])
	require.Equal(t, 1, both[1].(accountant.Room).Jobs) //nolint:forcetypeassert // it is one
	const full = shut + "MaxJobsRunning = 1\nTotalRunningJobs = 1\n"
	require.Equal(t, accountant.Room{Jobs: 1}, rooms(full, 0)[0], "a schedd at its limit is so by default")
	p.schedds[0].SetJobs(job("ClusterId = 2"))
	require.Equal(t, [2]any{nil, nil}, rooms(newest, time.Second))
	require.Equal(t, [2]any{nil, nil}, rooms(shut, time.Second))
}

// TestAGateThatKeepsShuttingIsARoom: a gate that opens now and then counts as a room once it was shut for
// so much longer than it was open; one that is shut for half of the time, or was long ago, never does.
func TestAGateThatKeepsShuttingIsARoom(t *testing.T) {
	const newest = "CondorVersion = \"$CondorVersion: 25.11.1 2026-06-01 $\"\nTransferQueueMaxUploading = 5\n"
	const shut = newest + "CurbMatchmaking = true\n"
	for name, c := range map[string]struct {
		shut, open time.Duration
		want       []int // the rounds in which it is a room, of 12
	}{
		"mostly shut":    {3 * time.Minute, time.Minute, []int{5, 6, 7, 8, 9, 10, 11, 12}},
		"half of it":     {2 * time.Minute, 2 * time.Minute, nil},
		"seldom":         {shutFor - time.Second, shutFor, nil},
		"never opens":    {time.Minute, 0, []int{10, 11, 12}},
		"open for long":  {shutFor, 3 * shutFor, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		"shut for short": {time.Second, time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			look := func(isShut bool, later time.Duration) [2]any {
				p.at = p.at.Add(later)
				ad := newest
				p.schedds[0].SetJobs(job("ClusterId = 2"))
				if isShut {
					ad = shut
					p.schedds[0].SetJobs(job("JobStatus = 2\nJobCurrentStartDate = 1699999000\nTransferringInput = true"))
				}
				one := p.with(ad)
				return [2]any{one.Room != nil, one.Users["alice@test"] != nil}
			}
			look(true, 0)
			var rooms []int
			for round := range 12 {
				both := look(true, c.shut)
				if require.Equal(t, both[0], both[1]); both[0] == true {
					rooms = append(rooms, round+1)
				}
				if c.open > 0 {
					require.Equal(t, [2]any{false, false}, look(false, 0), "it is open")
					look(true, c.open)
				}
			}
			require.Equal(t, c.want, rooms)
		})
	}
}
