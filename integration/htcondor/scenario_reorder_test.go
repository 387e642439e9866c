package htcondor_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestPrioritiesUnderConservative checks that user priorities, nice_user and JobPrio count for jobs
// that are promised their starts together, and that promises once given stay.
func TestPrioritiesUnderConservative(t *testing.T) {
	t.Parallel()
	ours(t, []string{"CPUS=12", "SLOTS=consumption"}, "BACKFILL_POLICY = conservative").runAll(t, []scenario{
		{"two users share", twoUsersShare},
		{"nice_user and JobPrio", niceUserAndPriority},
		{"promises stay", promisesStay},
	})
}

// busyUntil keeps the whole machine busy for so many seconds.
func (p *ourPool) busyUntil(seconds int) []pooltest.JobID {
	jobs := p.Submit("dave", sleep(seconds, 12, 1, estimate+strconv.Itoa(seconds)))
	p.WaitStatus(pooltest.Running, time.Minute, jobs...)
	return jobs
}

// release releases held jobs together, so that they arrive in one round, and waits until all of them
// are promised a start.
func (p *ourPool) release(t *testing.T, jobs ...pooltest.JobID) {
	t.Helper()
	p.command("condor_release", jobs...)
	p.promises(t, jobs...)
}

func twoUsersShare(t *testing.T, pool *ourPool) {
	t.Helper()
	full := pool.busyUntil(300)
	alices := pool.Submit("alice", sleep(300, 1, 12, estimate+"300", "hold = true"))
	bobs := pool.Submit("bob", sleep(300, 1, 12, estimate+"300", "hold = true"))
	pool.release(t, slices.Concat(alices, bobs)...)
	pool.command("condor_rm", full...)
	poll.Equal(t, "map[alice:6 bob:6]", func() string { return fmt.Sprint(pool.running("Owner")) })
}

func niceUserAndPriority(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.busyUntil(15)
	job := func(more string) pooltest.JobID {
		return pool.Submit("alice", sleep(1, 12, 1, estimate+"2", "hold = true", more))[0]
	}
	nice, plain, first := job("nice_user = true"), job(""), job("priority = 10")
	pool.release(t, nice, plain, first)
	startsInTurn(t, pool, first, plain, nice)
}

func promisesStay(t *testing.T, pool *ourPool) {
	t.Helper()
	pool.busyUntil(15)
	early := pool.Submit("alice", sleep(1, 12, 1, estimate+"2"))
	pool.promises(t, early...)
	late := pool.Submit("alice", sleep(1, 12, 1, estimate+"2", "priority = 10"))
	pool.promises(t, late...)
	startsInTurn(t, pool, early[0], late[0])
}

// TestAPlanOfOneJob checks, with a plan of one job, that users share what nobody was promised, and
// what the jobs beyond the plan are told.
func TestAPlanOfOneJob(t *testing.T) {
	t.Parallel()
	pool := ours(t, []string{"CPUS=12", "SLOTS=consumption"}, "BACKFILL_POLICY = conservative\nBACKFILL_PLAN_DEPTH = 1")
	full := pool.busyUntil(300)
	alices := pool.Submit("alice", sleep(300, 1, 12, estimate+"300"))
	pool.promises(t, alices[0])
	bobs := pool.Submit("bob", sleep(300, 1, 12, estimate+"300"))
	poll.Contains(t, "no promise yet: ", func() string {
		text, err := pool.Try("bob", "negotiator", "explain", bobs[11].String())
		if err != nil {
			return err.Error()
		}
		return text
	})
	require.Contains(t, pool.As("bob", "negotiator", "explain", bobs[11].String()), "plan's order, which reaches 1")
	require.Contains(t, pool.Log("NegotiatorLog"), " beyond_depth=")
	pool.command("condor_rm", full...)
	poll.Equal(t, "map[alice:6 bob:6]", func() string { return fmt.Sprint(pool.running("Owner")) })
}
