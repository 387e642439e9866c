package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// actOnJobs has a schedd do something with jobs.
const actOnJobs = 478

// vacateJobs is what is done, toldOfEach that the answer says what became of each job, and done and ended are
// such answers: a job was vacated, did not run, or is not there any more. Of other answers one says that we
// may not do that.
const (
	vacateJobs = 5
	toldOfEach = 1

	done           = 1
	notFound       = 2
	notRunning     = 3
	alreadyDone    = 4
	mayNotVacateIt = 5
)

// maxVacated bounds the bytes of the answer, which has a line for each job.
const maxVacated = 16 << 20

// ErrMayNotVacate says that a schedd does not let us vacate jobs of others: its QUEUE_SUPER_USERS must name
// the user as whom daemons of the pool are known.
var ErrMayNotVacate = errors.New("the schedd does not let us vacate jobs: its QUEUE_SUPER_USERS do not name us")

// Vacate has the schedd vacate jobs, as condor_vacate_job does: each gets a signal, has its time for leaving,
// and goes back to the queue. Jobs that do not run are passed over. The names are those of jobs in the
// schedd's queue, such as 12.0.
func (s Schedd) Vacate(ctx context.Context, jobs []string) error {
	if err := s.vacate(ctx, jobs); err != nil {
		return fmt.Errorf("vacate jobs of the schedd at %v: %w", s.Address, errors.Join(err, ctx.Err()))
	}
	return nil
}

func (s Schedd) vacate(ctx context.Context, jobs []string) error {
	stream, err := s.Security.Start(ctx, s.Address, actOnJobs, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	stream.Limit(maxVacated)
	ad := classad.New()
	ad.SetInt("JobAction", vacateJobs)
	ad.SetInt("ActionResultType", toldOfEach)
	ad.SetString("ActionIds", strings.Join(jobs, ","))
	stream.PutAd(ad)
	if err = stream.Send(); err != nil {
		return err
	}
	lines, _, err := stream.AppendShort(nil, maxVacated, "")
	if err == nil {
		err = stream.End()
	}
	if err != nil {
		return err
	}
	answer, err := lines.Ad()
	if err != nil {
		return err
	}
	wrong := vacated(answer, jobs)
	if result, _ := answer.Literal("ActionResult").Int(); result == 0 {
		return wrong // of none there was anything to do, and the schedd has hung up
	}
	stream.PutInt(1) // else the schedd does nothing
	if err = stream.Send(); err != nil {
		return err
	}
	if _, err = stream.Int(); err == nil {
		err = stream.End()
	}
	return errors.Join(err, wrong)
}

// vacated returns an error if an answer says of jobs that they were not vacated, and would not be: of the first
// one, and of the first that we may not vacate.
func vacated(answer *classad.ClassAd, jobs []string) (wrong error) {
	for _, job := range jobs {
		switch err := vacatedOne(answer, job); {
		case wrong == nil:
			wrong = err
		case errors.Is(err, ErrMayNotVacate) && !errors.Is(wrong, ErrMayNotVacate):
			wrong = errors.Join(wrong, err)
		}
	}
	return wrong
}

func vacatedOne(answer *classad.ClassAd, job string) error {
	switch code, told := answer.Literal("job_" + strings.ReplaceAll(job, ".", "_")).Int(); {
	case !told:
		return fmt.Errorf("the schedd says nothing of job %s", job)
	case code == mayNotVacateIt:
		return fmt.Errorf("job %s: %w", job, ErrMayNotVacate)
	case code != done && code != notFound && code != notRunning && code != alreadyDone:
		return fmt.Errorf("the schedd answers with %d for job %s", code, job)
	}
	return nil
}
