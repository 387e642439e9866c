package rehearsal

import (
	"context"
	"sync"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// served is a page that is served.
type served struct {
	*page
	url    string
	wait   func() // ends the service
	making sync.WaitGroup
	end    context.CancelFunc // of making pictures
}

// viewers says who may look.
func (p *Rehearsal) viewers(stage Stage) access.Options {
	s := p.Settings.Serving
	return access.Options{
		Address: stage.HTTP, TokenFile: s.HTTPToken, Certificate: s.HTTPCertificate, Key: s.HTTPKey, Clock: stage.Clock,
	}
}

// serve serves the page of a run, until the context ends or [served.close].
func (p *Rehearsal) serve(ctx context.Context, stage Stage) (s *served, err error) {
	s = &served{page: p.newPage(stage)}
	s.url, s.wait, err = livepage.Serve(ctx, p.viewers(stage), s.server, p.Logger.Named("web"))
	if err != nil {
		return nil, cli.Bad(err)
	}
	ctx, s.end = context.WithCancel(ctx)
	s.making.Go(func() { s.make(ctx) })
	p.Logger.Info("the pool is shown", "url", s.url)
	return s, nil
}

// finish shows the end of the run. Questions are answered from now on, whenever they come.
func (s *served) finish() {
	if s.state != nil {
		s.take(true)
	}
	s.cycle.Unlock()
}

// close ends the service.
func (s *served) close() {
	s.end()
	s.making.Wait()
	s.wait()
}

// URL is where the page is served; "": nowhere.
func (p *Rehearsal) URL() string {
	if p.served == nil {
		return ""
	}
	return p.served.url
}

// ShowEnd serves the page of a run that has ended until the context ends.
func (p *Rehearsal) ShowEnd(ctx context.Context) {
	if p.served == nil {
		return
	}
	<-ctx.Done()
	p.served.close()
}
