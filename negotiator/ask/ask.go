package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// Pool is a real pool whose negotiator is asked. Its source names the pool.
type Pool struct{ Source *source.Settings }

// find finds this project's negotiator in the pool: one that makes matches, else one that
// only observes.
func (p Pool) find(ctx context.Context) (client.Negotiator, error) {
	ad, secure, err := p.negotiatorAd(ctx)
	if err != nil {
		return client.Negotiator{}, err
	}
	text, _ := ad.Text("MyAddress")
	address, err := cedar.ParseAddress(text)
	if err != nil {
		return client.Negotiator{}, fmt.Errorf("the negotiator's address: %w", err)
	}
	return client.Negotiator{Security: secure, Address: address}, nil
}

// negotiatorAd returns the ad of that negotiator, with the given attributes besides the usual ones,
// and who asks.
func (p Pool) negotiatorAd(ctx context.Context, more ...string) (*classad.ClassAd, *security.Client, error) {
	site := daemon.Site{Config: condorconfig.Parse("", "")}
	var err error
	if *p.Source.Pool == config.LocalPool {
		if site.Config, err = condorconfig.Read(ctx, condorconfig.Source{}); err != nil {
			return nil, nil, cli.Bad(noLocalPool(err))
		}
		p.Source.Use(site.Config)
	}
	if site.Settings, err = p.Source.Read(); err != nil {
		return nil, nil, cli.Bad(err)
	}
	if err = site.ReadSecrets(); err != nil {
		return nil, nil, cli.Bad(err)
	}
	secure, err := site.Client()
	if err != nil {
		return nil, nil, cli.Bad(err)
	}
	secure.Name = "TOOL"
	addresses, err := site.Collectors()
	if err != nil {
		return nil, nil, cli.Bad(err)
	}
	collector := client.Collector{Security: secure, Addresses: addresses, Locate: func() (cedar.Address, error) {
		return daemon.LocateCollector(p.Source.HTCondor())
	}}
	var ads []*classad.ClassAd
	attributes := append([]string{"Name", "MyAddress", "BackfillPolicy", "BackfillObserve"}, more...)
	err = collector.Query(ctx, []client.AdType{
		{Name: client.NegotiatorType, Projection: attributes},
		{Name: client.ObserverType, Projection: attributes},
	},
		func(lines cedar.Lines) error {
			if ad, wrong := classad.ParseOld(string(lines)); wrong == nil { // another may be the one
				ads = append(ads, ad)
			}
			return nil
		})
	if err != nil {
		return nil, nil, fmt.Errorf("find the pool's negotiator: %w", err)
	}
	all := len(ads)
	ads = slices.DeleteFunc(ads, func(ad *classad.ClassAd) bool { _, ours := ad.Text("BackfillPolicy"); return !ours })
	switch {
	case all == 0:
		return nil, nil, errors.New("the collector knows of no negotiator: is it running? condor_status " +
			"-negotiator lists them")
	case len(ads) == 0:
		return nil, nil, errors.New("the pool's negotiator is HTCondor's own, which knows no start times; " +
			"an administrator can try this one beside it, with negotiator --observe")
	}
	slices.SortStableFunc(ads, func(a, b *classad.ClassAd) int { return observes(a) - observes(b) })
	return ads[0], secure, nil
}

// noLocalPool says what to give where this machine's own pool cannot be asked.
func noLocalPool(err error) error {
	if !errors.Is(err, condorconfig.ErrNone) {
		return err
	}
	return fmt.Errorf("whom to ask is not said. Of a simulated pool, also of one that runs in another terminal, ask "+
		"about a second T of its time, with its --pool, --workload and policy: --at T. Of a real pool: --pool "+
		"htcondor://HOST:PORT; or on a machine of the pool, whose %s is in the PATH, without any flag",
		condorconfig.Program)
}

func observes(ad *classad.ClassAd) int {
	if observe, _ := ad.Bool("BackfillObserve"); observe {
		return 1
	}
	return 0
}

// jobName matches the name of a job of a real pool, or of a cluster of jobs.
var jobName = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(@.+)?$`)

// Explain asks about a job, or a cluster of jobs.
func (p Pool) Explain(ctx context.Context, job string) ([]Explained, error) {
	if !jobName.MatchString(job) {
		return nil, cli.Bad(fmt.Errorf("%q names no job: write CLUSTER.PROC as condor_q does, such as 12.0, or CLUSTER "+
			"for all of them, and @SCHEDD behind it if there are several", job))
	}
	n, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	ads, err := n.Explain(ctx, job)
	if err != nil {
		return nil, silent(err)
	}
	if len(ads) == 0 {
		return nil, cli.Bad(fmt.Errorf("no job %s waits or runs in this pool: it may be on hold or have ended (condor_q, "+
			"condor_history), be named otherwise (negotiator start-times), or be new: the next cycle sees it", job))
	}
	return ReadExplained(ads), nil
}

// StartTimes asks about the waiting jobs, those of an owner, or if that is "" all.
func (p Pool) StartTimes(ctx context.Context, owner string) ([]daemon.JobForecast, error) {
	n, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	requirements := ""
	if owner != "" {
		requirements = "Owner =?= " + quoted(owner)
	}
	ads, err := n.Plans(ctx, requirements)
	if err != nil {
		return nil, silent(err)
	}
	all := make([]daemon.JobForecast, len(ads))
	for i, ad := range ads {
		all[i] = daemon.ReadJobForecast(ad, time.Local)
	}
	return all, nil
}

// Accuracy asks how true the start times were.
func (p Pool) Accuracy(ctx context.Context) ([]daemon.Accuracy, error) {
	ad, _, err := p.negotiatorAd(ctx, daemon.AccuracyAttributes()...)
	if err != nil {
		return nil, err
	}
	return daemon.ReadAccuracy(ad), nil
}

// WhatIf asks what would be so.
func (p Pool) WhatIf(ctx context.Context, q whatif.Question) (*whatif.Answer, error) {
	n, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	reply, err := n.WhatIf(ctx, string(text))
	switch {
	case err != nil:
		return nil, silent(err)
	case reply.Bad != "":
		return nil, cli.Bad(errors.New(reply.Bad))
	case reply.Failed != "":
		return nil, errors.New(reply.Failed)
	}
	a := &whatif.Answer{}
	if err = json.Unmarshal([]byte(reply.Answer), a); err != nil {
		return nil, fmt.Errorf("the negotiator's answer cannot be read: %s", inwords.JSON(err))
	}
	return a, nil
}

// silent adds to an error why a negotiator may not answer although the collector has its ad.
func silent(err error) error {
	return fmt.Errorf("%w; its ad outlives it by some minutes: it may be down, or just starting (condor_status "+
		"-negotiator)", err)
}

// quoted is the text as a ClassAd string.
func quoted(text string) string {
	ad := classad.New()
	ad.SetString("Text", text)
	return ad.Eval("Text", nil).String()
}
