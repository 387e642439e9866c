package policies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestNamed checks that every policy is found under its name, has a description, and gets a
// fallback that gives guarantees exactly if the policy does. An unknown name gets an error that
// suggests a similar one.
func TestNamed(t *testing.T) {
	var names []string
	for _, spec := range policies.All() {
		names = append(names, spec.Name)
		found, err := policies.Named(spec.Name)
		require.NoError(t, err)
		require.Equal(t, spec.Name, found.Name)
		require.NotEmpty(t, spec.Doc)
		require.NotEmpty(t, spec.Promise)
		require.NotEmpty(t, spec.Source)
		require.NotNil(t, spec.New)
		fallback := policies.FallbackFor(spec)
		require.Equal(t, spec.Guarantees, fallback.Guarantees)
		require.Equal(t, map[bool]string{true: "conservative", false: "easy"}[spec.Guarantees], fallback.Name)
	}
	require.IsIncreasing(t, names)
	spec, err := policies.Named("firstfit")
	require.NoError(t, err)
	require.Equal(t, "first-fit", spec.Name)
	spec, err = policies.Named("bestfit")
	require.NoError(t, err)
	require.Equal(t, "best-fit", spec.Name)
	for name, hint := range map[string]string{
		"": "", "EASY": ", did you mean easy?", "easy ": ", did you mean easy?",
		"conservativ": ", did you mean conservative?", "nothing like them": "",
	} {
		_, err = policies.Named(name)
		require.EqualError(t, err, fmt.Sprintf("unknown policy %q%s: choose one of %s, or give the path of a plugin",
			name, hint, strings.Join(names, ", ")))
	}
	_, err = policies.Named("atuo", "auto")
	require.ErrorContains(t, err, `unknown policy "atuo", did you mean auto?: choose one of auto, bb, `)
}

// a is a job of the tables below.
type a struct {
	estimate backfill.Time
	request  backfill.Vector
}

