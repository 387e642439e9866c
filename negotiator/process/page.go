package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/ask"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// pageSource is a real pool behind a page. What is asked costs what it costs on the command port.
type pageSource struct {
	p        *process
	commands *server.Negotiator
}

// aboutWidth is how wide the lines are that describe a policy.
const aboutWidth = 90

// pagePatience is how long a question may take.
const pagePatience = 10 * time.Second

// peer is who asks, as the command port knows askers.
func peer(who livepage.Asker) security.Peer {
	from := security.Peer{User: security.Unauthenticated, Address: who.Address}
	if who.User != "" {
		from.User = who.User
	}
	return from
}

// Explain implements [livepage.Source].
func (s *pageSource) Explain(ctx context.Context, who livepage.Asker, job string) (x livepage.Explained, err error) {
	ctx, done := context.WithTimeout(ctx, pagePatience)
	defer done()
	ads, err := s.commands.AnswerExplain(ctx, peer(who), job)
	if err != nil {
		return x, err
	}
	all := ask.ReadExplained(ads.All())
	if len(all) == 0 {
		return x, &livepage.NoJobError{Err: fmt.Errorf("no job %.100q waits or runs in this pool: it may be on hold or have ended, "+
			"or be new: the next cycle sees it", job)}
	}
	x.Text = ask.Explanation(job, all)
	if len(all) == 1 {
		e := &all[0]
		x.Fit = &livepage.Fit{Slots: e.SlotsInPool, Matching: e.SlotsMatching, Refusing: e.SlotsRefusing}
		for _, c := range e.SlotsClosed {
			x.Fit.Closed = append(x.Fit.Closed, livepage.Count{Text: c.Why, Slots: c.Slots})
		}
		for _, c := range e.Clauses {
			if c.Unmet > 0 {
				x.Fit.Clauses = append(x.Fit.Clauses, livepage.Count{Text: c.Text, Slots: c.Unmet})
			}
		}
		for _, r := range e.Refusals {
			x.Fit.Refusals = append(x.Fit.Refusals, livepage.Count{Text: r.Text, Slots: r.Slots})
		}
		x.Windows = s.p.daemon.Windows(ctx, job)
	}
	return x, nil
}

// WhatIf implements [livepage.Source].
func (s *pageSource) WhatIf(ctx context.Context, who livepage.Asker, question string) ([]byte, error) {
	reply, err := s.commands.AnswerWhatIf(ctx, peer(who), question)
	if err != nil {
		return nil, err
	}
	if bad, there := reply.Text("BadQuestion"); there {
		return nil, &livepage.BadError{Err: errors.New(bad)}
	}
	if failed, there := reply.Text("Failed"); there {
		return nil, errors.New(failed)
	}
	answer, _ := reply.Text("Answer")
	return []byte(answer), nil
}

// Pool implements [livepage.Source].
func (s *pageSource) Pool() livepage.Pool {
	all := s.p.daemon.Overview()
	if s.p.accountant != nil {
		all.Shares = livepage.SharesOf(s.p.accountant.ActiveAds())
	}
	return all
}

// serveHTTP serves the page and all else that is served over HTTP, until the context ends or wait is
// called. If condor_master started us, the pool is scheduled all the same where that is refused, and the log
// says why: a mistake in it is no reason to stop a pool.
func (p *process) serveHTTP(ctx context.Context, commands *server.Negotiator) (wait func(), err error) {
	page := livepage.New(&pageSource{p, commands}, fmt.Sprintf("%x", time.Now().UnixNano()))
	page.Hide(p.hidden)
	wait, err = p.daemon.Web(ctx, p.viewers(), page)
	if refused, ok := errors.AsType[*access.RefusedError](err); ok {
		if p.site.Inherited.Parent == 0 {
			return nil, cli.Bad(refused)
		}
		p.Logger.Error("nothing is served over HTTP", "error", refused)
		return func() {}, nil
	}
	if err == nil {
		p.daemon.ShowOn(page)
	}
	return wait, err
}

// viewers says who may look at what is served over HTTP.
func (p *process) viewers() access.Options {
	o := viewersOf(&p.site)
	if p.server.TakesTokens(security.Read) {
		o.Bearer = func(token, address string) (string, error) { return p.server.Bearer(token, address, security.Read) }
	}
	return o
}

// viewersOf says who may look at a site, apart from whoever has the pool's own tokens.
func viewersOf(site *daemon.Site) access.Options {
	s := site.Settings
	return access.Options{
		Address: s.HTTP, Host: site.Host(), TokenFile: s.HTTPToken, Certificate: s.HTTPCertificate, Key: s.HTTPKey,
		Clock: time.Now,
	}
}

// checkHTTP checks who may look at a site. Whoever checks may not be allowed to read the pool's keys, so they
// count as there; the same goes for files of secrets that he may not read.
func checkHTTP(ctx context.Context, site *daemon.Site) error {
	if site.Settings.HTTP == "" {
		return nil
	}
	o := viewersOf(site)
	o.Bearer = func(string, string) (string, error) { return "", errors.ErrUnsupported }
	if _, err := access.New(ctx, o); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
