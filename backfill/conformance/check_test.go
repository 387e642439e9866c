package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// held tells the second policy that breaks a rule from the first.
const held = ", held"

// bad returns policies that break a rule, by that rule.
func bad() map[conformance.Rule]backfill.PolicySpec {
	policy := func(decide func(*backfill.Cycle)) backfill.PolicySpec {
		return backfill.PolicySpec{Name: "bad", New: func(backfill.Values) (backfill.Policy,
			error,
		) {
			return backfill.PolicyFunc(decide), nil
		}}
	}
	replans := conservative.Spec()
	build := replans.New
	replans.New = func(v backfill.Values) (backfill.Policy, error) {
		good, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			good.Decide(c)
			for _, j := range c.Fast().Planned() {
				start, at, _ := c.Reservation(j)
				c.Reserve(j, start+1000, at)
			}
		}), err
	}
	return map[conformance.Rule]backfill.PolicySpec{
		conformance.Accepted: replans,
		conformance.HeadStarts: policy(func(c *backfill.Cycle) { // starts the head only if it is alone
			scan.Begin(c)
			jobs := slices.Collect(c.Queue())
			for _, j := range slices.Backward(jobs) {
				if at, fits := c.FitsNow(j); fits && (len(jobs) == 1 || j != jobs[0]) {
					c.Start(j, at)
				}
			}
		}),
		conformance.Drains + held: policy(func(c *backfill.Cycle) { // holds everybody
			scan.Begin(c)
			for j := range c.Queue() {
				c.Hold(j, "no")
			}
		}),
		conformance.Drains: policy(func(c *backfill.Cycle) { // never starts job 1
			scan.Begin(c)
			for j := range c.Queue() {
				if at, fits := c.FitsNow(j); fits && j.ID != 1 {
					c.Start(j, at)
				}
			}
		}),
	}
}

// TestBrokenRulesAreFound checks that the rule which a bad policy breaks is among the findings, and
// that only the policy that breaks its guarantees has decisions refused.
func TestBrokenRulesAreFound(t *testing.T) {
	for name, spec := range bad() {
		t.Run(string(name), func(t *testing.T) {
			rule := conformance.Rule(strings.TrimSuffix(string(name), held))
			found := map[conformance.Rule]int{}
			for seed := range uint64(6) {
				main, err := backfill.Link(spec, nil)
				require.NoError(t, err)
				findings, err := conformance.Conform(t.Context(), seed, 60, main)
				require.NoError(t, err)
				for _, f := range findings {
					require.Equal(t, seed, f.Seed)
					require.NotZero(t, f.Round)
					require.NotEmpty(t, f.Text)
					found[f.Rule]++
				}
			}
			require.NotZero(t, found[rule], found)
			if rule == conformance.Accepted {
				require.Len(t, found, 1)
			} else {
				require.Zero(t, found[conformance.Accepted])
			}
		})
	}
}

// TestTheChecksDoNotTrustTheCore checks that the suite also finds what the core would refuse, as
// the core may have faults. It replaces the state by one that the core would not make: the slots
// have no capacity, and some running jobs are missing.
func TestTheChecksDoNotTrustTheCore(t *testing.T) {
	main, err := backfill.Link(policies.All()[0], nil)
	require.NoError(t, err)
	run, err := conformance.Start(1, main)
	require.NoError(t, err)
	for len(run.Findings()) == 0 && run.Host.State.RunningJobs() < 3 {
		_, err = run.Next(t.Context())
		require.NoError(t, err)
		run.Check()
	}
	require.Empty(t, run.Findings())
	snap := run.Host.State.Snapshot()
	for i := range snap.Slots {
		snap.Slots[i].Capacity = make(backfill.Vector, len(snap.Resources))
	}
	snap.Jobs = slices.DeleteFunc(snap.Jobs, func(j backfill.JobState) bool { return j.Running && j.Job.ID%2 == 0 })
	run.Host.State, err = backfill.Restore(snap)
	require.NoError(t, err)
	run.Check()
	var rules []conformance.Rule
	for _, f := range run.Findings() {
		rules = append(rules, f.Rule)
	}
	require.Subset(t, rules, []conformance.Rule{conformance.Booked, conformance.Capacity})
}