// TestOnePass checks, for jobs that arrive together at an idle slot, which of them each policy
// starts and for which it makes reservations.
func TestOnePass(t *testing.T) {
	type start map[backfill.JobID]backfill.Time
	// Job 1 starts. Job 2 is the pivot: it is reserved for at 10 and leaves 2 cpus. Job 3 would
	// delay it: it ends after 10 and needs 3 cpus. Job 4 ends at 10. Job 5 fits beside the pivot.
	// For job 6 no cpu is left.
	eligible := []a{{10, v(6)}, {10, v(8)}, {11, v(3)}, {10, v(2)}, {50, v(2)}, {1, v(1)}}
	// As before, but job 3 needs 9 of the 10 cpus, so it can start only when the pivot has ended,
	// at 20. With a reservation for it, job 5 would delay it.
	second := []a{{10, v(6)}, {10, v(8)}, {5, v(9)}, {10, v(2)}, {50, v(2)}}
	// Job 1 uses 4/10 of the cpus and 2/10 of the memory. With job 3 it is 6/10 and 2/10, with job
	// 4 6/10 and 6/10, with job 5 all of both.
	balanced := []a{{10, v(4, 20)}, {10, v(8, 0)}, {10, v(2, 0)}, {10, v(2, 40)}, {10, v(6, 80)}}
	// Either of jobs 3 and 4 fits beside job 2; both together would delay it.
	extra := []a{{10, v(6)}, {10, v(8)}, {20, v(2)}, {20, v(1)}}
	// Job 3 would end exactly at the shadow time, job 4 a second later.
	edge := []a{{10, v(6)}, {10, v(10)}, {10, v(1)}, {11, v(1)}}
	for _, tt := range []struct {
		name     string
		capacity backfill.Vector
		jobs     []a
		policy   string
		options  map[string]string
		started  []backfill.JobID // in this order
		planned  start
	}{
		{"eligible", v(10), eligible, "fcfs", nil, started(1), start{2: 10}},
		{"eligible", v(10), eligible, "first-fit", nil, started(1, 3, 6), start{}},
		{"eligible", v(10), eligible, "easy", nil, started(1, 4, 5), start{2: 10}},
		{"eligible", v(10), eligible, "conservative", nil, started(1, 4, 5), start{2: 10, 3: 20, 6: 20}},
		{"eligible", v(10), eligible, "bb", nil, started(1, 4, 5), start{2: 10}}, // the widest, then the first
		{"eligible", v(10), eligible, "ibb", nil, started(1, 4, 5), start{2: 10}},

		{"second", v(10), second, "easy", nil, started(1, 4, 5), start{2: 10}},
		{"second", v(10), second, "easy", opt("depth", "2"), started(1, 4), start{2: 10, 3: 20}},
		{"second", v(10), second, "easy", opt("depth", "3"), started(1, 4), start{2: 10, 3: 20, 5: 25}},
		{"second", v(10), second, "easy", opt("depth", "99"), started(1, 4), start{2: 10, 3: 20, 5: 25}},

		{"balanced", v(10, 100), balanced, "easy", nil, started(1, 3, 4), start{2: 10}},
		{"balanced", v(10, 100), balanced, "bb", nil, started(1, 5), start{2: 10}},
		{"balanced", v(10, 100), balanced[:4], "bb", nil, started(1, 4, 3), start{2: 10}},
		{"balanced", v(10, 100), balanced[:4], "bb", opt("resources", "cpus"), started(1, 3, 4), start{2: 10}},
		{"balanced", v(10, 100), balanced, "ibb", nil, started(1, 4), start{2: 10}},
		{"balanced", v(10, 100), balanced, "ibb", opt("resources", "cpus"), started(1, 3, 4), start{2: 10}},

		{"extra", v(10), extra, "easy", nil, started(1, 3), start{2: 10}},
		{"extra", v(10), extra, "conservative", nil, started(1, 3), start{2: 10, 4: 20}},
		{"edge", v(10), edge, "easy", nil, started(1, 3), start{2: 10}},
		{"edge", v(10), edge, "conservative", nil, started(1, 3), start{2: 10, 4: 20}},
	} {
		t.Run(tt.policy+" "+tt.name, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus", "memory"}[:len(tt.capacity)], profile.ByRank)
			r := backfill.Round{
				Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
				Events: []backfill.Event{{
					Kind: backfill.SlotAdded,
					Slot: backfill.Slot{Name: "a", Capacity: tt.capacity},
				}},
			}
			for i, j := range tt.jobs {
				id := backfill.JobID(i + 1)
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
					ID: id, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1, Request: j.request,
					Estimate: j.estimate,
				}})
			}
			d, err := host(t, s, tt.policy, tt.options).Decide(t.Context(), r)
			require.NoError(t, err)
			var got []backfill.JobID
			for _, s := range d.Started {
				got = append(got, s.Job.ID)
			}
			require.Equal(t, tt.started, got)
			plan := start{}
			for _, j := range s.Snapshot().Jobs {
				if at, _, ok := s.Planned(j.Job.ID); ok {
					plan[j.Job.ID] = at
				}
			}
			require.Equal(t, tt.planned, plan)
		})
	}
}

// TestBestFit checks that best-fit starts jobs from the head of the queue until one does not fit,
// and then always the widest job that fits.
func TestBestFit(t *testing.T) {
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	// Jobs 1 and 2 start from the head; job 3 is the pivot. Of the others job 5 is the widest that
	// fits the 5 idle cpus. Jobs 4, 6 and 7 are equal and start in the queue's order; 7 no longer
	// fits.
	d := arrive(t, host(t, s, "best-fit", nil), 10, a{10, v(4)}, a{10, v(1)}, a{10, v(8)}, a{10, v(1)}, a{99, v(3)},
		a{10, v(1)}, a{10, v(1)}, a{10, v(6)})
	require.Equal(t, started(1, 2, 5, 4, 6), ids(d))
	require.Equal(t, 3, s.Waiting())
}

