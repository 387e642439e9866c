package daemon

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// Several of our negotiators in one pool show on their pages what all have, by what each tells in its
// ad, and which of them would start a job first, by what they answer. No cycle waits for that.

// askOthersEvery is how often other negotiators are asked for start times, if there is a page.
const askOthersEvery = 10 * time.Second

// startsElsewhere are the expected starts of waiting jobs at other negotiators; it does not change.
type startsElsewhere map[jobAtSchedd][]startElsewhere

type jobAtSchedd struct{ schedd, job string }

type startElsewhere struct {
	negotiator string
	at         int64
}

func jobOf(j *JobForecast) jobAtSchedd {
	name, _, _ := strings.Cut(j.Job, "@")
	return jobAtSchedd{j.Schedd, name}
}

// askOthers asks other negotiators for start times, until the context ends.
func (d *Daemon) askOthers(ctx context.Context) {
	pause := askOthersEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if pause = askOthersEvery; d.screen == nil || d.o.Plans == nil {
			continue
		}
		before, all := time.Now(), startsElsewhere{}
		for _, o := range d.partners() {
			asking, done := context.WithTimeout(ctx, standardsPatience)
			plans, err := d.o.Plans(asking, o.Address)
			done()
			if err != nil {
				d.log.Debug("another negotiator does not tell its start times", "name", o.Name, "error", err)
			}
			for i := range plans {
				if j := &plans[i]; j.Start != nil {
					all[jobOf(j)] = append(all[jobOf(j)], startElsewhere{o.Name, *j.Start})
				}
			}
		}
		d.halves.Store(&all)
		pause = max(pause, min(standardsPart*time.Since(before), time.Minute))
	}
}

// partners are the others of ours that make matches on slots of their own.
func (d *Daemon) partners() (all []observe.Other) {
	pool := d.pool.Load()
	if pool == nil || d.o.Observe {
		return nil
	}
	for _, o := range (*pool).Last().Negotiators {
		if o.Ours && o.Name != d.o.Name && o.SlotConstraint != "" && !strings.HasPrefix(o.Name, ObserverName) {
			all = append(all, o)
		}
	}
	return all
}

// orElsewhere says of a waiting job when others would start it; "": nobody would, as far as is known.
func (d *Daemon) orElsewhere(j *JobForecast) string {
	all := d.halves.Load()
	if all == nil || j.started() {
		return ""
	}
	var text strings.Builder
	for _, x := range (*all)[jobOf(j)] {
		name, _, _ := strings.Cut(x.negotiator, "@")
		when := "would start it at "
		if j.Start == nil || x.at < *j.Start {
			when = "would start it first, at "
		}
		text.WriteString("; " + name + " " + when + dated(&x.at, time.Local))
	}
	return text.String()
}

// onOurSlots is a reason for a job's schedd, which hears those of all negotiators: where slots are ours by a
// constraint, we do not know that the pool has no slot for a job.
func (d *Daemon) onOurSlots(reason string) string {
	rest, held := strings.CutPrefix(reason, cannotRun)
	if !held || d.tuned.Load().SlotConstraint == "" {
		return reason
	}
	name, _, _ := strings.Cut(d.o.Name, "@")
	return "cannot run on the slots of " + name + ": " + rest
}

// parts are what each negotiator has, this one first; nil: there is no other.
func (d *Daemon) parts() []picture.Part {
	others := d.partners()
	if len(others) == 0 {
		return nil
	}
	d.mu.Lock()
	own := d.status.has
	d.mu.Unlock()
	all := []picture.Part{{Negotiator: d.o.Name, Own: true, Has: picture.Has(own)}}
	for _, o := range others {
		all = append(all, picture.Part{Negotiator: o.Name, Page: d.linkable(o), Has: picture.Has(o.Has)})
	}
	return all
}

// linkable is the address of another's page; "" if it is none of the web, or of another machine's own.
func (d *Daemon) linkable(o observe.Other) string {
	u, err := url.Parse(o.Page)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() && hostOf(o.Address) != hostOf(d.o.Address) {
		return ""
	}
	return o.Page
}

// hostOf is the host of a command port; "" if that is not known.
func hostOf(address string) string {
	a, err := cedar.ParseAddress(address)
	if err != nil {
		return ""
	}
	return a.Host
}

// tellPage has the ad tell the address of the page. One that listens at all addresses of the machine is
// found by the machine's name.
func (d *Daemon) tellPage(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort(d.o.Host, u.Port())
	}
	d.change(func(s *status) { s.page = u.String() })
}

// describeHas adds to an ad what a negotiator has, for the pages of others.
func (s *status) describeHas(ad *classad.ClassAd) {
	if s.page != "" {
		ad.SetString("BackfillPage", s.page)
	}
	for name, n := range map[string]int64{
		"BackfillSlots": s.has.Slots, "BackfillCpus": s.has.Cpus, "BackfillCpusInUse": s.has.InUse,
		"BackfillJobsRunning": s.has.Running, "BackfillJobsWaiting": s.has.Waiting,
	} {
		ad.SetInt(name, n)
	}
}

// AskPlans returns the function that asks the negotiator at an address for start times.
func AskPlans(c *security.Client) func(context.Context, string) ([]JobForecast, error) {
	return func(ctx context.Context, address string) (all []JobForecast, err error) {
		a, err := cedar.ParseAddress(address)
		if err != nil {
			return nil, err
		}
		ads, err := client.Negotiator{Security: c, Address: a}.Plans(ctx, "")
		for _, ad := range ads {
			all = append(all, ReadJobForecast(ad, time.Local))
		}
		return all, err
	}
}
