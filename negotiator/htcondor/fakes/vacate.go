package fakes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Unwilling has the schedd refuse to vacate jobs, or not any more.
func (s *Schedd) Unwilling(so bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwilling = so
}

// Vacated returns the jobs that the schedd was told to vacate.
func (s *Schedd) Vacated() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.vacated)
}

// The action and the answers of a schedd that is told to vacate jobs (actOnJobs in HTCondor's schedd.cpp).
const (
	vacateJobs       = 5
	success          = 1
	noSuchJob        = 2
	badStatus        = 3
	permissionDenied = 5
	statusRunning    = 2
)

// act vacates jobs, once the client has confirmed that it has the answer. Nothing else can be done with jobs.
func (s *Schedd) act(_ context.Context, call *security.Call) error {
	ad, err := call.Ad()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	action, _ := ad.Literal("JobAction").Int()
	ids, _ := ad.Literal("ActionIds").Text()
	if action != vacateJobs {
		return fmt.Errorf("action %d is none of this schedd", action)
	}
	answer, some := classad.New(), int64(0)
	var vacated []string
	s.mu.Lock()
	for id := range strings.SplitSeq(ids, ",") {
		result := int64(s.vacates(id))
		answer.SetInt("job_"+strings.ReplaceAll(id, ".", "_"), result)
		if result == success {
			some, vacated = 1, append(vacated, id)
		}
	}
	s.mu.Unlock()
	answer.SetInt("ActionResult", some)
	call.PutAd(answer)
	if err = call.Send(); err != nil || some == 0 {
		return err
	}
	if _, err = call.Int(); err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.vacated = append(s.vacated, vacated...)
	s.mu.Unlock()
	call.PutInt(1)
	return call.Send()
}

// vacates returns what the schedd says of a job that it is to vacate.
func (s *Schedd) vacates(id string) int {
	for _, job := range s.jobs {
		cluster, _ := job.Literal("ClusterId").Int()
		proc, _ := job.Literal("ProcId").Int()
		if fmt.Sprintf("%d.%d", cluster, proc) != id {
			continue
		}
		switch status, _ := job.Literal("JobStatus").Int(); {
		case s.unwilling:
			return permissionDenied
		case status != statusRunning:
			return badStatus
		default:
			return success
		}
	}
	return noSuchJob
}