// TestHowUnderGuarantees checks that a start counts as backfill if a job that is earlier in the
// order of jobs still waits. The queue's order, in which pc compresses the plan, does not matter.
func TestHowUnderGuarantees(t *testing.T) {
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	h := hostOrdered(t, s, "pc", "sjf")
	arrive(t, h, 4, a{100, v(4)}, a{30, v(3)}, a{10, v(4)}, a{20, v(2)})
	decide := func(now backfill.Time, ended backfill.JobID) string {
		d, err := h.Decide(t.Context(), backfill.Round{
			Now:    now,
			Events: []backfill.Event{{Kind: backfill.Completed, JobID: ended}},
		})
		require.NoError(t, err)
		require.Len(t, d.Started, 1)
		return d.Started[0].How.String()
	}
	require.Equal(t, "backfill", decide(10, 1), "job 3 starts and job 2 waits")
	require.Equal(t, "backfill", decide(20, 3), "job 4 starts and job 2 waits")
	require.Equal(t, "queue", decide(40, 4), "job 2 starts and no job waits")
}

func v(amounts ...int64) backfill.Vector { return amounts }

func started(ids ...backfill.JobID) []backfill.JobID { return ids }

func opt(name, value string) map[string]string { return map[string]string{name: value} }

// host creates a host with a linked-in policy; a refused decision fails the test.
func host(t *testing.T, s *backfill.State, policy string, options map[string]string) *backfill.Host {
	t.Helper()
	return hostOf(t, s, policy, "fcfs", options)
}

func hostOrdered(t *testing.T, s *backfill.State, policy, order string) *backfill.Host {
	t.Helper()
	return hostOf(t, s, policy, order, nil)
}

func hostOf(t *testing.T, s *backfill.State, policy, order string, options map[string]string) *backfill.Host {
	t.Helper()
	spec, err := policies.Named(policy)
	require.NoError(t, err)
	main, err := backfill.Link(spec, options)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	ordering, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	h, err := backfill.NewHost(s, ordering, main, fallback, func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	return h
}

// TestReadmes checks the examples that are drawn in the policies' READMEs. Every job ends when it
// is expected to.
func TestReadmes(t *testing.T) {
	common := []a{{10, v(2)}, {10, v(3)}, {5, v(4)}, {12, v(2)}, {30, v(1)}, {10, v(1)}}
	balanced := []a{{10, v(4, 20)}, {10, v(8, 0)}, {10, v(2, 0)}, {10, v(2, 40)}, {10, v(6, 80)}}
	for _, tt := range []struct {
		policy   string
		options  map[string]string
		capacity backfill.Vector
		jobs     []a
		starts   []backfill.Time
	}{
		{"fcfs", nil, v(4), common, []backfill.Time{0, 10, 20, 25, 25, 25}},
		{"first-fit", nil, v(4), common, []backfill.Time{0, 20, 40, 0, 10, 10}},
		{"easy", nil, v(4), common, []backfill.Time{0, 10, 30, 35, 0, 0}},
		{"easy", opt("depth", "2"), v(4), common, []backfill.Time{0, 10, 20, 25, 25, 0}},
		{"conservative", nil, v(4), common, []backfill.Time{0, 10, 20, 25, 25, 0}},
		{"bb", nil, v(10, 100), balanced, []backfill.Time{0, 10, 10, 20, 0}},
		{"ibb", nil, v(10, 100), balanced, []backfill.Time{0, 10, 10, 0, 20}},
	} {
		s := backfill.NewState([]string{"cpus", "memory"}[:len(tt.capacity)], profile.ByRank)
		h := host(t, s, tt.policy, tt.options)
		starts := make([]backfill.Time, len(tt.jobs))
		for d := arriveAt(t, h, tt.capacity, tt.jobs...); ; {
			for _, started := range d.Started {
				starts[started.Job.ID-1] = d.Now
			}
			r := backfill.Round{Now: s.NextWake()}
			for _, j := range s.Snapshot().Jobs {
				if j.Running && j.End == r.Now {
					r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID})
				}
			}
			if r.Now == backfill.Forever {
				break
			}
			var err error
			d, err = h.Decide(t.Context(), r)
			require.NoError(t, err)
		}
		require.Equal(t, tt.starts, starts, "%s %v", tt.policy, tt.options)
	}
}

// TestDescriptions checks that every policy's spec is valid and describes all its options.
func TestDescriptions(t *testing.T) {
	for _, spec := range policies.All() {
		require.NoError(t, spec.Validate())
		for _, o := range spec.Options {
			require.NotEmpty(t, o.Doc, "%s: %s", spec.Name, o.Name)
		}
	}
}
