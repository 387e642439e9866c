package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// Pool is a real pool whose negotiators are asked. Its source names the pool.
type Pool struct {
	Source *source.Settings
	// Name is the one negotiator to ask; "": all of ours.
	Name string
	// Note is told what whoever reads the answer must know; nil: nobody is.
	Note func(string)
}

// patience is how long one of several negotiators may take to answer.
const patience = 20 * time.Second

// asked is one of ours, to be asked.
type asked struct {
	client.Negotiator
	name string
	// apart says that it has slots of its own. One that has not is at work alone, or its ad outlives it.
	apart bool
	// lost is why it cannot be called.
	lost error
}

// PartialError names the negotiators that did not answer while others did.
type PartialError struct {
	Silent []string // names
	Err    error    // why not
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("what %s would say is missing: %v", inWords(e.Silent), e.Err)
}

// Unwrap returns why they did not answer.
func (e *PartialError) Unwrap() error { return e.Err }

// inWords lists names, such as "a, b and c".
func inWords(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// answered is what a negotiator answers: items such as jobs, in its order.
type answered[T any] struct {
	name  string // its name; "": there is no other
	items []T
}

// askAll asks all negotiators of the pool at once. If some do not answer, partial names them; if none
// does, the error is why.
func askAll[T any](ctx context.Context, p Pool, ask func(context.Context, client.Negotiator) ([]T, error),
) (told []answered[T], partial, err error) {
	all, err := p.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	return askEach(ctx, all, ask)
}

// askEach asks these negotiators.
func askEach[T any](ctx context.Context, all []asked, ask func(context.Context, client.Negotiator) ([]T, error),
) (told []answered[T], partial, err error) {
	if len(all) == 1 {
		if all[0].lost != nil {
			return nil, nil, all[0].lost
		}
		items, wrong := ask(ctx, all[0].Negotiator)
		if wrong != nil {
			return nil, nil, silent(wrong)
		}
		return []answered[T]{{items: items}}, nil, nil
	}
	replies, failures := make([]answered[T], len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, n := range all {
		if n.lost != nil {
			failures[i] = n.lost
			continue
		}
		asking.Go(func() {
			patient, done := context.WithTimeout(ctx, patience)
			defer done()
			items, wrong := ask(patient, n.Negotiator)
			replies[i] = answered[T]{n.name, items}
			if wrong != nil {
				failures[i] = silent(wrong)
			}
		})
	}
	asking.Wait()
	missing := &PartialError{}
	for i, wrong := range failures {
		if wrong == nil {
			told = append(told, replies[i])
			continue
		}
		missing.Err = errors.Join(missing.Err, wrong)
		if all[i].apart {
			missing.Silent = append(missing.Silent, all[i].name)
		}
	}
	switch {
	case told == nil:
		return nil, nil, missing.Err
	case missing.Silent != nil:
		return told, missing, nil
	case len(told) == 1 && len(all) > 1: // the others were its predecessors
		told[0].name = ""
	}
	return told, nil, nil
}

// find finds this project's negotiators in the pool: those that make matches, else one that only
// observes.
func (p Pool) find(ctx context.Context) ([]asked, error) {
	secure, ads, stock, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	var all []asked
	for _, ad := range ads {
		all = append(all, read(ad, secure))
	}
	if len(stock) > 0 && p.Note != nil {
		p.Note(fmt.Sprintf("%s, HTCondor's own negotiator, tells no start times: jobs that it starts may start earlier "+
			"than is told here", inWords(stock)))
	}
	return all, nil
}

// read reads whom to ask from the ad of a negotiator.
func read(ad *classad.ClassAd, secure *security.Client) asked {
	text, _ := ad.Text("MyAddress")
	address, err := cedar.ParseAddress(text)
	if err != nil {
		err = fmt.Errorf("the address of the negotiator %s: %w", nameOf(ad), err)
	}
	_, apart := ad.Text("BackfillSlotConstraint")
	return asked{client.Negotiator{Security: secure, Address: address}, nameOf(ad), apart, err}
}

// look returns the ads of the negotiators to ask, by name, with the given attributes besides the
// usual ones; who asks them; and the names of HTCondor's own that make matches beside these.
func (p Pool) look(ctx context.Context, more ...string) (secure *security.Client, ours []*classad.ClassAd, stock []string, err error) {
	secure, collector, err := p.collector(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	attributes := append([]string{"Name", "MyAddress", "BackfillPolicy", "BackfillObserve", "BackfillSlotConstraint"}, more...)
	known := 0
	err = collector.Query(ctx, []client.AdType{
		{Name: client.NegotiatorType, Projection: attributes},
		{Name: client.ObserverType, Projection: attributes},
	},
		func(lines cedar.Lines) error {
			ad, wrong := classad.ParseOld(string(lines))
			if wrong != nil { // another may be the one
				return nil
			}
			known++
			if _, own := ad.Text("BackfillPolicy"); own {
				ours = append(ours, ad)
			} else if name, named := ad.Text("Name"); named {
				stock = append(stock, name)
			}
			return nil
		})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("find the pool's negotiator: %w", err)
	}
	switch {
	case known == 0:
		err = errors.New("the collector knows of no negotiator: is it running? condor_status -negotiator lists them")
	case p.Name != "":
		ours, err = p.named(ours, stock)
		stock = nil
	case len(ours) == 0:
		err = errors.New("the pool's negotiator is HTCondor's own, which knows no start times; " +
			"an administrator can try this one beside it, with negotiator --observe")
	}
	if err != nil {
		return nil, nil, nil, err
	}
	ours, stock = best(ours, stock)
	return secure, ours, stock, nil
}

// best leaves those that make matches, by name, and HTCondor's own beside them. If there are none, it
// leaves one that only observes: two would tell of the same slots.
func best(ours []*classad.ClassAd, stock []string) (asked []*classad.ClassAd, beside []string) {
	slices.SortStableFunc(ours, func(a, b *classad.ClassAd) int {
		return cmp.Or(cmp.Compare(idleness(a), idleness(b)), strings.Compare(nameOf(a), nameOf(b)))
	})
	if idleness(ours[0]) > 0 {
		return ours[:1], nil
	}
	slices.Sort(stock)
	return slices.DeleteFunc(ours, func(ad *classad.ClassAd) bool { return idleness(ad) > 0 }), stock
}

// named leaves the negotiator that was asked for, by its whole name or by what is before the @.
func (p Pool) named(ours []*classad.ClassAd, stock []string) ([]*classad.ClassAd, error) {
	var names []string
	for _, ad := range ours {
		name := nameOf(ad)
		if bare, _, _ := strings.Cut(name, "@"); strings.EqualFold(p.Name, name) || strings.EqualFold(p.Name, bare) {
			return []*classad.ClassAd{ad}, nil
		}
		names = append(names, name)
	}
	for _, name := range stock {
		if bare, _, _ := strings.Cut(name, "@"); strings.EqualFold(p.Name, name) || strings.EqualFold(p.Name, bare) {
			return nil, cli.Bad(fmt.Errorf("--name %s: that is HTCondor's own negotiator, which tells no start times", p.Name))
		}
	}
	if len(names) == 0 {
		return nil, cli.Bad(fmt.Errorf("--name %s: the collector knows no negotiator that tells start times", p.Name))
	}
	slices.Sort(names)
	return nil, cli.Bad(fmt.Errorf("--name %s: no negotiator that tells start times is called so; there is %s", p.Name,
		inWords(names)))
}

func nameOf(ad *classad.ClassAd) string {
	name, _ := ad.Text("Name")
	return name
}

// idleness is 0 for a negotiator that makes matches, and more for one that does not: as it stepped
// back, or only observes.
func idleness(ad *classad.ClassAd) int {
	if observe, _ := ad.Bool("BackfillObserve"); observe {
		return 1
	}
	if strings.HasPrefix(nameOf(ad), daemon.ObserverName) {
		return 2
	}
	return 0
}

// collector returns the pool's collector, and who asks it.
func (p Pool) collector(ctx context.Context) (*security.Client, *client.Collector, error) {
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
	return secure, &client.Collector{Security: secure, Addresses: addresses, Locate: func() (cedar.Address, error) {
		return daemon.LocateCollector(p.Source.HTCondor())
	}}, nil
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