// TestRenewedAndBranched checks that a run whose state is now and then restored from its snapshot
// makes the same decisions as one that goes on, and that a branch of a run has no findings and does
// not change the run.
func TestRenewedAndBranched(t *testing.T) {
	link := func() backfill.Decider {
		main, err := backfill.Link(conservative.Spec(), nil)
		require.NoError(t, err)
		return main
	}
	for seed := range uint64(3) {
		a, err := conformance.Start(seed, link())
		require.NoError(t, err)
		b, err := conformance.Start(seed, link())
		require.NoError(t, err)
		for round := range 60 {
			want, err := a.Next(t.Context())
			require.NoError(t, err)
			got, err := b.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, got)
			a.Check()
			if round%7 == 0 {
				require.NoError(t, b.Renew())
			}
			if round%10 != 0 {
				continue
			}
			before := a.Host.State.Snapshot()
			branch, err := a.Branch(9, a.Host.State.Clone(), link())
			require.NoError(t, err)
			for range 5 {
				_, err = branch.Next(t.Context())
				require.NoError(t, err)
				branch.Check()
			}
			require.Empty(t, branch.Findings())
			require.Equal(t, before, a.Host.State.Snapshot())
		}
	}
}

// TestADepthThatIsNotKeptIsFound checks that a plan deeper than it may be, and jobs that enter it in
// another order, are found. Both policies are conservative, but for that.
func TestADepthThatIsNotKeptIsFound(t *testing.T) {
	promise := func(c *backfill.Cycle, j *backfill.Job) {
		if start, at, ok := c.Earliest(j, c.Now()); ok {
			c.Reserve(j, start, at)
			c.Guarantee(j, start)
		}
	}
	start := func(c *backfill.Cycle) {
		for _, j := range c.Due() {
			_, at, _ := c.Reservation(j)
			c.Start(j, at)
		}
	}
	for name, tt := range map[string]struct {
		text  string
		enter func(c *backfill.Cycle, jobs []*backfill.Job)
	}{
		"deeper": {"jobs were planned and the plan has a depth of", func(c *backfill.Cycle, jobs []*backfill.Job) {
			for _, j := range jobs {
				promise(c, j)
			}
		}},
		"the last first": {"which comes behind it, got one", func(c *backfill.Cycle, jobs []*backfill.Job) {
			for _, j := range slices.Backward(jobs) {
				if c.State().Planning().Depth == 0 || len(c.Fast().Planned()) < c.State().Planning().Depth {
					promise(c, j)
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := conservative.Spec()
			spec.New = func(backfill.Values) (backfill.Policy, error) {
				return backfill.PolicyFunc(func(c *backfill.Cycle) {
					for e, more := c.Next(); more; e, more = c.Next() {
						for _, j := range e.Displaced {
							if _, promised := c.State().Guaranteed(j.ID); promised {
								start, at, _ := c.Earliest(j, c.Now())
								c.Reserve(j, start, at)
							}
						}
					}
					tt.enter(c, slices.Collect(c.Fast().Beyond()))
					start(c)
				}), nil
			}
			main, err := backfill.Link(spec, nil)
			require.NoError(t, err)
			found := false
			for seed := conformance.Shallow; seed < conformance.Shallow+12; seed++ {
				findings, err := conformance.Conform(t.Context(), seed, 60, main)
				require.NoError(t, err)
				for _, f := range findings {
					require.Equal(t, conformance.Guaranteed, f.Rule)
					require.Contains(t, f.Text, tt.text)
					found = true
				}
			}
			require.True(t, found)
		})
	}
}
