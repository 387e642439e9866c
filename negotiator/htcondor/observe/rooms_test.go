package observe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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
			require.Equal(t, "its schedd wants no matches now (CURB_MATCHMAKING)", one.Room.Full())
			require.Zero(t, one.Room.Jobs)
		}
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
		room := p.with(c.ad).Users["alice@test"]
		if c.room < 0 {
			require.Nil(t, room, name)
			continue
		}
		require.Equal(t, c.room, room.Jobs, name)
		require.Contains(t, room.Full(), "wants no matches for more than 2 (MAX_CONCURRENT_UPLOADS_PER_USER)")
	}
}
