package fakes

import (
	"context"
	"slices"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// SetUsers sets what the schedd has written down of users and projects, given as lines.
func (s *Schedd) SetUsers(users ...string) {
	s.t.Helper()
	ads := s.parse(users)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users = ads
}

// records answers a question for what is written down of users and projects.
func (s *Schedd) records(_ context.Context, call *security.Call) error {
	q, err := server.ReadQuery(call)
	if err != nil {
		return err
	}
	s.mu.Lock()
	ads := slices.Clone(s.users)
	s.mu.Unlock()
	for _, ad := range ads {
		if !q.Wants(ad) {
			continue
		}
		call.PutAd(q.Project(ad))
		if err = call.Send(); err != nil {
			return err
		}
	}
	last := classad.New()
	last.SetString("MyType", "Summary")
	call.PutAd(last)
	return call.Send()
}
