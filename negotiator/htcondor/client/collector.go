package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Commands of a collector.
const (
	queryMultiple        = 53
	queryMultiplePrivate = 54
	updateNegotiator     = 49
	invalidateNegotiator = 51
	updateGeneric        = 58
	invalidateGeneric    = 59
	updateAccounting     = 77
)

// Collector is a pool's collector, or several that hold the same: one that answers
// is asked, all are told. It may be used by many goroutines.
type Collector struct {
	Security  *security.Client
	Addresses []cedar.Address

	answered atomic.Int32 // the one that did, which is asked first
	moved    atomic.Pointer[[]cedar.Address]
}

// Relocate has the collectors be at other addresses from now on.
func (c *Collector) Relocate(to []cedar.Address) { c.moved.Store(&to) }

func (c *Collector) addresses() []cedar.Address {
	if to := c.moved.Load(); to != nil {
		return *to
	}
	return c.Addresses
}

// AdType is a kind of ad and what is wanted of it.
type AdType struct {
	// Name is how queries call the type: Machine, MachinePrivate, Submitter,
	// Scheduler, Negotiator…
	Name string
	// Projection are the attributes that are wanted; none: all. MyType comes always.
	// It works for MachinePrivate, too, whose bytes are mostly claim ids.
	Projection []string
	// Requirements is an expression over each ad; "": all ads.
	Requirements string
}

// Query asks for ads of several types at once, which gives one consistent picture.
// Each is called for one ad after another, in the order of the types; its lines
// hold until it returns. Private attributes are told only to who may know them.
// After an error in the middle of an answer no other collector is asked: each has had
// ads already.
func (c *Collector) Query(ctx context.Context, types []AdType, each func(cedar.Lines) error) error {
	all := c.addresses()
	if len(all) == 0 {
		return errors.New("query: no collector's address is known")
	}
	ad, command := queryAd(types)
	var failed []error
	first := int(c.answered.Load())
	for i := range all {
		at := (first + i) % len(all)
		a := all[at]
		told, err := query(ctx, c.Security, a, command, ad, each)
		if err == nil {
			c.answered.Store(int32(at)) //nolint:gosec // there are few
			return nil
		}
		failed = append(failed, fmt.Errorf("query %v: %w", a, err))
		if told > 0 || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// QueryEach asks every collector, where one may know what another has forgotten or was
// never told: the same ad may come several times. One that answers is enough.
func (c *Collector) QueryEach(ctx context.Context, types []AdType, each func(cedar.Lines) error) error {
	ad, command := queryAd(types)
	var failed []error
	for _, a := range c.addresses() {
		if _, err := query(ctx, c.Security, a, command, ad, each); err != nil {
			failed = append(failed, fmt.Errorf("query %v: %w", a, err))
		}
	}
	if len(failed) < len(c.addresses()) {
		return nil
	}
	return cmp.Or(errors.Join(failed...), errors.New("query: no collector's address is known"))
}

// queryAd is what is asked, by the command of that kind.
func queryAd(types []AdType) (*classad.ClassAd, int) {
	ad := classad.New()
	command := queryMultiple
	ad.SetString("MyType", "Query")
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
		if t.Name == "MachinePrivate" || t.Name == "Submitter" {
			command = queryMultiplePrivate
		}
		if len(t.Projection) > 0 {
			ad.SetString(t.Name+"Projection", strings.Join(append([]string{"MyType"}, t.Projection...), " "))
		}
		if err := ad.SetExpr(t.Name+"Requirements", orTrue(t.Requirements)); err != nil {
			ad.SetBool(t.Name+"Requirements", false) // what is no expression is true of nothing
		}
	}
	ad.SetString("TargetType", strings.Join(names, ","))
	ad.SetBool("Requirements", true)
	if command == queryMultiplePrivate {
		ad.SetBool("SendPrivateAttributes", true)
	}
	return ad, command
}

func orTrue(expression string) string {
	if expression == "" {
		return "true"
	}
	return expression
}

// maxAds bounds an answer.
const maxAds = 10_000_000

// query asks a daemon for ads. Told is how many were handed over.
func query(ctx context.Context, sec *security.Client, a cedar.Address, command int, ad *classad.ClassAd, each func(cedar.Lines) error) (told int, err error) {
	s, err := sec.Start(ctx, a, command, nil)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	s.PutAd(ad)
	if err = s.Send(); err != nil {
		return 0, err
	}
	var lines cedar.Lines
	for {
		more, err := s.Int()
		if err != nil || more == 0 {
			return told, errors.Join(err, ctx.Err())
		}
		if told == maxAds {
			return told, fmt.Errorf("the answer does not end after %d ads", told)
		}
		if lines, err = s.AppendLines(lines[:0]); err != nil {
			return told, errors.Join(err, ctx.Err())
		}
		told++
		if err = each(lines); err != nil {
			return told, err
		}
	}
}

// The types of ads that negotiators publish. Tools take the first Negotiator ad that
// they find for the negotiator, so that one which only observes has a type of its
// own.
const (
	NegotiatorType = "Negotiator"
	ObserverType   = "BackfillObserver"
)

// UpdateNegotiator publishes a negotiator's ad at all collectors, by its MyType.
func (c *Collector) UpdateNegotiator(ctx context.Context, ad *classad.ClassAd) error {
	command := updateNegotiator
	if adType, _ := ad.Text("MyType"); adType == ObserverType {
		command = updateGeneric
	}
	return c.tell(ctx, command, []*classad.ClassAd{ad})
}

// UpdateAccounting publishes Accounting ads at all collectors.
func (c *Collector) UpdateAccounting(ctx context.Context, ads []*classad.ClassAd) error {
	if len(ads) == 0 {
		return nil
	}
	return c.tell(ctx, updateAccounting, ads)
}

// WithdrawNegotiator takes the ad of that type and name back.
func (c *Collector) WithdrawNegotiator(ctx context.Context, adType, name string) error {
	command := invalidateNegotiator
	if adType == ObserverType {
		command = invalidateGeneric
	}
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", adType)
	ad.SetString("Name", name)
	quoted := classad.New()
	quoted.SetString("Name", name)
	e, _ := quoted.Lookup("Name")
	if err := ad.SetExpr("Requirements", "TARGET.Name == "+e.String()); err != nil {
		return err
	}
	return c.tell(ctx, command, []*classad.ClassAd{ad})
}

// tell sends ads with a command to each collector, all on one connection. One that does
// not answer keeps no other waiting.
func (c *Collector) tell(ctx context.Context, command int, ads []*classad.ClassAd) error {
	all := c.addresses()
	failed := make([]error, len(all))
	var told sync.WaitGroup
	for i, a := range all {
		told.Go(func() {
			if err := c.tellOne(ctx, a, command, ads); err != nil {
				failed[i] = fmt.Errorf("update %v: %w", a, err)
			}
		})
	}
	told.Wait()
	return errors.Join(failed...)
}

func (c *Collector) tellOne(ctx context.Context, a cedar.Address, command int, ads []*classad.ClassAd) error {
	s, err := c.Security.Start(ctx, a, command, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for i, ad := range ads {
		if i > 0 {
			s.PutInt(int64(command))
		}
		s.PutAd(ad)
		if err = s.Send(); err != nil {
			return err
		}
	}
	return nil
}
