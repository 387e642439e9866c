package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	mergeSlot            = 73
)

// Collector is a pool's collector, or several with the same content: queries go to one that
// answers, updates to all. It is safe for concurrent use.
type Collector struct {
	Security  *security.Client
	Addresses []cedar.Address
	// Locate returns the present address of the collector whose address has the port 0: it chooses
	// another port each time that it starts. It may be nil if no address has that port.
	Locate func() (cedar.Address, error)

	answered atomic.Int32 // the one that answered last, which is asked first
	moved    atomic.Pointer[[]cedar.Address]
}

// Answered tells which of the collectors answers the query under way, or answered the last.
func (c *Collector) Answered() int { return int(c.answered.Load()) }

// Relocate replaces the collectors' addresses. If they, or their order, are others, the first is asked
// first again.
func (c *Collector) Relocate(to []cedar.Address) {
	same := func(a, b cedar.Address) bool { return a.String() == b.String() }
	if !slices.EqualFunc(c.addresses(), to, same) {
		c.answered.Store(0)
	}
	c.moved.Store(&to)
}

func (c *Collector) addresses() []cedar.Address {
	if to := c.moved.Load(); to != nil {
		return *to
	}
	return c.Addresses
}

// AdType is a kind of ad and what a query wants of it.
type AdType struct {
	// Name is the type's name in queries: Machine, MachinePrivate, Submitter, Scheduler,
	// Negotiator…
	Name string
	// Projection lists the wanted attributes; empty means all. MyType always comes. It also works
	// for MachinePrivate, whose bytes are mostly claim ids.
	Projection []string
	// Requirements is an expression over each ad; empty means all ads.
	Requirements string
}

// Query asks for ads of several types in one request, which gives a consistent picture. It calls
// the callback for one ad after another, in the order of the types; the lines are valid only during
// the call. Private attributes are sent only to authorized clients. If an answer breaks off in the
// middle, no other collector is asked, because the callback has already seen ads.
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
		count, err := c.ask(ctx, a, command, ad, c.noting(at, each))
		if err == nil {
			c.answered.Store(int32(at)) //nolint:gosec // there are few
			return nil
		}
		failed = append(failed, fmt.Errorf("query %v: %w", a, err))
		if count > 0 || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// noting returns a function that notes which collector answers and calls another.
func (c *Collector) noting(at int, each func(cedar.Lines) error) func(cedar.Lines) error {
	return func(lines cedar.Lines) error {
		c.answered.Store(int32(at)) //nolint:gosec // there are few
		return each(lines)
	}
}

// QueryEach queries every collector, for ads that one may know and another may have lost or never
// received; the callback may get the same ad several times. QueryEach succeeds if one collector
// answers.
func (c *Collector) QueryEach(ctx context.Context, types []AdType, each func(cedar.Lines) error) error {
	ad, command := queryAd(types)
	var failed []error
	for _, a := range c.addresses() {
		if _, err := c.ask(ctx, a, command, ad, each); err != nil {
			failed = append(failed, fmt.Errorf("query %v: %w", a, err))
		}
	}
	if len(failed) < len(c.addresses()) {
		return nil
	}
	return cmp.Or(errors.Join(failed...), errors.New("query: no collector's address is known"))
}

// ask asks the collector at an address for ads.
func (c *Collector) ask(
	ctx context.Context, a cedar.Address, command int, ad *classad.ClassAd, each func(cedar.Lines) error,
) (count int, err error) {
	if a, err = c.located(a); err != nil {
		return 0, err
	}
	return query(ctx, c.Security, a, command, ad, maxAnswer, each)
}

// located returns the address to call for one of the addresses.
func (c *Collector) located(a cedar.Address) (cedar.Address, error) {
	if a.Port != 0 || c.Locate == nil {
		return a, nil
	}
	return c.Locate()
}

