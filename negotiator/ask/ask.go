package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// jobName matches the name of a job of a real pool, or of a cluster of jobs.
var jobName = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(@.+)?$`)

// Explain asks about a job, or a cluster of jobs. A [*PartialError] comes with what the other
// negotiators answered.
func (p Pool) Explain(ctx context.Context, job string) ([]Explained, error) {
	if !jobName.MatchString(job) {
		return nil, cli.Bad(fmt.Errorf("%q names no job: write CLUSTER.PROC as condor_q does, such as 12.0, or CLUSTER "+
			"for all of them, and @SCHEDD behind it if there are several", job))
	}
	told, partial, err := askAll(ctx, p, func(ctx context.Context, n client.Negotiator) ([]Explained, error) {
		ads, err := n.Explain(ctx, job)
		return ReadExplained(ads), err
	})
	if err != nil {
		return nil, err
	}
	all := mergeExplained(told)
	if len(all) == 0 && partial == nil {
		return nil, cli.Bad(fmt.Errorf("no job %s waits or runs in this pool: it may be on hold or have ended (condor_q, "+
			"condor_history), be named otherwise (negotiator start-times), or be new: the next cycle sees it", job))
	}
	return all, partial
}

// StartTimes asks about the waiting jobs, those of an owner, or if that is "" all. A [*PartialError]
// comes with what the other negotiators answered.
func (p Pool) StartTimes(ctx context.Context, owner string) ([]Told, error) {
	requirements := ""
	if owner != "" {
		requirements = "Owner =?= " + quoted(owner)
	}
	told, partial, err := askAll(ctx, p, func(ctx context.Context, n client.Negotiator) ([]Told, error) {
		ads, err := n.Plans(ctx, requirements)
		all := make([]Told, len(ads))
		for i, ad := range ads {
			all[i].JobForecast = daemon.ReadJobForecast(ad, time.Local)
		}
		return all, err
	})
	if err != nil {
		return nil, err
	}
	return mergeTold(told), partial
}

// Accuracy asks how true the start times were; of each negotiator, if there are several.
func (p Pool) Accuracy(ctx context.Context) ([]Accuracy, error) {
	_, ads, _, err := p.look(ctx, daemon.AccuracyAttributes()...)
	if err != nil {
		return nil, err
	}
	var all []Accuracy
	for _, ad := range ads {
		for _, a := range daemon.ReadAccuracy(ad) {
			one := Accuracy{Accuracy: a}
			if len(ads) > 1 {
				one.Negotiator, _ = ad.Text("Name")
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// WhatIf asks what would be so. If there are several negotiators, each is asked; see [mergeAnswers].
func (p Pool) WhatIf(ctx context.Context, q whatif.Question) (*Answer, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	told, partial, err := askAll(ctx, p, func(ctx context.Context, n client.Negotiator) ([]Answer, error) {
		reply, silence := n.WhatIf(ctx, string(text))
		switch {
		case silence != nil:
			return nil, silence
		case reply.Bad != "":
			return []Answer{{Bad: reply.Bad}}, nil
		case reply.Failed != "":
			return nil, &failedError{errors.New(reply.Failed)}
		}
		a := Answer{Answer: &whatif.Answer{}}
		if wrong := json.Unmarshal([]byte(reply.Answer), a.Answer); wrong != nil {
			return nil, &failedError{fmt.Errorf("the negotiator's answer cannot be read: %s", inwords.JSON(wrong))}
		}
		return []Answer{a}, nil
	})
	if err != nil {
		return nil, err
	}
	a := mergeAnswers(told)
	if a.Bad != "" {
		return nil, cli.Bad(errors.New(a.Bad))
	}
	return a, partial
}

// failedError is why a negotiator that answers has no answer.
type failedError struct{ error }

func (e *failedError) Unwrap() error { return e.error }

// silent adds to an error why a negotiator may not answer although the collector has its ad.
func silent(err error) error {
	if failed, answers := errors.AsType[*failedError](err); answers {
		return failed.error
	}
	return fmt.Errorf("%w; its ad outlives it by some minutes: it may be down, or just starting (condor_status "+
		"-negotiator)", err)
}

// quoted is the text as a ClassAd string.
func quoted(text string) string {
	ad := classad.New()
	ad.SetString("Text", text)
	return ad.Eval("Text", nil).String()
}
