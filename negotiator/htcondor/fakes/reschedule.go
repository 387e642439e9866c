package fakes

import (
	"context"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Rescheduled returns how often the schedd was told to count its queue.
func (s *Schedd) Rescheduled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rescheduled
}

func (s *Schedd) reschedule(context.Context, *security.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rescheduled++
	return nil
}