// queryAd returns the query's ad and the command to send it with. The answer does not say which ad
// is of which table, so only those are asked for whose MyType is their table's: every user may
// advertise himself as a submitter, and such an ad keeps the MyType that he wrote. Startds alone
// write private ads, which are of the type Machine.
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
		requirements := orTrue(t.Requirements)
		if t.Name != "MachinePrivate" {
			requirements = fmt.Sprintf("MyType == %q && (%s)", t.Name, requirements)
		}
		if err := ad.SetExpr(t.Name+"Requirements", requirements); err != nil {
			ad.SetBool(t.Name+"Requirements", false) // an invalid expression matches nothing
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

// Bounds of an answer: its ads, its bytes, and those of an ad, which its daemon writes as it likes.
// A slot's ad has five thousand.
const (
	maxAds    = 10_000_000
	maxAdText = 2 << 20
	maxAnswer = 4 << 30
)

// LeftOut is the attribute that is added to an ad of a collector of which long attributes were left
// out, and says how many bytes these have.
const LeftOut = "BackfillLeftOut"

// query asks a daemon for ads, in an answer of no more bytes than most. count is how many the callback
// was called for.
func query(ctx context.Context, sec *security.Client, a cedar.Address, command int, ad *classad.ClassAd,
	most int64, each func(cedar.Lines) error,
) (count int, err error) {
	s, err := sec.Start(ctx, a, command, nil)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	s.Limit(most)
	s.PutAd(ad)
	if err = s.Send(); err != nil {
		return 0, err
	}
	var lines cedar.Lines
	for {
		more, err := s.Int()
		if err != nil || more == 0 {
			return count, errors.Join(err, ctx.Err())
		}
		if count == maxAds {
			return count, fmt.Errorf("the answer does not end after %d ads", count)
		}
		left := 0
		if lines, left, err = s.AppendShort(lines[:0], maxAdText, ""); err != nil {
			return count, errors.Join(err, ctx.Err())
		}
		if left > 0 {
			lines = fmt.Appendf(lines, "%s = %d\n", LeftOut, left)
		}
		count++
		if err = each(lines); err != nil {
			return count, err
		}
	}
}

// The types of ads that negotiators publish. Tools take the first Negotiator ad that they find as
// that of the pool's negotiator, so a negotiator that only observes has a type of its own.
const (
	NegotiatorType = "Negotiator"
	ObserverType   = "BackfillObserver"
)

// UpdateNegotiator publishes a negotiator's ad, whose type is its MyType, at all collectors. It
// errs if one of them cannot be told.
func (c *Collector) UpdateNegotiator(ctx context.Context, ad *classad.ClassAd) error {
	command := updateNegotiator
	if adType, _ := ad.Literal("MyType").Text(); adType == ObserverType {
		command = updateGeneric
	}
	return c.update(ctx, command, []*classad.ClassAd{ad})
}

// UpdateAccounting publishes Accounting ads at all collectors. It errs if one of them cannot be
// told.
func (c *Collector) UpdateAccounting(ctx context.Context, ads []*classad.ClassAd) error {
	if len(ads) == 0 {
		return nil
	}
	return c.update(ctx, updateAccounting, ads)
}

// MergeSlots adds the attributes of these ads to those of the slots of the same names and
// addresses, in all collectors. It errs if one of them cannot be told.
func (c *Collector) MergeSlots(ctx context.Context, ads []*classad.ClassAd) error {
	return c.update(ctx, mergeSlot, ads)
}

// WithdrawNegotiator removes the ad of that type and name from all collectors.
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
	return c.update(ctx, command, []*classad.ClassAd{ad})
}

// update sends ads with a command to all collectors in parallel, on one connection each, so that a
// collector that does not answer does not delay the others. The error joins those of all
// collectors.
func (c *Collector) update(ctx context.Context, command int, ads []*classad.ClassAd) error {
	all := c.addresses()
	failed := make([]error, len(all))
	var sending sync.WaitGroup
	for i, a := range all {
		sending.Go(func() {
			if err := c.tellOne(ctx, a, command, ads); err != nil {
				failed[i] = fmt.Errorf("update %v: %w", a, err)
			}
		})
	}
	sending.Wait()
	return errors.Join(failed...)
}

func (c *Collector) tellOne(ctx context.Context, a cedar.Address, command int, ads []*classad.ClassAd) error {
	a, err := c.located(a)
	if err != nil {
		return err
	}
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
