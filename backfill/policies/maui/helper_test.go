package maui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/backfill/policies/maui"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

type (
	id      = backfill.JobID
	options = map[string]string
	plan    = map[id]backfill.Time
)

// newHost creates a host with maui; a refused decision fails the test.
func newHost(t require.TestingT, s *backfill.State, opt options, order string) *backfill.Host {
	main, err := backfill.Link(maui.Spec(), opt)
	require.NoError(t, err)
	fallback, err := backfill.Link(easy.Spec(), nil)
	require.NoError(t, err)
	ordering, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	h, err := backfill.NewHost(s, ordering, main, fallback, func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	return h
}

// pool is a pool under maui, for tests that decide several rounds.
type pool struct {
	t    *testing.T
	host *backfill.Host
	next id
}

// newPool creates a pool with a slot for each number of cpus. The queue's order is fcfs.
func newPool(t *testing.T, opt options, cpus ...int64) *pool {
	t.Helper()
	return newPoolOrdered(t, opt, "fcfs", cpus...)
}

func newPoolOrdered(t *testing.T, opt options, order string, cpus ...int64) *pool {
	t.Helper()
	h := newHost(t, backfill.NewState([]string{"cpus"}, profile.ByRank), opt, order)
	r := backfill.Round{Candidates: []backfill.CandidateSet{{}}}
	for i, n := range cpus {
		slot := backfill.SlotID(i)
		r.Candidates[0].Candidates.Slots = append(r.Candidates[0].Candidates.Slots, slot)
		r.Events = append(r.Events, backfill.Event{
			Kind: backfill.SlotAdded,
			Slot: backfill.Slot{ID: slot, Name: string(rune('a' + i)), Capacity: backfill.Vector{n}},
		})
	}
	_, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	return &pool{t: t, host: h, next: 1}
}

// at decides a round in which jobs end and others arrive. Those that arrive get the IDs 1, 2, 3… in
// the order of their arrival. It returns the jobs that start, in the order in which they start.
func (p *pool) at(now backfill.Time, ended []id, arrived ...backfill.Job) (started []id) {
	p.t.Helper()
	r := backfill.Round{Now: now}
	for _, job := range ended {
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: job})
	}
	for _, job := range arrived {
		job.ID, job.Submit, job.Position.Cluster = p.next, now, int64(p.next)
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &job})
		p.next++
	}
	return p.decide(r)
}

func (p *pool) decide(r backfill.Round) (started []id) {
	p.t.Helper()
	d, err := p.host.Decide(p.t.Context(), r)
	require.NoError(p.t, err)
	for _, s := range d.Started {
		started = append(started, s.Job.ID)
	}
	return started
}

// plan returns the planned start of each job that has a reservation.
func (p *pool) plan() plan {
	all := plan{}
	for _, job := range p.host.State.Snapshot().Jobs {
		if start, _, ok := p.host.State.Planned(job.Job.ID); ok {
			all[job.Job.ID] = start
		}
	}
	return all
}

// job makes a job of one chunk; labels are pairs of name and value.
func job(cpus int64, estimate backfill.Time, labels ...string) backfill.Job {
	return gang(1, cpus, estimate, labels...)
}

// gang makes a job of several chunks; labels are pairs of name and value.
func gang(nodes int, cpus int64, estimate backfill.Time, labels ...string) backfill.Job {
	made := backfill.Job{Nodes: nodes, Request: backfill.Vector{cpus}, Estimate: estimate}
	for i := 0; i < len(labels); i += 2 {
		if made.Labels == nil {
			made.Labels = map[string]string{}
		}
		made.Labels[labels[i]] = labels[i+1]
	}
	return made
}

func ids(all ...id) []id { return all }

// with makes options from pairs of name and value.
func with(pairs ...string) options {
	opt := options{}
	for i := 0; i < len(pairs); i += 2 {
		opt[pairs[i]] = pairs[i+1]
	}
	return opt
}
